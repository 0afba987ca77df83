// Whether a planted bug is found, and after how many seeds.
//
//   H1. A seed finds a bug if it breaks a rule with it and none without it. One that fails either way is an error: it says
//       something about the product, and nothing about the bug.

import { type PlantedBug, plant } from "./planted-bugs.ts";
import { runSeed } from "./run-seed.ts";
import type { SimStore } from "./store.ts";

export interface Hunt {
  readonly bug: string;
  /** The seed that found it; null: it survived all of them. */
  readonly seed: number | null;
  /** How many seeds were run. */
  readonly seeds: number;
  readonly violation: string | null;
}

export async function huntBug(store: SimStore, bug: PlantedBug, seeds: Iterable<number>): Promise<Hunt> {
  const hunt = await firstViolation(store, bug, seeds);
  if (hunt.seed === null) return hunt;
  const { violation } = await runSeed(store, hunt.seed); // H1
  if (violation !== null) throw new Error(`seed ${hunt.seed} fails without ${bug.name}, too: ${violation}`);
  return hunt;
}

async function firstViolation(store: SimStore, bug: PlantedBug, seeds: Iterable<number>): Promise<Hunt> {
  let ran = 0;
  await store.reset();
  const remove = await plant(store.database, bug);
  try {
    for (const seed of seeds) {
      ran += 1;
      const { violation } = await runSeed(store, seed, { bug });
      if (violation !== null) return { bug: bug.name, seed, seeds: ran, violation };
    }
    return { bug: bug.name, seed: null, seeds: ran, violation: null };
  } finally {
    await store.reset();
    await remove();
  }
}
