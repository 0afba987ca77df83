// Many seeds, one after the other.
//
//   M1. A PGlite in memory only grows, so now and then it is opened anew.

import { runSeed, type SeedOptions, type SeedResult } from "./run-seed.ts";
import { openSimStore } from "./store.ts";

const SEEDS_PER_STORE = 150;

export async function* runSeeds(seeds: Iterable<number>, options: SeedOptions = {}): AsyncGenerator<SeedResult> {
  let store = await openSimStore();
  let ran = 0;
  try {
    for (const seed of seeds) {
      if (++ran % SEEDS_PER_STORE === 0) {
        await store.close();
        store = await openSimStore(); // M1
      }
      yield await runSeed(store, seed, options);
    }
  } finally {
    await store.close();
  }
}

/** `first`, … so many of them. */
export function* seedsFrom(first: number, count: number): Generator<number> {
  for (let seed = first; seed < first + count; seed++) yield seed;
}
