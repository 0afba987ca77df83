// @tessera/runtime: the composition root. Configuration becomes adapters, adapters become parts, started and stopped in
// order. Of the product the only importer of `@tessera/engines`: the other packages see ports.
//
//   openStore      a database: a PGlite directory, PostgreSQL, or PGlite in memory
//   openNode       a store with a bus, the kernel and a running sweeper
//   verifyStore    the invariants of a store, as a report
//
// Every failure to open or use a store is a CGError (store-error.ts); drivers' own errors do not leave this package.

export { type BusConfiguration, openBus } from "./open-bus.ts";
export { type Node, type NodeOptions, openNode } from "./open-node.ts";
export { type MigrateMode, openStore, type Store, type StoreOptions } from "./open-store.ts";
export { describePostgres, type StorePlace, storePlace } from "./store-place.ts";
export { type MigrateResult, type VerifyReport, type Violation, verifyStore } from "./verify-store.ts";
