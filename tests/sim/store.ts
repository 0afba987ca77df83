// The database of the simulation: one PGlite in memory, emptied between seeds.
//
//   D1. Emptied by TRUNCATE: tables, indexes and counters are as if new, so that what a seed does cannot depend on the one
//       before it.
//   D2. The invariants are the kernel's own, all of a kind in one prepared statement: 1 ms, where 30 statements took 5.
//   D3. Invariants speak about rows only. So what was looked at and not written to since need not be looked at again: every
//       transaction that writes takes a number, and the next number is read in 0.1 ms.
//   D4. What PostgreSQL does for others (to survive a power cut, to count for statistics) is off: no test looks at it here.

import { cachedSnapshot, openPglite } from "@tessera/engines/pglite";
import { type Database, INVARIANTS, type Invariant, migrate, SCHEMA_DIGEST } from "@tessera/kernel";
import { changeFunctions } from "@tessera/testkit/changed-functions";
import { LOCKABLE_HEADS } from "./locked-heads.ts";
import { type LosableStore, losableStore } from "./lost-tail.ts";

export interface SimStore {
  readonly database: Database;
  readonly tail: Pick<LosableStore, "isOpen" | "begin" | "lose">;
  reset(): Promise<void>;
  /** What is violated, in words; null: nothing, or nothing was written since this was last asked (D3). */
  violation(kinds: readonly Invariant["kind"][]): Promise<string | null>;
  close(): Promise<void>;
}

interface Found {
  readonly [column: string]: unknown;
  readonly name: string;
  readonly row: unknown;
}

const ROWS_SHOWN = 3;
/** A row that cannot be swept is put aside, so that it stops no other; it should never come to that. */
const SWEEP_FAILED: Invariant = {
  name: "sweep_failed",
  kind: "safety",
  says: "no row is put aside because its sweep failed",
  text: "select correlation_id, detail from state.dead_letters where reason = 'sweep_failed'",
};
const RULES: ReadonlyMap<string, Invariant> = new Map([...INVARIANTS, SWEEP_FAILED].map((rule) => [rule.name, rule]));
const NEXT_TRANSACTION = "select pg_snapshot_xmax(pg_current_snapshot())::text as next";
const SETTINGS = "set synchronous_commit = off; set track_counts = off; set track_activities = off"; // D4
const TABLES = `
  select string_agg(format('%I.%I', schemaname, tablename), ', ' order by schemaname, tablename) as list
    from pg_tables where schemaname in ('card', 'resource', 'state')`;

export async function openSimStore(): Promise<SimStore> {
  const snapshot = await cachedSnapshot(`sim-${SCHEMA_DIGEST.slice(0, 24)}`, async () => {
    const fresh = await openPglite();
    await migrate(fresh);
    const made = await fresh.dumpSnapshot();
    await fresh.close();
    return made;
  });
  const tail = losableStore(await openPglite({ snapshot }));
  const { database } = tail;
  await database.script(SETTINGS);
  await changeFunctions(database, [LOCKABLE_HEADS]);
  const [tables] = await database.query<{ list: string }>(TABLES);
  const lookedAt = new Map<string, string>();
  return {
    database,
    tail,
    async reset() {
      if (tail.isOpen) await tail.lose();
      lookedAt.clear();
      // Cards refuse to be truncated by a trigger, which a replica does not run.
      await database.script(`
        set session_replication_role = replica;
        truncate ${tables?.list} restart identity;
        set session_replication_role = origin`);
    },
    async violation(kinds) {
      if (tail.isOpen) return null; // what will be lost is looked at when it is: a tail knows no prepared statements
      const text = statementOf(kinds);
      const [row] = await database.query<{ next: string }>(NEXT_TRANSACTION);
      if (row === undefined || lookedAt.get(text) === row.next) return null; // D3
      lookedAt.set(text, row.next);
      const [first, ...others] = await database.query<Found>(text);
      if (first === undefined) return null;
      const rows = [first, ...others.filter(({ name }) => name === first.name)].map((found) => found.row);
      return `${first.name} (${RULES.get(first.name)?.says}): ${JSON.stringify(rows.slice(0, ROWS_SHOWN))}`;
    },
    async close() {
      if (tail.isOpen) await tail.lose();
      await database.close();
    },
  };
}

/** D2 */
function statementOf(kinds: readonly Invariant["kind"][]): string {
  return [...RULES.values()]
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ name, text }) => `select '${name}' as name, to_jsonb(x) as row from (${text}) x`)
    .join(" union all ");
}
