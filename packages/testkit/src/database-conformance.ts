// What every adapter of the `Database` port must do, as a Vitest suite.
//
// `open` gives a handle on a store that no other test uses at the time. The suite makes its own schema and drops it.

import { AsyncLocalStorage } from "node:async_hooks";
import { type Database, DatabaseError, type DatabaseErrorKind } from "@tessera/kernel/ports";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

export function databaseConformance(name: string, open: () => Promise<Database>): void {
  describe(`${name} is a Database`, () => {
    let database: Database;

    beforeAll(async () => {
      database = await open();
    });
    beforeEach(async () => {
      await database.script(`
        drop schema if exists conformance cascade;
        create schema conformance;
        create table conformance.item (id int8 primary key, label text not null unique);
      `);
    });
    afterAll(async () => {
      await database.script("drop schema if exists conformance cascade");
      await database.close();
    });

    const one = async (text: string, values: readonly unknown[] = []) => (await database.query(text, values))[0]?.v;
    const labels = async () =>
      (await database.query("select label as v from conformance.item order by id")).map((r) => r.v);

    describe("values", () => {
      test.each([
        ["text with every kind of character", "select $1::text as v", "häßlich 漢字 🦊 '\"\\ \n\t \u0001 {} $1"],
        ["empty text", "select $1::text as v", ""],
        ["a boolean", "select $1::boolean as v", true],
        ["a small integer", "select $1::int4 as v", -2_147_483_648],
        ["a bigint up to 2^53 - 1", "select $1::int8 as v", Number.MAX_SAFE_INTEGER],
        ["a negative bigint", "select $1::int8 as v", Number.MIN_SAFE_INTEGER],
        ["a float", "select $1::float8 as v", 0.1],
        ["null", "select $1::jsonb as v", null],
        ["a list of texts", "select $1::text[] as v", ['a"b', "c\\d", "{e,f}", "", "NULL", null]],
        ["a list of bigints", "select $1::int8[] as v", [1, 2, null]],
        [
          "a list of lists",
          "select $1::int4[] as v",
          [
            [1, 2],
            [3, 4],
          ],
        ],
        ["an empty list", "select $1::text[] as v", []],
      ])("%s comes back as it was sent", async (_, text, value) => {
        expect(await one(text, [value])).toEqual(value);
      });

      test("undefined is sent as null", async () => {
        expect(await one("select $1::text is null as v", [undefined])).toBe(true);
      });

      test("JSON goes in as text and comes back parsed, alone and in lists", async () => {
        const value = { nested: [1, { deep: "ü\u2028" }, null, true], number: 1.5e10, empty: {} };
        expect(await one("select $1::jsonb as v", [JSON.stringify(value)])).toEqual(value);
        expect(await one("select $1::json as v", [JSON.stringify(value)])).toEqual(value);
        expect(await one("select array[$1::jsonb, null] as v", [JSON.stringify(value)])).toEqual([value, null]);
      });

      test("a JSON text of a mebibyte survives", async () => {
        const value = { text: "ä".repeat(512 * 1024) };
        expect(await one("select $1::jsonb as v", [JSON.stringify(value)])).toEqual(value);
      });

      test("an object is refused before it is sent, because JSON is passed as text", async () => {
        await expectKind(database.query("select $1::jsonb as v", [{ a: 1 }]), "statement");
      });

      test("bytes come back as a Uint8Array", async () => {
        const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
        const back = await one("select $1::bytea as v", [bytes]);
        expect(back).toBeInstanceOf(Uint8Array);
        expect(Buffer.from(back as Uint8Array).equals(Buffer.from(bytes))).toBe(true);
        expect(await one("select length($1::bytea) as v", [new Uint8Array(0)])).toBe(0);
      });

      test("timestamps are ISO text to the microsecond, in UTC", async () => {
        const cases = [
          ["select '2026-01-02 03:04:05.678901+00'::timestamptz as v", "2026-01-02T03:04:05.678901Z"],
          ["select '2026-01-02 05:04:05+02'::timestamptz as v", "2026-01-02T03:04:05Z"],
          ["select '2026-01-02 03:04:05.5'::timestamp as v", "2026-01-02T03:04:05.5"],
          ["select '2026-01-02'::date as v", "2026-01-02"],
          ["select 'infinity'::timestamptz as v", "infinity"],
        ] as const;
        for (const [text, expected] of cases) expect(await one(text)).toBe(expected);
        expect(await one("select array['2026-01-02 03:04:05+00'::timestamptz] as v")).toEqual(["2026-01-02T03:04:05Z"]);
      });

      test("a timestamp goes in as ISO text or as a Date", async () => {
        const text = "2026-01-02T03:04:05.678Z";
        expect(await one("select $1::timestamptz as v", [text])).toBe(text);
        expect(await one("select $1::timestamptz as v", [new Date(text)])).toBe(text);
      });

      test("a count is a number, a numeric stays exact text, a uuid is text", async () => {
        expect(await one("select count(*) as v from conformance.item")).toBe(0);
        expect(await one("select 12345678901234567890.10::numeric as v")).toBe("12345678901234567890.10");
        const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
        expect(await one("select $1::uuid as v", [uuid])).toBe(uuid);
      });

      test("a bigint beyond 2^53 is an error, not a rounded number", async () => {
        await expectKind(database.query("select 9007199254740993 as v"), "statement");
      });

      test("columns keep the names of the statement, and no rows is an empty list", async () => {
        expect(await database.query(`select 1 as "Mixed Case", 2 as plain`)).toEqual([{ "Mixed Case": 1, plain: 2 }]);
        expect(await database.query("select 1 as v where false")).toEqual([]);
        expect(await database.query("insert into conformance.item values (1, 'a')")).toEqual([]);
      });
    });

    describe("errors", () => {
      test.each<[string, string, DatabaseErrorKind, string]>([
        ["a syntax error", "selec 1", "statement", "42601"],
        ["a missing table", "select * from conformance.nowhere", "statement", "42P01"],
        ["a broken constraint", "insert into conformance.item values (1, null)", "statement", "23502"],
        ["a division by zero", "select 1/0", "statement", "22012"],
        ["a serialization failure", raise("40001"), "retryable", "40001"],
        ["a deadlock", raise("40P01"), "retryable", "40P01"],
        ["a lock that was not given", raise("55P03"), "locked", "55P03"],
        ["a full disk", raise("53100"), "exhausted", "53100"],
        ["too little memory", raise("53200"), "exhausted", "53200"],
        ["a missing privilege", raise("42501"), "forbidden", "42501"],
        ["too many connections", raise("53300"), "unavailable", "53300"],
        ["a start-up in progress", raise("57P03"), "unavailable", "57P03"],
        ["a connection failure", raise("08006"), "connection_lost", "08006"],
        ["an error of the application", raise("TS001"), "statement", "TS001"],
      ])("%s is reported with kind and SQLSTATE", async (_, text, kind, sqlstate) => {
        const error = await expectKind(database.query(text), kind);
        expect(error.sqlstate).toBe(sqlstate);
      });

      test("the message of the server is kept", async () => {
        const error = await expectKind(database.query("select * from conformance.nowhere"), "statement");
        expect(error.message).toContain("conformance.nowhere");
      });

      test("a statement that fails changes nothing", async () => {
        await database.query("insert into conformance.item values (1, 'kept')");
        const text = "insert into conformance.item values (2, 'new'), (3, 'kept')";
        expect((await expectKind(database.query(text), "statement")).sqlstate).toBe("23505");
        expect(await labels()).toEqual(["kept"]);
      });

      test("the database goes on working after an error", async () => {
        await expectKind(database.query("select 1/0"), "statement");
        expect(await one("select 1 as v")).toBe(1);
      });

      test("two statements in one query are refused and neither runs", async () => {
        const text = "insert into conformance.item values (1, 'a'); insert into conformance.item values (2, 'b')";
        await expectKind(database.query(text), "statement");
        expect(await labels()).toEqual([]);
      });

      test("a wrong number of values is refused", async () => {
        await expectKind(database.query("select $1::int4 as v", []), "statement");
        await expectKind(database.query("select $1::int4 as v", [1, 2]), "statement");
        expect(await one("select $1::int4 as v", [7])).toBe(7);
      });
    });

    describe("statements over time", () => {
      test("a statement keeps working after the table under it has changed", async () => {
        const text = "select * from conformance.item order by id";
        await database.query("insert into conformance.item values (1, 'a')");
        expect(await database.query(text)).toEqual([{ id: 1, label: "a" }]);
        await database.script("alter table conformance.item add column size int4 not null default 3");
        expect(await database.query(text)).toEqual([{ id: 1, label: "a", size: 3 }]);
        await database.script("alter table conformance.item alter column size type text");
        expect(await database.query(text)).toEqual([{ id: 1, label: "a", size: "3" }]);
      });

      test("a statement that failed once works when its cause is gone", async () => {
        const text = "select count(*) as v from conformance.later";
        await expectKind(database.query(text), "statement");
        await database.script("create table conformance.later (id int4)");
        expect(await one(text)).toBe(0);
      });

      test("more different statements than are kept prepared work", async () => {
        for (let n = 0; n < 600; n++) expect(await one(`select ${n} as v`)).toBe(n);
        for (let n = 0; n < 600; n += 100) expect(await one(`select ${n} as v`)).toBe(n);
      });
    });

    describe("scripts", () => {
      test("a script runs all of its statements, dollar quotes and comments included", async () => {
        await database.script(`
          -- a comment; with a semicolon
          create function conformance.twice(n int4) returns int4 language plpgsql as $body$
          begin
            return n * 2; -- another; one
          end $body$;
          insert into conformance.item values (1, 'a;b');
        `);
        expect(await one("select conformance.twice(21) as v")).toBe(42);
        expect(await labels()).toEqual(["a;b"]);
      });

      test("a script that fails leaves nothing of itself", async () => {
        const text =
          "insert into conformance.item values (1, 'a'); create table conformance.extra (id int4); select 1/0;";
        await expectKind(database.script(text), "statement");
        expect(await labels()).toEqual([]);
        expect(await one("select to_regclass('conformance.extra')::text as v")).toBeNull();
      });
    });

    describe("transactions", () => {
      test("a transaction returns its result and its changes are there", async () => {
        const result = await database.transaction(async (tx) => {
          await tx.query("insert into conformance.item values ($1, $2)", [1, "a"]);
          await tx.script("insert into conformance.item values (2, 'b'); insert into conformance.item values (3, 'c')");
          return (await tx.query("select count(*) as v from conformance.item"))[0]?.v;
        });
        expect(result).toBe(3);
        expect(await labels()).toEqual(["a", "b", "c"]);
      });

      test("a transaction whose work throws is rolled back, and the error comes through unchanged", async () => {
        const reason = new Error("no thanks");
        const work = database.transaction(async (tx) => {
          await tx.query("insert into conformance.item values (1, 'a')");
          await tx.script("create table conformance.extra (id int4)");
          throw reason;
        });
        await expect(work).rejects.toBe(reason);
        expect(await labels()).toEqual([]);
        expect(await one("select to_regclass('conformance.extra')::text as v")).toBeNull();
      });

      test("a transaction that swallows the error of a statement is still rolled back and says so", async () => {
        const work = database.transaction(async (tx) => {
          await tx.query("insert into conformance.item values (1, 'a')");
          await tx.query("select 1/0").catch(() => {});
        });
        expect((await expectKind(work, "statement")).sqlstate).toBe("25P02");
        expect(await labels()).toEqual([]);
      });

      test("statements that the work did not await are part of the transaction or refused, never outside it", async () => {
        let late: Promise<unknown> = Promise.resolve();
        await database.transaction(async (tx) => {
          void tx.query("insert into conformance.item values (1, 'a')");
          late = Promise.resolve().then(async () => {
            await tx.query("select pg_sleep(0.01)");
            await tx.query("insert into conformance.item values (2, 'b')");
          });
          late.catch(() => {});
        });
        await expectKind(late, "statement");
        expect(await labels()).toEqual(["a"]);
      });

      test("a query or script that leaves a transaction open is refused and undone", async () => {
        await expectKind(database.query("begin"), "statement");
        await expectKind(database.script("begin; insert into conformance.item values (1, 'a')"), "statement");
        await expectKind(database.script("begin; select 1/0"), "statement");
        await database.query("insert into conformance.item values (2, 'b')");
        await expectKind(database.query("select 1/0"), "statement");
        expect(await labels()).toEqual(["b"]);
      });

      test("queries from outside do not fall into a transaction that is open", async () => {
        const asOtherCaller = AsyncLocalStorage.snapshot();
        let outside: Promise<unknown> = Promise.resolve();
        const work = database.transaction(async (tx) => {
          await tx.query("insert into conformance.item values (1, 'inside')");
          outside = asOtherCaller(() => database.query("insert into conformance.item values (2, 'outside')"));
          throw new Error("rolled back");
        });
        await expect(work).rejects.toThrow("rolled back");
        await outside;
        expect(await labels()).toEqual(["outside"]);
      });
    });

    describe("many at once", () => {
      test("two hundred concurrent queries each get their own answer", async () => {
        const numbers = Array.from({ length: 200 }, (_, index) => index);
        const answers = await Promise.all(numbers.map((n) => one("select $1::int4 as v", [n])));
        expect(answers).toEqual(numbers);
      });

      test("failures among concurrent queries stay with their own callers", async () => {
        const numbers = Array.from({ length: 60 }, (_, index) => index);
        const outcomes = await Promise.allSettled(numbers.map((n) => one("select 10 / ($1::int4 % 3) as v", [n])));
        expect(outcomes.map((outcome) => outcome.status)).toEqual(
          numbers.map((n) => (n % 3 === 0 ? "rejected" : "fulfilled")),
        );
      });

      test("concurrent increments are all counted", async () => {
        await database.query("insert into conformance.item values (0, 'counter')");
        const add = () => database.query("update conformance.item set id = id + 1 where label = $1", ["counter"]);
        await Promise.all(Array.from({ length: 50 }, add));
        expect(await one("select id as v from conformance.item")).toBe(50);
      });
    });

    describe("closing", () => {
      test("close waits for what is running; later calls fail and say that the handle is closed", async () => {
        const other = await open();
        let answer: unknown = "still running";
        void other.query("select pg_sleep(0.05), 1 as v").then((rows) => {
          answer = rows[0]?.v;
        });
        await other.close();
        expect(answer).toBe(1);
        for (const call of [other.query("select 1"), other.script("select 1"), other.transaction(async () => 1)]) {
          expect((await expectKind(call, "statement")).message).toContain("closed");
        }
        await other.close();
      });
    });
  });
}

/** A statement that fails with the given SQLSTATE. */
function raise(sqlstate: string): string {
  return `do $$ begin raise exception 'made for a test' using errcode = '${sqlstate}'; end $$`;
}

async function expectKind(call: Promise<unknown>, kind: DatabaseErrorKind): Promise<DatabaseError> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DatabaseError)) throw new Error(`expected a DatabaseError, got ${String(error)}`);
  expect(error.kind).toBe(kind);
  return error;
}
