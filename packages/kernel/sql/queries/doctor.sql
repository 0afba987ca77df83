-- What `tessera doctor` asks of a store (src/doctor-reads.ts). Nothing here writes.

-- name: doctor_server
select current_setting('server_version_num')::int as version,
  (extract(epoch from clock_timestamp()) * 1000)::float8 as clock_ms,
  current_user::text as role_name, rolsuper as is_superuser,
  current_setting('max_prepared_transactions')::int > 0 as may_prepare
from pg_roles where rolname = current_user;

-- name: doctor_rights
select count(*)::int as functions,
  (count(*) filter (where has_function_privilege(p.oid, 'execute') and has_schema_privilege(n.oid, 'usage')))::int as callable,
  has_database_privilege(current_database(), 'create') as may_create
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname = 'l0';

-- name: doctor_watchdog
select l0.watches_holders() as watch;

-- Logins for others' programs that may take every connection of the server. Those of our own processes are bounded by their pools.
-- name: doctor_unbounded_logins
select u.rolname::text as login from pg_roles u
where u.rolcanlogin and not u.rolsuper and u.rolconnlimit < 0
  and exists (select 1 from pg_roles r where r.rolname in ('tessera_tool', 'tessera_api_ro') and pg_has_role(u.oid, r.oid, 'member'))
  and not exists (
    select 1 from pg_roles r where r.rolname in ('tessera_kernel', 'tessera_worker', 'tessera_api') and pg_has_role(u.oid, r.oid, 'member'))
order by u.rolname;

-- name: oldest_due
-- What has been due for longest: a sweeper looks at it every second, so either none runs or another session keeps the row locked.
select greatest(coalesce(extract(epoch from clock_timestamp() - least(
    (select min(c.due_at) from state.calls c where c.due_at is not null),
    (select min(n.due_at) from state.inbox n where n.due_at is not null))), 0), 0)::float8 as seconds;

-- A waiting call has a due time, and an index holds those that have one.
-- name: doctor_unclaimed
select target_subject, count(*)::int as calls,
  max(extract(epoch from clock_timestamp() - created_at))::float8 as seconds
from state.calls
where due_at is not null and wait_status = 'waiting' and claimed_by is null and not local
  and project_id = $1 and created_at < clock_timestamp() - make_interval(secs => $2)
group by target_subject order by target_subject;

-- name: doctor_workers
select worker_target, count(*)::int as alive
from state.workers
where lapsed_at is null and lease_until > clock_timestamp()
group by worker_target order by worker_target;

-- name: doctor_waiting_turns
select a.worker_target, count(*)::int as turns
from state.agent_state_head h join resource.project_agents a using (project_id, agent_id)
where h.project_id = $1 and h.status = 'dispatched' and h.updated_at < clock_timestamp() - make_interval(secs => $2)
group by a.worker_target order by a.worker_target;

-- name: doctor_keys
select key_id, role, expires_at,
  coalesce(expires_at < clock_timestamp() + make_interval(days => $2), false) as is_ending
from resource.api_keys
where revoked_at is null and (project_id = $1 or project_id is null)
  and (expires_at is null or expires_at > clock_timestamp())
order by key_id;
