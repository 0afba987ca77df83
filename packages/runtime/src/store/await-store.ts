// A store that is not there yet when a process starts: PostgreSQL is starting up, recovers, or takes no writes at this moment.
//
//   A1. Who serves waits for it, up to a setting, and says what it waits for and for how long; a command that only asks does not.
//   A2. What waiting does not mend (a wrong password, a missing database, another schema) ends the start at once.
//   A3. A process that is told to stop waits no longer.

import { type Clock, isReadOnly, pause } from "@tessera/kernel";
import { TesseraError } from "@tessera/protocol";
import { openStore, type Store, type StoreOptions } from "./open-store.ts";

export interface StoreWait {
  /** How long a store that is not there yet is waited for; default 0. */
  readonly storeWaitMs?: number | undefined;
  /** A3 */
  readonly stopping?: AbortSignal | undefined;
}

const LOOK_EVERY_MS = 500;
const MENDED_BY_WAITING: ReadonlySet<unknown> = new Set(["unavailable", "connection_lost", "read_only"]);

export async function openStoreInTime(options: StoreOptions & StoreWait, clock: Clock): Promise<Store> {
  const { storeWaitMs = 0, stopping, onWarning } = options;
  const until = clock.monotonicMs() + storeWaitMs;
  let said: string | null = null;
  for (;;) {
    try {
      const store = await (storeWaitMs > 0 ? openWritable(options) : openStore(options));
      if (said !== null) onWarning("start: the store is there");
      return store;
    } catch (error) {
      const leftMs = until - clock.monotonicMs();
      if (!isMendedByWaiting(error) || leftMs <= 0 || stopping?.aborted) throw error; // A1, A2, A3
      const says = error.message;
      if (said !== says) onWarning(`start: waiting up to ${Math.ceil(leftMs / 1_000)} s for the store: ${says}`);
      said = says;
      await pause(clock, Math.min(LOOK_EVERY_MS, leftMs), stopping);
    }
  }
}

/** What is deployed at a start is written: a store that takes no writes is not there yet. */
async function openWritable(options: StoreOptions): Promise<Store> {
  const store = await openStore(options);
  try {
    if (!(await isReadOnly(store.database))) return store;
  } catch (error) {
    await store.close();
    throw error;
  }
  await store.close();
  throw new TesseraError(
    "storage_error",
    `${store.place.name} takes no writes now: a standby, or told to be read-only`,
    {
      details: { kind: "read_only" },
    },
  );
}

function isMendedByWaiting(error: unknown): error is TesseraError {
  return TesseraError.is(error) && MENDED_BY_WAITING.has(error.details.kind);
}
