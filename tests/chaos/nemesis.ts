// Who does the faults: one after another, drawn from the seed.
//
//   N1. The kinds are a deck that is shuffled and dealt out whole before it is shuffled again, so that a run meets every kind
//       before most of them come again. What the measures need comes first and more often.
//   N2. A fault counts when it has happened; one that did not ends the run (fault.ts).

import { setTimeout as delay } from "node:timers/promises";
import { seededRandom } from "@tessera/testkit/seeded-ids";
import type { ChaosWorld } from "./chaos-world.ts";
import type { Fault } from "./fault.ts";
import { LINK_FAULTS } from "./link-faults.ts";
import type { Measures } from "./measures.ts";
import { PROCESS_FAULTS } from "./process-faults.ts";
import { SERVER_FAULTS } from "./server-faults.ts";

const FAULTS: readonly Fault[] = [...PROCESS_FAULTS, ...SERVER_FAULTS, ...LINK_FAULTS];
const MEASURED = FAULTS.filter(({ kind }) => ["kill.worker", "broker.restart", "broker.wipe"].includes(kind));
const REST_MS = { min: 300, max: 2_000 };

export interface Struck {
  readonly kind: string;
  readonly hit: string;
  readonly atMs: number;
  readonly tookMs: number;
}

export interface NemesisOptions {
  readonly world: ChaosWorld;
  readonly measures: Measures;
  readonly seed: number;
  readonly untilMs: number;
  /** The time is not over before so many faults have happened. */
  readonly faultsMin: number;
  readonly onStruck: (struck: Struck) => void;
}

/** Resolves when the time is over and the last fault is healed. */
export async function rage(options: NemesisOptions): Promise<void> {
  const { world, measures, seed, untilMs, faultsMin, onStruck } = options;
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => {
    const picked = from[Math.floor(random() * from.length)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  };
  const beganMs = performance.now();
  let count = 0;
  for (const fault of deal(random)) {
    await delay(REST_MS.min + random() * (REST_MS.max - REST_MS.min));
    const atMs = performance.now();
    if (atMs >= untilMs && count >= faultsMin) return;
    const hit = await fault.strike({ world, measures, pick }).catch((error: unknown) => {
      const text = error instanceof Error ? error.message : String(error);
      throw new Error(`${fault.kind}: ${text}`, { cause: error }); // N2
    });
    count += 1;
    onStruck({ kind: fault.kind, hit, atMs: atMs - beganMs, tookMs: performance.now() - atMs });
  }
}

/** N1 */
function* deal(random: () => number): Generator<Fault> {
  yield* shuffled(MEASURED, random);
  for (;;) yield* shuffled([...FAULTS, ...MEASURED], random);
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
