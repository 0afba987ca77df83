// What work costs a PostgreSQL server: statements, write transactions, rows, WAL. Read before and after, on a server where
// nothing else runs. The test that holds the product to these is tests/scenarios/cost.test.ts.
//
//   R1. Rows are counted in the log, which has each once. The statistics of tables come up to 10 s late from a connection that
//       fell idle, so that rows of the warm-up were counted as the work's: 10.8 and 11.2 for a call that writes 10.

import { openPostgres } from "@tessera/engines/postgres";
import type { Database, Row } from "@tessera/kernel/ports";
import { type Figures, rounded } from "../statistics.ts";

const READ = `
  select (pg_snapshot_xmax(pg_current_snapshot())::text)::bigint as commits,
         pg_current_wal_flush_lsn()::text as lsn,
         (select coalesce(sum(calls), 0)::bigint from pg_stat_statements where query like '%l0.%') as statements`;
/** R1 */
const READ_LOG = `
  select ($2::pg_lsn - $1::pg_lsn)::bigint as wal_bytes,
         (select coalesce(sum(count), 0)::bigint from pg_get_wal_stats($1::pg_lsn, $2::pg_lsn, true)
           where "resource_manager/record_type" ~ '^Heap/(INSERT|UPDATE|HOT_UPDATE|DELETE)') as rows`;

type Reading = { readonly commits: number; readonly statements: number; readonly lsn: string };
type Log = { readonly wal_bytes: number; readonly rows: number };

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
    await database.query("create extension if not exists pg_walinspect");
    await database.query("checkpoint"); // pages that are touched first after one are logged whole: let it not come in between
    await work();
    const callsBefore = calls();
    const before = await readOne<Reading>(database, READ);
    await work();
    const after = await readOne<Reading>(database, READ);
    const made = calls() - callsBefore;
    const log = await readOne<Log>(database, READ_LOG, [before.lsn, after.lsn]);
    if (log.rows === 0)
      throw new Error("no row was found in the log; does this PostgreSQL name its records differently?");
    const { commits, statements } = after;
    const spent = { commits: commits - before.commits, ...log, statements: statements - before.statements };
    return Object.fromEntries(
      Object.entries(spent).map(([name, value]) => [`${prefix}${name}_per_call`, rounded(value / made)]),
    );
  } finally {
    await database.close();
  }
}

async function readOne<R extends Row>(database: Database, text: string, values: readonly unknown[] = []): Promise<R> {
  const [row] = await database.query<R>(text, values);
  if (row === undefined) throw new Error("PostgreSQL reported no statistics");
  return row;
}
