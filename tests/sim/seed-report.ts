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

export function summaryText(results: readonly SeedResult[], realMs: number): string {
  const sum = (of: (result: SeedResult) => number) => results.reduce((total, result) => total + of(result), 0);
  const faults = new Map<string, number>();
  for (const { faults: counts } of results) {
    for (const [kind, count] of Object.entries(counts)) faults.set(kind, (faults.get(kind) ?? 0) + count);
  }
  const seconds = realMs / 1_000;
  return [
    `${results.length} seeds in ${seconds.toFixed(1)} s (${(results.length / seconds).toFixed(2)} seeds/s), ${sum(({ events }) => events)} events, ${sum(({ turns }) => turns)} turns`,
    `${results.filter(({ violation }) => violation !== null).length} failed`,
    `faults: ${[...faults]
      .toSorted()
      .map(([kind, count]) => `${kind} ${count}`)
      .join(", ")}`,
  ].join("\n");
}
