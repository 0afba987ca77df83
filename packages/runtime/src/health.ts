// Whether this process can serve: asked by load balancers, by `tessera doctor` and by people.
//
//   H1. `unready` when the database does not answer in time, has another schema, or the process is going away: nothing can
//       be served. `degraded` when only the broker is gone: everything is served, later, because the sweeper and the looks
//       of the workers do what the bell would have done.
//   H2. Anybody may ask, so no answer names a host, a user or a path, and any number of questions at once is one look.

import { checkSchema, type Database } from "@tessera/kernel";
import { CGError } from "@tessera/protocol";
import type { Health, HealthCheck } from "@tessera/server";
import type { Node } from "./open-node.ts";

export interface HealthOptions {
  readonly node: Pick<Node, "store" | "bus" | "clock">;
  /** True once this process was told to stop. */
  readonly isDraining?: () => boolean;
  readonly timeLimitMs?: number;
}

const TIME_LIMIT_MS = 2_000;
const WORST_FIRST = ["unready", "degraded", "ok"] as const;

export function createHealth(options: HealthOptions): () => Promise<Health> {
  let looking: Promise<Health> | null = null;
  let asking: Promise<HealthCheck | null> | null = null;
  /** One that is late is waited for again: a database that hangs is not asked a second time meanwhile (H2). */
  const askStore = () => {
    asking ??= schemaProblem(options.node.store.database).finally(() => {
      asking = null;
    });
    return asking;
  };
  return () => {
    looking ??= look(options, askStore).finally(() => {
      looking = null; // H2
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
  return [there, problem ?? { name: "schema", status: "ok", says: "the schema is the one of this build" }];
}

async function schemaProblem(database: Database): Promise<HealthCheck | null> {
  try {
    await checkSchema(database);
    return null;
  } catch (error) {
    if (CGError.is(error)) return { name: "schema", status: "unready", says: error.message };
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

function busCheck(bus: Node["bus"]): HealthCheck {
  const { connected, warnings } = bus.health();
  const { kind } = bus.capabilities;
  if (!connected) {
    const says = `the bus (${kind}) is gone; work goes on at the pace of the sweeper`;
    return { name: "bus", status: "degraded", says };
  }
  const more = warnings.length === 0 ? "" : `, with ${warnings.length === 1 ? "a warning" : "warnings"} in the log`;
  return { name: "bus", status: "ok", says: `the bus (${kind}) is connected${more}` };
}
