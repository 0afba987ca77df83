// Databases for tests: prepared once, then copied for each test file in a fraction of a second.
//
// On PostgreSQL a copy is a database cloned from a template; on PGlite it is an in-memory instance loaded from a
// snapshot. The template and the snapshot are made by `prepare` (migrations) and named by `digest`.
//
//   T1. Every test database is its own; nothing a test does is seen by another.
//   T2. A template appears under its name complete or not at all, even if many workers make it at the same time.
//   T3. Roles belong to the server, not to a database: `prepareServer` makes them, once and repeatably, before `prepare`.

import { createHash, randomBytes } from "node:crypto";
import { cachedSnapshot, openPglite } from "@tessera/engines/pglite";
import { openPostgres } from "@tessera/engines/postgres";
import type { Database } from "@tessera/kernel/ports";
import { inject } from "vitest";

export type TestEngine = "pglite" | "postgres";

export interface TestDatabasesOptions {
  readonly prepare: (database: Database) => Promise<void>;
  /** Changes whenever `prepare` or `prepareServer` would do something else. */
  readonly digest: string;
  /** T3 */
  readonly prepareServer?: (database: Database) => Promise<void>;
  /** Default: TESSERA_TEST_ENGINE. */
  readonly engine?: TestEngine;
  /** Default: the server of the run. */
  readonly postgresUrl?: string;
}

export interface TestDatabase {
  readonly engine: TestEngine;
  readonly database: Database;
  /** Null on PGlite. */
  readonly url: string | null;
  /** A second handle on the same store: on PostgreSQL another pool, perhaps as another role; on PGlite the same. */
  another(options?: { readonly user?: string; readonly poolMax?: number }): Promise<Database>;
  /** Closes every handle and drops the database. */
  close(): Promise<void>;
}

export interface TestDatabases {
  readonly engine: TestEngine;
  /** One fresh database, prepared. */
  open(): Promise<TestDatabase>;
}

export function createTestDatabases(options: TestDatabasesOptions): TestDatabases {
  const engine = options.engine ?? engineFromEnvironment();
  const digest = createHash("sha256").update(options.digest).digest("hex").slice(0, 24);
  if (engine === "pglite") return { engine, open: () => openCopyOfSnapshot(options, digest) };
  const serverUrl = options.postgresUrl ?? inject("postgresUrl");
  return { engine, open: () => openCloneOfTemplate(options, digest, serverUrl) };
}

export function engineFromEnvironment(): TestEngine {
  const engine = process.env.TESSERA_TEST_ENGINE;
  if (engine === "pglite" || engine === "postgres") return engine;
  throw new Error(`TESSERA_TEST_ENGINE must be "pglite" or "postgres", not ${JSON.stringify(engine)}`);
}

async function openCopyOfSnapshot(options: TestDatabasesOptions, digest: string): Promise<TestDatabase> {
  const snapshot = await cachedSnapshot(`test-${digest}`, async () => {
    const database = await openPglite();
    await options.prepareServer?.(database);
    await options.prepare(database);
    const made = await database.dumpSnapshot();
    await database.close();
    return made;
  });
  const database = await openPglite({ snapshot });
  return {
    engine: "pglite",
    database,
    url: null,
    another: async () => database,
    close: () => database.close(),
  };
}

async function openCloneOfTemplate(
  options: TestDatabasesOptions,
  digest: string,
  serverUrl: string,
): Promise<TestDatabase> {
  const server = await openPostgres({ url: serverUrl, poolMax: 2, applicationName: "tessera-testkit" });
  try {
    const template = `tessera_template_${digest}`;
    await ensureTemplate(server, serverUrl, template, options);
    const name = `tessera_test_${randomBytes(8).toString("hex")}`;
    await server.query(`create database ${name} template ${template}`);
    return await openClone(serverUrl, name);
  } finally {
    await server.close();
  }
}

async function openClone(serverUrl: string, name: string): Promise<TestDatabase> {
  const url = withDatabase(serverUrl, name);
  const database = await openPostgres({ url, applicationName: "tessera-test" });
  const handles = [database];
  return {
    engine: "postgres",
    database,
    url,
    another: async ({ user, poolMax } = {}) => {
      const other = await openPostgres({
        url: user === undefined ? url : withUser(url, user),
        ...(poolMax === undefined ? {} : { poolMax }),
      });
      handles.push(other);
      return other;
    },
    close: async () => {
      await Promise.all(handles.map((handle) => handle.close()));
      const server = await openPostgres({ url: serverUrl, poolMax: 1, applicationName: "tessera-testkit" });
      await server.query(`drop database if exists ${name} with (force)`).finally(() => server.close());
    },
  };
}

/** T2: made under another name and renamed; a transaction holds an advisory lock meanwhile. */
async function ensureTemplate(
  server: Database,
  serverUrl: string,
  template: string,
  options: TestDatabasesOptions,
): Promise<void> {
  const exists = "select 1 from pg_database where datname = $1";
  if ((await server.query(exists, [template])).length > 0) return;
  await server.transaction(async (lock) => {
    await lock.query("set local idle_in_transaction_session_timeout = 0");
    await lock.query("set local lock_timeout = '120s'");
    await lock.query("select pg_advisory_xact_lock(hashtextextended('tessera_template', 0))");
    if ((await server.query(exists, [template])).length > 0) return;
    await options.prepareServer?.(server); // T3
    const unfinished = `${template}_new`;
    await server.query(`drop database if exists ${unfinished} with (force)`);
    await server.query(`create database ${unfinished}`);
    const database = await openPostgres({ url: withDatabase(serverUrl, unfinished) });
    await options.prepare(database).finally(() => database.close());
    await server.query(`alter database ${unfinished} rename to ${template}`);
  });
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

function withUser(url: string, user: string): string {
  const changed = new URL(url);
  changed.username = user;
  changed.password = "";
  return changed.href;
}
