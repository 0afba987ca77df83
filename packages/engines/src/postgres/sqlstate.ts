// The one place that reads SQLSTATEs and driver errors and sorts them by what the caller should do.
//
//   Q1. A failure before anything was sent is `unavailable` or `forbidden`, never `connection_lost`.
//   Q2. A broken connection after sending is `connection_lost`: the statement may have committed.
//   Q3. Messages are never compared; an error without a SQLSTATE came from the driver or the socket.

import { DatabaseError, type DatabaseErrorKind } from "@tessera/kernel/ports";

const KIND_BY_SQLSTATE: ReadonlyMap<string, DatabaseErrorKind> = new Map<string, DatabaseErrorKind>([
  ["08P01", "statement"], // protocol_violation: a wrong number of values
  ["25006", "read_only"], // read_only_sql_transaction: a standby, or a server that was told to take no writes
  ["25P03", "connection_lost"], // idle_in_transaction_session_timeout
  ["57P01", "connection_lost"], // admin_shutdown
  ["57P02", "connection_lost"], // crash_shutdown
  ["57P04", "connection_lost"], // database_dropped
  ["57P05", "connection_lost"], // idle_session_timeout
  ["57P03", "unavailable"], // cannot_connect_now
  ["53300", "unavailable"], // too_many_connections
  ["40001", "retryable"], // serialization_failure
  ["40P01", "retryable"], // deadlock_detected
  ["55P03", "locked"], // lock_not_available
  ["53100", "exhausted"], // disk_full
  ["53200", "exhausted"], // out_of_memory
  ["42501", "forbidden"], // insufficient_privilege
]);

export function kindOfSqlstate(sqlstate: string): DatabaseErrorKind {
  const kind = KIND_BY_SQLSTATE.get(sqlstate);
  if (kind !== undefined) return kind;
  if (sqlstate.startsWith("08")) return "connection_lost";
  if (sqlstate.startsWith("28")) return "forbidden"; // wrong password, no pg_hba entry: waiting does not help
  return "statement";
}

/** `connecting`: nothing was sent yet (Q1). `sent`: the outcome is unknown when the connection broke (Q2). */
export type Phase = "connecting" | "sent";

export function toDatabaseError(error: unknown, phase: Phase, doing: string): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const sqlstate = sqlstateOf(error);
  const text = error instanceof Error ? messageOf(error) : String(error);
  const kind = sqlstate === null ? "connection_lost" : kindOfSqlstate(sqlstate);
  const known = phase === "connecting" && kind === "connection_lost" ? "unavailable" : kind;
  return new DatabaseError(known, `${doing}: ${text}`, { sqlstate, cause: error });
}

/** A prepared statement that no longer fits: its result type changed, or the session forgot it. Nothing ran. */
export function isStalePlan(error: unknown): boolean {
  const sqlstate = sqlstateOf(error);
  return sqlstate === "26000" || (sqlstate === "0A000" && fieldOf(error, "routine") === "RevalidateCachedQuery");
}

const SQLSTATE = /^[0-9A-Z]{5}$/;

/** Only server errors carry a severity; a socket error's `code` (`EPIPE`) can look like a SQLSTATE. */
function sqlstateOf(error: unknown): string | null {
  const code = fieldOf(error, "code");
  return typeof code === "string" && SQLSTATE.test(code) && fieldOf(error, "severity") !== undefined ? code : null;
}

/** Connecting to a name with two addresses fails with an AggregateError, whose own message is empty. */
function messageOf(error: Error): string {
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join("; ");
  }
  return error.message;
}

function fieldOf(error: unknown, name: string): unknown {
  return typeof error === "object" && error !== null ? Reflect.get(error, name) : undefined;
}
