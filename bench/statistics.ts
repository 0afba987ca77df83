// What repetitions of one measurement amount to.
//
//   S1. The figure is the median; smallest and largest are reported beside it, because a machine is never quiet.
//   S2. A quantile is a value that was measured, not one computed between two.

/** What one program measured, by name; the unit is the last word of the name (`c64_per_second`, `c1_p50_ms`). */
export type Figures = Readonly<Record<string, number>>;

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly repetitions: number;
}

/** S2. Of values in ascending order; NaN where there are none. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(ascending(values), 0.5);
}

/** S1 */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = ascending(values);
  return {
    median: quantile(sorted, 0.5),
    min: quantile(sorted, 0),
    max: quantile(sorted, 1),
    repetitions: sorted.length,
  };
}

/** Every figure that at least one repetition has. */
export function spreadsOf(repetitions: readonly Figures[]): Readonly<Record<string, Spread>> {
  const names = [...new Set(repetitions.flatMap((figures) => Object.keys(figures)))];
  return Object.fromEntries(
    names.map((name) => [name, spreadOf(repetitions.flatMap((figures) => figures[name] ?? []))]),
  );
}

/** Three digits that count, and all of those before the point. */
export function rounded(value: number): number {
  if (value === 0 || !Number.isFinite(value)) return value;
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return Number(value.toFixed(Math.min(digits, 6)));
}

function ascending(values: readonly number[]): number[] {
  return values.toSorted((a, b) => a - b);
}
