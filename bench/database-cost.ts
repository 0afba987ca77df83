// What work costs a PostgreSQL server: statements, write transactions, rows, WAL, heap-only updates of the head.
// Read before and after, on a server where nothing else runs.

import { openPostgres } from "@tessera/engines/postgres";
import type { Database } from "@tessera/kernel/ports";

export interface DatabaseCost {
  readonly write_transactions: number;
  readonly wal_bytes: number;
  readonly rows: number;
  readonly head_updates: number;
  readonly head_hot_updates: number;
  readonly statements: number;
}

const READ = `
  select (pg_snapshot_xmax(pg_current_snapshot())::text)::bigint as write_transactions,
         (pg_current_wal_insert_lsn() - '0/0')::bigint as wal_bytes,
         (select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint from pg_stat_user_tables) as rows,
         (select n_tup_upd from pg_stat_user_tables where relname = 'agent_state_head') as head_updates,
         (select n_tup_hot_upd from pg_stat_user_tables where relname = 'agent_state_head') as head_hot_updates,
         (select coalesce(sum(calls), 0)::bigint from pg_stat_statements s where query like '%l0.%') as statements`;

export async function withCost<T>(url: string, work: () => Promise<T>): Promise<{ result: T; cost: DatabaseCost }> {
  const database = await openPostgres({ url, poolMax: 1 });
  try {
    await database.query("create extension if not exists pg_stat_statements");
    const before = await settledRead(database);
    const result = await work();
    const after = await settledRead(database);
    const cost = Object.fromEntries(
      Object.entries(after).map(([key, value]) => [key, value - (before[key as keyof DatabaseCost] ?? 0)]),
    );
    return { result, cost: cost as unknown as DatabaseCost };
  } finally {
    await database.close();
  }
}

export function readCost(cost: DatabaseCost, calls: number): Record<string, number> {
  return Object.fromEntries(Object.entries(cost).map(([key, value]) => [key, Math.round((value / calls) * 100) / 100]));
}

// Table statistics arrive up to a second late: read until two readings agree.
async function settledRead(database: Database): Promise<DatabaseCost> {
  let last = "";
  for (let tries = 0; tries < 40; tries += 1) {
    const rows = await database.query<DatabaseCost & Record<string, unknown>>(READ);
    const reading = rows[0];
    const text = `${reading?.rows} ${reading?.head_updates}`;
    if (reading !== undefined && text === last) return reading;
    last = text;
    await new Promise((resolve) => setTimeout(resolve, 1_100));
  }
  throw new Error("table statistics did not settle");
}
