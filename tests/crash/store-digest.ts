// Digests that show whether anything changed: all rows of a store, or the shape of its schema.

import type { Database } from "@tessera/kernel";

/** Every row of every table, but for who is alive and what was refused. */
export async function digestOfRows(database: Database): Promise<string> {
  const tables = await database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname in ('card', 'resource', 'state') and tablename not in ('workers', 'audit_log') order by 1`,
  );
  const parts: string[] = [];
  for (const { name } of tables) {
    const rows = await database.query<{ digest: string | null }>(
      `select md5(string_agg(t::text, ',' order by t::text)) as digest from ${name} t`,
    );
    parts.push(`${name} ${rows[0]?.digest}`);
  }
  return parts.join("\n");
}

/** Every table, column, constraint, index, trigger and function, one per line. */
export async function schemaOf(database: Database): Promise<string[]> {
  const rows = await database.query<{ line: string }>(
    `with own as (select oid, nspname from pg_namespace where nspname in ('card', 'resource', 'state', 'l0'))
     select format('column %s.%s.%s %s %s', o.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull) as line
       from own o join pg_class c on c.relnamespace = o.oid and c.relkind in ('r', 'v')
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     union all
     select format('constraint %s.%s', c.conrelid::regclass, pg_get_constraintdef(c.oid)) from own o join pg_constraint c on c.connamespace = o.oid
     union all
     select pg_get_indexdef(i.indexrelid) from own o join pg_class c on c.relnamespace = o.oid join pg_index i on i.indrelid = c.oid
     union all
     select pg_get_triggerdef(t.oid) from own o join pg_class c on c.relnamespace = o.oid join pg_trigger t on t.tgrelid = c.oid and not t.tgisinternal
     union all
     select format('function %s(%s) %s', p.proname, pg_get_function_identity_arguments(p.oid), md5(p.prosrc)) from own o join pg_proc p on p.pronamespace = o.oid
     order by 1`,
  );
  return rows.map((row) => row.line);
}
