// `npm run topology` as a person runs it: its help, and that nothing is left when its terminal is closed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { ROOT, runNode, STACK_TRACE } from "../cli/run-tessera.ts";

const SLOW_MS = 120_000;
const SCRIPT = join(ROOT, "scripts/topology.ts");

interface Started {
  readonly directory: string;
  readonly nats: string;
  readonly entry: string;
  readonly processes: Readonly<Record<string, number>>;
}

it("has a help, and an answer to what it does not know", async () => {
  const help = await runNode([SCRIPT, "--help"]);
  expect(help).toMatchObject({ exitCode: 0, out: expect.stringMatching(/^usage: npm run topology/), err: "" });
  const wrong = await runNode([SCRIPT, "--nope"]);
  expect(wrong).toMatchObject({ exitCode: 2, out: "", err: expect.stringContaining("usage: npm run topology") });
  expect(wrong.err).not.toMatch(STACK_TRACE);
});

it(
  "stops everything in order when its terminal is closed, which signals its whole group",
  async () => {
    const child = spawn(process.execPath, [SCRIPT, "--port", "0", "--json"], {
      detached: true, // a group of its own, as a terminal gives one
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exit = once(child, "exit");
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    const { directory, nats, entry, processes } = JSON.parse(line) as Started;
    expect(entry).toBe("planner");
    expect(new URL(nats)).toMatchObject({ username: "operator", password: expect.stringMatching(/./) });
    process.kill(-(child.pid ?? 0), "SIGHUP");
    expect(await exit).toEqual([0, null]);
    for (const pid of Object.values(processes)) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(existsSync(directory)).toBe(false);
  },
  SLOW_MS,
);
