// The one source of chance in a simulated run.
//
//   R1. The same seed gives the same numbers in the same order, so a run is a function of its seed and options.

import { seededRandom } from "../seeded-ids.ts";

export class SimRandom {
  readonly #seed: number;
  readonly #next: () => number;

  constructor(seed: number) {
    this.#seed = seed;
    this.#next = seededRandom(seed);
  }

  /** A source beside this one, for what came later: who draws from it changes nothing for those who draw from here. */
  beside(name: string): SimRandom {
    let mixed = this.#seed;
    for (const letter of name) mixed = (Math.imul(mixed, 31) + letter.charCodeAt(0)) >>> 0;
    return new SimRandom(mixed);
  }

  /** In [0, 1). */
  next(): number {
    return this.#next();
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.#next() * (to - from + 1));
  }

  /** A number in [from, to). */
  between(from: number, to: number): number {
    return from + this.#next() * (to - from);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.#next() * items.length)];
    if (item === undefined) throw new Error("cannot pick from an empty list");
    return item;
  }
}
