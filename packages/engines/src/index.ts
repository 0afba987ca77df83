// Adapters behind the ports of the kernel, one folder each.
//
//   Database   pglite (embedded), postgres
//   Bus        memory-bus (one process), postgres-bus (several processes, nothing but PostgreSQL), nats (scale, foreign
//              executors)
//
// Only the composition root chooses between them. Each is also an entry of its own (`@tessera/engines/nats`), so that a
// process need not load a driver it does not use.

export { type MemoryBusOptions, openMemoryBus } from "./memory-bus/index.ts";
export { type NatsBusOptions, openNatsBus } from "./nats/index.ts";
export { openPglite, type PgliteDatabase, type PgliteOptions } from "./pglite/index.ts";
export { openPostgres, type PostgresOptions } from "./postgres/index.ts";
export { openPostgresBus, type PostgresBusOptions } from "./postgres-bus/index.ts";
