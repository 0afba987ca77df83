// Seeds enough to see whether they go everywhere: a simulation that never meets a situation says nothing
// about it.

import { FAULT_KINDS } from "@tessera/testkit/sim";
import { describe, expect, it } from "vitest";
import { describeSeeds } from "./seed-suite.ts";

/** Situations that some seed must have met. */
const MUST_REACH = [
  "finish_turn duplicate",
  "finish_turn stale_epoch",
  "open_call_at already_claimed",
  "open_call_at already_settled",
  "renew_call_at cancel already_settled",
  "renew_worker worker_lapsed",
  "report_at duplicate",
  "report_at already_settled",
  "resume worker_lapsed",
  "stop_turn already_settled",
  "suspend_on_calls statement",
  "suspend_on_calls duplicate",
  "suspend_on_calls stale_epoch",
] as const;

describe("the simulation", () => {
  const results = describeSeeds(1, 150);

  it("meets every kind of fault in some seed, and every situation that matters", () => {
    const faults = new Set(results.flatMap((result) => Object.keys(result.faults)));
    expect(FAULT_KINDS.filter((kind) => !faults.has(kind))).toEqual([]);
    const reached = new Set(results.flatMap((result) => result.reached));
    expect(MUST_REACH.filter((point) => !reached.has(point))).toEqual([]);
  });
});
