// Migrators as real processes (docs/faults.md#f51): any number may run at once, and one that is killed leaves nothing half done.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPglite } from "@tessera/engines/pglite";
import { type Database, type KillPoint, MIGRATIONS, migrate, SCHEMA_DIGEST } from "@tessera/kernel";
import { createTestDatabases, TestChild, type TestDatabase } from "@tessera/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MigratorMessage } from "./migrate-process.ts";
import type { StoreAddress } from "./node-process.ts";
import { schemaOf } from "./store-digest.ts";

const TEST_MS = 60_000;
const MIGRATORS = 20;
const PROGRAM = new URL("./migrate-process.ts", import.meta.url);

let scratch: string;
let children: TestChild[];

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "tessera-migrators-"));
  children = [];
});

afterEach(async () => {
  for (const child of children) if (child.exit === null) await child.kill();
  rmSync(scratch, { recursive: true, force: true });
});

async function startMigrator(store: StoreAddress, killAt?: string): Promise<TestChild> {
  const env = killAt === undefined ? {} : { TESSERA_KILL_AT: killAt, TESSERA_KILL_LOG: join(scratch, "kills.log") };
  const child = await TestChild.start(PROGRAM, { args: [JSON.stringify(store)], env });
  children.push(child);
  await child.waitForMessage<MigratorMessage>("ready", (message) => message.event === "ready");
  return child;
}

async function resultOf(child: TestChild): Promise<Extract<MigratorMessage, { event: "migrated" }>> {
  const message = await child.waitForMessage<MigratorMessage>(
    "what it did",
    (said) => said.event === "migrated",
    TEST_MS / 2,
  );
  if (message.event !== "migrated") throw new Error("not a result");
  return message;
}

/** The schema that one undisturbed migration makes. */
async function referenceSchema(engine: "pglite" | "postgres"): Promise<string[]> {
  const databases = createTestDatabases({
    engine,
    prepare: async (database) => void (await migrate(database)),
    digest: `kernel-${SCHEMA_DIGEST}`,
  });
  const store = await databases.open();
  return await schemaOf(store.database).finally(() => store.close());
}

function expectKilledAt(point: KillPoint): void {
  expect(readFileSync(join(scratch, "kills.log"), "utf8")).toBe(`killed at ${point}\n`);
}

async function recorded(database: Database): Promise<string[]> {
  const exists = await database.query<{ there: boolean }>("select to_regclass('l0.migrations') is not null as there");
  if (exists[0]?.there !== true) return [];
  return (await database.query<{ name: string }>("select name from l0.migrations order by version")).map(
    (row) => row.name,
  );
}

describe("on postgres", () => {
  let store: TestDatabase;
  let address: StoreAddress;

  beforeEach(async () => {
    store = await createTestDatabases({ engine: "postgres", prepare: async () => {}, digest: "empty" }).open();
    address = { engine: "postgres", url: store.url ?? "" };
  });
  afterEach(() => store.close());

  test("twenty migrators at once leave one schema", { timeout: TEST_MS }, async () => {
    const migrators = await Promise.all(Array.from({ length: MIGRATORS }, () => startMigrator(address)));
    for (const migrator of migrators) migrator.send("go");
    const results = await Promise.all(migrators.map(resultOf));

    const applied = results.flatMap((result) => result.applied);
    expect(applied.sort()).toEqual(MIGRATIONS.map((migration) => migration.name)); // each by one of them
    expect(results.filter((result) => result.functionsReplaced)).toHaveLength(1);
    expect(await schemaOf(store.database)).toEqual(await referenceSchema("postgres"));
    for (const migrator of migrators) expect(await migrator.ended()).toEqual({ code: 0, signal: null });
  });

  test.each(MIGRATIONS.map((_, n) => n + 1))(
    "a migrator killed before the commit of migration %i leaves nothing of it, and the next one finishes",
    { timeout: TEST_MS },
    async (n) => {
      const killed = await startMigrator(address, `migrate.before_commit:${n}`);
      killed.send("go");
      await killed.expectSignal("SIGKILL");
      expectKilledAt("migrate.before_commit");
      expect(await recorded(store.database)).toHaveLength(n - 1);

      const next = await startMigrator(address);
      next.send("go");
      expect((await resultOf(next)).applied).toEqual(MIGRATIONS.slice(n - 1).map((migration) => migration.name));
      expect(await schemaOf(store.database)).toEqual(await referenceSchema("postgres"));
    },
  );

  test.each(MIGRATIONS.map((_, n) => n + 1))(
    "a migrator killed after the commit of migration %i has done it, and the next one does the rest",
    { timeout: TEST_MS },
    async (n) => {
      const killed = await startMigrator(address, `migrate.after_commit:${n}`);
      killed.send("go");
      await killed.expectSignal("SIGKILL");
      expectKilledAt("migrate.after_commit");
      expect(await recorded(store.database)).toHaveLength(n);

      const next = await startMigrator(address);
      next.send("go");
      expect((await resultOf(next)).applied).toEqual(MIGRATIONS.slice(n).map((migration) => migration.name));
      expect(await schemaOf(store.database)).toEqual(await referenceSchema("postgres"));
    },
  );
});

describe("on a PGlite directory", () => {
  test.each([
    { point: "migrate.before_commit", left: 2 },
    { point: "migrate.after_commit", left: 3 },
  ] as const)(
    "a migrator killed at $point of the third migration is followed by one that finishes",
    { timeout: TEST_MS },
    async ({ point, left }) => {
      const address: StoreAddress = { engine: "pglite", directory: join(scratch, "data") };
      const killed = await startMigrator(address, `${point}:3`);
      killed.send("go");
      await killed.expectSignal("SIGKILL");
      expectKilledAt(point);

      const next = await startMigrator(address);
      next.send("go");
      expect((await resultOf(next)).applied).toEqual(MIGRATIONS.slice(left).map((migration) => migration.name));
      expect(await next.ended()).toEqual({ code: 0, signal: null });
      const database = await openPglite({ directory: address.directory });
      const schema = await schemaOf(database).finally(() => database.close());
      expect(schema).toEqual(await referenceSchema("pglite"));
    },
  );
});
