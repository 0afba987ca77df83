// The test kit: real servers, databases, clocks, faults and conformance suites.

export { freePort } from "./free-port.ts";
export { type NatsServer, type NatsServerOptions, startNats } from "./nats-server.ts";
export { type PostgresServer, type PostgresServerOptions, type PostgresStopMode, startPostgres } from "./postgres-server.ts";
export { startTestServers, type TestServers } from "./servers.ts";
export {
  createTestDatabases,
  engineFromEnvironment,
  type TestDatabase,
  type TestDatabases,
  type TestDatabasesOptions,
  type TestEngine,
} from "./test-database.ts";
export { type WaitOptions, waitFor } from "./wait-for.ts";
