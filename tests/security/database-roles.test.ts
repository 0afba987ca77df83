// The rights of every database role, over every table, view and function of a real PostgreSQL: the lists come from its catalog,
// so that what a migration adds is tested without a word here. Then the ways around rights: other roles, objects that stand in
// for ours, files, other sessions. PGlite has one superuser session: nothing to hold there (ARCHITECTURE.md, Limits).
//
//   D1. Every cell is tried by that role's own login, with a statement that changes nothing; the catalog's word is compared, too.
//       Ways around are tried in transactions that are rolled back.
//   D2. What is forbidden fails with 42501, not with something else that happens to go wrong first.

import { readFileSync } from "node:fs";
import { type Database, DatabaseError, migrate, SCHEMA_DIGEST } from "@tessera/kernel";
import { createTestDatabases, type TestDatabase } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rowsDigest } from "../fuzz/rows-digest.ts";
import { COLUMNS, DATABASE_ROLES, type DatabaseRole, FUNCTIONS, TABLE_RIGHTS, TABLES } from "./database-rights.ts";

const SCHEMAS = "('l0', 'card', 'resource', 'state')";
const FORBIDDEN = "42501";
const ROLES_SQL = readFileSync(new URL("../../deploy/roles.sql", import.meta.url), "utf8");
const suffix = Math.trunc(performance.timeOrigin).toString(36);
const loginOf = (role: DatabaseRole) => `matrix_${role}_${suffix}`;

let store: TestDatabase;
const sessions = new Map<DatabaseRole, Database>();
const sessionOf = (role: DatabaseRole): Database => {
  const session = sessions.get(role);
  if (session === undefined) throw new Error(role);
  return session;
};

beforeAll(async () => {
  const prepare = async (database: Database) => void (await migrate(database));
  store = await createTestDatabases({ engine: "postgres", prepare, digest: `kernel-${SCHEMA_DIGEST}` }).open();
  await store.database.script(ROLES_SQL);
  for (const role of DATABASE_ROLES) {
    await store.database.script(`create role ${loginOf(role)} login in role tessera_${role}`);
    sessions.set(role, await store.another({ user: loginOf(role), poolMax: 1 }));
  }
});
afterAll(async () => {
  for (const role of DATABASE_ROLES) await store.database.script(`drop role ${loginOf(role)}`);
  await store.close();
});

class RolledBack extends Error {}

/** What the statement fails with, or `done`. */
async function attempt(role: DatabaseRole, statement: string): Promise<string> {
  return await codeOf(sessionOf(role).query(statement));
}

/** The same, and nothing of it stays. */
async function attemptAndRollBack(role: DatabaseRole, statement: string): Promise<string> {
  const tried = sessionOf(role).transaction(async (transaction) => {
    await transaction.query(statement);
    throw new RolledBack();
  });
  return await codeOf(tried);
}

async function codeOf(tried: Promise<unknown>): Promise<string> {
  try {
    await tried;
    return "done";
  } catch (error) {
    if (error instanceof RolledBack) return "done";
    if (error instanceof DatabaseError) return error.sqlstate ?? error.kind;
    throw error;
  }
}

interface Relation {
  readonly name: string;
  readonly is_view: boolean;
  readonly column: string;
}

const relations = () =>
  store.database.query<Relation & Record<string, unknown>>(`
    select format('%I.%I', n.nspname, c.relname) as name, c.relkind <> 'r' as is_view,
           (select quote_ident(a.attname) from pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity = ''
             order by a.attnum limit 1) as column
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ${SCHEMAS} and c.relkind in ('r', 'p', 'v', 'm', 'f') order by 1`);

const statementOf = (right: string, { name, column }: Relation): string =>
  ({
    select: `select * from ${name} limit 0`,
    insert: `insert into ${name} (${column}) select null limit 0`,
    update: `update ${name} set ${column} = null where false`,
    delete: `delete from ${name} where false`,
  })[right] ?? "";

