-- Events by cursor. Sequence numbers are taken before their transactions commit, so an event may become visible after one with a
-- higher number; a reader that had moved its cursor past it would never see it.
--
-- So first the highest number given out so far is read, then who is writing events in this database; when those are done, everything
-- up to that number is either visible or was rolled back. A number is taken under a lock on the table, so whoever took one of these
-- numbers either is among them or had finished. Other databases of the server do not matter.

create or replace function l0.events_after(project text, cursor_seq bigint, limit_rows integer)
returns table (seq bigint, agent_id text, agent_turn_id text, kind text, status text, turn_epoch bigint, step_id text, payload jsonb, created_at timestamptz)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  bound bigint := pg_sequence_last_value(pg_get_serial_sequence('state.events', 'seq')::regclass);
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
      return;
    end if;
    perform pg_sleep(0.01);
  end loop;
  return query
    select e.seq, e.agent_id, e.agent_turn_id, e.kind::text, e.status, e.turn_epoch, e.step_id, e.payload, e.created_at
      from state.events e
     where e.project_id = project and e.seq > cursor_seq and e.seq <= bound
     order by e.seq limit limit_rows;
end $$;
