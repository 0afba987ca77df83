// Runs in words: what a failing seed prints, and what many seeds come to.

import type { FaultKind } from "@tessera/testkit/sim";
import type { SeedResult } from "./run-seed.ts";

export function failureText(result: SeedResult, only: readonly FaultKind[] | null = null): string {
  const { seed, violation, cast, plan, faults, events, virtualMs, hash, lastEvents } = result;
  return [
    `seed ${seed} FAILED: ${violation}`,
    `  again: npm run sim -- --seed ${seed} --log${only === null ? "" : ` --only faults=${only.join(",")}`}`,
    `  cast: ${JSON.stringify(cast)}`,
    `  faults on: ${JSON.stringify(plan)}`,
    `  faults that happened: ${JSON.stringify(faults)}`,
    `  ${events} events, ${virtualMs} virtual ms, hash ${hash}`,
    "  last events:",
    ...lastEvents.map((line) => `    ${line}`),
  ].join("\n");
}

/** What many seeds come to; of a million of them no more is kept than of one. */
export class SeedTally {
  readonly faults = new Map<string, number>();
  seeds = 0;
  events = 0;
  turns = 0;
  calls = 0;
  violations = 0;

  add(result: SeedResult): void {
    this.seeds += 1;
    this.events += result.events;
    this.turns += result.turns;
    this.calls += result.calls;
    if (result.violation !== null) this.violations += 1;
    for (const [kind, count] of Object.entries(result.faults)) {
      this.faults.set(kind, (this.faults.get(kind) ?? 0) + count);
    }
  }

  text(realMs: number): string {
    const seconds = realMs / 1_000;
    const rate = (this.seeds / seconds).toFixed(2);
    const faults = [...this.faults].toSorted().map(([kind, count]) => `${kind} ${count}`);
    return [
      `${this.seeds} seeds in ${seconds.toFixed(1)} s (${rate} seeds/s), ${this.events} events, ${this.turns} turns, ${this.calls} calls`,
      `${this.violations} failed`,
      `faults: ${faults.join(", ")}`,
    ].join("\n");
  }
}
