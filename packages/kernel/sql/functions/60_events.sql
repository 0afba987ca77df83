-- Events by cursor. Sequence numbers are taken before their transactions commit, so an event may become visible after one with a
-- higher number; a reader that had moved its cursor past it would never see it.
--
-- So what an open writer may still precede is held back: first look at who is writing events (holders of a lock on the table in this
-- database; other databases of the server do not matter), then read. Whoever begins to write after that look has a higher number
-- and a higher transaction id than everything it found, and is held back too.

create or replace function l0.events_after(project text, cursor_seq bigint, limit_rows integer)
returns table (seq bigint, agent_id text, agent_turn_id text, kind text, status text, turn_epoch bigint, step_id text, payload jsonb, created_at timestamptz)
language plpgsql volatile set search_path = '' as $$
declare
  writers integer;
  oldest xid8;
begin
  -- A writer without a transaction id yet will get one that is not below the next one now.
  select count(*), min(coalesce(own.xid, pg_snapshot_xmax(pg_current_snapshot())))
    into writers, oldest
    from pg_locks l
    left join lateral (
      select (pg_snapshot_xmax(pg_current_snapshot())::text::bigint
              - ((pg_snapshot_xmax(pg_current_snapshot())::text::bigint - t.transactionid::text::bigint) & 4294967295))::text::xid8 as xid
        from pg_locks t where t.locktype = 'transactionid' and t.mode = 'ExclusiveLock' and t.granted and t.virtualtransaction = l.virtualtransaction
       limit 1) own on true
   where l.locktype = 'relation' and l.relation = 'state.events'::regclass and l.mode = 'RowExclusiveLock'
     and l.database = (select d.oid from pg_database d where d.datname = current_database()) and l.pid <> pg_backend_pid();
  return query
    select e.seq, e.agent_id, e.agent_turn_id, e.kind::text, e.status, e.turn_epoch, e.step_id, e.payload, e.created_at
      from state.events e
     where e.project_id = project and e.seq > cursor_seq and (writers = 0 or e.xid < oldest)
     order by e.seq limit limit_rows;
end $$;
