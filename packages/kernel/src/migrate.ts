// Migrations: the schema of a store is brought to what this build knows.
//
//   M1. Each migration is one transaction that first takes a lock and records itself, so any number of migrators may
//       run at once, and a killed one leaves nothing half done.
//   M2. Released files never change: a file whose digest differs from the recorded one stops everything.
//   M3. A build older than the newest breaking migration refuses to work on the store and says so.
//   M4. Functions are replaced as a whole when their digest differs, unless a newer build installed them.
//   M5. Every store makes its own ticket key. A prepared store that others are copied from has none.

import { CGError } from "@tessera/protocol";
import type { Database, KillPoints, Statements } from "./ports.ts";
import { readSqlFolder, sha256Hex, sqlQuery } from "./sql-files.ts";

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
  readonly digest: string;
  readonly isBreaking: boolean;
}

const MIGRATE_LOCK = 7_302_601;

export const MIGRATIONS: readonly Migration[] = readSqlFolder("migrations").map((file) => ({
  version: Number.parseInt(file.name, 10),
  name: file.name.replace(/\.sql$/, ""),
  text: file.text,
  digest: sha256Hex(file.text),
  isBreaking: file.text.startsWith("-- compat: breaking"),
}));

const FUNCTIONS = readSqlFolder("functions");
const FUNCTIONS_TEXT = FUNCTIONS.map((file) => file.text).join("\n");
const BOOTSTRAP = readSqlFolder("bootstrap");

export const SCHEMA_VERSION: number = MIGRATIONS.at(-1)?.version ?? 0;
/** Names everything that a migrated store holds; prepared snapshots and templates are keyed by it. */
export const SCHEMA_DIGEST: string = sha256Hex(
  [...BOOTSTRAP, ...FUNCTIONS].map((file) => file.text).join("\n") + MIGRATIONS.map((m) => m.digest).join(),
);

export interface MigrateResult {
  readonly applied: readonly string[];
  readonly functionsReplaced: boolean;
  readonly version: number;
}

export async function migrate(database: Database, options: { killPoints?: KillPoints } = {}): Promise<MigrateResult> {
  const applied: string[] = [];
  await database.transaction(async (tx) => {
    await lock(tx);
    for (const file of BOOTSTRAP) await tx.script(file.text);
  });
  for (const migration of MIGRATIONS) {
    const isNew = await database.transaction(async (tx) => {
      await lock(tx);
      const recorded = await recordedMigrations(tx);
      refuseNewerStore(recorded);
      const known = recorded.find((row) => row.version === migration.version);
      if (known !== undefined) {
        if (known.digest !== migration.digest) {
          throw new CGError(
            "storage_error",
            `cannot migrate: ${migration.name} was applied with other content (${known.digest.slice(0, 12)}, this build has ${migration.digest.slice(0, 12)}); a released migration must not change`,
          );
        }
        return false;
      }
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
  const functionsReplaced = await replaceFunctions(database);
  await ensureTicketKey(database);
  return { applied, functionsReplaced, version: SCHEMA_VERSION };
}

/** Makes an empty store into one that copies are made of: at this build's schema, and without a secret (M5). */
export async function prepareCopies(database: Database): Promise<void> {
  await migrate(database);
  await database.query(sqlQuery("ticket_key_forget"));
}

/** What `migrate` says of a copy of a prepared store. */
export const MIGRATED_COPY: MigrateResult = {
  applied: MIGRATIONS.map(({ name }) => name),
  functionsReplaced: true,
  version: SCHEMA_VERSION,
};

/** Refuses a store that this build cannot work on: not migrated, too old, or too new (M3). */
export async function checkSchema(database: Database): Promise<void> {
  const exists = await database.query<{ there: boolean }>(sqlQuery("migrations_table_exists"));
  const recorded = exists[0]?.there === true ? await recordedMigrations(database) : [];
  const newest = Math.max(0, ...recorded.map((row) => row.version));
  refuseNewerStore(recorded);
  if (newest < SCHEMA_VERSION) {
    throw new CGError(
      "storage_error",
      `cannot start: the store has schema ${newest}, this build needs ${SCHEMA_VERSION}; run \`tessera migrate\` first`,
      { details: { found: newest, expected: SCHEMA_VERSION } },
    );
  }
}

async function lock(tx: Statements): Promise<void> {
  await tx.query(sqlQuery("migration_lock"), [MIGRATE_LOCK]);
}

type RecordedMigration = { version: number; digest: string; is_breaking: boolean };

function recordedMigrations(statements: Statements): Promise<RecordedMigration[]> {
  return statements.query<RecordedMigration>(sqlQuery("migrations_recorded"));
}

function refuseNewerStore(recorded: readonly RecordedMigration[]): void {
  const breaking = recorded.filter((row) => row.is_breaking && row.version > SCHEMA_VERSION).at(-1);
  if (breaking !== undefined) {
    throw new CGError(
      "unsupported_version",
      `cannot start: the store's schema ${breaking.version} is breaking, this build knows up to ${SCHEMA_VERSION}; upgrade this process or stop it`,
    );
  }
}

/** M5. Looked at first: a role that may not write the key need not, where there is one. */
async function ensureTicketKey(database: Database): Promise<void> {
  const [key] = await database.query<{ there: boolean }>(sqlQuery("ticket_key_there"));
  if (key?.there !== true) await database.query(sqlQuery("ticket_key_make"));
}

async function replaceFunctions(database: Database): Promise<boolean> {
  const digest = sha256Hex(FUNCTIONS_TEXT);
  return database.transaction(async (tx) => {
    await lock(tx);
    const rows = await tx.query<{ digest: string; schema_version: number }>(sqlQuery("functions_installed"));
    const installed = rows[0];
    if (installed !== undefined && (installed.digest === digest || installed.schema_version > SCHEMA_VERSION))
      return false;
    for (const file of FUNCTIONS) await tx.script(file.text);
    await tx.query(sqlQuery("functions_record"), [digest, SCHEMA_VERSION]);
    return true;
  });
}
