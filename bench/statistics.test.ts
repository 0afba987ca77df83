import { describe, expect, it } from "vitest";
import { median, quantile, rounded, spreadOf, spreadsOf } from "./statistics.ts";

describe("what repetitions amount to", () => {
  it("is a value that was measured, with the smallest and the largest beside it", () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3, repetitions: 3 });
    expect(median([4, 1, 3, 2])).toBe(3);
    expect(quantile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.99)).toBe(10);
    expect(quantile([], 0.5)).toBeNaN();
  });

  it("counts only the repetitions that have the figure", () => {
    const spreads = spreadsOf([{ a_ms: 1 }, { a_ms: 3, b_ms: 7 }]);
    expect(spreads).toMatchObject({ a_ms: { median: 3, repetitions: 2 }, b_ms: { median: 7, repetitions: 1 } });
  });
});

describe("a rounded figure", () => {
  it("keeps three digits that count and every digit before the point", () => {
    expect([0, 0.0012345, 0.12345, 12.345, 123.45, 12_345.6].map(rounded)).toEqual([
      0, 0.00123, 0.123, 12.3, 123, 12_346,
    ]);
  });
});
