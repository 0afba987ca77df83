// The test kit: real servers, databases, clocks, faults and conformance suites.
//
// What runs inside a child process must not import this file, because the suites need Vitest; the parts that children
// need are entries of their own: `@tessera/testkit/kill-points`, `@tessera/testkit/seeded-ids`.

export { busConformance } from "./bus-conformance.ts";
export { type ChildExit, type ChildOptions, TestChild } from "./child-process.ts";
export { databaseConformance } from "./database-conformance.ts";
export { FaultyBus } from "./faulty-bus.ts";
export {
  type HeldPoint,
  killPointsFromEnvironment,
  type PausePoints,
  parseKillOrder,
  pausePoints,
} from "./kill-points.ts";
export { type Seed, SeededIds, seededRandom, seedFromEnvironment, withSeed } from "./seeded-ids.ts";
export { freePort } from "./servers/free-port.ts";
export { type NatsServer, type NatsServerOptions, startNats } from "./servers/nats-server.ts";
export {
  type PostgresServer,
  type PostgresServerOptions,
  type PostgresStopMode,
  startPostgres,
} from "./servers/postgres-server.ts";
export { ServerMissingError } from "./servers/server-binaries.ts";
export { startTestServers, type TestServers } from "./servers/servers.ts";
export {
  createTestDatabases,
  engineFromEnvironment,
  type TestDatabase,
  type TestDatabases,
  type TestDatabasesOptions,
  type TestEngine,
} from "./servers/test-database.ts";
export { type Direction, type ProxyCounters, type ProxyFault, startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
export { VirtualClock } from "./virtual-clock.ts";
export { type WaitOptions, waitFor } from "./wait-for.ts";
export { wholeLines } from "./whole-lines.ts";
