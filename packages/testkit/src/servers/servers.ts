// The servers of a test run: given by the environment, or started here.
//
//   R1. TESSERA_TEST_POSTGRES_URL and TESSERA_TEST_NATS_URL win over starting a server, and such servers are never
//       stopped or restarted by us. A test that must break a server starts its own.

import { startNats } from "./nats-server.ts";
import { startPostgres } from "./postgres-server.ts";

export interface TestServers {
  readonly postgresUrl: string;
  readonly natsUrl: string;
  stop(): Promise<void>;
}

export async function startTestServers(): Promise<TestServers> {
  const given = { postgres: process.env.TESSERA_TEST_POSTGRES_URL, nats: process.env.TESSERA_TEST_NATS_URL };
  const postgres = given.postgres ? null : await startPostgres();
  const nats = given.nats ? null : await startNats();
  return {
    postgresUrl: given.postgres || (postgres?.url ?? ""),
    natsUrl: given.nats || (nats?.url ?? ""),
    stop: async () => {
      await Promise.all([postgres?.stop("fast"), nats?.stop()]); // R1
    },
  };
}
