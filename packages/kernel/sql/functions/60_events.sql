-- Events by cursor. Sequence numbers are taken before their transactions commit, so an event may become visible after one with a
-- higher number; a reader that had moved its cursor past it would never see it.
--
-- So first the highest number given out so far is read, then who is writing events in this database; when those are done, everything
-- up to that number is either visible or was rolled back. A number is taken under a lock on the table, so whoever took one of these
-- numbers either is among them or had finished. Other databases of the server do not matter.

-- Everything up to the answer is visible or was rolled back; null when a writer took too long for that.
create or replace function l0.settled_event_seq() returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  bound bigint := coalesce(pg_sequence_last_value(pg_get_serial_sequence('state.events', 'seq')::regclass), 0);
  writers text[];
begin
  select array_agg(l.virtualtransaction) into writers from pg_locks l
   where l.locktype = 'relation' and l.relation = 'state.events'::regclass and l.mode = 'RowExclusiveLock'
     and l.database = (select d.oid from pg_database d where d.datname = current_database()) and l.pid <> pg_backend_pid();
  -- Writers are short; one that takes longer than a second holds the events back until the next look.
  for n in 1..100 loop
    exit when not exists (
      select 1 from pg_locks l where l.locktype = 'relation' and l.relation = 'state.events'::regclass and l.mode = 'RowExclusiveLock'
         and l.virtualtransaction = any (writers));
    if n = 100 then
      return null;
    end if;
    perform pg_sleep(0.01);
  end loop;
  return bound;
end $$;

create or replace function l0.events_after(project text, cursor_seq bigint, limit_rows integer)
returns table (seq bigint, agent_id text, agent_turn_id text, kind text, status text, turn_epoch bigint, step_id text, payload jsonb, created_at timestamptz)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  bound bigint := l0.settled_event_seq();
begin
  return query
    select e.seq, e.agent_id, e.agent_turn_id, e.kind::text, e.status, e.turn_epoch, e.step_id, e.payload, e.created_at
      from state.events e
     where e.project_id = project and e.seq > cursor_seq and e.seq <= bound
     order by e.seq limit limit_rows;
end $$;

-- Where a reader that wants nothing of the past begins: an event that commits from now on comes after it. While a writer takes too
-- long, the newest event that is visible counts, and what that writer brings may lie before it.
create or replace function l0.last_event_seq(project text) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  bound bigint := coalesce(l0.settled_event_seq(), 9223372036854775807);
begin
  return (select coalesce(max(e.seq), 0) from state.events e where e.project_id = project and e.seq <= bound);
end $$;
