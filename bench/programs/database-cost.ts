// What work costs a PostgreSQL server: statements, write transactions, rows, WAL. Read before and after, on a server where
// nothing else runs. The test that holds the product to these is tests/scenarios/cost.test.ts.

import { openPostgres } from "@tessera/engines/postgres";
import type { Database } from "@tessera/kernel/ports";
import { type Figures, rounded } from "../statistics.ts";

const READ = `
  select (pg_snapshot_xmax(pg_current_snapshot())::text)::bigint as commits,
         (pg_current_wal_insert_lsn() - '0/0')::bigint as wal_bytes,
         (select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint from pg_stat_user_tables) as rows,
         (select coalesce(sum(calls), 0)::bigint from pg_stat_statements where query like '%l0.%') as statements`;
const READINGS_MAX = 40;
const READING_INTERVAL_MS = 1_100;

/** `c1_rows_per_call` and so on, for what `work` did and the calls that it counted. */
export async function costFigures(
  prefix: string,
  url: string,
  work: () => Promise<unknown>,
  calls: () => number,
): Promise<Figures> {
  const database = await openPostgres({ url, poolMax: 1 });
  try {
    await database.query("create extension if not exists pg_stat_statements");
    await database.query("checkpoint"); // pages that are touched first after one are logged whole: let it not come in between
    await work();
    const callsBefore = calls();
    const before = await settledReading(database);
    await work();
    const made = calls() - callsBefore;
    const after = await settledReading(database);
    return Object.fromEntries(
      Object.entries(after).map(([name, value]) => [
        `${prefix}${name}_per_call`,
        rounded((value - (before[name] ?? 0)) / made),
      ]),
    );
  } finally {
    await database.close();
  }
}

/** Statistics of tables arrive late: reads until two readings agree. */
async function settledReading(database: Database): Promise<Record<string, number>> {
  let last = -1;
  for (let tries = 0; tries < READINGS_MAX; tries += 1) {
    const [reading] = await database.query<Record<string, number>>(READ);
    if (reading !== undefined && reading.rows === last) return reading;
    last = reading?.rows ?? -1;
    await new Promise((resolve) => setTimeout(resolve, READING_INTERVAL_MS));
  }
  throw new Error("the statistics of the tables did not settle");
}
