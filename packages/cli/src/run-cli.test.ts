import { VERSION } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { runCommand as run } from "../test/test-terminal.ts";
import { migrateText } from "./commands/migrate.ts";
import { verifyText } from "./commands/verify.ts";
import { printed as printedText } from "./output/printing-gate.ts";

describe("usage", () => {
  it.each([[["--help"]], [["help"]], [["help", "verify"]], [["migrate", "--help"]]])("%j shows help", async (args) => {
    const { exitCode, out, err } = await run(...args);
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    expect(out).toContain("Usage: tessera");
  });

  it("--version prints the version and nothing else", async () => {
    expect(await run("--version")).toEqual({ exitCode: 0, out: `${VERSION}\n`, err: "" });
  });

  it("no command shows help and exits 2", async () => {
    const { exitCode, out, err } = await run();
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
    expect(err).toContain("Commands:");
  });

  it.each([
    [["verfy"], "Did you mean verify?"],
    [["verfy"], "See `tessera --help`."],
    [["run", "--imput", "x"], "See `tessera run --help`."],
    [["turns", "why"], "See `tessera turns why --help`."],
    [["turns", "ls", "--limit", "0"], "See `tessera turns ls --help`."],
    [["migrate", "--dta", "x"], "Did you mean --data?"],
    [["migrate", "--data"], "argument missing"],
    [["verify", "x"], "too many arguments"],
  ])("%j is a usage error", async (args, message) => {
    const { exitCode, out, err } = await run(...args);
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
    expect(err).toContain(message);
  });

  it("a usage error with --json is JSON, too", async () => {
    const { exitCode, out, err } = await run("verfy", "--json");
    expect({ exitCode, err }).toEqual({ exitCode: 2, err: "" });
    expect(JSON.parse(out)).toMatchObject({ ok: false, error: { code: "usage" } });
    const inner = JSON.parse((await run("turns", "why", "--json")).out);
    expect(inner.error.todo).toBe("See `tessera turns why --help`.");
  });

  it("a password that was typed in the wrong place is not shown", async () => {
    for (const args of [["postgres://me:secret@h/d"], ["verify", "postgres://me:secret@h/d"]]) {
      expect((await run(...args)).err).not.toContain("secret");
      expect((await run(...args, "--json")).out).not.toContain("secret");
    }
  });
});

describe("what commands print", () => {
  it("migrate lists what it applied", () => {
    const nothing = { applied: [], functionsReplaced: false, newerFunctionsKept: null, version: 1 };
    expect(migrateText("S", { ...nothing, applied: ["0001_a"], functionsReplaced: true })).toBe(
      "S is now at schema 1\n  applied   0001_a\n  replaced  the functions of l0\n",
    );
    expect(migrateText("S", nothing)).toBe("S is up to date (schema 1)\n");
    expect(migrateText("S", { ...nothing, newerFunctionsKept: 7 })).toMatch(
      /^S is up to date \(schema 1\)\n {2}kept {6}.* a newer build installed; --allow-older-functions replaces them\n$/,
    );
  });

  it("verify shows the rows that break an invariant, and says how many more there are", () => {
    const rows = Array.from({ length: 20 }, (_, n) => ({ id: `c${n}` }));
    const violations = [{ invariant: "01_x", kind: "safety", says: "x holds", found: 31, rows }] as const;
    const text = printedText(verifyText("S", "live", { checked: 3, violations }));
    expect(text).toContain(
      "checked 3 invariants of S (live): 1 broken\n\n01_x (safety) does not hold: x holds\n  id\n  c0\n",
    );
    expect(text).toContain("(the first 20 of 31 rows)");
    expect(printedText(verifyText("S", "drained", { checked: 3, violations: [] }))).toBe(
      "checked 3 invariants of S (drained): all hold\n",
    );
  });
});
