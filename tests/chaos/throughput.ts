// What kills cost: the same closed loop left alone, and with one worker killed every five seconds and replaced at once.
//
//   T1. Both are measured in one run, by turns and twice, because the machine's own mood changes.
//   T2. Between the two the store settles: what a kill left behind belongs to the kills.
//   T3. The run is judged like any other, and by what is promised: at least half of the turns with kills. One that fails has
//       its record, too.
//   T4. What is counted and the time it is divided by end at the same moment.

import { setTimeout as delay } from "node:timers/promises";
import type { ThroughputRecord } from "../../scripts/proof/record.ts";
import { type ChaosWorld, inWorld, LEASE_MS, WORKERS, type WorldOptions } from "./chaos-world.ts";
import { conclude } from "./verdict.ts";
import { Workload } from "./workload.ts";

export interface ThroughputResult {
  readonly record: ThroughputRecord;
  readonly violations: readonly string[];
  readonly directory: string | null;
}

const SLOTS = 16;
const ROUNDS = 2; // T1
const KILL_EVERY_MS = 5_000;
const WARM_UP_MS = 5_000;
const SETTLE_MS = LEASE_MS + 2_000;
/** What is promised: this share of the turns per second of the run that is left alone. */
const KEPT_MIN = 0.5;

/** `seconds` of each. */
export async function runThroughput(options: WorldOptions & { readonly seconds: number }): Promise<ThroughputResult> {
  return await inWorld(options, (world) => measureIn(world, options));
}

async function measureIn(
  world: ChaosWorld,
  { seed, seconds }: { readonly seed: number; readonly seconds: number },
): Promise<ThroughputResult> {
  const workload = new Workload(world, seed);
  workload.start(SLOTS);
  const calm = new Meter(world);
  const killed = new Meter(world);
  const rounds = { ms: (seconds * 1_000) / ROUNDS, kills: 0 };
  const failed = await alternate(world, rounds, calm, killed).then(
    () => tooLittleKept(calm.perSecond, killed.perSecond),
    String,
  );
  const violations = [...(failed === null ? [] : [failed]), ...(await conclude(world, workload))]; // T3
  const record: ThroughputRecord = {
    run: "throughput",
    seconds: Math.round(killed.seconds),
    kills: rounds.kills,
    calm_per_second: calm.perSecond,
    killed_per_second: killed.perSecond,
    violations: violations.length,
  };
  return { record, violations, directory: violations.length === 0 ? null : world.keep() };
}

async function alternate(
  world: ChaosWorld,
  rounds: { readonly ms: number; kills: number },
  calm: Meter,
  killed: Meter,
): Promise<void> {
  await delay(WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round++) {
    await calm.during(() => delay(rounds.ms));
    const replacing = await killed.during(() => killFor(world, rounds));
    await Promise.all(replacing);
    await delay(SETTLE_MS); // T2
  }
}

/** Null: as much as is promised. */
export function tooLittleKept(calmPerSecond: number, killedPerSecond: number): string | null {
  if (calmPerSecond > 0 && killedPerSecond >= KEPT_MIN * calmPerSecond) return null;
  return `${killedPerSecond} turns/s with kills are less than ${KEPT_MIN} of ${calmPerSecond} turns/s without`;
}

/** Turns that ended meanwhile, children included. */
class Meter {
  readonly #world: ChaosWorld;
  #ended = 0;
  #ms = 0;

  constructor(world: ChaosWorld) {
    this.#world = world;
  }

  get seconds(): number {
    return this.#ms / 1_000;
  }

  get perSecond(): number {
    return this.#ms === 0 ? 0 : Math.round((this.#ended / this.seconds) * 100) / 100;
  }

  /** T4 */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const [before, beganMs] = [await this.#count(), performance.now()];
    const answer = await work();
    this.#ended += (await this.#count()) - before;
    this.#ms += performance.now() - beganMs;
    return answer;
  }

  async #count(): Promise<number> {
    const [row] = await this.#world.database.query<{ ended: number }>(
      "select count(*)::int as ended from state.agent_turns where ended_at is not null",
    );
    return row?.ended ?? 0;
  }
}

/** Resolves when the time is over; what it answers resolves when all who were killed are replaced. */
async function killFor(
  world: ChaosWorld,
  rounds: { readonly ms: number; kills: number },
): Promise<readonly Promise<void>[]> {
  const untilMs = performance.now() + rounds.ms;
  const replacing = new Map<string, Promise<void>>();
  for (let next = performance.now(); next < untilMs; next += KILL_EVERY_MS) {
    await delay(Math.max(0, next - performance.now()));
    const victim = WORKERS[rounds.kills % WORKERS.length] ?? WORKERS[0];
    await replacing.get(victim);
    await world.kill(victim);
    rounds.kills++;
    const replaced = world.replace(victim);
    replaced.catch(() => undefined); // it is awaited later
    replacing.set(victim, replaced);
  }
  await delay(Math.max(0, untilMs - performance.now()));
  return [...replacing.values()];
}
