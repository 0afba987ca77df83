-- Workers: one row each, renewed by heartbeat; a head names its holder, so a turn's lease is its worker's
-- (docs/design.md#one-row-per-call).

-- item: { worker_id, worker_target, lease_ms?, info? }. answer: accepted + lease_expires_at, or rejected with worker_lapsed:
-- a worker that was declared dead stays dead; it must come back under a new id.
create or replace function l0.renew_worker(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answer json;
begin
  perform l0.expect_batch(items);
  with item as materialized (
    select i.*
      from rows from (jsonb_to_recordset(items) as (worker_id text, worker_target text, lease_ms integer, info jsonb))
           with ordinality as i (worker_id, worker_target, lease_ms, info, ord)
  ), kept as (
    insert into state.workers as w (worker_id, worker_target, lease_until, started_at, info)
    select i.worker_id, i.worker_target, moment + coalesce(i.lease_ms, 15000) * interval '1 millisecond', moment, coalesce(i.info, '{}')
      from (select distinct on (worker_id) * from item order by worker_id, ord) i
    on conflict (worker_id) do update set lease_until = greatest(w.lease_until, excluded.lease_until)
     where w.lapsed_at is null
    returning w.worker_id, w.lease_until
  )
  select json_agg(case when k.worker_id is not null then json_build_object('outcome', 'accepted', 'lease_expires_at', k.lease_until)
                       else json_build_object('outcome', 'rejected', 'code', 'worker_lapsed') end order by i.ord)
    into answer from item i left join kept k on k.worker_id = i.worker_id;
  return answer;
end $$;

-- A worker says goodbye: its lease ends now, so that the next sweep gives its turns to others at once.
create or replace function l0.retire_worker(worker text, at timestamptz default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update state.workers w set lease_until = least(w.lease_until, coalesce(at, clock_timestamp())) where w.worker_id = worker;
end $$;

-- A store that only one process can open has nobody else's leases in it (docs/design.md#one-dialect-two-engines): all of them are ended.
create or replace function l0.free_leases(at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  freed_workers integer;
  freed_calls integer;
begin
  update state.workers w set lease_until = moment where w.lapsed_at is null and w.lease_until > moment;
  get diagnostics freed_workers = row_count;
  update state.calls c set lease_until = moment, due_at = moment
   where c.wait_status = 'waiting' and c.claimed_by is not null and c.due_at is not null and not c.local and c.batch_id is null;
  get diagnostics freed_calls = row_count;
  return json_build_object('workers', freed_workers, 'calls', freed_calls);
end $$;

-- A dead executor's call, by what its tool declared (docs/design.md#effects). The caller holds the call's row and
-- knows that it waits, claimed.
-- moves: claim.release (→ unclaimed, to be run again) or wait.settle with outcome_unknown | tool_crashed.
create or replace function l0.lapse_call(c state.calls, moment timestamptz) returns text
language plpgsql as $$
begin
  -- The row keeps its last attempt only; that an executor was lost is worth knowing afterwards.
  insert into state.audit_log (project_id, kind, code, tool_call_id, agent_turn_id, principal, detail, created_at)
  values (c.project_id, 'attempt', 'lost', c.tool_call_id, c.agent_turn_id, c.claimed_by,
          jsonb_build_object('attempt', c.attempt, 'claimed_at', c.claimed_at), moment);
  if c.effect = 'once' and not c.can_reconcile then
    perform l0.settle_call(c, 'failed', 'received', 'crash',
      l0.kernel_error('outcome_unknown', 'the executor was lost while the tool ran; whether it took effect is not known'), null, 'sys.kernel', moment);
    return 'outcome_unknown';
  end if;
  if c.attempt >= c.attempts_max then
    perform l0.settle_call(c, 'failed', 'received', 'crash',
      case when c.effect = 'once'
        then l0.kernel_error('outcome_unknown', 'the executor was lost ' || c.attempt || ' times; whether the tool took effect is not known')
        else l0.kernel_error('tool_crashed', 'the executor was lost ' || c.attempt || ' times while the tool ran') end, null, 'sys.kernel', moment);
    insert into state.dead_letters (project_id, correlation_id, reason, detail, created_at)
    values (c.project_id, c.tool_call_id, 'tool_crashed', jsonb_build_object('attempts', c.attempt, 'tool_name', c.tool_name), moment);
    return 'tool_crashed';
  end if;
  update state.calls k
     set claimed_by = null, principal = null, claim_id = null, claimed_at = null, lease_until = null,
         stale_caps = array_append(k.stale_caps, k.cap_sha256), cap_sha256 = null, reconcile = (c.effect = 'once'), rings = 0,
         due_at = moment, deadline_at = coalesce(moment + k.queue_timeout_ms * interval '1 millisecond', k.deadline_at)
   where k.tool_call_id = c.tool_call_id;
  return 'released';
end $$;

-- A process stood still, was noticed by its own watch (which runs beside it), and is being ended. Its workers' leases end now, and the
-- turns that are blamed for it are noted: at the second hang a turn is ended (process_hung), whatever it is doing by now. Turns that were
-- at work beside a blamed one lose their worker, and no crash is counted against them (l0.recover_turn). Where nobody is known to be to
-- blame, it is a crash like others. It may be noted twice: a hang is told by its id.
-- note: { hang_id, workers: [worker_id], blamed: [agent_turn_id] or null }
-- moves: head.exhaust (running, suspended or dispatched → idle)
create or replace function l0.note_hang(note jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  hang text := note ->> 'hang_id';
  blamed text[];
  k record;
  h state.agent_state_head;
  ended integer := 0;
begin
  if jsonb_typeof(note -> 'blamed') = 'array' then
    blamed := array(select jsonb_array_elements_text(note -> 'blamed'));
  end if;
  -- Heads before workers, as everywhere: a resume holds its head and then looks at its worker.
  for k in
    select t.project_id, t.agent_id, t.agent_turn_id from state.agent_turns t
     where t.agent_turn_id = any (blamed) and t.status = 'active' and not (hang = any (coalesce(t.hangs, '{}')))
     order by t.project_id, t.agent_id
  loop
    select * into h from state.agent_state_head g
     where g.project_id = k.project_id and g.agent_id = k.agent_id and g.active_agent_turn_id = k.agent_turn_id for no key update;
    if found then
      update state.agent_turns t set hangs = array_append(t.hangs, hang) where t.agent_turn_id = k.agent_turn_id;
      if l0.has_hung_twice(k.agent_turn_id) then
        begin
          perform l0.end_hung_turn(h, moment);
          ended := ended + 1;
        exception
          when lock_not_available then
            null; -- a call of it is locked; the note counts all the same, and its recovery ends it (l0.recover_turn)
        end;
      end if;
    end if;
  end loop;
  update state.workers w set hung_turns = blamed, lease_until = least(w.lease_until, moment)
    from (select f.worker_id from state.workers f
           where f.worker_id in (select jsonb_array_elements_text(note -> 'workers')) order by f.worker_id for no key update) mine
   where w.worker_id = mine.worker_id;
  return json_build_object('ended', ended);
end $$;

create or replace function l0.has_hung_twice(turn text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(cardinality(t.hangs), 0) >= 2 from state.agent_turns t where t.agent_turn_id = turn
$$;

-- The caller holds the head.
create or replace function l0.end_hung_turn(h state.agent_state_head, moment timestamptz) returns jsonb
language sql as $$
  select l0.end_turn(h, 'failed', null, 'process_hung',
    'its code held its process up for good, twice; the process was ended each time, and its log says where the code stood', 'error', moment)
$$;

-- A lapsed worker's running turn goes to whoever wakes first, from its last commit (docs/design.md#crashed-turns-are-resumed); its local
-- calls by their effect. Where the worker's process was held up by another turn, neither a crash nor an attempt is counted.
-- moves: head.recover (running → dispatched, epoch + 1), inbox.recover (processing → pending); or head.exhaust at the third crash in a
-- row, and at the second hang.
create or replace function l0.recover_turn(h state.agent_state_head, moment timestamptz) returns jsonb
language plpgsql as $$
declare
  c state.calls;
  is_beside boolean := exists (
    select 1 from state.workers w where w.worker_id = h.holder and not (h.active_agent_turn_id = any (w.hung_turns)));
  crashes integer := h.crash_count + case when is_beside then 0 else 1 end;
begin
  if l0.has_hung_twice(h.active_agent_turn_id) then
    return l0.end_hung_turn(h, moment);
  end if;
  if crashes >= 3 then
    return l0.end_turn(h, 'failed', null, 'crash_loop', 'the worker was lost three times in a row without a step forward', 'error', moment);
  end if;
  for c in
    select k.* from (select id from unnest(h.open_calls) o (id) order by id) o
     cross join lateral (select * from state.calls k where k.tool_call_id = o.id and k.wait_status = 'waiting' and k.local
                            and k.claimed_by is not null for no key update) k -- no other: an executor may have its row locked
  loop
    if is_beside then
      c.attempts_max := c.attempts_max + 1;
      update state.calls k set attempts_max = c.attempts_max where k.tool_call_id = c.tool_call_id;
    end if;
    perform l0.lapse_call(c, moment);
  end loop;
  update state.agent_state_head k
     set status = 'dispatched', turn_epoch = k.turn_epoch + 1, holder = null, crash_count = crashes, updated_at = moment
   where k.project_id = h.project_id and k.agent_id = h.agent_id;
  -- Counts as rung once in vain, so that whoever looks finds it within a second: what killed a worker may have cut lines, too, and a
  -- broker that still believes in one of them hands the bell to nobody.
  update state.inbox n set status = 'pending', due_at = moment + interval '5 seconds', rings = 1 where n.inbox_id = h.active_agent_turn_id;
  insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, payload, created_at)
  values (h.project_id, h.agent_id, h.active_agent_turn_id, 'state', 'dispatched', h.turn_epoch + 1,
          jsonb_build_object('reason', 'recovered', 'crash_count', crashes), moment);
  return l0.wake_of(h.project_id, h.agent_id, 'recovered');
end $$;
