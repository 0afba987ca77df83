import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

it.each([
  ["sim.ts", ["--seed", "x"], "--seed must be a whole number, not x"],
  ["sim.ts", ["--only", "faults=nope"], "--only: nope is no fault"],
  ["chaos.ts", ["--secnds", "5"], "Unknown option '--secnds'"],
])(
  "%s %j reports the mistake in a line and ends with 2",
  (script, flags, says) => {
    const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, "..", script), ...flags], {
      encoding: "utf8",
    });
    expect(stderr).toContain(says);
    expect(stderr).not.toContain("    at ");
    expect(status).toBe(2);
  },
  60_000,
);
