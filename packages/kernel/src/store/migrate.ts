// Migrations: the schema of a store is brought to what this build knows.
//
//   M1. Each migration is one transaction that first takes a lock and records itself, so any number of migrators may
//       run at once, and a killed one leaves nothing half done. Those that were there at the first look are not looked at
//       again: a store that is up to date costs one transaction, however many migrations there are.
//   M2. Released files never change: a file whose digest differs from the recorded one stops everything.
//   M3. A build older than the newest breaking migration refuses to work on the store and says so; one that is at work already asks
//       now and then, and stops (outdatedBy).
//   M4. Functions are replaced as a whole when their digest differs. Those of a newer build are kept and that is reported, unless
//       the caller asks for this build's: they serve older clients, older ones do not serve newer clients (decision 29).
//       Where one cannot be replaced in its place, because its result has another type, all are dropped first in the same
//       transaction. What other roles were granted on them is gone then, until deploy/roles.sql is run.
//   M5. Every store makes its own ticket key and its own id. A prepared store that others are copied from has neither.

import { TesseraError } from "@tessera/protocol";
import { type Database, DatabaseError, type KillPoints, type Statements } from "../ports.ts";
import {
  FUNCTIONS,
  FUNCTIONS_DIGEST,
  FUNCTIONS_LEVEL,
  functionsAge,
  type InstalledFunctions,
} from "./functions-level.ts";
import { readSqlFolder, sha256Hex, sqlQuery } from "./sql-files.ts";

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
  readonly digest: string;
  readonly isBreaking: boolean;
}

const MIGRATE_LOCK = 7_302_601;
/** invalid_function_definition: a function may not be replaced by one with another type of result, or other names of parameters. */
const CANNOT_REPLACE = "42P13";

export const MIGRATIONS: readonly Migration[] = readSqlFolder("migrations").map((file) => ({
  version: Number.parseInt(file.name, 10),
  name: file.name.replace(/\.sql$/, ""),
  text: file.text,
  digest: sha256Hex(file.text),
  isBreaking: file.text.startsWith("-- compat: breaking"),
}));

const BOOTSTRAP = readSqlFolder("bootstrap");

export const SCHEMA_VERSION: number = MIGRATIONS.at(-1)?.version ?? 0;
/** Names everything that a migrated store holds; prepared snapshots and templates are keyed by it. */
export const SCHEMA_DIGEST: string = sha256Hex(
  [...BOOTSTRAP, ...FUNCTIONS].map((file) => file.text).join("\n") + MIGRATIONS.map((m) => m.digest).join(),
);

/** What a migration found and did. */
export interface MigrateResult {
  readonly applied: readonly string[];
  readonly functionsReplaced: boolean;
  /** M4: the level of a newer build's functions that were left as they are; null: there are none. */
  readonly newerFunctionsKept: number | null;
  readonly version: number;
}

export interface MigrateOptions {
  /** Puts the functions of this build over those of a newer one (M4). */
  readonly allowOlderFunctions?: boolean | undefined;
  readonly killPoints?: KillPoints;
}

export async function migrate(database: Database, options: MigrateOptions = {}): Promise<MigrateResult> {
  const applied: string[] = [];
  const missing = await database.transaction(async (tx) => {
    await lock(tx);
    for (const file of BOOTSTRAP) await tx.script(file.text);
    return await missingMigrations(tx);
  });
  for (const migration of missing) {
    const isNew = await database.transaction(async (tx) => {
      await lock(tx);
      if (!(await missingMigrations(tx)).includes(migration)) return false; // another migrator's, meanwhile
      await tx.query(sqlQuery("migration_record"), [
        migration.version,
        migration.name,
        migration.digest,
        migration.isBreaking,
      ]);
      await tx.script(migration.text);
      await options.killPoints?.at("migrate.before_commit");
      return true;
    });
    if (isNew) {
      applied.push(migration.name);
      await options.killPoints?.at("migrate.after_commit");
    }
  }
  const functions = await replaceFunctions(database, options).catch((error: unknown) => {
    if (!(error instanceof DatabaseError) || error.sqlstate !== CANNOT_REPLACE) throw error;
    return replaceFunctions(database, { ...options, dropsFirst: true }); // M4
  });
  await ensureTicketKey(database);
  await database.query(sqlQuery("store_id_make"));
  return { applied, ...functions, version: SCHEMA_VERSION };
}

/** Makes an empty store into one that copies are made of: at this build's schema, without a secret and without an id (M5). */
export async function prepareCopies(database: Database): Promise<void> {
  await migrate(database);
  await database.query(sqlQuery("ticket_key_forget"));
  await database.query(sqlQuery("store_id_forget"));
}

/** What `migrate` says of a copy of a prepared store. */
export const MIGRATED_COPY: MigrateResult = {
  applied: MIGRATIONS.map(({ name }) => name),
  functionsReplaced: true,
  newerFunctionsKept: null,
  version: SCHEMA_VERSION,
};

