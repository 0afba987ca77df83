import { describe, expect, it } from "vitest";
import { PEER_WORKS } from "./peer-works.ts";
import { spreadsOf } from "./statistics.ts";
import { judge, PEER_TARGETS, TARGETS, type Target } from "./targets.ts";
import { WORKS } from "./works.ts";

const works = {
  ours: spreadsOf([{ c64_per_second: 100, c1_p50_ms: 2 }]),
  slow: spreadsOf([{ c64_per_second: 10, c1_p50_ms: 8 }]),
  fast: spreadsOf([{ c64_per_second: 40, c1_p50_ms: 3 }]),
};
const rate: Target = {
  row: "r",
  says: "s",
  figure: "ours c64_per_second",
  against: ["slow c64_per_second", "fast c64_per_second"],
  is: "at least",
  limit: 2.5,
};

describe("a target", () => {
  it("is held to the best of those it names: the highest rate, the lowest time", () => {
    expect(judge(rate, works)).toMatchObject({ against: { name: "fast c64_per_second" }, ratio: 2.5, isMet: true });
    expect(judge({ ...rate, limit: 2.6 }, works)).toMatchObject({ isMet: false });
    const time = { ...rate, figure: "ours c1_p50_ms", against: ["slow c1_p50_ms", "fast c1_p50_ms"] } as const;
    expect(judge({ ...time, is: "at most", limit: 1 }, works)).toMatchObject({ against: { value: 3 }, isMet: true });
  });

  it("without anything to compare with is held to its limit", () => {
    const { against: _, ...alone } = rate;
    expect(judge({ ...alone, limit: 100 }, works)).toMatchObject({ value: 100, against: null, isMet: true });
    expect(judge({ ...alone, limit: 101 }, works)).toMatchObject({ isMet: false });
  });

  it("whose figures were not all measured is neither met nor missed", () => {
    expect(judge({ ...rate, against: ["absent c64_per_second"] }, works)).toMatchObject({ ratio: null, isMet: null });
    expect(judge({ ...rate, figure: "ours nothing" }, works)).toMatchObject({ value: null, isMet: null });
  });

  it.each([
    [TARGETS, WORKS],
    [PEER_TARGETS, PEER_WORKS],
  ])("names works that exist", (targets, works) => {
    const names = targets.flatMap(({ figure, against = [] }) => [figure, ...against]).map((name) => name.split(" ")[0]);
    const known = works.map(({ name }) => name);
    expect(names.filter((name) => name === undefined || !known.includes(name))).toEqual([]);
  });
});
