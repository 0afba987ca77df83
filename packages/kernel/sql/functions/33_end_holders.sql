-- The watchdog: sessions that keep rows locked which others need are ended, and what they had written is undone.
--
-- The functions of l0 are one statement each, and a process of ours never leaves a transaction open behind one. A login with a key to this
-- database can: it opens a call it was given, and stays in its transaction for as long as it likes, for
-- idle_in_transaction_session_timeout is its own to change. Its rows are not waited for long (the sweeper passes over them, requests
-- give up on them), but they cannot be settled either. So once a second the sweeper has such sessions ended.
--
--   H1. Only sessions of this database whose login is a member of tessera_tool, tessera_worker or tessera_api (deploy/roles.sql); never a
--       superuser, the owner of l0 (who migrates, restores and takes backups), a member of tessera_kernel, or who asks.
--   H2. Only in a transaction that is older than the limit and has written or locked something: rows (then it has a number), or a whole
--       table. A statement that is running, or waits for a lock, may be a slow one: it has statement_ms, save that a tool's login has
--       none that takes long. Waiting excuses nothing: two sessions could wait for one another in short tries for as long as they
--       like, and keep their rows.
--   H3. It runs with the rights of l0's owner, who needs pg_read_all_stats and pg_signal_backend (deploy/roles.sql grants them).
--
-- answer: { may: H3 is so, needed: there are logins that could keep a row, ended: [{ login, state, seconds }] }.

create or replace function l0.end_holders(idle_ms integer, statement_ms integer) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  watch json := l0.watches_holders();
  ended json;
begin
  if not (watch ->> 'may')::boolean then
    return watch;
  end if;
  select json_agg(json_build_object('login', s.usename, 'state', s.state, 'seconds', s.seconds::float8) order by s.seconds desc)
    into ended
    from (select a.pid, a.usename, a.state, extract(epoch from clock_timestamp() - a.xact_start) as seconds
            from pg_stat_activity a
            join l0.watched_logins() w on w.login = a.usesysid
           where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
             and a.xact_start < clock_timestamp()
                 - case when a.state <> 'active' or w.is_tool then idle_ms else greatest(idle_ms, statement_ms) end * interval '1 millisecond'
             and (a.backend_xid is not null
                  or exists (select 1 from pg_locks l where l.pid = a.pid and l.granted and l.locktype = 'relation'
                                and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')))
         offset 0) s
   where pg_terminate_backend(s.pid);
  return json_build_object('may', true, 'needed', watch -> 'needed', 'ended', coalesce(ended, '[]'));
end $$;

-- H1
create or replace function l0.watched_logins() returns table (login oid, is_tool boolean)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return query
    select u.oid, bool_and(r.rolname = 'tessera_tool')
      from pg_roles u
      join pg_roles r on r.rolname in ('tessera_tool', 'tessera_worker', 'tessera_api') and pg_has_role(u.oid, r.oid, 'member')
     where u.rolcanlogin and not u.rolsuper
       and not pg_has_role(u.oid, (select n.nspowner from pg_namespace n where n.nspname = 'l0'), 'member')
       and not exists (select 1 from pg_roles k where k.rolname = 'tessera_kernel' and pg_has_role(u.oid, k.oid, 'member'))
     group by u.oid;
end $$;

create or replace function l0.watches_holders() returns json
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return json_build_object('may', pg_has_role(current_user, 'pg_signal_backend', 'usage') and pg_has_role(current_user, 'pg_read_all_stats', 'usage'),
                           'needed', exists (select 1 from l0.watched_logins()));
end $$;
