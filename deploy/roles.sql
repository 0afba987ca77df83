-- Roles with least privilege. Roles belong to the cluster, so migrations never make them: run this in each database, as a
-- superuser, after `tessera migrate`, and again after every upgrade:
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f deploy/roles.sql
--
-- It is safe to run again. Logins are made by the operator and given one of these:
--
--   create role orders_tool login password '…' in role tessera_tool;
--
--   tessera_kernel   what runs workers, PMO, API and sweeper: may execute every l0 function, which write the tables with its rights
--   tessera_api_ro   may read, and nothing else
--   tessera_tool     may execute four functions; reads and writes no table, and cannot choose the time
--
-- A login of its own in this database is for tools you run yourself: inside a transaction that it leaves open, it can hold the row
-- of a call it was given (until idle_in_transaction_session_timeout). Tools of strangers report over HTTP.

do $$
declare
  name text;
begin
  foreach name in array array['tessera_kernel', 'tessera_api_ro', 'tessera_tool'] loop
    if not exists (select 1 from pg_catalog.pg_roles r where r.rolname = name) then
      execute format('create role %I nologin', name);
    end if;
  end loop;
end $$;

-- A temporary object could stand in for a name of ours; nobody needs one here.
do $$
begin
  execute format('revoke temporary on database %I from public', current_database());
end $$;
revoke all on schema public from public;
revoke all on schema l0, card, resource, state from public;
revoke all on all tables in schema l0, card, resource, state from public;
revoke all on all functions in schema l0, card, resource, state from public;

-- The kernel's login runs the functions with its own rights; the ticket keys stay with l0's owner's functions and the kernel.
grant usage on schema l0, card, resource, state to tessera_kernel;
grant execute on all functions in schema l0 to tessera_kernel;
grant select, insert, update on all tables in schema card, resource, state to tessera_kernel;
grant select on all tables in schema l0 to tessera_kernel;
grant usage on all sequences in schema state to tessera_kernel;
grant delete on state.workers, resource.target_principals to tessera_kernel;
-- Cards are written once: the trigger refuses a change, and no role of ours is granted one.
revoke update on card.cards, card.box_cards, card.boxes, resource.tool_versions, state.events, state.audit_log, state.dead_letters from tessera_kernel;

grant usage on schema card, resource, state, l0 to tessera_api_ro;
grant select on all tables in schema card, resource, state to tessera_api_ro;
-- Who may do what is worth reading; the hashes of the keys are not.
revoke select on resource.api_keys from tessera_api_ro;
grant select (key_id, project_id, role, targets, label, created_at, expires_at, revoked_at, last_used_at) on resource.api_keys to tessera_api_ro;
-- `tessera verify` asks which schema it looks at.
grant select on l0.migrations to tessera_api_ro;

revoke all on all functions in schema l0 from tessera_tool;
grant usage on schema l0 to tessera_tool;
grant execute on function l0.open_call(jsonb), l0.renew_call(jsonb), l0.put_result_card(jsonb), l0.report(jsonb) to tessera_tool;
