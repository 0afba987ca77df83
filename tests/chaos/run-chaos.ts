// One chaos run: load and faults for so long, then healing, then the verdict.
//
//   R1. Safety is checked during the run, too, with the faults on: a violation must not heal before it is seen.
//   R2. Whatever fails once faults may happen is a violation of the run, and the run has its record. The time it tells is the time
//       that passed.

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { verifyStore } from "@tessera/kernel";
import type { ChaosRecord } from "../../scripts/proof/record.ts";
import { type ChaosWorld, inWorld, type WorldOptions } from "./chaos-world.ts";
import { Measures } from "./measures.ts";
import { rage, type Struck } from "./nemesis.ts";
import { conclude } from "./verdict.ts";
import { Workload } from "./workload.ts";

export interface ChaosOptions extends WorldOptions {
  readonly seconds: number;
  /** Longer, until so many faults have happened. */
  readonly faultsMin?: number;
  readonly onProgress?: (progress: ChaosProgress) => void;
}

export interface ChaosProgress {
  readonly elapsedMs: number;
  readonly accepted: number;
  readonly ended: number;
  readonly faults: Readonly<Record<string, number>>;
}

export interface ChaosResult {
  readonly record: ChaosRecord;
  /** None: a clean run. */
  readonly violations: readonly string[];
  readonly struck: readonly Struck[];
  /** Kept after a violation. */
  readonly directory: string | null;
}

const SLOTS = 16;
const SAFETY_EVERY_MS = 5_000;
const PROGRESS_MS = 500;

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  return await inWorld(options, (world) => chaosIn(world, options));
}

async function chaosIn(world: ChaosWorld, options: ChaosOptions): Promise<ChaosResult> {
  const { seed, seconds } = options;
  const workload = new Workload(world, seed);
  const measures = new Measures(world.database, () => workload.nudge());
  const violations: string[] = [];
  const struck: Struck[] = [];
  const over = new AbortController();
  const beganMs = performance.now();
  workload.start(SLOTS);
  const watching = [
    repeat(SAFETY_EVERY_MS, over.signal, async () => void violations.push(...(await unsafe(world)))),
    repeat(PROGRESS_MS, over.signal, async () => {
      const faults = countKinds(struck);
      const { accepted, endedAtMs } = workload;
      const elapsedMs = performance.now() - beganMs;
      options.onProgress?.({ elapsedMs, accepted: accepted.size, ended: endedAtMs.size, faults });
    }),
  ];
  const onStruck = (fault: Struck) => {
    struck.push(fault);
    appendFileSync(join(world.directory, "logs/faults.jsonl"), `${JSON.stringify(fault)}\n`);
    violations.push(...world.ended());
  };
  const untilMs = beganMs + seconds * 1_000;
  const fail = (error: unknown) => {
    violations.push(error instanceof Error ? error.message : String(error)); // R2
  };
  await rage({ world, measures, seed, untilMs, faultsMin: options.faultsMin ?? 0, onStruck }).catch(fail);
  const ragedMs = performance.now() - beganMs;
  violations.push(...measures.late());
  violations.push(...(await conclude(world, workload).catch((error: unknown) => [String(error)])));
  over.abort();
  await Promise.all(watching).catch(fail);
  const [counts] = await world.database
    .query<{ turns: number; calls: number }>(
      "select (select count(*) from state.agent_turns)::int as turns, (select count(*) from state.calls)::int as calls",
    )
    .catch((error: unknown) => {
      fail(error);
      return [];
    });
  const all = [...new Set(violations)];
  const record: ChaosRecord = {
    run: "chaos",
    seed,
    seconds: Math.round(ragedMs / 1_000),
    turns: counts?.turns ?? 0,
    calls: counts?.calls ?? 0,
    faults: countKinds(struck),
    violations: all.length,
    recovery: { broker_return: measures.recovery("broker_return"), worker_kill: measures.recovery("worker_kill") },
    left_out: measures.leftOut,
  };
  return { record, violations: all, struck, directory: all.length === 0 ? null : world.keep() };
}

/** R1 */
async function unsafe(world: ChaosWorld): Promise<readonly string[]> {
  const report = await verifyStore(world.database, { only: "safety" }).catch(() => null); // the database may be away
  return (
    report?.violations.map(({ invariant, rows }) => `${invariant} during the run: ${JSON.stringify(rows[0])}`) ?? []
  );
}

function countKinds(struck: readonly Struck[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of struck) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

async function repeat(everyMs: number, signal: AbortSignal, task: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await task();
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
  }
}
