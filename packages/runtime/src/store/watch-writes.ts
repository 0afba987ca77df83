// Whether the store takes writes, known from the writes that are made: a full disk and a standby answer reads as ever.
//
//   W1. Every statement of the process goes through here. One that is refused for want of room, or because nothing may be
//       written, makes the store closed for writes, which is said once.
//   W2. While it is, and only then, a write of its own asks every PROBE_EVERY_MS whether that is over: a server that is not ready
//       is asked for nothing that would tell. It is over when the probe succeeded and no write was refused since the one before.
//   W3. A role that may not ask learns nothing from the probe; then it is over when no write was refused for a while.

import { type Clock, type Database, DatabaseError, probeWrite, type Row, type Timer } from "@tessera/kernel";

const PROBE_EVERY_MS = 2_000;
/** Of out_of_memory, which is also `exhausted`, nothing follows for the next write. */
const DISK_FULL = "53100";

export interface WatchedDatabase extends Database {
  /** Why nothing can be written, for people; null: it can, as far as is known. */
  readonly refusesWrites: string | null;
}

export function watchWrites(
  database: Database,
  { clock, onWarning }: { readonly clock: Clock; readonly onWarning: (warning: string) => void },
): WatchedDatabase {
  let reason: string | null = null;
  let refusedSinceProbe = 0;
  let timer: Timer | null = null;
  let isClosed = false;

  function noteRefusal(error: unknown): void {
    const said = refusalOf(error);
    if (said === null) return;
    refusedSinceProbe += 1;
    if (reason === null) onWarning(`store: ${said}`); // W1
    reason = said;
    if (timer === null && !isClosed) schedule();
  }

  function schedule(): void {
    timer = clock.after(PROBE_EVERY_MS, () => void probe());
  }

  /** W2 */
  async function probe(): Promise<void> {
    const refusedBefore = refusedSinceProbe;
    refusedSinceProbe = 0;
    const failure = await probeWrite(database, clock).then(
      () => null,
      (error: unknown) => error,
    );
    timer = null;
    const mayNotAsk =
      failure instanceof DatabaseError && (failure.kind === "forbidden" || failure.kind === "statement"); // W3
    if (refusedBefore === 0 && refusedSinceProbe === 0 && (failure === null || mayNotAsk)) {
      reason = null;
      onWarning("store: the database takes writes again");
    } else {
      reason = refusalOf(failure) ?? reason;
      if (!isClosed) schedule();
    }
  }

  async function noting<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      noteRefusal(error);
      throw error;
    }
  }

  const { impatient } = database;
  return {
    capabilities: database.capabilities,
    ...(impatient === undefined
      ? {}
      : {
          impatient: {
            query: <R extends Row = Row>(text: string, values?: readonly unknown[]) =>
              noting(impatient.query<R>(text, values)),
          },
        }),
    get refusesWrites() {
      return reason;
    },
    query: <R extends Row = Row>(text: string, values?: readonly unknown[]) => noting(database.query<R>(text, values)),
    script: (text) => noting(database.script(text)),
    transaction: (work) => noting(database.transaction(work)),
    close() {
      isClosed = true;
      timer?.cancel();
      return database.close();
    },
  };
}

function refusalOf(error: unknown): string | null {
  if (!(error instanceof DatabaseError)) return null;
  if (error.kind === "read_only") {
    return "the database takes no writes: it is a standby, or was told to be read-only; make it writable, or connect to the primary";
  }
  const isFull = error.kind === "exhausted" && error.sqlstate === DISK_FULL;
  return isFull
    ? "the disk of the database is full: nothing can be written; make room, and work goes on by itself"
    : null;
}
