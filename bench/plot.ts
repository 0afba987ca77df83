// Bars as SVG: one panel under another, one bar per contender, with a line from the smallest to the largest repetition.
// The scale is logarithmic, because contenders differ by factors.

import { text } from "./report.ts";
import type { Results } from "./results.ts";
import type { Spread } from "./statistics.ts";

interface Bar {
  readonly label: string;
  readonly value: Spread;
  readonly kind: "ours" | "floor" | "other";
}

export interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 760;
const LABEL_WIDTH = 220;
const VALUE_WIDTH = 110;
const BAR_HEIGHT = 18;
const ROW_HEIGHT = 26;
const TITLE_HEIGHT = 44;
const COLOURS = { ours: "#2a6f97", floor: "#8d99ae", other: "#c9ada7" } as const;

/** Every work that was measured with 64 at once, the fastest first. */
export function ratePanel(results: Results): Panel {
  const bars = Object.entries(results.works).flatMap(([name, { figures }]): Bar[] => {
    const value = figures.c64_per_second;
    return value === undefined ? [] : [{ label: name, value, kind: kindOf(results, name) }];
  });
  const title = results.suite === "peers" ? "Tessera and its peers" : "Tessera and its floors";
  return {
    title: `${title}: calls per second with 64 at once`,
    unit: "/s",
    bars: bars.toSorted((a, b) => b.value.median - a.value.median),
  };
}

export function plot(panels: readonly Panel[]): string {
  const heights = panels.map((panel) => TITLE_HEIGHT + panel.bars.length * ROW_HEIGHT);
  const height = heights.reduce((sum, each) => sum + each, 0) + 16;
  let top = 0;
  const drawn = panels.map((panel, n) => {
    const group = `<g transform="translate(0 ${top})">\n${drawPanel(panel)}\n</g>`;
    top += heights[n] ?? 0;
    return group;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13">`,
    `<title>${escaped(panels.map(({ title }) => title).join("; ") || "Nothing was measured yet")}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    ...drawn,
    "</svg>\n",
  ].join("\n");
}

function drawPanel({ title, unit, bars }: Panel): string {
  const scale = scaleOf(bars);
  const rows = bars.map(({ label, value, kind }, n) => {
    const y = TITLE_HEIGHT + n * ROW_HEIGHT;
    const middle = y + BAR_HEIGHT / 2;
    const end = scale(value.median);
    const from = Math.min(scale(value.min), end);
    return [
      `<text x="${LABEL_WIDTH - 8}" y="${middle + 4}" text-anchor="end">${escaped(label)}</text>`,
      `<rect x="${LABEL_WIDTH}" y="${y}" width="${end}" height="${BAR_HEIGHT}" fill="${COLOURS[kind]}"/>`,
      `<line x1="${LABEL_WIDTH + from}" x2="${LABEL_WIDTH + scale(value.max)}" y1="${middle}" y2="${middle}" stroke="#333333"/>`,
      `<text x="${LABEL_WIDTH + Math.max(end, scale(value.max)) + 6}" y="${middle + 4}">${text(value.median)} ${escaped(unit)}</text>`,
    ].join("\n");
  });
  return [`<text x="16" y="26" font-size="15" font-weight="bold">${escaped(title)}</text>`, ...rows].join("\n");
}

/** From half the smallest value to the largest one, by factors. */
function scaleOf(bars: readonly Bar[]): (value: number) => number {
  const low = Math.min(...bars.map((bar) => bar.value.min)) / 2;
  const high = Math.max(...bars.map((bar) => bar.value.max));
  const room = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
  return (value) => Math.round((Math.log(value / low) / Math.log(high / low)) * room * 10) / 10;
}

function kindOf(results: Results, name: string): Bar["kind"] {
  if (name.includes("floor")) return "floor";
  return results.suite === "peers" && name !== "durable-once" ? "other" : "ours";
}

function escaped(label: string): string {
  return label.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
