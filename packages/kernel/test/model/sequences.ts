// Runs sequences of commands and says how to repeat the one that failed.
//
//   Q1. TESSERA_MODEL_RUNS sets how many; TESSERA_SEED the seed, which is printed at the start and with a failure, together
//       with the path to the shrunk sequence. TESSERA_MODEL_PATH and TESSERA_MODEL_REPLAY (the replayPath that is printed
//       behind the commands) repeat only that one.
//   Q2. After each sequence the world heals: a living worker finishes what is left, and then every invariant must hold.

import { CALL_DEADLINE_MARGIN_MS } from "@tessera/protocol";
import type fc from "fast-check";
import { verifyStore } from "../../src/index.ts";
import type { Fixture } from "../fixture.ts";
import { runOperation } from "./commands.ts";
import { type Model, newModel } from "./model-state.ts";
import type { Operation } from "./operations.ts";
import { System } from "./system.ts";

const COMMANDS_MAX = 60;
const SEQUENCES_PER_STORE = 25;
/** The invariants cost as much as ten commands; those of a drained store, checked always, include the safety of all before. */
const LIVE_CHECK_EVERY = 5;
const TIMEOUT_MAX_MS = 600_000;

export interface Sequences {
  readonly fixture: Fixture;
  count: number;
  /** What a failed sequence left behind must not be found by the next one. */
  isDirty: boolean;
  /** How often each answer was given, over all sequences. */
  readonly reached: Map<string, number>;
}

export const newSequences = (fixture: Fixture): Sequences => ({ fixture, count: 0, isDirty: true, reached: new Map() });

export async function openSequence(sequences: Sequences): Promise<{ model: Model; real: System }> {
  const { fixture } = sequences;
  if (sequences.isDirty || sequences.count % SEQUENCES_PER_STORE === 0) await emptyStore(fixture);
  sequences.isDirty = true;
  sequences.count += 1;
  fixture.published.length = 0;
  const project = `m${sequences.count}`;
  const model = newModel(project, fixture.clock.databaseTime().getTime());
  const real = new System(fixture, project, sequences.reached);
  await real.open(model.places);
  return { model, real };
}

/** Q2 */
export async function healAndDrain(model: Model, real: System, sequences: Sequences): Promise<void> {
  const { fixture } = sequences;
  if (sequences.count % LIVE_CHECK_EVERY === 0) {
    const live = await verifyStore(fixture.store.database, { only: "safety" });
    if (live.violations.length > 0) throw new Error(`invariants do not hold: ${JSON.stringify(live.violations)}`);
  }
  const run = (op: Operation) => runOperation(model, real, op);
  const worker = `${model.project}_last`;
  for (const ms of [0, TIMEOUT_MAX_MS + CALL_DEADLINE_MARGIN_MS]) {
    await run({ kind: "advance", ms, beats: [] });
    await run({ kind: "sweep" });
    await run({ kind: "renewWorker", worker: `${worker}${ms}`, place: 0 });
    for (const agent of Object.values(model.agents)) await drainAgent(model, agent.id, `${worker}${ms}`, run);
  }
  const drained = await verifyStore(fixture.store.database, { drained: true });
  if (drained.violations.length > 0) throw new Error(`not drained: ${JSON.stringify(drained.violations)}`);
  sequences.isDirty = false;
}

async function drainAgent(model: Model, id: string, worker: string, run: (op: Operation) => Promise<void>) {
  for (;;) {
    const agent = model.agents[id];
    if (agent === undefined || agent.turn === null) return;
    const before = agent.epoch;
    if (agent.status !== "running") await run({ kind: "resume", agent: id, worker, reclaim: false });
    const { turn, epoch, status } = agent;
    if (status === "running" && turn !== null)
      await run({ kind: "finish", agent: id, turn, epoch, status: "success", deliverable: `${turn}_last` });
    else if (epoch === before) return;
  }
}

async function emptyStore(fixture: Fixture): Promise<void> {
  const tables = await fixture.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('card', 'resource', 'state')`,
  );
  // Cards refuse to be truncated by a trigger; only here it is kept from firing.
  await fixture.store.database.transaction(async (tx) => {
    await tx.query("set local session_replication_role = replica");
    await tx.query(`truncate ${tables.map(({ name }) => name).join(", ")} cascade`);
  });
}

const replayPath = process.env.TESSERA_MODEL_REPLAY;
export const sequenceSize = {
  maxCommands: COMMANDS_MAX,
  size: "max" as const,
  ...(replayPath === undefined ? {} : { replayPath }),
};

/** Q1 */
export function runParameters<T>(seed: number, defaultRuns: number): fc.Parameters<T> {
  const runs = Number(process.env.TESSERA_MODEL_RUNS ?? defaultRuns);
  const path = process.env.TESSERA_MODEL_PATH;
  return { seed: seed | 0, numRuns: runs, endOnFailure: false, ...(path === undefined ? {} : { path }) };
}
