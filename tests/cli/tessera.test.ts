// `tessera migrate` and `tessera verify` on embedded stores, and the mistakes people make with them.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPglite } from "@tessera/engines/pglite";
import { VERSION } from "@tessera/protocol";
import { openStore } from "@tessera/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { ROOT, runNode, runTessera, STACK_TRACE, TESSERA } from "./run-tessera.ts";

const quiet = { onWarning: () => {}, onFatal: () => {} };
let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-cli-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("on a directory", () => {
  it("migrate makes a store and says what it applied, then finds it up to date, and verify finds it clean", async () => {
    const data = join(directory, "store");
    const made = await runTessera(["migrate", "--data", data]);
    expect(made).toMatchObject({ exitCode: 0, err: "" });
    expect(made.out).toMatch(/is now at schema \d+\n {2}applied {3}0001_cards\n/);

    const again = await runHere(["migrate", "--json"], { env: { TESSERA_DATA: data } });
    expect(again).toMatchObject({ exitCode: 0, err: "" });
    expect(JSON.parse(again.out)).toMatchObject({ ok: true, store: data, applied: [], functions_replaced: false });

    const verified = await runHere(["verify", "--data", data]);
    expect(verified).toMatchObject({ exitCode: 0, err: "" });
    expect(verified.out).toMatch(/^checked \d+ invariants of .* \(live\): all hold\n$/);

    const drained = await runHere(["verify", "--data", data, "--drained", "--json"]);
    expect(JSON.parse(drained.out)).toMatchObject({ ok: true, mode: "drained", violations: [] });
  });

  it("verify exits 1 and shows the row of a planted violation", async () => {
    const data = join(directory, "planted");
    await (await openStore({ data, ...quiet })).close();
    const database = await openPglite({ directory: data });
    await database.query(
      "insert into state.agent_state_head (project_id, agent_id, queue_length, updated_at) values ('default', 'planted', 3, now())",
    );
    await database.close();

    const { exitCode, out, err } = await runHere(["verify", "--data", data]);
    expect({ exitCode, err }).toEqual({ exitCode: 1, err: "" });
    expect(out).toMatch(
      /37_queue_length_true \(safety\) does not hold: .*\n {2}project_id {2}agent_id {2}queue_length\n {2}default {5}planted +3\n/,
    );

    const json = await runHere(["verify", "--data", data, "--json"]);
    expect(json).toMatchObject({ exitCode: 1, err: "" });
    const report = JSON.parse(json.out);
    expect(report.ok).toBe(false);
    expect(
      report.violations.find((each: { invariant: string }) => each.invariant === "37_queue_length_true").rows,
    ).toEqual([{ project_id: "default", agent_id: "planted", queue_length: 3 }]);
  });

  it("that a process holds is unreachable, and the message says which process", async () => {
    const data = join(directory, "held");
    const holder = await openPglite({ directory: data });
    const { exitCode, out, err } = await runHere(["verify", "--data", data]);
    expect({ exitCode, out }).toEqual({ exitCode: 4, out: "" });
    expect(err).toContain(`in use by process ${process.pid}`);
    expect(err).toContain("store_in_use");
    await holder.close();
  });

  it("that was never migrated is a matter of configuration: run migrate", async () => {
    const data = join(directory, "old");
    await (await openPglite({ directory: data })).close();
    const { exitCode, err } = await runHere(["verify", "--data", data]);
    expect(exitCode).toBe(3);
    expect(err).toContain("Run `tessera migrate`");
  });

  it("that is damaged is a matter of configuration: repeating does not help", async () => {
    const data = join(directory, "damaged");
    mkdirSync(join(data, "store"), { recursive: true });
    for (const command of ["migrate", "verify"]) {
      const { exitCode, err } = await runHere([command, "--data", data]);
      expect(exitCode).toBe(3);
      expect(err).toContain("PG_VERSION is missing");
      expect(err).toContain("Restore the directory from a backup");
    }
  });

  it("that is not there is not made by verify", async () => {
    const data = join(directory, "nowhere");
    expect((await runHere(["verify", "--data", data])).exitCode).toBe(3);
    expect(existsSync(data)).toBe(false);
  });
});

describe("mistakes", () => {
  it.each([
    [["verify", "--data", "a", "--postgres", "postgres://h/d"], 3, "both given"],
    [["verify"], 3, "no store was given"],
    [["migrate", "--postgres", "mysql://me:secret@h/d"], 3, "should look like postgres://"],
    [["migrate", "--postgres", "postgres://me:secret@127.0.0.1:1/d"], 4, "PostgreSQL at 127.0.0.1:1/d"],
    [["migrate", "--data", "postgres://me:secret@h/d"], 3, "that is a URL; use --postgres"],
    [["migrate", "--data", TESSERA], 3, "Name a directory"],
    [["verfy"], 2, "Did you mean verify?"],
    [["verify", "--drain"], 2, "Did you mean --drained?"],
  ])("%j exits %i: %s", async (args, exitCode, message) => {
    const ran = await runHere(args);
    expect(ran).toMatchObject({ exitCode, out: "" });
    expect(ran.err).toContain(message);
    expect(ran.err).not.toMatch(STACK_TRACE);
    expect(ran.err).not.toContain("secret");
    expect(existsSync("postgres:")).toBe(false);

    const json = await runHere([...args, "--json"]);
    expect(json).toMatchObject({ exitCode, err: "" });
    expect(JSON.parse(json.out).ok).toBe(false);
    expect(json.out).not.toContain("secret");
  });
});

describe("started by an old Node", () => {
  const old =
    "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.9.0'}})";

  it("the command hands over to the Node that npm installed", async () => {
    expect(await runNode(["--import", old, TESSERA, "--version"])).toEqual({
      exitCode: 0,
      out: `${VERSION}\n`,
      err: "",
    });
    expect((await runNode(["--import", old, TESSERA, "verfy"])).exitCode).toBe(2);
  });

  it("and without one it says what is needed", async () => {
    const { exitCode, err } = await runNode(["--import", old, TESSERA], { TESSERA_NODE_TOOK_OVER: "1" });
    expect(exitCode).toBe(3);
    expect(err).toMatch(
      /^tessera: Node 22\.18 or newer is needed, and this is Node 20\.9\.0 at .*\. Install .* no Node package .*\n$/,
    );
  });
});

it("npm ci links the command", () => {
  expect(existsSync(join(ROOT, "node_modules/.bin/tessera"))).toBe(true);
});
