// PGlite behind the `Database` port: PostgreSQL in this process, in memory or in a directory.
//
//   E1. A directory is opened under an exclusive lock, held until `close` or the end of the process.
//   E2. One statement at a time. A transaction has the session to itself; other calls wait until it ends.
//   E3. After a fatal error every call fails at once with that error, the engine is not touched again, and `onFatal`
//       has been called once. The directory survives: the next process to open it recovers.
//   E4. It survives the death of the process, not of the machine: PGlite does not call fsync.

import { AsyncLocalStorage } from "node:async_hooks";
import { resolve } from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import { type Database, DatabaseError, type Row, type Statements } from "@tessera/kernel/ports";
import { SerialQueue } from "../postgres/serial-queue.ts";
import { leftTransactionOpen, runTransaction, type StatementRunner } from "../postgres/transaction-scope.ts";
import { VALUE_SETTINGS } from "../postgres/values.ts";
import { BEFORE_SNAPSHOT, makeDirectory, openInMemory, openStore, type Snapshot } from "./store-directory.ts";
import { lockStore, type StoreLock } from "./store-lock.ts";
import { WireSession } from "./wire-session.ts";

export interface PgliteOptions {
  /** Absent: in memory. */
  readonly directory?: string;
  /** A prepared data directory (`dumpSnapshot`) to start from when the store is new. */
  readonly snapshot?: Snapshot | undefined;
  /** Called once; the process should log and end, a restart recovers. */
  readonly onFatal?: (error: DatabaseError) => void;
  /** How long to wait for another process to leave the directory; 0 refuses at once. */
  readonly lockTimeoutMs?: number;
}

export interface PgliteDatabase extends Database {
  /** The whole store as a tar, for `snapshot`. Not gzipped: unpacking cost more than reading. */
  dumpSnapshot(): Promise<Snapshot>;
  /** Tells processes that are refused where this one can be reached. */
  announceApi(url: string): void;
}

export async function openPglite(options: PgliteOptions = {}): Promise<PgliteDatabase> {
  const onFatal = options.onFatal ?? (() => {});
  if (options.directory === undefined) {
    return await start(await openInMemory(options.snapshot), null, onFatal);
  }
  const directory = resolve(options.directory);
  makeDirectory(directory);
  const lock = await lockStore(directory, options.lockTimeoutMs);
  try {
    return await start(await openStore(directory, options.snapshot), lock, onFatal);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function start(
  pglite: PGlite,
  lock: StoreLock | null,
  onFatal: (error: DatabaseError) => void,
): Promise<PgliteDatabase> {
  const session = new WireSession(pglite, onFatal);
  await session.script(`${VALUE_SETTINGS}; set jit = off`);
  return new EmbeddedDatabase(pglite, session, lock);
}

class EmbeddedDatabase implements PgliteDatabase {
  readonly capabilities = { engine: "pglite", batchesInFlight: 1, roles: false } as const;
  readonly #pglite: PGlite;
  readonly #session: WireSession;
  readonly #lock: StoreLock | null;
  readonly #queue = new SerialQueue();
  readonly #insideTransaction = new AsyncLocalStorage<{ isOpen: boolean }>();
  #closed: Promise<void> | null = null;

  constructor(pglite: PGlite, session: WireSession, lock: StoreLock | null) {
    this.#pglite = pglite;
    this.#session = session;
    this.#lock = lock;
  }

  async query<R extends Row = Row>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    this.#assertUsable();
    return (await this.#runAlone(() => this.#session.queryPrepared(text, values))) as R[];
  }

  async script(text: string): Promise<void> {
    this.#assertUsable();
    await this.#runAlone(() => this.#session.script(text));
  }

  async transaction<T>(work: (tx: Statements) => Promise<T>): Promise<T> {
    this.#assertUsable();
    return await this.#queue.run(async () => {
      const session = this.#session;
      await session.script("begin");
      const runner: StatementRunner = {
        query: (text, values) => session.queryOnce(text, values),
        script: async (text) => void (await session.script(text)),
      };
      const finish = {
        commit: async () => await session.script("commit"),
        rollback: async () => void (await session.script("rollback")),
      };
      const mark = { isOpen: true };
      return await this.#insideTransaction
        .run(mark, () => runTransaction(runner, finish, work))
        .finally(() => {
          mark.isOpen = false;
        });
    });
  }

  async dumpSnapshot(): Promise<Snapshot> {
    this.#assertUsable();
    return await this.#queue.run(async () => {
      for (const statement of BEFORE_SNAPSHOT) await this.#session.script(statement);
      const blob = await this.#pglite.dumpDataDir("none");
      return new Uint8Array(await blob.arrayBuffer());
    });
  }

  announceApi(url: string): void {
    this.#lock?.announceApi(url);
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  /** A statement outside `transaction` must not leave one open: everybody's next statement would fall into it. */
  async #runAlone<T>(statement: () => Promise<T>): Promise<T> {
    return await this.#queue.run(async () => {
      try {
        const result = await statement();
        if (this.#session.isInTransaction) throw leftTransactionOpen();
        return result;
      } finally {
        if (this.#session.isInTransaction && this.#session.fatal === null) await this.#session.script("rollback");
      }
    });
  }

  async #end(): Promise<void> {
    await this.#queue.idle();
    if (this.#session.fatal === null) await this.#pglite.close(); // E3
    await this.#lock?.release();
  }

  #assertUsable(): void {
    if (this.#session.fatal !== null) throw this.#session.fatal; // E3
    if (this.#closed !== null) throw new DatabaseError("statement", "this database handle is closed");
    if (this.#insideTransaction.getStore()?.isOpen) {
      // It would wait for the transaction, which waits for it (E2).
      throw new DatabaseError("statement", "use the statements handed to the transaction, not the database, inside it");
    }
  }
}
