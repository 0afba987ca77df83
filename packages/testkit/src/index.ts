// The test kit: real servers, databases, clocks, faults and conformance suites.
//
// What runs inside a child process must not import this file, because the suites need Vitest; the parts that children
// need are entries of their own: `@tessera/testkit/kill-points`, `@tessera/testkit/seeded-ids`.

export { busConformance } from "./bus-conformance.ts";
export { TestChild } from "./child-process.ts";
export { databaseConformance } from "./database-conformance.ts";
export { FaultyBus } from "./faulty-bus.ts";
export { SeededIds, seededRandom, seedFromEnvironment, withSeed } from "./seeded-ids.ts";
export { freePort } from "./servers/free-port.ts";
export { type NatsServer, startNats } from "./servers/nats-server.ts";
export {
  type PostgresServer,
  startPostgres,
} from "./servers/postgres-server.ts";
export {
  createTestDatabases,
  engineFromEnvironment,
  type TestDatabase,
  type TestEngine,
} from "./servers/test-database.ts";
export { startTcpProxy } from "./tcp-proxy.ts";
export { VirtualClock } from "./virtual-clock.ts";
export { waitFor } from "./wait-for.ts";
export { wholeLines } from "./whole-lines.ts";
