// The seeds that ever failed, and the repetition that makes a seed worth keeping.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runSeeds, seedsFrom } from "./run-seeds.ts";
import { failureText } from "./seed-report.ts";

const TIMEOUT_MS = 300_000;
const REPLAYED = 5;
/** Run before them on their second store. */
const ANOTHER = 900;

describe("the simulation", () => {
  it("is a function of its seed: a run has the same events whatever its store ran before", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const seeds = [...seedsFrom(1_000, REPLAYED)];
    const hashes = async (order: readonly number[]) => {
      const found: (readonly [number, string])[] = [];
      for await (const { seed, hash } of runSeeds(order)) found.push([seed, hash]);
      return found;
    };
    const first = await hashes(seeds);
    const [, ...again] = await hashes([ANOTHER, ...seeds.toReversed()]);
    expect(first).toHaveLength(REPLAYED);
    expect(again.toReversed()).toEqual(first);
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
