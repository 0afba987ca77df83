// Whether a planted bug is found, and after how many seeds.

import { type PlantedBug, plant } from "./planted-bugs.ts";
import { runSeed } from "./run-seed.ts";
import type { SimStore } from "./store.ts";

export interface Hunt {
  readonly bug: string;
  /** How many seeds it took; null: it survived all of them. */
  readonly seeds: number | null;
  readonly violation: string | null;
}

export async function huntBug(store: SimStore, bug: PlantedBug, seedsMax: number): Promise<Hunt> {
  const first = bug.firstSeed ?? 1;
  await store.reset();
  const remove = await plant(store.database, bug);
  try {
    for (let seed = first; seed < first + seedsMax; seed++) {
      const { violation } = await runSeed(store, seed, { bug });
      if (violation !== null) return { bug: bug.name, seeds: seed - first + 1, violation };
    }
    return { bug: bug.name, seeds: null, violation: null };
  } finally {
    await store.reset();
    await remove();
  }
}
