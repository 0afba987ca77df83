// The durable call of examples/durable-call runs, proves its point, and cleans up.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { ROOT, runNode } from "./run-tessera.ts";

const MAIN = join(ROOT, "examples/durable-call/main.ts");

it("the durable call survives three kills, as JSON for programs", async () => {
  const temporary = mkdtempSync(join(tmpdir(), "tessera-durable-call-"));
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

it.each([
  ["started", "story"],
  ["turn.suspended", "process 1"],
  ["killed", "story"],
  ["turn.finished", "process 2"],
])("Ctrl-C after %s of %s is honoured: one line, exit code 130, nothing left", async (event, who) => {
  const temporary = mkdtempSync(join(tmpdir(), "tessera-durable-call-"));
  // In a process group of its own, which gets the signal as a whole: so does a terminal's.
  const child = spawn(process.execPath, [MAIN, "--json"], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const exit = once(child, "exit");
  const events: { event: string; who: string }[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    events.push(JSON.parse(line));
    const seen = events.filter((each) => each.event === event && each.who === who);
    if (seen.length === 1 && seen[0] === events.at(-1)) process.kill(-Number(child.pid), "SIGINT");
  }
  expect(await exit).toEqual([130, null]);
  expect(events.filter((each) => each.event === "interrupted")).toHaveLength(1);
  expect(events.filter((each) => each.event === "failed" || each.event === "outcome")).toEqual([]);
  expect(readdirSync(temporary)).toEqual([]);
  rmSync(temporary, { recursive: true });
});
