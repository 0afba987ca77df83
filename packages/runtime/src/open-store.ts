// A store: the database behind the kernel, opened and at this build's schema.
//
//   O1. One place: a PGlite directory, a PostgreSQL database, or PGlite in memory (store-place.ts).
//   O2. A new directory starts from a cached snapshot of an empty PGlite, which saves most of its three seconds, and is
//       migrated like any other store: so each store makes its own ticket key, and none is in the cache.
//   O3. Looking at a store does not make one: only `migrate: "yes"` creates a directory.
//   O4. A store that fails to open leaves nothing open behind it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { cachedSnapshot, openPglite } from "@tessera/engines/pglite";
import { openPostgres } from "@tessera/engines/postgres";
import { checkSchema, type Database, type MigrateResult, migrate } from "@tessera/kernel";
import { missingStore, storeError } from "./store-error.ts";
import { type StorePlace, storePlace } from "./store-place.ts";

/** yes: bring the store to this build's schema. check: refuse one that is not. no: open it as it is. */
export type MigrateMode = "yes" | "check" | "no";

export interface StoreOptions {
  /** A directory for PGlite. At most one of `data` and `postgres`; neither is a store in memory. */
  readonly data?: string;
  /** A PostgreSQL URL. */
  readonly postgres?: string;
  /** Default: "yes" for an embedded store, which has no other user; "check" for PostgreSQL. */
  readonly migrate?: MigrateMode;
  readonly onWarning: (warning: string) => void;
  /** The embedded database broke. Called once; the process should say so and end, and a restart recovers. */
  readonly onFatal: (error: Error) => void;
}

export interface Store {
  readonly database: Database;
  readonly kind: StorePlace["kind"];
  readonly place: StorePlace;
  /** What opening it changed; null unless it was opened with `migrate: "yes"`. */
  readonly migrated: MigrateResult | null;
  close(): Promise<void>;
}

export async function openStore(options: StoreOptions): Promise<Store> {
  const place = storePlace(options);
  const mode = options.migrate ?? (place.kind === "postgres" ? "check" : "yes");
  try {
    const database = await openDatabase(place, mode, options);
    const migrated = await bringToSchema(database, mode);
    return { database, kind: place.kind, place, migrated, close: () => database.close() };
  } catch (error) {
    throw storeError(error, place, "cannot open");
  }
}

async function openDatabase(place: StorePlace, mode: MigrateMode, options: StoreOptions): Promise<Database> {
  const { onFatal, onWarning } = options;
  switch (place.kind) {
    case "memory":
      return await openPglite({ snapshot: await emptySnapshot(), onFatal });
    case "postgres":
      return await openPostgres({
        url: place.url,
        onWarning: (warning, cause) => onWarning(`${warning}: ${String(cause)}`),
      });
    case "directory": {
      // The layout of a directory is the engine's (store-directory.ts there): DIR/store is complete or absent.
      const isNew = !existsSync(join(place.directory, "store"));
      if (isNew && mode !== "yes") throw missingStore(place); // O3
      return await openPglite({
        directory: place.directory,
        onFatal,
        ...(isNew ? { snapshot: await emptySnapshot() } : {}),
      });
    }
  }
}

async function bringToSchema(database: Database, mode: MigrateMode): Promise<MigrateResult | null> {
  try {
    if (mode === "yes") return await migrate(database);
    if (mode === "check") await checkSchema(database);
    return null;
  } catch (error) {
    await database.close(); // O4
    throw error;
  }
}

/** O2 */
async function emptySnapshot(): Promise<Uint8Array> {
  return await cachedSnapshot("empty", async () => {
    const database = await openPglite();
    try {
      return await database.dumpSnapshot();
    } finally {
      await database.close();
    }
  });
}
