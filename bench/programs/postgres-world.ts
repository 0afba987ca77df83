// A kernel on PostgreSQL with a bus, in this process and without a sweeper: what the programs that drive the kernel share.

import { openNatsBus } from "@tessera/engines/nats";
import { openPostgres } from "@tessera/engines/postgres";
import { openPostgresBus } from "@tessera/engines/postgres-bus";
import { systemClock, systemIds } from "@tessera/engines/system";
import { type Bus, type Database, type Kernel, migrate, openKernel } from "@tessera/kernel";

export interface PostgresWorld {
  readonly database: Database;
  readonly kernel: Kernel;
  readonly bus: Bus;
  close(): Promise<void>;
}

/** Without NATS the bus is LISTEN/NOTIFY. */
export async function openWorld(address: { postgres: string; nats: string | undefined }): Promise<PostgresWorld> {
  const { postgres: url, nats } = address;
  const database = await openPostgres({ url });
  const bus = nats === undefined ? await openPostgresBus({ url }) : await openNatsBus({ servers: nats });
  await migrate(database);
  const kernel = openKernel({ database, bus, clock: systemClock, ids: systemIds, onWarning: console.error });
  return {
    database,
    kernel,
    bus,
    async close() {
      await bus.close();
      await database.close();
    },
  };
}
