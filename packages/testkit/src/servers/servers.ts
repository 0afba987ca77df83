// The servers of a test run: given by the environment, or started here.
//
//   R1. TESSERA_TEST_POSTGRES_URL and TESSERA_TEST_NATS_URL win over starting a server, and such servers are never
//       stopped or restarted by us. A test that must break a server starts its own.
//   R2. Tests end processes, never the machine: what PostgreSQL writes need not reach the disk. It copies a database for each
//       test; that costs a third of the CPU time with a small cache, whose pages every new connection has to map.

import { startNats } from "./nats-server.ts";
import { startPostgres } from "./postgres-server.ts";

/** R2 */
const SETTINGS = { fsync: "off", shared_buffers: "32MB" };

export interface TestServers {
  readonly postgresUrl: string;
  readonly natsUrl: string;
  stop(): Promise<void>;
}

export async function startTestServers(): Promise<TestServers> {
  const given = { postgres: process.env.TESSERA_TEST_POSTGRES_URL, nats: process.env.TESSERA_TEST_NATS_URL };
  const postgres = given.postgres ? null : await startPostgres({ settings: SETTINGS });
  const nats = given.nats ? null : await startNats();
  return {
    postgresUrl: given.postgres || (postgres?.url ?? ""),
    natsUrl: given.nats || (nats?.url ?? ""),
    stop: async () => {
      await Promise.all([postgres?.stop("fast"), nats?.stop()]); // R1
    },
  };
}
