-- The migrator's own bookkeeping.

-- name: migration_lock
select pg_advisory_xact_lock($1);

-- name: migrations_table_exists
select to_regclass('l0.migrations') is not null as there;

-- name: migrations_recorded
select version, digest, is_breaking from l0.migrations order by version;

-- name: migration_record
insert into l0.migrations (version, name, digest, is_breaking, applied_at) values ($1, $2, $3, $4, clock_timestamp());

-- name: functions_installed
select digest, level from l0.functions_installed;

-- name: functions_record
insert into l0.functions_installed (only_row, digest, schema_version, level) values (true, $1, $2, $3)
  on conflict (only_row) do update set digest = excluded.digest, schema_version = excluded.schema_version, level = excluded.level;

-- name: functions_drop
-- Those that a trigger or an index needs stay; their results do not change.
do $$
declare
  name text;
begin
  for name in select p.oid::regprocedure::text from pg_catalog.pg_proc p where p.pronamespace = 'l0'::regnamespace loop
    begin
      execute format('drop function %s', name);
    exception when dependent_objects_still_exist then
      null;
    end;
  end loop;
end $$;

-- name: ticket_key_there
select exists (select 1 from l0.ticket_keys) as there;

-- name: ticket_key_make
select l0.make_ticket_key();

-- name: ticket_key_forget
delete from l0.ticket_keys;

-- name: store_id_make
insert into l0.store (random_part) values (gen_random_uuid()) on conflict (only_row) do nothing;

-- name: store_id_forget
delete from l0.store;

-- name: store_id
select 'store_' || md5(s.random_part::text || c.system_identifier || d.oid) as store_id
  from l0.store s, pg_control_system() c, pg_database d where d.datname = current_database();
