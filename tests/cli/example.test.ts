// `npm start`: the example runs, proves its point, and cleans up.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT, runNode } from "./run-tessera.ts";

const MAIN = join(ROOT, "examples/durable-call/main.ts");

it("the durable call survives three kills, as JSON for programs", async () => {
  const temporary = mkdtempSync(join(tmpdir(), "tessera-npm-start-"));
  const { exitCode, out, err } = await runNode([MAIN, "--json"], { TMPDIR: temporary });
  expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
  const events = out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events.filter((event) => event.event === "killed")).toHaveLength(3);
  expect(events.at(-1)).toMatchObject({ event: "outcome", ok: true, mismatches: [] });
  expect(readdirSync(temporary)).toEqual([]);
  rmSync(temporary, { recursive: true });
});
