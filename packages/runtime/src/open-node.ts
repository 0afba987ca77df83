// A node: what every process of Tessera stands on, whatever its roles: a store, a bus, the kernel and a sweeper.
//
//   N1. Started in the order store, bus, kernel, sweeper, and stopped in the reverse one. A start that fails half way
//       closes what it had opened.
//   N2. A directory has one holder, so at the start every lease in it belongs to a process that is gone: all are ended,
//       and the first sweep gives the work out again (design D3). Nothing of the kind is done to PostgreSQL.
//   N3. close() may be called twice, and resolves when nothing of this node is running.

import { systemClock, systemIds } from "@tessera/engines/system";
import { type Bus, type Clock, type Ids, type Kernel, openKernel, type Sweeper, startSweeper } from "@tessera/kernel";
import { openBus } from "./open-bus.ts";
import { openStore, type Store, type StoreOptions } from "./open-store.ts";

export interface NodeOptions extends StoreOptions {
  /** Without it: notifications of PostgreSQL where that is the store, else the memory of this process. */
  readonly nats?: string | undefined;
  readonly warnsOfBroker?: boolean | undefined;
  /** How often the sweeper looks at what waits; default 1 s. */
  readonly sweepIntervalMs?: number | undefined;
  /** False: some other process sweeps this store. */
  readonly sweep?: boolean;
}

export interface Node {
  readonly store: Store;
  readonly bus: Bus;
  readonly kernel: Kernel;
  readonly sweeper: Sweeper | null;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Leases of an earlier process that this one ended (N2). */
  readonly freed: { readonly workers: number; readonly calls: number };
  close(): Promise<void>;
}

export async function openNode(options: NodeOptions): Promise<Node> {
  const { onWarning } = options;
  const started: (() => Promise<void>)[] = [];
  try {
    const store = await openStore(options);
    started.push(() => store.close());
    const bus = await openBus(store.place, options);
    started.push(() => bus.close());
    const kernel = openKernel({ database: store.database, bus, clock: systemClock, ids: systemIds, onWarning });
    started.push(() => kernel.announcer.settled());
    const freed = store.kind === "directory" ? await kernel.freeLeases() : { workers: 0, calls: 0 };
    const sweeper = options.sweep === false ? null : startSweeping(kernel, options);
    started.push(async () => await sweeper?.stop());
    let closed: Promise<void> | null = null;
    const close = () => {
      closed ??= stopAll(started);
      return closed;
    };
    return { store, bus, kernel, sweeper, clock: systemClock, ids: systemIds, freed, close };
  } catch (error) {
    await stopAll(started).catch((cause) => onWarning(`closing after a failed start: ${String(cause)}`)); // N1
    throw error;
  }
}

function startSweeping(kernel: Kernel, { onWarning, sweepIntervalMs }: NodeOptions): Sweeper {
  const interval = sweepIntervalMs === undefined ? {} : { intervalMs: sweepIntervalMs };
  return startSweeper({ sweep: kernel.sweep, clock: systemClock, onWarning, ...interval });
}

/** Newest first. One that fails does not keep the others open; the first failure is told. */
async function stopAll(stops: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const stop of stops.toReversed()) await stop().catch((error: unknown) => void failures.push(error));
  if (failures.length > 0) throw failures[0];
}
