// The PGlite adapter of the `Database` port, and the lock and snapshots of its stores.

export { openPglite, type PgliteDatabase } from "./open-pglite.ts";
export { cachedSnapshot, compressedSnapshot, pgliteVersion } from "./snapshot-cache.ts";
export type { Snapshot } from "./store-directory.ts";
export { findStoreHolder, StoreLockedError } from "./store-lock.ts";
