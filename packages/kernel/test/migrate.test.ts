// Migrations: any number of migrators, one schema; what was released does not change; a store from the future is refused.

import { createTestDatabases } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { checkSchema, type Database, FUNCTIONS_LEVEL, MIGRATIONS, migrate, SCHEMA_VERSION } from "../src/index.ts";

const empty = () => createTestDatabases({ prepare: async () => undefined, digest: "empty" }).open();

async function schemaOf(database: Database): Promise<unknown> {
  return database.query(
    `select table_schema, table_name, column_name, data_type, is_nullable from information_schema.columns
      where table_schema in ('card', 'resource', 'state', 'l0') order by 1, 2, ordinal_position`,
  );
}

describe("migrate", () => {
  it("by twenty at once leaves one schema", async () => {
    const store = await empty();
    try {
      const handles = await Promise.all(Array.from({ length: 20 }, () => store.another({ poolMax: 1 })));
      const results = await Promise.all(handles.map((handle) => migrate(handle)));
      expect(results.flatMap((result) => result.applied).sort()).toEqual(
        MIGRATIONS.map((migration) => migration.name).sort(),
      );
      expect(results.filter((result) => result.functionsReplaced)).toHaveLength(1);
      const rows = await store.database.query("select count(*)::int as n from l0.migrations");
      expect(rows).toEqual([{ n: MIGRATIONS.length }]);
      await checkSchema(store.database);
    } finally {
      await store.close();
    }
  });

  it("that fails in the middle leaves no trace of it, and the next one goes on", async () => {
    const store = await empty();
    try {
      let calls = 0;
      const failing = { at: (name: string) => void (name === "migrate.before_commit" && ++calls === 3 && fail()) };
      const fail = () => {
        throw new Error("killed");
      };
      await expect(migrate(store.database, { killPoints: failing })).rejects.toThrow("killed");
      expect(await store.database.query("select version from l0.migrations order by 1")).toEqual([
        { version: 1 },
        { version: 2 },
      ]);
      await expect(checkSchema(store.database)).rejects.toThrow(/run `tessera migrate` first/);
      const result = await migrate(store.database);
      expect(result.applied).toEqual(MIGRATIONS.slice(2).map((migration) => migration.name));
      expect(await migrate(store.database)).toEqual({
        applied: [],
        functionsReplaced: false,
        newerFunctionsKept: null,
        version: SCHEMA_VERSION,
      });
    } finally {
      await store.close();
    }
  });

  it("of a store that is up to date looks at it in two transactions, however many migrations there are", async () => {
    const store = await empty();
    try {
      await migrate(store.database);
      let transactions = 0;
      const counting = new Proxy(store.database, {
        get(target, name) {
          if (name === "transaction") transactions += 1;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
      expect((await migrate(counting)).applied).toEqual([]);
      expect(transactions).toBe(2); // the migrations, and the functions
    } finally {
      await store.close();
    }
  });

  it("refuses a released file that was changed, and a store that a newer build has broken with", async () => {
    const store = await empty();
    try {
      await migrate(store.database);
      const before = await schemaOf(store.database);
      await store.database.query("update l0.migrations set digest = 'other' where version = 2");
      await expect(migrate(store.database)).rejects.toThrow(/0002_resources was applied with other content/);
      await store.database.query("update l0.migrations set digest = $1 where version = 2", [MIGRATIONS[1]?.digest]);
      await store.database.query("insert into l0.migrations values (999, '0999_future', 'x', true, now())");
      await expect(checkSchema(store.database)).rejects.toThrow(/schema 999 is breaking, this build knows up to/);
      await expect(migrate(store.database)).rejects.toThrow(/upgrade this process or stop it/);
      expect(await schemaOf(store.database)).toEqual(before);
    } finally {
      await store.close();
    }
  });

  it("does not replace the functions of a newer build, unless it is asked to", async () => {
    const store = await empty();
    try {
      await migrate(store.database);
      await installed(store.database, "newer", FUNCTIONS_LEVEL + 3);
      expect(await migrate(store.database)).toMatchObject({
        functionsReplaced: false,
        newerFunctionsKept: FUNCTIONS_LEVEL + 3,
      });
      await checkSchema(store.database); // newer functions serve this build
      expect(await migrate(store.database, { allowOlderFunctions: true })).toMatchObject({
        functionsReplaced: true,
        newerFunctionsKept: null,
      });
      expect(await migrate(store.database)).toMatchObject({ functionsReplaced: false, newerFunctionsKept: null });
    } finally {
      await store.close();
    }
  });

  it("replaces the functions of an older build, of one that knew no levels, and of another branch", async () => {
    const store = await empty();
    try {
      await migrate(store.database);
      for (const level of [FUNCTIONS_LEVEL - 1, null, FUNCTIONS_LEVEL]) {
        await installed(store.database, "other", level);
        await expect(checkSchema(store.database)).rejects.toThrow(
          /functions are (older|another build's).*tessera migrate/,
        );
        expect((await migrate(store.database)).functionsReplaced).toBe(true);
        await checkSchema(store.database);
      }
      await store.database.query("delete from l0.functions_installed");
      await expect(checkSchema(store.database)).rejects.toThrow(/has no functions of l0/);
    } finally {
      await store.close();
    }
  });

  it("puts its functions over some whose results have another type, of a newer build that it was asked to replace or of another branch", async () => {
    const store = await empty();
    try {
      await migrate(store.database);
      const before = await schemaOf(store.database);
      for (const level of [FUNCTIONS_LEVEL + 3, FUNCTIONS_LEVEL]) {
        await installed(store.database, "other", level);
        await store.database.script(`
          drop function l0.ring_delay(integer);
          create function l0.ring_delay(rings integer) returns integer language sql as 'select 1'`);
        expect((await migrate(store.database, { allowOlderFunctions: true })).functionsReplaced).toBe(true);
        expect(await schemaOf(store.database)).toEqual(before);
        await checkSchema(store.database);
      }
    } finally {
      await store.close();
    }
  });

  it("counts the functions of this build at their highest level when a change of them was taken back", async () => {
    const store = await empty();
    try {
      await migrate(store.database);
      const level = () => store.database.query("select level from l0.functions_installed");
      await store.database.query("update l0.functions_installed set level = level - 1");
      await checkSchema(store.database); // the same text
      expect((await migrate(store.database)).functionsReplaced).toBe(false);
      expect(await level()).toEqual([{ level: FUNCTIONS_LEVEL }]);
      await store.database.query("update l0.functions_installed set level = level + 5");
      await migrate(store.database);
      expect(await level()).toEqual([{ level: FUNCTIONS_LEVEL + 5 }]);
    } finally {
      await store.close();
    }
  });

  it("brings a store of schema 8, which has no level, to this build's", async () => {
    const store = await empty();
    try {
      const eight = { at: (name: string) => void (name === "migrate.before_commit" && ++calls === 9 && fail()) };
      let calls = 0;
      const fail = () => {
        throw new Error("killed");
      };
      await expect(migrate(store.database, { killPoints: eight })).rejects.toThrow("killed");
      await store.database.query("insert into l0.functions_installed values (true, 'of that build', 8)");
      await expect(checkSchema(store.database)).rejects.toThrow(/has schema 8/);
      expect(await migrate(store.database)).toMatchObject({ functionsReplaced: true, newerFunctionsKept: null });
      await checkSchema(store.database);
    } finally {
      await store.close();
    }
  });
});

function installed(database: Database, digest: string, level: number | null): Promise<unknown> {
  return database.query("update l0.functions_installed set digest = $1, level = $2", [digest, level]);
}