/** Refuses a store that this build cannot work on: not migrated, too old, or too new (M3, M4). */
export async function checkSchema(database: Database): Promise<void> {
  const exists = await database.query<{ there: boolean }>(sqlQuery("migrations_table_exists"));
  const recorded = exists[0]?.there === true ? await recordedMigrations(database) : [];
  const newest = Math.max(0, ...recorded.map((row) => row.version));
  refuseNewerStore(recorded);
  if (newest < SCHEMA_VERSION) {
    throw new TesseraError(
      "storage_error",
      `cannot start: the store has schema ${newest}, this build needs ${SCHEMA_VERSION}; run \`tessera migrate\` first`,
      { details: { found: newest, expected: SCHEMA_VERSION } },
    );
  }
  const installed = await installedFunctions(database);
  const found = unusableFunctions(installed);
  if (found === null) return;
  throw new TesseraError("storage_error", `cannot start: ${found}; run \`tessera migrate\` of this build first`, {
    details: { found: installed?.level ?? null, expected: FUNCTIONS_LEVEL },
  });
}

/** Which store this is, for the brokers that it shares with others: another one for each database, also for one that was restored from a dump. */
export async function storeIdOf(database: Database): Promise<string> {
  const [row] = await database.query<{ store_id: string }>(sqlQuery("store_id"));
  if (row === undefined) throw new TesseraError("storage_error", "the store has no id; run `tessera migrate`");
  return row.store_id;
}

/** What is wrong with the functions of a store for this build; null: nothing is. */
export function unusableFunctions(installed: InstalledFunctions): string | null {
  const age = functionsAge(installed);
  if (age === "same" || age === "newer") return null;
  if (age === "missing") return "the store has no functions of l0";
  const level = installed?.level == null ? "older than any level" : `level ${installed.level}`;
  if (age === "older") return `the store's functions are older (${level}), this build needs level ${FUNCTIONS_LEVEL}`;
  return `the store's functions are another build's of the same level (${level})`;
}

async function lock(tx: Statements): Promise<void> {
  await tx.query(sqlQuery("migration_lock"), [MIGRATE_LOCK]);
}

type RecordedMigration = { version: number; digest: string; is_breaking: boolean };

function recordedMigrations(statements: Statements): Promise<RecordedMigration[]> {
  return statements.query<RecordedMigration>(sqlQuery("migrations_recorded"));
}

/** Those of this build that the store does not have; refuses one that it may not have (M2, M3). */
async function missingMigrations(statements: Statements): Promise<readonly Migration[]> {
  const recorded = await recordedMigrations(statements);
  refuseNewerStore(recorded);
  return MIGRATIONS.filter(({ version, name, digest }) => {
    const known = recorded.find((row) => row.version === version);
    if (known === undefined || known.digest === digest) return known === undefined;
    throw new TesseraError(
      "storage_error",
      `cannot migrate: ${name} was applied with other content (${known.digest.slice(0, 12)}, this build has ${digest.slice(0, 12)}); a released migration must not change`,
    );
  });
}

function refuseNewerStore(recorded: readonly RecordedMigration[]): void {
  const found = breakingNews(recorded);
  if (found !== null)
    throw new TesseraError("unsupported_version", `cannot start: ${found}; upgrade this process or stop it`);
}

/** M3 */
function breakingNews(recorded: readonly RecordedMigration[]): string | null {
  const breaking = recorded.findLast((row) => row.is_breaking && row.version > SCHEMA_VERSION);
  if (breaking === undefined) return null;
  return `the store's schema ${breaking.version} is breaking, this build knows up to ${SCHEMA_VERSION}`;
}

/** Why a process that was at the store's schema may not go on: a migration that came since (M3). Null: it may. Cheap enough to be
 *  asked every other second. */
export async function outdatedBy(database: Database): Promise<string | null> {
  return breakingNews(await recordedMigrations(database)) ?? unusableFunctions(await installedFunctions(database));
}

/** M5. Looked at first: a role that may not write the key need not, where there is one. */
async function ensureTicketKey(database: Database): Promise<void> {
  const [key] = await database.query<{ there: boolean }>(sqlQuery("ticket_key_there"));
  if (key?.there !== true) await database.query(sqlQuery("ticket_key_make"));
}

/** Needs the newest migration of this build: before it there is no level. */
async function installedFunctions(statements: Statements): Promise<InstalledFunctions> {
  const [row] = await statements.query<{ digest: string; level: number | null }>(sqlQuery("functions_installed"));
  return row ?? null;
}

/** M4 */
async function replaceFunctions(
  database: Database,
  { allowOlderFunctions = false, dropsFirst = false }: MigrateOptions & { readonly dropsFirst?: boolean },
): Promise<Pick<MigrateResult, "functionsReplaced" | "newerFunctionsKept">> {
  return database.transaction(async (tx) => {
    await lock(tx);
    const installed = await installedFunctions(tx);
    const age = functionsAge(installed);
    if (age === "newer" && !allowOlderFunctions) {
      return { functionsReplaced: false, newerFunctionsKept: installed?.level ?? null };
    }
    const isReplaced = age !== "same";
    if (isReplaced && dropsFirst) await tx.query(sqlQuery("functions_drop"));
    if (isReplaced) for (const file of FUNCTIONS) await tx.script(file.text);
    // The same text may stand at two levels, where a change was taken back: the higher one counts.
    const level = isReplaced ? FUNCTIONS_LEVEL : Math.max(FUNCTIONS_LEVEL, installed?.level ?? 0);
    if (isReplaced || level !== installed?.level) {
      await tx.query(sqlQuery("functions_record"), [FUNCTIONS_DIGEST, SCHEMA_VERSION, level]);
    }
    return { functionsReplaced: isReplaced, newerFunctionsKept: null };
  });
}
