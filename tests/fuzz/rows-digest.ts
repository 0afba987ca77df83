// A digest of every row that matters, in one statement: two equal ones mean that nothing changed.

import type { Statements } from "@tessera/kernel";

const TABLES = `select format('%I.%I', schemaname, tablename) as name from pg_tables
  where schemaname in ('card', 'resource', 'state') and tablename <> 'audit_log' order by 1`;
/** When a key was last used is no state. */
const KEYS = "resource.api_keys";

let statement: string | null = null;

/** The audit log is left out: a refusal may be noted there. */
export async function rowsDigest(statements: Statements): Promise<string> {
  if (statement === null) {
    const tables = await statements.query<{ name: string }>(TABLES);
    const parts = tables.map(({ name }) => {
      const row = name === KEYS ? "(to_jsonb(t) - 'last_used_at')::text" : "t::text";
      return `select '${name}' || '=' || coalesce(md5(string_agg(${row}, ',' order by ${row})), '') as part from ${name} t`;
    });
    statement = `select string_agg(part, ',' order by part) as digest from (${parts.join(" union all ")}) parts`;
  }
  const [row] = await statements.query<{ digest: string }>(statement);
  return row?.digest ?? "";
}

/** The tables whose rows differ between two digests. */
export function changedTables(before: string, after: string): readonly string[] {
  const known = new Set(before.split(","));
  return after.split(",").filter((part) => !known.has(part));
}
