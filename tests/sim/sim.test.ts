// The seeds that ever failed, and the repetition that makes a seed worth keeping.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runSeeds, seedsFrom } from "./run-seeds.ts";
import { failureText } from "./seed-report.ts";

const TIMEOUT_MS = 300_000;
const REPLAYED = 5;

describe("the simulation", () => {
  it("is a function of its seed: a run that is repeated has the same events", { timeout: TIMEOUT_MS }, async () => {
    const hashes: string[][] = [[], []];
    for (const run of hashes) {
      for await (const { hash } of runSeeds(seedsFrom(1_000, REPLAYED))) run.push(hash);
    }
    expect(hashes[0]).toHaveLength(REPLAYED);
    expect(hashes[1]).toEqual(hashes[0]);
  });

  it("passes the seeds that once failed", { timeout: TIMEOUT_MS }, async () => {
    const failures: string[] = [];
    for await (const result of runSeeds(keptSeeds())) {
      if (result.violation !== null) failures.push(failureText(result));
    }
    expect(failures.join("\n")).toBe("");
  });
});

/** The numbers at the start of the lines of seeds.txt. */
function keptSeeds(): number[] {
  const lines = readFileSync(join(import.meta.dirname, "seeds.txt"), "utf8").split("\n");
  return lines.flatMap((line) => (/^\d+/.test(line) ? [Number.parseInt(line, 10)] : []));
}
