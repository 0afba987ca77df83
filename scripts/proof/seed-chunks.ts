// Which seeds of the simulation a long run still has to make, and in which pieces.
//
//   K1. A chunk is seeds without a gap, because a line of the proof says `from` and `to`.
//   K2. A chunk that broke a rule proves nothing: its seeds are run again.

import type { ProofRecord } from "./record.ts";

/** Of `count` seeds from `from` on those that no line holds. */
export function unproven(records: readonly ProofRecord[], from: number, count: number): number[] {
  const proven = records.filter((record) => record.run === "simulation" && record.violations === 0); // K2
  const isProven = (seed: number) =>
    proven.some((record) => record.run === "simulation" && record.from <= seed && seed <= record.to);
  return Array.from({ length: count }, (_, n) => from + n).filter((seed) => !isProven(seed));
}

/** K1 */
export function chunksOf(seeds: readonly number[], size: number): number[][] {
  if (size < 1) throw new Error("a chunk is at least one seed");
  const chunks: number[][] = [];
  for (const seed of seeds) {
    const last = chunks.at(-1);
    if (last !== undefined && last.length < size && last.at(-1) === seed - 1) last.push(seed);
    else chunks.push([seed]);
  }
  return chunks;
}
