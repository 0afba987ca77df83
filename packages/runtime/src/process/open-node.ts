// A node: what every process of Tessera stands on, whatever its roles: a store, a bus, the kernel and a sweeper.
//
//   N1. Started in the order store, bus, kernel, sweeper, and stopped in the reverse one. A start that fails half way
//       closes what it had opened.
//   N2. A directory has one holder, so at the start every lease in it belongs to a process that is gone: all are ended,
//       and the first sweep gives the work out again (docs/design.md#one-dialect-two-engines). What its watch noted of a hang is
//       told to the store before. Nothing of the kind is done to PostgreSQL, where a watch tells the store itself.
//   N3. close() may be called twice, and resolves when nothing of this node is running; each part has its bound
//       (stop-bounds.ts).

import { systemClock, systemIds } from "@tessera/engines/system";
import {
  type Bus,
  type Clock,
  type Database,
  DatabaseError,
  FUNCTIONS_LEVEL,
  type Ids,
  type Kernel,
  noteHang,
  openKernel,
  type Sweeper,
  startSweeper,
  storeIdOf,
} from "@tessera/kernel";
import { takeHangFile } from "../hangs/hang-file.ts";
import { openStoreInTime, type StoreWait } from "../store/await-store.ts";
import type { Store, StoreOptions } from "../store/open-store.ts";
import { type WatchedDatabase, watchWrites } from "../store/watch-writes.ts";
import { openBus } from "./open-bus.ts";
import { type Part, stopParts } from "./stop-bounds.ts";

/** What {@link openNode} takes. */
export interface NodeOptions extends StoreOptions, StoreWait {
  /** Without it: notifications of PostgreSQL where that is the store, else the memory of this process. */
  readonly nats?: string | undefined;
  readonly warnsOfBroker?: boolean | undefined;
  /** How often the sweeper looks at what waits; default 1 s. */
  readonly sweepIntervalMs?: number | undefined;
  /** False: some other process sweeps this store. */
  readonly sweep?: boolean;
}

/** A store with a bus, the kernel and a running sweeper. */
export interface Node {
  readonly store: Omit<Store, "database"> & {
    readonly database: Database & Partial<Pick<WatchedDatabase, "refusesWrites">>;
  };
  /** What this store is called on a broker that it shares with others; null where this login may not read it. */
  readonly storeId: string | null;
  readonly bus: Bus;
  readonly kernel: Kernel;
  readonly sweeper: Sweeper | null;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Leases of an earlier process that this one ended (N2). */
  readonly freed: { readonly workers: number; readonly calls: number };
  close(): Promise<void>;
}

/** Opens a store with a bus, the kernel and a sweeper. */
export async function openNode(options: NodeOptions): Promise<Node> {
  const { onWarning } = options;
  const started: Part[] = [];
  try {
    const unwatched = await openStoreInTime(options, systemClock);
    const database = watchWrites(unwatched.database, { clock: systemClock, onWarning });
    const store = { ...unwatched, database, close: () => database.close() };
    started.push({ name: "the store", stop: () => store.close() });
    tellKeptFunctions(store, onWarning);
    const storeId = await storeIdIfReadable(store, onWarning);
    const bus = await openBus(store.place, { ...options, storeId: storeId ?? undefined });
    started.push({ name: "the bus", stop: () => bus.close() });
    const kernel = openKernel({ database: store.database, bus, clock: systemClock, ids: systemIds, onWarning });
    started.push({ name: "the last messages", stop: () => kernel.announcer.settled() });
    if (store.place.kind === "directory") {
      await takeHangFile(store.place.directory, (note) => noteHang(database, systemClock, note), onWarning); // N2
    }
    const freed = store.kind === "directory" ? await kernel.freeLeases() : { workers: 0, calls: 0 };
    const sweeper = options.sweep === false ? null : startSweeping(kernel, options);
    if (sweeper !== null) started.push({ name: "the sweeper", stop: () => sweeper.stop() });
    let closed: Promise<void> | null = null;
    const close = () => {
      closed ??= stopParts(systemClock, started.toReversed());
      return closed;
    };
    return { store, storeId, bus, kernel, sweeper, clock: systemClock, ids: systemIds, freed, close };
  } catch (error) {
    await stopParts(systemClock, started.toReversed()).catch((cause) =>
      onWarning(`closing after a failed start: ${String(cause)}`),
    ); // N1
    throw error;
  }
}

/** A login that was given its rights by an earlier deploy/roles.sql works as it did: as if the broker were this store's alone. */
async function storeIdIfReadable({ database }: Store, onWarning: NodeOptions["onWarning"]): Promise<string | null> {
  try {
    return await storeIdOf(database);
  } catch (error) {
    if (!(error instanceof DatabaseError && error.kind === "forbidden")) throw error;
    onWarning("this login may not read which store this is (l0.store): run deploy/roles.sql of this release");
    return null;
  }
}

function tellKeptFunctions({ migrated }: Store, onWarning: NodeOptions["onWarning"]): void {
  const level = migrated?.newerFunctionsKept ?? null;
  if (level === null) return;
  const found = `the store's functions are those of a newer build (level ${level}, this build has ${FUNCTIONS_LEVEL})`;
  onWarning(`${found}; they were kept, and serve this build, too`);
}

function startSweeping(kernel: Kernel, { onWarning, sweepIntervalMs }: NodeOptions): Sweeper {
  return startSweeper({ sweep: kernel.sweep, clock: systemClock, onWarning, intervalMs: sweepIntervalMs });
}
