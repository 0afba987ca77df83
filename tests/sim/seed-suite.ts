// The tests that the files with CI's seeds share.

import { expect, it } from "vitest";
import type { SeedResult } from "./run-seed.ts";
import { runSeeds, seedsFrom } from "./run-seeds.ts";
import { failureText } from "./seed-report.ts";

const CHUNK = 25;
const CHUNK_TIMEOUT_MS = 300_000;

/** Tests that run the seeds in chunks. What it answers is filled as they run. */
export function describeSeeds(first: number, count: number): readonly SeedResult[] {
  const results: SeedResult[] = [];
  for (let start = first; start < first + count; start += CHUNK) {
    const size = Math.min(CHUNK, first + count - start);
    it(`seeds ${start} to ${start + size - 1} break no rule`, { timeout: CHUNK_TIMEOUT_MS }, async () => {
      const failures: string[] = [];
      for await (const result of runSeeds(seedsFrom(start, size))) {
        results.push(result);
        if (result.violation !== null) failures.push(failureText(result));
      }
      expect(failures.join("\n")).toBe("");
    });
  }
  return results;
}
