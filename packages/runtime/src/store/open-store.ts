// A store: the database behind the kernel, opened and at this build's schema.
//
//   O1. One place: a PGlite directory, a PostgreSQL database, or PGlite in memory (store-place.ts).
//   O2. A new embedded store is a copy of a prepared one from a cache, which saves most of its three seconds. The prepared one is
//       at this build's schema and holds no secret: each store makes its own ticket key.
//   O3. Looking at a store does not make one: only `migrate: "yes"` creates a directory.
//   O4. A store that fails to open leaves nothing open behind it.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { PgliteDatabase, Snapshot } from "@tessera/engines/pglite";
import { checkSchema, type Database, MIGRATED_COPY, type MigrateResult, migrate } from "@tessera/kernel";
import { makePreparedStore, PREPARED_STORE_KEY } from "./prepared-store.ts";
import { damagedStore, isFileError, missingStore, storeError } from "./store-error.ts";
import { type StorePlace, storePlace } from "./store-place.ts";

/** yes: bring the store to this build's schema. check: refuse one that is not. no: open it as it is. */
export type MigrateMode = "yes" | "check" | "no";

/** Which store is opened: a directory, PostgreSQL, or memory. */
export interface StoreOptions {
  /** A directory for PGlite. At most one of `data` and `postgres`; neither is a store in memory. */
  readonly data?: string | undefined;
  /** A PostgreSQL URL. */
  readonly postgres?: string | undefined;
  /** Default: "yes" for an embedded store, which has no other user; "check" for PostgreSQL. */
  readonly migrate?: MigrateMode | undefined;
  /** With `migrate: "yes"`: puts this build's functions over those of a newer one, which are kept otherwise. */
  readonly allowOlderFunctions?: boolean | undefined;
  readonly onWarning: (warning: string) => void;
  /** The embedded database broke. Called once; the process should say so and end, and a restart recovers. */
  readonly onFatal: (error: Error) => void;
}

/** A database that is open. */
export interface Store {
  readonly database: Database;
  readonly kind: StorePlace["kind"];
  readonly place: StorePlace;
  /** What opening it changed; null unless it was opened with `migrate: "yes"`. */
  readonly migrated: MigrateResult | null;
  /** Tells processes that are refused a directory where this one is reached; nothing where there is no directory. */
  announceApi(url: string): void;
  close(): Promise<void>;
}

interface OpenDatabase {
  readonly database: Database & Partial<Pick<PgliteDatabase, "announceApi">>;
  /** O2 */
  readonly isCopy: boolean;
}

/** Opens a database and brings its schema up to date as the options say. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const place = storePlace(options);
  const mode = options.migrate ?? (place.kind === "postgres" ? "check" : "yes");
  try {
    const { database, isCopy } = await openDatabase(place, mode, options);
    const changed = await bringToSchema(database, mode, options);
    const migrated = changed !== null && isCopy ? MIGRATED_COPY : changed;
    const announceApi = (url: string) => database.announceApi?.(url);
    return { database, kind: place.kind, place, migrated, announceApi, close: () => database.close() };
  } catch (error) {
    throw storeError(error, place, "cannot open");
  }
}

// Adapters are loaded when they are chosen: a process pays for no driver that it does not use.
async function openDatabase(place: StorePlace, mode: MigrateMode, options: StoreOptions): Promise<OpenDatabase> {
  if (place.kind === "postgres") {
    const { openPostgres } = await import("@tessera/engines/postgres");
    const onWarning = (warning: string, cause: unknown) => options.onWarning(`${warning}: ${String(cause)}`);
    return { database: await openPostgres({ url: place.url, onWarning }), isCopy: false };
  }
  const directory = place.kind === "directory" ? { directory: place.directory } : {};
  const isNew = place.kind === "memory" || (await isMissing(place.directory));
  if (isNew && place.kind === "directory" && mode !== "yes") throw missingStore(place); // O3
  const { openPglite } = await import("@tessera/engines/pglite");
  const snapshot = isNew && mode === "yes" ? await preparedSnapshot(options.onWarning) : null;
  try {
    const database = await openPglite({ ...directory, snapshot: snapshot ?? undefined, onFatal: options.onFatal });
    return { database, isCopy: snapshot !== null };
  } catch (error) {
    throw isNew ? error : damagedStore(error, place);
  }
}

/** The layout is the engine's (store-directory.ts there): DIR/store is complete or absent. What cannot be looked at is not absent. */
async function isMissing(directory: string): Promise<boolean> {
  try {
    await stat(join(directory, "store"));
    return false;
  } catch (error) {
    if (isFileError(error) && error.code === "ENOENT") return true;
    throw error;
  }
}

async function bringToSchema(
  database: Database,
  mode: MigrateMode,
  options: Pick<StoreOptions, "allowOlderFunctions">,
): Promise<MigrateResult | null> {
  try {
    if (mode === "yes") return await migrate(database, options);
    if (mode === "check") await checkSchema(database);
    return null;
  } catch (error) {
    await database.close(); // O4
    throw error;
  }
}

/** O2. A cache that cannot be written costs time and is no reason to fail. */
async function preparedSnapshot(onWarning: StoreOptions["onWarning"]): Promise<Snapshot | null> {
  const { cachedSnapshot } = await import("@tessera/engines/pglite");
  try {
    return await cachedSnapshot(PREPARED_STORE_KEY, makePreparedStore);
  } catch (error) {
    if (!isFileError(error)) throw error;
    onWarning(`the cache of prepared stores is not usable (${error.message}); set TESSERA_CACHE_DIR to one that is`);
    return null;
  }
}