describe("the rights to tables and views", () => {
  it("are known for every one that there is", async () => {
    expect((await relations()).map(({ name }) => name)).toEqual(Object.keys(TABLES).toSorted());
  });

  it.each(DATABASE_ROLES)("of %s are those of the table, tried one by one, and no others", async (role) => {
    const seen: Record<string, string> = {};
    for (const relation of await relations()) {
      let row = "";
      for (const right of TABLE_RIGHTS) {
        const code = await attempt(role, statementOf(right, relation));
        const isRefused = code === FORBIDDEN || (relation.is_view && right !== "select" && code !== "done"); // a view that cannot be written
        const isColumnsOnly = COLUMNS[`${role} ${right} ${relation.name}`] !== undefined;
        if (!isRefused && code !== "done") throw new Error(`${role}: ${right} ${relation.name} failed with ${code}`); // D2
        row += isRefused || isColumnsOnly ? "-" : right.slice(0, 1);
      }
      seen[relation.name] = row;
    }
    expect(seen).toEqual(Object.fromEntries(Object.entries(TABLES).map(([name, cells]) => [name, cells[role]])));
  });

  it("are, by the catalog's word, the same; no role may truncate, refer or hang a trigger; columns are as listed", async () => {
    const granted: string[] = [];
    const columns: Record<string, string[]> = {};
    for (const role of DATABASE_ROLES) {
      const rows = await store.database.query<{ name: string; rights: string; more: boolean }>(
        `select format('%I.%I', n.nspname, c.relname) as name,
                (select string_agg(case when has_table_privilege($1::text, c.oid, r.name) then left(r.name, 1) else '-' end, '' order by r.n)
                   from unnest($2::text[]) with ordinality r (name, n)) as rights,
                has_table_privilege($1::text, c.oid, 'truncate, references, trigger') as more
           from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where n.nspname in ${SCHEMAS} and c.relkind in ('r', 'p', 'v', 'm', 'f')`,
        [`tessera_${role}`, [...TABLE_RIGHTS]],
      );
      for (const { name, rights, more } of rows) {
        if (more || rights !== TABLES[name]?.[role])
          granted.push(`${role} ${name} ${rights}${more ? " and more" : ""}`);
      }
      const some = await store.database.query<{ cell: string; names: string }>(
        `select r.name || ' ' || format('%I.%I', n.nspname, c.relname) as cell, string_agg(a.attname, ' ' order by a.attname) as names
           from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join unnest($2::text[]) r (name)
           join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          where n.nspname in ${SCHEMAS} and c.relkind = 'r' and not has_table_privilege($1::text, c.oid, r.name)
            and has_column_privilege($1::text, c.oid, a.attnum, r.name) group by 1`,
        [`tessera_${role}`, TABLE_RIGHTS.filter((right) => right !== "delete")],
      );
      for (const { cell, names } of some) columns[`${role} ${cell}`] = names.split(" ");
    }
    expect(granted).toEqual([]);
    expect(columns).toEqual(COLUMNS);
  });
});

describe("the rights to functions", () => {
  const functions = () =>
    store.database.query<{ name: string; call: string; allowed: string; is_definer: boolean; settings: string }>(
      `select p.proname as name, p.prosecdef as is_definer, coalesce(array_to_string(p.proconfig, ';'), '') as settings,
              format('select %I.%I(%s)', n.nspname, p.proname,
                (select string_agg('null::' || format_type(t.type, null), ', ' order by t.n)
                   from unnest(p.proargtypes::oid[]) with ordinality t (type, n))) as call,
              (select coalesce(string_agg(r, ' ' order by r), '') from unnest($1::text[]) r
                where has_function_privilege('tessera_' || r, p.oid, 'execute')) as allowed
         from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in ${SCHEMAS} order by 1`,
      [[...DATABASE_ROLES]],
    );
  const wanted = new Map(
    FUNCTIONS.flatMap(({ roles, names }) => names.map((name) => [name, roles.toSorted().join(" ")])),
  );

  it("are known for every one that there is, and are as listed", async () => {
    const seen = Object.fromEntries((await functions()).map(({ name, allowed }) => [name, allowed]));
    expect(seen).toEqual(Object.fromEntries(wanted));
  });

  it.each(DATABASE_ROLES)("of %s: every other function is refused when it is called", async (role) => {
    const others = (await functions()).filter(({ name }) => wanted.get(name)?.split(" ").includes(role) !== true);
    const codes = new Map<string, string>();
    for (const { name, call } of others) codes.set(name, await attempt(role, call));
    // A trigger's function fails as such, whichever role calls it.
    expect([...codes].filter(([, code]) => code !== FORBIDDEN).map(([name]) => name)).toEqual([]);
    expect(codes.size).toBe([...wanted.values()].filter((roles) => !roles.split(" ").includes(role)).length);
  });

  it("that run with their owner's rights are these nine, and look names up nowhere but in the catalog", async () => {
    const definers = (await functions()).filter(({ is_definer }) => is_definer);
    expect(definers.map(({ name }) => name)).toEqual([
      "delete_project",
      "end_holders",
      "note_refusals",
      "open_call",
      "put_result_card",
      "renew_call",
      "report",
      "watched_logins",
      "watches_holders",
    ]);
    for (const { settings } of definers) expect(settings).toContain("search_path=pg_catalog, pg_temp");
  });
});

