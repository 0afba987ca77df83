// Which faults a seed meets, and how often. Drawn from the seed; each kind is on in some seeds and off in others, because
// faults that are always on hide those that need calm (swarm testing).
//
//   F1. Every fault that happens is counted by its kind. One that may turn out to have had nothing to hit (a broker is wiped
//       that was empty) is drawn first and counted by who knows.
//   F2. After `heal` none happens any more.
//   F3. A kind that was added later is drawn beside the others, also on each occasion: seeds that do not meet it run as they
//       did, and those that do differ only by what the fault does.

import type { SimRandom } from "./random.ts";

export const FAULT_KINDS = [
  "bus.drop",
  "bus.duplicate",
  "bus.delay",
  "bus.reorder",
  "bus.publish_error",
  "bus.partition",
  "bus.wipe",
  "store.lost_before",
  "store.lost_after",
  "store.retryable",
  "store.exhausted",
  "store.slow",
  "store.down",
  "process.kill",
  "process.pause",
  "process.stop",
  "clock.skew",
  "model.malformed",
  "model.repeated_ids",
  "model.many_calls",
  "model.empty",
  "model.error",
  "model.never_ends",
  "tool.error",
  "tool.slow",
  "store.lost_tail",
  "store.locked_head",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** From, to: the chance per occasion (a message, a statement, an event, an answer, a run) is drawn from this range. */
const CHANCES: Readonly<Record<FaultKind, readonly [number, number]>> = {
  "bus.drop": [0.05, 0.6],
  "bus.duplicate": [0.05, 0.4],
  "bus.delay": [0.05, 0.3],
  "bus.reorder": [0.2, 0.8],
  "bus.publish_error": [0.05, 0.3],
  "bus.partition": [0.3, 1],
  "bus.wipe": [0.3, 1],
  "store.lost_before": [0.005, 0.05],
  "store.lost_after": [0.005, 0.08],
  "store.retryable": [0.01, 0.1],
  "store.exhausted": [0.002, 0.02],
  "store.slow": [0.01, 0.08],
  "store.down": [0.3, 1],
  "process.kill": [0.002, 0.02],
  "process.pause": [0.003, 0.02],
  "process.stop": [0.3, 1],
  "clock.skew": [0.3, 1],
  "model.malformed": [0.05, 0.3],
  "model.repeated_ids": [0.05, 0.4],
  "model.many_calls": [0.02, 0.05],
  "model.empty": [0.05, 0.3],
  "model.error": [0.05, 0.2],
  "model.never_ends": [0.02, 0.1],
  "tool.error": [0.05, 0.3],
  "tool.slow": [0.05, 0.3],
  "store.lost_tail": [0.1, 0.3],
  "store.locked_head": [0.5, 0.95],
};
const ON_CHANCE = 0.4;
/** F3, with the chance that it is on. A store that loses commits takes away what other checks look at, so few seeds do. */
const ADDED_LATER: ReadonlyMap<FaultKind, number> = new Map([
  ["store.lost_tail", 0.09],
  ["store.locked_head", 0.8],
]);

export class FaultPlan {
  readonly chances: ReadonlyMap<FaultKind, number>;
  readonly #sources: ReadonlyMap<FaultKind, SimRandom>;
  readonly #counts = new Map<FaultKind, number>();
  #isHealed = false;

  /** `only`: these kinds and no others are on. */
  constructor(random: SimRandom, only: readonly FaultKind[] | null) {
    const chances = new Map<FaultKind, number>();
    const sources = new Map<FaultKind, SimRandom>();
    for (const kind of FAULT_KINDS) {
      const [from, to] = CHANCES[kind];
      // Both numbers are always drawn, so that narrowing the kinds leaves the others' chances as they were.
      const source = ADDED_LATER.has(kind) ? random.beside(kind) : random; // F3
      sources.set(kind, source);
      const isDrawn = source.chance(ADDED_LATER.get(kind) ?? ON_CHANCE);
      const chance = source.between(from, to);
      if (only === null ? isDrawn : only.includes(kind)) chances.set(kind, chance);
    }
    this.chances = chances;
    this.#sources = sources;
  }

  get counts(): ReadonlyMap<FaultKind, number> {
    return this.#counts;
  }

  get isHealed(): boolean {
    return this.#isHealed;
  }

  isOn(kind: FaultKind): boolean {
    return !this.#isHealed && this.chances.has(kind);
  }

  /** Whether the fault happens on this occasion. */
  hits(kind: FaultKind): boolean {
    const isDrawn = this.draws(kind);
    if (isDrawn) this.happened(kind);
    return isDrawn;
  }

  /** Whether the fault is tried on this occasion; who tries it says whether it `happened`. */
  draws(kind: FaultKind): boolean {
    const chance = this.chances.get(kind);
    return chance !== undefined && !this.#isHealed && this.#sources.get(kind)?.chance(chance) === true;
  }

  /** F1 */
  happened(kind: FaultKind): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  /** F2 */
  heal(): void {
    this.#isHealed = true;
  }
}
