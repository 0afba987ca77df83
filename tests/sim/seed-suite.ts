// The tests that the files with CI's seeds share. There are two such files, so that two workers share the seeds.
//
//   S1. A simulation that never meets a situation says nothing about it. So each file's seeds together must meet every
//       kind of fault, and get every answer that matters from the kernel.

import { FAULT_KINDS } from "@tessera/testkit/sim";
import { expect, it } from "vitest";
import type { SeedResult } from "./run-seed.ts";
import { runSeeds, seedsFrom } from "./run-seeds.ts";
import { failureText } from "./seed-report.ts";

const CHUNK = 50;
const CHUNK_TIMEOUT_MS = 600_000;

/** Situations that some seed must have met. */
const MUST_REACH = [
  "finish_plainly duplicate",
  "finish_plainly stale_epoch",
  "open_plainly already_claimed",
  "open_plainly already_settled",
  "renew_call_at cancel already_settled",
  "renew_worker worker_lapsed",
  "report_plainly duplicate",
  "report_plainly already_settled",
  "resume_plainly worker_lapsed",
  "stop_turn already_settled",
  "suspend_plainly statement",
  "suspend_plainly duplicate",
  "suspend_plainly stale_epoch",
] as const;

/** Tests that run the seeds in chunks, and one that looks at all of them. */
export function describeSeeds(first: number, count: number): void {
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

  it(`seeds ${first} to ${first + count - 1} meet every kind of fault and every situation that matters`, () => {
    expect(results).toHaveLength(count);
    const faults = new Set(results.flatMap((result) => Object.keys(result.faults)));
    expect(FAULT_KINDS.filter((kind) => !faults.has(kind))).toEqual([]);
    const reached = new Set(results.flatMap((result) => result.reached));
    expect(MUST_REACH.filter((point) => !reached.has(point))).toEqual([]);
  });
}
