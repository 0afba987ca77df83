// The one real database, as a process of the simulation sees it over a network that fails.
//
//   D1. A statement is two events: it is run, and its answer arrives. Other processes' statements, and the death of this
//       one, come between them.
//   D2. Time is the database's: where the client sends the moment of its request, the moment of the run is used, as a server
//       that reads its own clock would (ports.ts, P3).
//   D3. The faults are those of P1: lost before the commit, lost after it, refused and harmless, slow, away.
//   D4. A statement that changed no row is no fault of its own: the product counts no rows. A function of l0 answers each item
//       with an outcome, and a lost compare-and-set is one of them.
//   D5. What was refused and harmless is repeated here, as the adapters do (ports.ts, P4).

import { type Database, DatabaseError, type Row } from "@tessera/kernel/ports";
import type { EventLog } from "./event-log.ts";
import type { FaultPlan } from "./fault-plan.ts";
import type { SimRandom } from "./random.ts";
import type { SimScheduler } from "./scheduler.ts";
import { databaseTime, type SimProcess } from "./sim-process.ts";

export interface SimWorld {
  readonly scheduler: SimScheduler;
  readonly random: SimRandom;
  readonly log: EventLog;
  readonly faults: FaultPlan;
  /** Called with what a function of the kernel answered to each item, e.g. `resume`, `worker_lapsed`. */
  readonly onOutcome?: (fn: string, outcome: string) => void;
}

/** As many as a client of a PostgreSQL server would have, so that batches of one process overlap, too. */
const BATCHES_IN_FLIGHT = 3;
const SLOW_MS = [200, 12_000] as const;
/** D5 */
const RETRYABLE_TRIES_MAX = 6;
const RETRYABLE_PAUSE_MS = 25;

type Answer = { readonly rows: Row[] } | { readonly error: unknown };

export function simDatabase(world: SimWorld, store: Database, process: SimProcess): Database {
  const { scheduler, random, faults } = world;

  async function query<R extends Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await queryOnce<R>(text, values);
      } catch (error) {
        const isRetryable = error instanceof DatabaseError && error.kind === "retryable";
        if (!isRetryable || tries === RETRYABLE_TRIES_MAX) throw error;
        await new Promise<void>((resolve) => process.clock.after(RETRYABLE_PAUSE_MS * 2 ** (tries - 1), resolve)); // D5
      }
    }
  }

  function queryOnce<R extends Row>(text: string, values: readonly unknown[]): Promise<R[]> {
    const fn = statementName(text);
    const name = `${fn}${subjectsOf(values)}`;
    const askedAt = databaseTime(scheduler).toISOString();
    return new Promise((resolve, reject) => {
      if (process.state === "dead") return;
      const delayMs = faults.hits("store.slow") ? random.between(...SLOW_MS) : random.int(0, 2);
      scheduler.schedule(null, delayMs, `run ${process.name} ${name}`, async () => {
        // The request of a process that died on the way may have arrived or not.
        if (process.state === "dead" && random.chance(0.5)) return;
        const answer = await run(text, values, askedAt);
        const outcomes = outcomesOf(answer);
        for (const outcome of outcomes) world.onOutcome?.(fn, outcome);
        world.log.add(`  ${name} → ${outcomes.join(" ")}`);
        scheduler.schedule(process, random.int(0, 2), `answer ${name}`, () => {
          if ("error" in answer) reject(answer.error);
          else resolve(answer.rows as R[]);
        });
      });
    });
  }

  async function run(text: string, values: readonly unknown[], askedAt: string): Promise<Answer> {
    if (process.isStoreDown) return failure("unavailable", "the database is away");
    if (faults.hits("store.retryable")) return failure("retryable", "deadlock detected");
    if (faults.hits("store.exhausted")) return failure("exhausted", "no space left");
    if (faults.hits("store.lost_before")) return failure("connection_lost", "the connection broke before the commit");
    const runAt = databaseTime(scheduler).toISOString();
    const answer = await attempt(() =>
      store.query(
        text,
        values.map((value) => (value === askedAt ? runAt : value)), // D2
      ),
    );
    if (faults.hits("store.lost_after")) return failure("connection_lost", "the connection broke after the commit");
    return answer;
  }

  const unused = () => Promise.reject(new Error("a process of the simulation runs single statements only"));
  return {
    capabilities: { engine: "postgres", batchesInFlight: BATCHES_IN_FLIGHT, roles: false },
    query,
    script: unused,
    transaction: unused,
    close: async () => undefined,
  };
}

async function attempt(work: () => Promise<Row[]>): Promise<Answer> {
  try {
    return { rows: await work() };
  } catch (error) {
    return { error };
  }
}

function failure(kind: ConstructorParameters<typeof DatabaseError>[0], message: string): Answer {
  return { error: new DatabaseError(kind, `injected: ${message}`) };
}

const names = new Map<string, string>();

/** `resume`, or the table that is read. */
function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = /\bl0\.(\w+)\s*\(/.exec(text)?.[1] ?? /\bfrom\s+([\w.]+)/.exec(text)?.[1] ?? "statement";
  names.set(text, name);
  return name;
}

/** Whom the items of a statement are about. */
function subjectsOf([items]: readonly unknown[]): string {
  if (typeof items !== "string" || !items.startsWith("[{")) return "";
  const named = (JSON.parse(items) as Readonly<Record<string, unknown>>[]).map(
    ({ agent_id, tool_call_id, agent_turn_id, worker_id }) =>
      agent_id ?? tool_call_id ?? agent_turn_id ?? worker_id ?? "",
  );
  return ` ${named.join(" ")}`;
}

/** What of an answer the seed decides: outcomes, never ids or secrets. */
function outcomesOf(answer: Answer): string[] {
  if ("error" in answer) return [answer.error instanceof DatabaseError ? answer.error.kind : String(answer.error)];
  const said = answer.rows[0]?.answer;
  if (Array.isArray(said)) return said.map(outcomeOf);
  const { recovered = 0 } = (said ?? {}) as { recovered?: number };
  return [recovered > 0 ? "recovered" : `${answer.rows.length} rows`];
}

function outcomeOf(item: unknown): string {
  if (typeof item !== "object" || item === null) return typeof item;
  const { outcome, code, cancel } = item as { outcome?: unknown; code?: unknown; cancel?: unknown };
  return cancel === true ? `cancel ${code}` : String(code ?? outcome);
}