/** Ways around the rights, for every role; MINE is the role's own login. */
const AROUND: readonly string[] = [
  ...DATABASE_ROLES.map((role) => `set role matrix_OTHER_${role}`),
  "set role postgres",
  "set session authorization postgres",
  "set local session_replication_role = replica",
  "select set_config('session_replication_role', 'replica', true)",
  "alter role MINE superuser",
  "create role mine",
  "grant tessera_kernel to MINE",
  "create schema mine",
  "create table public.mine (a int)",
  "create table l0.mine (a int)",
  "create table state.mine (a int)",
  "create temporary table calls (a int)",
  "create type pg_temp.calls as (a int)",
  "create function pg_temp.sha256(bytea) returns bytea language sql as 'select $1'",
  "create function public.sha256(bytea) returns bytea language sql as 'select $1'",
  "create function l0.report(text) returns text language sql as 'select $1'",
  "create or replace function l0.report(items jsonb) returns json language sql as 'select null::json'",
  "create operator public.= (leftarg = text, rightarg = text, function = texteq)",
  "alter function l0.report(jsonb) reset search_path",
  "alter function l0.report(jsonb) security invoker",
  "drop function l0.report(jsonb)",
  "alter table state.calls disable trigger all",
  "alter table card.cards owner to MINE",
  "alter table state.calls add column mine int",
  "create trigger mine before update on state.calls for each row execute function l0.refuse_change()",
  "create rule mine as on insert to state.audit_log do instead nothing",
  "create index mine on state.calls (tool_name)",
  "drop table state.audit_log",
  "truncate state.audit_log",
  "comment on table card.cards is 'mine'",
  "copy (select 1) to program 'true'",
  "copy (select 1) to '/dev/null'",
  "create temporary table f (t text); copy f from '/etc/passwd'",
  "select pg_read_file('/etc/passwd')",
  "select pg_ls_dir('.')",
  "select lo_import('/etc/passwd')",
  "select pg_reload_conf()",
  "create extension dblink schema card",
  "create extension file_fdw schema card",
  "create event trigger mine on ddl_command_start execute function l0.refuse_change()",
  "create publication mine for all tables",
  "alter database DATABASE set search_path = public",
  "select rolpassword from pg_authid",
];

describe("around the rights", () => {
  it.each(DATABASE_ROLES)("there is no way for %s", async (role) => {
    const [{ name = "" } = {}] = await store.database.query<{ name: string }>("select current_database() as name");
    const before = await rowsDigest(store.database);
    const open: string[] = [];
    for (const text of AROUND) {
      const statement = text
        .replace(/matrix_OTHER_(\w+)/, (_, other: DatabaseRole) => (other === role ? "postgres" : loginOf(other)))
        .replace("MINE", loginOf(role))
        .replace("DATABASE", name);
      for (const each of statement.split("; ")) {
        const code = await attemptAndRollBack(role, each);
        if (code !== FORBIDDEN) open.push(`${each}: ${code}`);
      }
    }
    // These are not for transactions.
    for (const statement of ["alter system set fsync = off", `drop database ${name}`, "create database mine"]) {
      await expect(sessionOf(role).query(statement), statement).rejects.toMatchObject({ sqlstate: FORBIDDEN });
    }
    expect(open).toEqual([]);
    expect(await rowsDigest(store.database)).toBe(before);
  });

  it("no role ends or reads another's session", async () => {
    for (const role of DATABASE_ROLES) {
      const [row] = await store.database.query<{ pid: number }>("select pg_backend_pid() as pid");
      expect(await attempt(role, `select pg_terminate_backend(${row?.pid})`), role).toBe(FORBIDDEN);
      expect(await attempt(role, `select pg_cancel_backend(${row?.pid})`), role).toBe(FORBIDDEN);
      const [seen] = await sessionOf(role).query<{ said: string }>(
        "select string_agg(query, '') as said from pg_stat_activity where usename <> current_user and datname = current_database()",
      );
      expect(String(seen?.said).replaceAll("<insufficient privilege>", "").replace("null", ""), role).toBe("");
    }
  });

  it("a path of a tool's own does not change what the four functions do", async () => {
    const tool = sessionOf("tool");
    const item = JSON.stringify([
      { project_id: "p", tool_call_id: "tc_x", capability: "", content: { status: "success" } },
    ]);
    for (const path of ["pg_temp, public", "public", "''", '"$user", pg_temp, l0']) {
      const answer = await tool.transaction(async (transaction) => {
        await transaction.query(`set local search_path = ${path}`);
        return await transaction.query<{ answer: unknown }>("select l0.report($1::pg_catalog.jsonb) as answer", [item]);
      });
      expect(answer, path).toEqual([{ answer: [{ outcome: "rejected", code: "not_found" }] }]);
    }
  });
});
