// Runs sequences of commands and says how to repeat the one that failed.
//
//   Q1. TESSERA_MODEL_RUNS sets how many; TESSERA_SEED the seed, which is printed at the start and with a failure, together
//       with the path to the shrunk sequence. TESSERA_MODEL_PATH and TESSERA_MODEL_REPLAY (the replayPath that is printed
//       behind the commands) repeat only that one.
//   Q2. After each sequence the world heals: a living worker finishes what is left, and model and kernel must still agree.
//   Q3. The invariants read a whole store, and cost as much as a sequence. So they are asked once for the SEQUENCES_PER_STORE
//       sequences that share a store, whose rows stay there until then, and of one sequence in as many while it is under way.
//   Q4. Once something was wrong, everything is looked at after every command and every sequence: what shrinks is reported where
//       it happened. A violation that was found too late to say whose it was is searched for again in that way.

import { CALL_DEADLINE_MARGIN_MS } from "@tessera/protocol";
import fc from "fast-check";
import { verifyStore } from "../../src/index.ts";
import type { Fixture } from "../fixture.ts";
import { look, runOperation, runTogether } from "./commands.ts";
import { isOpen } from "./model-batches.ts";
import { BATCH_ENDS, type Model, newModel } from "./model-state.ts";
import type { Operation } from "./operations.ts";
import { openProjects, System } from "./system.ts";

const COMMANDS_MAX = 60;
const SEQUENCES_PER_STORE = 25;
/** Q3: the place among those of a store of the one whose invariants are asked while it is under way. */
const LIVE_CHECK_AT = 9;
/** Commands between two looks at the rows; what they said was compared each time. */
const LOOK_EVERY = 6;
/** One project in so many is deleted at its end; the rows of the others are there for the invariants. */
const DELETE_EVERY = 6;
const TIMEOUT_MAX_MS = 600_000;

export class Sequences {
  readonly fixture: Fixture;
  /** How often each answer was given, over all sequences. */
  readonly reached = new Map<string, number>();
  count = 0;
  commands = 0;
  /** Q4 */
  isThorough: boolean;
  /** What a failed sequence left behind must not be found by the next one. */
  #isDirty = false;
  #unchecked = 0;
  #projects: string[] = [];

  /** A sequence that is repeated is looked at closely: its path is followed by others of the same kind. */
  constructor(fixture: Fixture, isThorough = process.env.TESSERA_MODEL_PATH !== undefined) {
    this.fixture = fixture;
    this.isThorough = isThorough;
  }

  async open(): Promise<{ model: Model; real: System }> {
    const { fixture } = this;
    if (this.#isDirty) this.isThorough = true;
    if (this.#isDirty || this.#projects.length === 0) await this.#newStore();
    this.#isDirty = true;
    this.count += 1;
    fixture.published.length = 0;
    const project = this.#projects.shift() ?? "";
    const model = newModel(project, fixture.clock.databaseTime().getTime());
    const real = new System(fixture, project, this.reached);
    real.lookEvery = this.isThorough ? 1 : LOOK_EVERY;
    await real.open(model.places);
    return { model, real };
  }

  async #newStore(): Promise<void> {
    await emptyStore(this.fixture);
    this.#unchecked = 0;
    // While something shrinks, each sequence gets a store of its own.
    const size = this.#isDirty ? 1 : SEQUENCES_PER_STORE;
    this.#projects = Array.from({ length: size }, (_, n) => `m${this.count + n + 1}`);
    await openProjects(this.fixture.kernel, this.#projects);
  }

  /** Q2, Q3 */
  async close(model: Model, real: System): Promise<void> {
    await look(model, real);
    if (this.isThorough || this.#unchecked === LIVE_CHECK_AT) await this.#expectInvariants({ only: "safety" });
    await heal(model, real);
    await look(model, real);
    if (this.count % DELETE_EVERY === 0) await runOperation(model, real, { kind: "deleteProject" });
    await look(model, real);
    this.commands += real.trace.length;
    this.#unchecked += 1;
    if (this.isThorough || this.#unchecked === SEQUENCES_PER_STORE) await this.checkStore();
    this.#isDirty = false;
  }

  /** Everything of this store has ended, and nothing of it may be wrong or left over. */
  async checkStore(): Promise<void> {
    if (this.#unchecked > 0) await this.#expectInvariants({ drained: true });
    this.#unchecked = 0;
  }

  async #expectInvariants(options: { only?: "safety"; drained?: boolean }): Promise<void> {
    const { violations } = await verifyStore(this.fixture.store.database, options);
    if (violations.length === 0) return;
    // Also where no sequence is under way: a repeated search must not begin with these rows.
    this.#isDirty = true;
    throw new Violated(JSON.stringify(violations), this.#unchecked > 1);
  }
}

class Violated extends Error {
  /** Another sequence of the same store may have done it. */
  readonly isLate: boolean;
  constructor(what: string, isLate: boolean) {
    super(`invariants do not hold: ${what}`);
    this.isLate = isLate;
  }
}

async function heal(model: Model, real: System): Promise<void> {
  const worker = `${model.project}_last`;
  for (const ms of [0, TIMEOUT_MAX_MS + CALL_DEADLINE_MARGIN_MS]) {
    await runOperation(model, real, { kind: "advance", ms, beats: [] });
    await runOperation(model, real, { kind: "sweep" });
    await runOperation(model, real, { kind: "renewWorker", worker: `${worker}${ms}`, place: 0 });
    await endBatches(model, real);
    await drain(model, real, `${worker}${ms}`);
  }
}

/** Batches whose PMO is gone are ended by another, which does not know how: it tries every end. */
async function endBatches(model: Model, real: System): Promise<void> {
  for (const { id, status, tasks } of Object.values(model.batches)) {
    if (status !== "running") continue;
    for (const [task, state] of tasks.entries())
      if (isOpen(state)) await runOperation(model, real, { kind: "moveTask", batch: id, task, to: "timeout" });
    for (const end of BATCH_ENDS) await runOperation(model, real, { kind: "finishBatch", batch: id, status: end });
  }
}

/** All agents at once, until none of them can be brought further. */
async function drain(model: Model, real: System, worker: string): Promise<void> {
  const stuck = new Set<string>();
  for (;;) {
    const agents = Object.values(model.agents).filter(({ id, turn }) => turn !== null && !stuck.has(id));
    if (agents.length === 0) return;
    const waiting = agents.filter(({ status }) => status !== "running").map(({ id }) => id);
    await runTogether(
      model,
      real,
      waiting.map((agent) => ({ kind: "resume", agent, worker, reclaim: false })),
    );
    const finishing = agents.flatMap(({ id, turn, epoch, status }): Operation[] => {
      if (status !== "running" || turn === null) stuck.add(id);
      if (status !== "running" || turn === null) return [];
      return [{ kind: "finish", agent: id, turn, epoch, status: "success", deliverable: `${turn}_last` }];
    });
    await runTogether(model, real, finishing);
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

/** Q4 */
export async function assertSequences<T>(
  sequences: Sequences,
  property: fc.IAsyncProperty<T>,
  parameters: fc.Parameters<T>,
): Promise<void> {
  const found = await fc.check(property, parameters);
  const late = found.failed ? found.errorInstance : await sequences.checkStore().catch((error: unknown) => error);
  if (late === undefined) return;
  if (late instanceof Violated && late.isLate) {
    sequences.isThorough = true;
    await fc.assert(property, parameters);
    throw late;
  }
  throw new Error((await fc.asyncDefaultReportMessage(found)) ?? String(late), { cause: late });
}
