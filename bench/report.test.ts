import { describe, expect, it } from "vitest";
import { plot, ratePanel } from "./plot.ts";
import { reportOf, text, verdictOf } from "./report.ts";
import type { Results } from "./results.ts";
import { spreadsOf } from "./statistics.ts";
import { judge } from "./targets.ts";

const figures = {
  floor: spreadsOf([{ c64_per_second: 4_000 }, { c64_per_second: 5_000 }, { c64_per_second: 6_000 }]),
  "durable-once": spreadsOf([{ c64_per_second: 1_000 }, { c64_per_second: 2_000 }, { c64_per_second: 3_000 }]),
  dispatch: spreadsOf([{ p50_us: 4.5 }]),
};
const results: Results = {
  suite: "bench",
  date: "2026-01-02",
  machine: { cores: 2, cpu: "a CPU", memory_gib: 8, load_at_start: 0.1, versions: {} },
  seconds: 6,
  repetitions: 3,
  is_quick: false,
  works: Object.fromEntries(Object.entries(figures).map(([name, each]) => [name, { what: name, figures: each }])),
  failures: { growth: "no room" },
  targets: [
    judge(
      {
        row: "durable call",
        says: "≥ 0.5 × the floor",
        figure: "durable-once c64_per_second",
        against: ["floor c64_per_second"],
        is: "at least",
        limit: 0.5,
      },
      figures,
    ),
  ],
};

describe("the report", () => {
  it("has a line for each figure and each target, and says what was not measured", () => {
    const report = reportOf(results);
    expect(report).toMatch(/^durable-once +c64_per_second +2,000 +1,000 – 3,000$/m);
    expect(report).toMatch(/^missed +durable call +≥ 0.5 × the floor +2,000 +5,000 \(floor c64_per_second\) +0.4$/m);
    expect(report).toContain("growth was not measured: no room");
  });

  it("has three verdicts", () => {
    expect([true, false, null].map((isMet) => verdictOf({ isMet }))).toEqual(["met", "missed", "not measured"]);
    expect(text(1_234.5)).toBe("1,235");
  });
});

describe("the plot", () => {
  it("has a bar for each work that was measured with 64 at once, the fastest first", () => {
    const { bars } = ratePanel(results);
    expect(bars.map(({ label, kind }) => [label, kind])).toEqual([
      ["floor", "floor"],
      ["durable-once", "ours"],
    ]);
  });

  it("draws longer bars for higher rates, and text that cannot end an element", () => {
    const panel = ratePanel(results);
    const svg = plot([{ ...panel, title: "a < b & c" }]);
    const widths = [...svg.matchAll(/width="([\d.]+)" height="18"/g)].map((match) => Number(match[1]));
    expect(widths).toHaveLength(2);
    expect(widths[0]).toBeGreaterThan(widths[1] ?? Number.NaN);
    expect(svg).toContain("a &lt; b &amp; c");
    expect(svg.startsWith("<svg ") && svg.endsWith("</svg>\n")).toBe(true);
  });
});
