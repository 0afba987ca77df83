// Whether this process can serve: asked by load balancers, by `tessera doctor` and by people.
//
//   H1. `unready` when the database does not answer in time, takes no writes (watch-writes.ts), has another schema, or the
//       process is going away: nothing can be served.
//   H2. `degraded` when only the broker is gone or takes nothing: everything is served, later, because the sweeper and the
//       looks of the workers do what the message would have done. And when something has been due for DUE_SECONDS_MAX while this
//       process was there: no process sweeps the store, or another session keeps rows locked.
//   H3. Unauthenticated requests are answered, so no answer names a host, a user or a path, and any number of questions at once is one look.

import { checkSchema, createDoctorReads, isReadOnly } from "@tessera/kernel";
import { TesseraError } from "@tessera/protocol";
import type { Health, HealthCheck } from "@tessera/server";
import { DUE_SECONDS_MAX } from "../doctor/work.ts";
import type { Node } from "./open-node.ts";

export interface HealthOptions {
  readonly node: Pick<Node, "clock"> & {
    readonly store: Pick<Node["store"], "database">;
    readonly bus: Pick<Node["bus"], "health" | "capabilities">;
  };
  /** True once this process was asked to stop. */
  readonly isDraining?: (() => boolean) | undefined;
  readonly timeLimitMs?: number;
}

const TIME_LIMIT_MS = 2_000;
const READ_ONLY = "the database takes no writes: it is a standby, or was told to be read-only";
const WORST_FIRST = ["unready", "degraded", "ok"] as const;

export function createHealth(options: HealthOptions): () => Promise<Health> {
  let looking: Promise<Health> | null = null;
  let asking: Promise<HealthCheck | null> | null = null;
  const { clock, store } = options.node;
  const openedMs = clock.monotonicMs();
  /** One that is late is waited for again: a database that hangs is not asked a second time meanwhile (H3). */
  const askStore = () => {
    asking ??= storeProblem(store.database, () => (clock.monotonicMs() - openedMs) / 1_000).finally(() => {
      asking = null;
    });
    return asking;
  };
  return () => {
    looking ??= look(options, askStore).finally(() => {
      looking = null; // H3
    });
    return looking;
  };
}

type AskStore = () => Promise<HealthCheck | null>;

async function look(
  { node, isDraining, timeLimitMs = TIME_LIMIT_MS }: HealthOptions,
  askStore: AskStore,
): Promise<Health> {
  const stored = await lookAtStore(node, askStore, timeLimitMs);
  const checks: HealthCheck[] = [...stored, busCheck(node.bus)];
  if (isDraining?.() === true) {
    checks.push({ name: "drain", status: "unready", says: "this process finishes what it has and takes no more" });
  }
  const status = WORST_FIRST.find((worst) => checks.some((check) => check.status === worst)) ?? "ok";
  return { status, checks };
}

/** One look answers for both: the schema cannot be read without the database. */
async function lookAtStore(
  { clock }: HealthOptions["node"],
  askStore: AskStore,
  limitMs: number,
): Promise<HealthCheck[]> {
  const before = clock.monotonicMs();
  const problem = await withinLimit(askStore(), { clock, limitMs });
  const took = Math.round(clock.monotonicMs() - before);
  if (problem !== null && problem.name === "store") return [problem];
  const there: HealthCheck = { name: "store", status: "ok", says: `the database answered within ${took} ms` };
  const schema: HealthCheck = { name: "schema", status: "ok", says: "the schema is the one of this build" };
  if (problem === null) return [there, schema];
  return problem.name === "schema" ? [there, problem] : [there, schema, problem];
}

async function storeProblem(database: Node["store"]["database"], upSeconds: () => number): Promise<HealthCheck | null> {
  try {
    await checkSchema(database);
    const refuses = database.refusesWrites ?? null;
    if (refuses !== null) return { name: "store", status: "unready", says: refuses };
    if (await isReadOnly(database)) return { name: "store", status: "unready", says: READ_ONLY };
    const seconds = Math.min(await createDoctorReads(database).oldestDueSeconds(), upSeconds());
    if (seconds < DUE_SECONDS_MAX) return null;
    const says = `work has been due for ${Math.round(seconds)} s: no process sweeps the store, or another session keeps its rows locked`;
    return { name: "work", status: "degraded", says };
  } catch (error) {
    if (TesseraError.is(error)) return { name: "schema", status: "unready", says: error.message };
    return { name: "store", status: "unready", says: "the database cannot be asked" };
  }
}

function withinLimit(
  check: Promise<HealthCheck | null>,
  { clock, limitMs }: { readonly clock: Node["clock"]; readonly limitMs: number },
): Promise<HealthCheck | null> {
  return new Promise((resolve) => {
    const late = clock.after(limitMs, () => {
      resolve({ name: "store", status: "unready", says: `the database did not answer within ${limitMs} ms` });
    });
    void check.then(resolve).finally(() => late.cancel());
  });
}

function busCheck(bus: HealthOptions["node"]["bus"]): HealthCheck {
  const { connected, refuses, warnings } = bus.health();
  const { kind } = bus.capabilities;
  if (!connected) {
    const says = `the bus (${kind}) is gone; work goes on at the pace of the sweeper`;
    return { name: "bus", status: "degraded", says };
  }
  if (refuses !== undefined) {
    return { name: "bus", status: "degraded", says: `${refuses}; work goes on at the pace of the sweeper` };
  }
  const more = warnings.length === 0 ? "" : `, with ${warnings.length === 1 ? "a warning" : "warnings"} in the log`;
  return { name: "bus", status: "ok", says: `the bus (${kind}) is connected${more}` };
}
