// What kills cost: the same closed loop left alone, and with one worker killed every five seconds and replaced at once.
//
//   T1. Both are measured in one run, by turns and twice, because the machine's own mood changes.
//   T2. Between the two the store settles: what a kill left behind belongs to the kills.
//   T3. The run is judged like any other.

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
  const roundMs = (seconds * 1_000) / ROUNDS;
  const ended = { calm: 0, killed: 0 };
  let kills = 0;
  await delay(WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round++) {
    ended.calm += await endedWithin(world, () => delay(roundMs));
    ended.killed += await endedWithin(world, async () => {
      kills += await killFor(world, roundMs, kills);
    });
    await delay(SETTLE_MS); // T2
  }
  const violations = await conclude(world, workload); // T3
  const perSecond = (count: number) => Math.round((count / seconds) * 100) / 100;
  const record: ThroughputRecord = {
    run: "throughput",
    seconds,
    kills,
    calm_per_second: perSecond(ended.calm),
    killed_per_second: perSecond(ended.killed),
  };
  return { record, violations, directory: violations.length === 0 ? null : world.keep() };
}

/** Turns that ended meanwhile, children included. */
async function endedWithin(world: ChaosWorld, work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    const [row] = await world.database.query<{ ended: number }>(
      "select count(*)::int as ended from state.agent_turns where ended_at is not null",
    );
    return row?.ended ?? 0;
  };
  const before = await count();
  await work();
  return (await count()) - before;
}

/** Answers how many were killed; resolves when all are replaced. */
async function killFor(world: ChaosWorld, ms: number, killedBefore: number): Promise<number> {
  const untilMs = performance.now() + ms;
  const replacing: Promise<void>[] = [];
  for (let next = performance.now(); next < untilMs; next += KILL_EVERY_MS) {
    await delay(Math.max(0, next - performance.now()));
    const victim = WORKERS[(killedBefore + replacing.length) % WORKERS.length] ?? WORKERS[0];
    await world.kill(victim);
    replacing.push(world.replace(victim));
  }
  await delay(Math.max(0, untilMs - performance.now()));
  await Promise.all(replacing);
  return replacing.length;
}
