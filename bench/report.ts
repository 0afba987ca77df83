// A run as text for a terminal.

import type { Results } from "./results.ts";
import { rounded } from "./statistics.ts";
import type { Judged } from "./targets.ts";

export function reportOf(results: Results): string {
  const figures = Object.entries(results.works).flatMap(([work, { figures }]) =>
    Object.entries(figures).map(([name, { median, min, max }]) => [
      work,
      name,
      text(median),
      results.repetitions > 1 ? `${text(min)} – ${text(max)}` : "",
    ]),
  );
  const targets = results.targets.map((target) => [
    verdictOf(target),
    target.row,
    target.says,
    target.value === null ? "" : text(target.value),
    target.against === null ? "" : `${text(target.against.value)} (${target.against.name})`,
    target.against === null || target.ratio === null ? "" : text(target.ratio),
  ]);
  const failures = Object.entries(results.failures).map(([work, reason]) => `${work} was not measured: ${reason}`);
  return [
    aligned(["work", "figure", "median", "range"], figures),
    aligned(["", "target", "", "figure", "against", "ratio"], targets),
    ...failures,
    ...(results.is_quick ? ["--quick: too short to judge by"] : []),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

export function verdictOf({ isMet }: Pick<Judged, "isMet">): "met" | "missed" | "not measured" {
  if (isMet === null) return "not measured";
  return isMet ? "met" : "missed";
}

function aligned(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** `12,345`, `1.23`. */
export function text(value: number): string {
  return rounded(value).toLocaleString("en-US", { maximumFractionDigits: 6 });
}
