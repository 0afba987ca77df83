// Who works on a store, which calls wait for an executor, and which keys there are.

import { createDoctorReads, type Database, DatabaseError, type LivingKey, type UnclaimedCalls } from "@tessera/kernel";
import { parseTargetSubject } from "@tessera/protocol";
import { type Check, checksOf } from "./check.ts";

const work = checksOf("work");
const keys = checksOf("keys");
/** A call that was not taken for so long counts as one without an executor. */
const UNCLAIMED_SECONDS = 15;
/** Swept once a second; a session that keeps rows locked is ended after five. */
export const DUE_SECONDS_MAX = 15;
const EXPIRING_DAYS = 14;

/** A role may be kept from looking: then another process has to. */
export async function workChecks(database: Database, project: string): Promise<Check[]> {
  try {
    return await lookAtWork(database, project);
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== "forbidden") throw error;
    const fix = "Run doctor with the URL of a role that may, such as the owner's.";
    return [work.warn("work", "this role may not look at calls, workers and keys", fix)];
  }
}

async function lookAtWork(database: Database, project: string): Promise<Check[]> {
  const reads = createDoctorReads(database);
  return [
    dueCheck(await reads.oldestDueSeconds()),
    ...executorChecks(await reads.unclaimed(project, UNCLAIMED_SECONDS)),
    ...workerChecks(await reads.workers(), await reads.waitingTurns(project, UNCLAIMED_SECONDS)),
    ...keyChecks(await reads.keys(project, EXPIRING_DAYS)),
  ];
}

function dueCheck(seconds: number): Check {
  if (seconds < DUE_SECONDS_MAX) return work.ok("sweeper", "nothing that is due is left lying");
  const fix = "Run a process with the role kernel; if one runs, its log says which sessions keep rows locked.";
  return work.warn("sweeper", `work has been due for ${Math.round(seconds)} s and no sweeper took it`, fix);
}

export function executorChecks(unclaimed: readonly UnclaimedCalls[]): Check[] {
  if (unclaimed.length === 0) return [work.ok("executors", "no call waits for an executor")];
  return unclaimed.map(({ target_subject, calls, seconds }) => {
    const { target } = parseTargetSubject(target_subject);
    const some = calls === 1 ? "a call waits" : `${calls} calls wait`;
    const fix = `Start an executor of ${target}: \`tessera start BUNDLE --role tools\`, or your own service.`;
    return work.warn(
      "executors",
      `${some} for target ${target} that no executor takes, since ${Math.round(seconds)} s`,
      fix,
    );
  });
}

export function workerChecks(
  alive: readonly { readonly worker_target: string; readonly alive: number }[],
  waiting: readonly { readonly worker_target: string; readonly turns: number }[],
): Check[] {
  const stuck = waiting.filter((row) => !alive.some(({ worker_target }) => worker_target === row.worker_target));
  const shown = alive.map((row) => `${row.alive} of ${row.worker_target}`).join(", ");
  const told = alive.length === 0 ? "no worker is alive, and no turn waits for one" : `workers alive: ${shown}`;
  if (stuck.length === 0) return [work.ok("workers", told)];
  return stuck.map(({ worker_target, turns }) => {
    const some = turns === 1 ? "a turn waits" : `${turns} turns wait`;
    const fix = "Start one: `tessera start BUNDLE --role worker` with this store.";
    return work.warn("workers", `${some} for a worker of ${worker_target}, and none is alive`, fix);
  });
}

export function keyChecks(living: readonly LivingKey[]): Check[] {
  if (living.length === 0) {
    return [keys.ok("api keys", "none is stored; a process that serves the API makes its own at each start")];
  }
  const expiring = living.filter(({ is_ending }) => is_ending);
  const roles = [...new Set(living.map(({ role }) => role))].join(", ");
  const found = `${living.length} stored (${roles})`;
  if (expiring.length === 0) return [keys.ok("api keys", found)];
  const ids = expiring.map(({ key_id, expires_at }) => `${key_id} on ${String(expires_at).slice(0, 10)}`).join(", ");
  const fix = "Make new ones with `tessera keys create`, hand them out, then revoke the old.";
  return [keys.warn("api keys", `${found}; within ${EXPIRING_DAYS} days ends ${ids}`, fix)];
}
