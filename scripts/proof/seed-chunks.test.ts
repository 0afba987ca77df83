import { describe, expect, it } from "vitest";
import type { SimulationRecord } from "./record.ts";
import { chunksOf, unproven } from "./seed-chunks.ts";

const line = (from: number, to: number, violations = 0): SimulationRecord => ({
  run: "simulation",
  from,
  to,
  events: 1,
  turns: 1,
  calls: 1,
  faults: {},
  violations,
});

describe("a long run of the simulation", () => {
  it("leaves out what the lines hold, wherever it lies, and goes on in pieces without a gap", () => {
    const seeds = unproven([line(1, 3), line(6, 6)], 1, 10);
    expect(seeds).toEqual([4, 5, 7, 8, 9, 10]);
    expect(chunksOf(seeds, 3)).toEqual([[4, 5], [7, 8, 9], [10]]);
  });

  it("runs seeds again whose chunk broke a rule, and those of no other run count", () => {
    const planted = { run: "planted", bugs: {} } as const;
    expect(unproven([line(1, 2, 1), planted], 1, 3)).toEqual([1, 2, 3]);
  });

  it("has no chunk without seeds", () => {
    expect(() => chunksOf([1], 0)).toThrow("at least one");
    expect(chunksOf([], 5)).toEqual([]);
  });
});
