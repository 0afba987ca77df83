// The database of the simulation: one PGlite in memory, emptied between seeds.
//
//   D1. Emptied by TRUNCATE: tables, indexes and counters are as if new, so that what a seed does cannot depend on the one
//       before it.
//   D2. The invariants are the kernel's own, as prepared statements: nothing else runs while they are looked at, so they need
//       no transaction around them.

import { cachedSnapshot, openPglite } from "@tessera/engines/pglite";
import { type Database, INVARIANTS, type Invariant, migrate, SCHEMA_DIGEST } from "@tessera/kernel";

export interface SimStore {
  readonly database: Database;
  reset(): Promise<void>;
  /** What is violated, in words; null: nothing. */
  violation(kinds: readonly Invariant["kind"][]): Promise<string | null>;
  close(): Promise<void>;
}

const ROWS_SHOWN = 3;
/** A row that cannot be swept is put aside, so that it stops nobody; it should never come to that. */
const SWEEP_FAILED = "select correlation_id, detail from state.dead_letters where reason = 'sweep_failed'";
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
  const database = await openPglite({ snapshot });
  const [tables] = await database.query<{ list: string }>(TABLES);
  return {
    database,
    async reset() {
      // Cards refuse to be truncated by a trigger, which a replica does not run.
      await database.script(`
        set session_replication_role = replica;
        truncate ${tables?.list} restart identity;
        set session_replication_role = origin`);
    },
    async violation(kinds) {
      for (const { name, kind, says, text } of INVARIANTS) {
        if (!kinds.includes(kind)) continue;
        const rows = await database.query(text, []); // D2
        if (rows.length > 0) return `${name} (${says}): ${JSON.stringify(rows.slice(0, ROWS_SHOWN))}`;
      }
      const failed = await database.query(SWEEP_FAILED);
      return failed.length === 0 ? null : `a sweep failed: ${JSON.stringify(failed.slice(0, ROWS_SHOWN))}`;
    },
    close: () => database.close(),
  };
}
