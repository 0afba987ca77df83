-- The watchdog: sessions that keep rows locked which others need are ended, and what they had written is undone.
--
-- The functions of l0 are one statement each, and a process of ours never leaves a transaction open behind one. A login with a key to this
-- database can: it opens a call it was given, and stays in its transaction for as long as it likes, for
-- idle_in_transaction_session_timeout is its own to change. Its rows are not waited for long (the sweeper passes over them, requests
-- give up on them), but they cannot be settled either. So once a second the sweeper has such sessions ended.
--
--   H1. Only sessions of this database whose login is a member of tessera_tool, tessera_worker or tessera_api (deploy/roles.sql; H4); never a
--       superuser, the owner of l0 (who migrates, restores and takes backups), a member of tessera_kernel, or who asks.
--   H2. Only in a transaction that is older than the limit and has written or locked something: rows (then it has a number), or a whole
--       table. A statement that is running, or waits for a lock, may be a slow one: it has statement_ms, save that a tool's login has
--       none that takes long. Waiting excuses nothing: two sessions could wait for one another in short tries for as long as they
--       like, and keep their rows. A tool's that wrote nothing is ended, too, once it is older than statement_ms: what it may see keeps
--       rows that were updated since from being removed, and those of calls are updated at every step.
--   H3. It runs with the rights of l0's owner, who needs pg_read_all_stats and pg_signal_backend (deploy/roles.sql grants them).
--   H4. Notifications lie on the server's disk until everybody who listens has read them, every login may send them (NOTIFY has no
--       right), and a full queue refuses those of all. Who listens cannot be seen. So while more than queue_share of the queue is
--       taken, an old transaction is ended whatever it did, also that of a member of tessera_api_ro. A session that does not read
--       what it is sent counts as in one.
--   H5. A tool's sessions can hand a locked row from one to the next, each for a moment. So those that a session which is no tool's
--       has been waiting for, for wait_ms, are ended however young they are, with all that wait before it in the line.
--   H6. A reader locks no row, but who changes a table (a migration) waits for it, and everybody else for that. So a reader's session
--       is ended, too, where somebody has been waiting for a table behind it, for wait_ms.
--
-- answer: { may: H3 is so, needed: there are logins that could keep a row, ended: [{ login, state, seconds }] }.

drop function if exists l0.end_holders(integer, integer);
create or replace function l0.end_holders(idle_ms integer, statement_ms integer, queue_share double precision default 0.05,
  wait_ms integer default 700) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  watch json := l0.watches_holders();
  is_queue_taken boolean := pg_notification_queue_usage() > queue_share;
  in_the_way integer[];
  before_a_table integer[];
  ended json;
begin
  if not (watch ->> 'may')::boolean then
    return watch;
  end if;
  with recursive ahead (pid, is_table) as (
    select b.pid, l.locktype = 'relation'
      from pg_locks l
      join pg_stat_activity a on a.pid = l.pid and a.datname = current_database()
     cross join lateral unnest(pg_blocking_pids(l.pid)) b (pid)
     where not l.granted and l.waitstart < clock_timestamp() - wait_ms * interval '1 millisecond'
       and not exists (select 1 from l0.watched_logins() w where w.login = a.usesysid and w.is_tool)
    union
    select b.pid, h.is_table from ahead h cross join lateral unnest(pg_blocking_pids(h.pid)) b (pid)
  )
  select array_agg(h.pid), array_agg(h.pid) filter (where h.is_table) into in_the_way, before_a_table from ahead h;
  select json_agg(json_build_object('login', s.usename, 'state', s.state, 'seconds', s.seconds::float8) order by s.seconds desc)
    into ended
    from (select a.pid, a.usename, a.state, extract(epoch from clock_timestamp() - a.xact_start) as seconds
            from pg_stat_activity a
            join l0.watched_logins() w on w.login = a.usesysid
           where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
             and (w.is_tool and a.pid = any (in_the_way) -- H5
                  or w.is_reader and a.pid = any (before_a_table) -- H6
                  or (is_queue_taken or not w.is_reader) and a.xact_start < clock_timestamp()
                     - case when a.state <> 'active' or w.is_tool then idle_ms else greatest(idle_ms, statement_ms) end * interval '1 millisecond'
                 and (is_queue_taken or a.backend_xid is not null
                      or w.is_tool and a.xact_start < clock_timestamp() - greatest(idle_ms, statement_ms) * interval '1 millisecond'
                      or exists (select 1 from pg_locks l where l.pid = a.pid and l.granted and l.locktype = 'relation'
                                    and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))))
         offset 0) s
   where pg_terminate_backend(s.pid);
  return json_build_object('may', true, 'needed', watch -> 'needed', 'ended', coalesce(ended, '[]'));
end $$;

-- H1
drop function if exists l0.watched_logins();
create or replace function l0.watched_logins() returns table (login oid, is_tool boolean, is_reader boolean)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return query
    select u.oid, bool_or(r.rolname = 'tessera_tool') and bool_and(r.rolname in ('tessera_tool', 'tessera_api_ro')), bool_and(r.rolname = 'tessera_api_ro')
      from pg_roles u
      join pg_roles r on r.rolname in ('tessera_tool', 'tessera_worker', 'tessera_api', 'tessera_api_ro') and pg_has_role(u.oid, r.oid, 'member')
     where u.rolcanlogin and not u.rolsuper
       and not pg_has_role(u.oid, (select n.nspowner from pg_namespace n where n.nspname = 'l0'), 'member')
       and not exists (select 1 from pg_roles k where k.rolname = 'tessera_kernel' and pg_has_role(u.oid, k.oid, 'member'))
     group by u.oid;
end $$;

create or replace function l0.watches_holders() returns json
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return json_build_object('may', pg_has_role(current_user, 'pg_signal_backend', 'usage') and pg_has_role(current_user, 'pg_read_all_stats', 'usage'),
                           'needed', exists (select 1 from l0.watched_logins() w where not w.is_reader));
end $$;
