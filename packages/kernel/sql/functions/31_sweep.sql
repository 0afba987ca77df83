-- The sweeper: whatever waits too long is looked at (docs/design.md#messages-are-hints, docs/design.md#crashed-turns-are-resumed). Any
-- number of instances, no leader: rows are taken with SKIP LOCKED, a bounded number at a time, and each move is the same compare-and-set as
-- everywhere else.
--
-- A row that another session keeps locked stops nothing: it is passed over, told as `skipped`, and taken by the next sweep that finds it
-- free. What a row needs besides itself is waited for only briefly (sweep_workers), and then counts as locked, too.
--
-- answer: { commands: […], wakes: […], ended: […], settled, recovered, more } to publish after the commit, and { skipped: { rows,
--   seconds } }, the age of the oldest, where a round that has come to its end left something that is due.

-- Rings double from 5 s to 60 s.
create or replace function l0.ring_delay(rings integer) returns interval
language sql immutable as $$ select least(5 * power(2, least(rings, 10)), 60) * interval '1 second' $$;

create or replace function l0.sweep_calls(limit_rows integer, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  pads l0.ticket_keys;
  c state.calls;
  done jsonb;
  commands jsonb := '[]';
  wakes jsonb := '[]';
  settled integer := 0;
  seen integer := 0;
begin
  select * into strict pads from l0.ticket_keys where key_id = 1;
  for c in
    select * from state.calls k where k.due_at <= moment order by k.due_at limit limit_rows for no key update skip locked
  loop
    seen := seen + 1;
    begin
      done := l0.sweep_call(c, pads, moment);
    exception
      when deadlock_detected or serialization_failure then
        raise;
      when lock_not_available then
        continue;
      when others then
        -- A row that cannot be swept must not stop the rows behind it.
        update state.calls k set due_at = moment + interval '1 minute' where k.tool_call_id = c.tool_call_id;
        insert into state.dead_letters (project_id, correlation_id, reason, detail, created_at)
        values (c.project_id, c.tool_call_id, 'sweep_failed', jsonb_build_object('sqlstate', sqlstate, 'message', sqlerrm), moment);
        continue;
    end;
    commands := commands || coalesce(done -> 'command', '[]');
    wakes := wakes || coalesce(done -> 'wake', '[]');
    settled := settled + case when done ? 'settled' then 1 else 0 end;
  end loop;
  return json_build_object('commands', commands, 'wakes', wakes, 'settled', settled, 'more', seen = limit_rows, 'skipped', case when seen < limit_rows then
    (select l0.skipped_rows(count(*), min(k.due_at), moment) from (select due_at from state.calls where due_at <= moment order by due_at limit 1000) k) end);
end $$;

-- The call that has been due for longest, waited for in line. A row that sessions hand from one to the next is never free when it is
-- looked at, but who waits for it has it in turn, and the watchdog ends those before it (33_end_holders.sql, H5).
create or replace function l0.sweep_held_call(at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off set lock_timeout = '2s'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  pads l0.ticket_keys;
  c state.calls;
  done jsonb := '{}';
begin
  select * into strict pads from l0.ticket_keys where key_id = 1;
  begin
    select * into c from state.calls k where k.due_at <= moment order by k.due_at limit 1 for no key update;
    if found then
      done := l0.sweep_call(c, pads, moment);
    end if;
  exception
    when lock_not_available then
      null; -- it is tried again by the next sweep
  end;
  return json_build_object('commands', '[]'::jsonb || coalesce(done -> 'command', '[]'), 'wakes', '[]'::jsonb || coalesce(done -> 'wake', '[]'),
                           'settled', case when done ? 'settled' then 1 else 0 end, 'more', false);
end $$;

-- One call whose time has come. Answers what to publish: { command? } or { wake?, settled? }.
create or replace function l0.sweep_call(c state.calls, pads l0.ticket_keys, moment timestamptz) returns jsonb
language plpgsql as $$
declare
  h state.agent_state_head;
  alive_until timestamptz;
begin
  if c.wait_status in ('applied', 'dropped') then
    update state.calls k set due_at = null where k.tool_call_id = c.tool_call_id;
    return '{}';
  end if;
  if c.wait_status = 'received' then
    -- Settled, not applied: its wakeup may be lost. With a sibling still open, that sibling's settlement will ring.
    update state.calls k set due_at = moment + l0.ring_delay(k.rings), rings = least(k.rings + 1, 1000) where k.tool_call_id = c.tool_call_id;
    select * into h from state.agent_state_head k where k.project_id = c.project_id and k.agent_id = c.agent_id;
    if h.status = 'suspended' and h.active_agent_turn_id = c.agent_turn_id and not exists (
         select 1 from unnest(h.open_calls) o (id)
          cross join lateral (select 1 from state.calls k where k.tool_call_id = o.id and k.wait_status = 'waiting') k) then
      return jsonb_build_object('wake', l0.wake_of(c.project_id, c.agent_id, 'watchdog_pending_inbox'));
    end if;
    return '{}';
  end if;
  if c.deadline_at <= moment then
    perform l0.settle_call(c, 'timeout', 'received', 'deadline',
      case when c.effect = 'once' and c.batch_id is null and (c.claimed_by is not null or c.reconcile)
        then l0.kernel_error('outcome_unknown', case when c.reconcile
          then case when c.claimed_by is null and not c.local then l0.no_executor(c) || '; ' else '' end
               || 'an earlier run was cut off, and it is not known what became of it'
          else 'the deadline passed while the tool ran; whether it took effect is not known' end)
        when c.claimed_by is null and not c.local then l0.kernel_error('no_executor', l0.no_executor(c))
        else l0.kernel_error('tool_timeout', 'no answer before the deadline') end, null, 'sys.kernel', moment);
    return jsonb_build_object('settled', true, 'wake', l0.wake_of(c.project_id, c.agent_id, 'watchdog_timeout'));
  end if;
  if c.claimed_by is not null then
    alive_until := case
      when c.batch_id is not null then c.deadline_at
      when c.local then (select w.lease_until from state.workers w where w.worker_id = c.claimed_by and w.lapsed_at is null)
      else c.lease_until end;
    if alive_until > moment then
      update state.calls k set due_at = least(k.deadline_at, alive_until) where k.tool_call_id = c.tool_call_id;
      return '{}';
    end if;
    if l0.lapse_call(c, moment) <> 'released' then
      return jsonb_build_object('settled', true, 'wake', l0.wake_of(c.project_id, c.agent_id, 'watchdog_crashed_call'));
    end if;
  end if;
  -- Nobody has it: ring, and look again later.
  update state.calls k set due_at = least(k.deadline_at, moment + l0.ring_delay(k.rings)), rings = least(k.rings + 1, 1000)
   where k.tool_call_id = c.tool_call_id;
  return case when c.local then jsonb_build_object('wake', l0.wake_of(c.project_id, c.agent_id, 'watchdog_local_call'))
              else jsonb_build_object('command', l0.command_of(c, pads)) end;
end $$;

-- That a call waited for an executor until its deadline, and what has to be started.
create or replace function l0.no_executor(c state.calls) returns text
language sql immutable as $$
  select 'no executor of ' || l0.target_of(c.target_subject) || ' took the call '
      || case when c.queue_timeout_ms is not null then 'within ' || c.queue_timeout_ms || ' ms'
              when c.attempt = 0 then 'within ' || round(extract(epoch from c.deadline_at - c.created_at) * 1000) || ' ms'
              else 'for its next attempt before its deadline' end
      || case when l0.target_of(c.target_subject) = 'sys.pmo' then '; start a process with the role pmo'
              else '; start one that serves ' || l0.target_of(c.target_subject)
                   || ': a process with the role tools and a bundle that has the tool, or an executor with a key for this target' end
$$;

-- Everything a command message is made of, with the ticket of the next attempt.
create or replace function l0.command_of(c state.calls, pads l0.ticket_keys) returns jsonb
language plpgsql stable as $$
begin
  return (select jsonb_build_object('project_id', c.project_id, 'channel_id', c.channel_id, 'agent_id', c.agent_id, 'agent_turn_id', c.agent_turn_id,
            'turn_epoch', c.turn_epoch, 'step_id', c.step_id, 'tool_call_id', c.tool_call_id, 'tool_call_card_id', c.call_card_id,
            'tool_name', c.tool_name, 'after_execution', c.after_execution, 'target_subject', c.target_subject,
            'recursion_depth', c.recursion_depth, 'trace_id', c.trace_id, 'span_id', c.span_id, 'parent_step_id', c.parent_step_id,
            'parent_agent_id', t.parent_agent_id, 'parent_agent_turn_id', t.parent_agent_turn_id,
            'ticket', l0.ticket(pads.inner_pad, pads.outer_pad, c.project_id, c.tool_call_id, c.attempt + 1))
            from state.agent_turns t where t.agent_turn_id = c.agent_turn_id);
end $$;

-- Null when none were.
create or replace function l0.skipped_rows(row_count bigint, oldest timestamptz, moment timestamptz) returns json
language sql immutable as $$
  select case when row_count > 0 then json_build_object('rows', row_count, 'seconds', extract(epoch from moment - oldest)::float8) end
$$;

-- Turns that were dispatched or put off and that nobody has taken: rung again. Answers that no head counts yet are counted.
create or replace function l0.sweep_inbox(limit_rows integer, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  n state.inbox;
  wakes jsonb := '[]';
  seen integer := 0;
begin
  for n in
    select * from state.inbox k where k.due_at <= moment order by k.due_at limit limit_rows for no key update skip locked
  loop
    seen := seen + 1;
    if n.message_type = 'answer' then
      if n.status = 'deferred' then
        perform l0.count_answer(n.inbox_id, moment);
        wakes := wakes || coalesce(l0.wake_of(n.project_id, n.agent_id, 'answer'), '[]');
      end if;
    elsif n.status in ('pending', 'deferred') then
      wakes := wakes || coalesce(l0.wake_of(n.project_id, n.agent_id,
        case n.status when 'pending' then 'watchdog_retransmit' else 'watchdog_due_deferred' end), '[]');
      update state.inbox k set due_at = moment + l0.ring_delay(k.rings), rings = least(k.rings + 1, 1000) where k.inbox_id = n.inbox_id;
    else
      update state.inbox k set due_at = null where k.inbox_id = n.inbox_id;
    end if;
  end loop;
  return json_build_object('wakes', wakes, 'more', seen = limit_rows, 'skipped', case when seen < limit_rows then
    (select l0.skipped_rows(count(*), min(k.due_at), moment) from (select due_at from state.inbox where due_at <= moment order by due_at limit 1000) k) end);
end $$;

-- Workers whose lease ran out: declared dead, and their turns recovered. A worker is marked before its turns are touched, so that it
-- cannot take new ones meanwhile; if this transaction is lost, the next sweep does it again.
create or replace function l0.sweep_workers(limit_rows integer, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off set lock_timeout = '20ms'
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  dead text[];
  h state.agent_state_head;
  k record;
  wake jsonb;
  wakes jsonb := '[]';
  ended jsonb := '[]';
  recovered integer := 0;
  skipped integer := 0;
  oldest timestamptz;
begin
  with due as (
    select w.worker_id from state.workers w where w.lease_until <= moment and w.lapsed_at is null
     order by w.worker_id limit limit_rows for no key update skip locked)
  update state.workers w set lapsed_at = moment from due where w.worker_id = due.worker_id;
  -- A resume that began before its worker was declared dead may commit a little later, so the dead are looked at for a minute more.
  select array_agg(w.worker_id) into dead from state.workers w
   where w.lapsed_at is not null and (w.drained_at is null or w.drained_at > moment - interval '1 minute');
  if dead is null then
    return json_build_object('wakes', wakes, 'ended', ended, 'recovered', 0, 'more', false);
  end if;
  for k in
    select t.project_id, t.agent_id
      from state.agent_turns t join state.agent_state_head g on g.project_id = t.project_id and g.agent_id = t.agent_id
     where t.status = 'active' and g.status = 'running' and g.holder = any (dead)
     order by t.project_id, t.agent_id limit limit_rows
  loop
    select * into h from state.agent_state_head g
     where g.project_id = k.project_id and g.agent_id = k.agent_id and g.status = 'running' and g.holder = any (dead)
       for no key update skip locked;
    if found then
      begin
        wake := l0.recover_turn(h, moment);
      exception
        when deadlock_detected or serialization_failure then
          raise;
        when lock_not_available then
          skipped := skipped + 1; -- a call of it is locked
          oldest := least(oldest, h.updated_at);
          continue;
        when others then
          -- A turn that cannot be recovered must not keep the others from it; it is tried again at the next sweep.
          insert into state.dead_letters (project_id, correlation_id, reason, detail, created_at)
          values (h.project_id, h.active_agent_turn_id, 'sweep_failed', jsonb_build_object('sqlstate', sqlstate, 'message', sqlerrm), moment);
          continue;
      end;
      recovered := recovered + 1;
      wakes := wakes || coalesce(wake, '[]');
      ended := ended || coalesce((
        select jsonb_build_object('project_id', h.project_id, 'channel_id', h.active_channel_id, 'agent_id', h.agent_id,
                 'agent_turn_id', h.active_agent_turn_id, 'turn_epoch', h.turn_epoch, 'trace_id', h.trace_id, 'status', t.status,
                 'error_code', t.error_code)
          from state.agent_turns t where t.agent_turn_id = h.active_agent_turn_id and t.status = 'failed'), '[]');
    else
      skipped := skipped + 1;
      oldest := least(oldest, (select g.updated_at from state.agent_state_head g where g.project_id = k.project_id and g.agent_id = k.agent_id));
    end if;
  end loop;
  if recovered < limit_rows then
    -- Drained only if nothing names it any more: a head that somebody had locked just now was passed over above.
    update state.workers w set drained_at = moment
      from (select d.worker_id from state.workers d where d.worker_id = any (dead) and d.drained_at is null order by d.worker_id
               for no key update skip locked) d
     where w.worker_id = d.worker_id and not exists (
       select 1 from state.agent_turns t join state.agent_state_head g on g.project_id = t.project_id and g.agent_id = t.agent_id
        where t.status = 'active' and g.status = 'running' and g.holder = w.worker_id);
    delete from state.workers w
     using (select d.worker_id from state.workers d where d.drained_at < moment - interval '1 hour' order by d.worker_id for update skip locked) d
     where w.worker_id = d.worker_id;
  end if;
  return json_build_object('wakes', wakes, 'ended', ended, 'recovered', recovered, 'more', recovered = limit_rows,
                           'skipped', l0.skipped_rows(skipped, oldest, moment));
end $$;

-- For whoever cannot hear: what was rung again and still waits for this worker target or this tool target. Takes nothing and changes
-- nothing, so any number may look; the claim decides who works. With a bus that drops everything, the sweeper and this look are
-- enough to bring all work to its end (docs/design.md#messages-are-hints).
-- It may be for one project only (null: all): what others have left lying must not hide it.
-- also_unrung: the asker knows that its bus is gone, so it need not wait for the first repeated ring: whatever is fresh counts, too, as
-- in l0.ring_early.
drop function if exists l0.overdue_rings(text, text, integer);
drop function if exists l0.overdue_rings(text, text, text, integer);
create or replace function l0.overdue_rings(for_worker_target text, for_tool_target text, for_project text, limit_rows integer,
  also_unrung boolean default false, at timestamptz default null) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off
as $$
declare
  fresh_until timestamptz := coalesce(at, clock_timestamp()) + l0.ring_delay(0);
  pads l0.ticket_keys;
  wakes jsonb := '[]';
  commands jsonb := '[]';
begin
  if for_worker_target is not null then
    select coalesce(jsonb_agg(distinct l0.wake_of(w.project_id, w.agent_id, 'watchdog_overdue')), '[]') into wakes
      from (select n.project_id, n.agent_id from state.inbox n
             join resource.project_agents a on a.project_id = n.project_id and a.agent_id = n.agent_id and a.worker_target = for_worker_target
            where n.rings > 0 and n.due_at is not null and n.status in ('pending', 'deferred') and (for_project is null or n.project_id = for_project)
            union all
            select n.project_id, n.agent_id from state.inbox n
             join resource.project_agents a on a.project_id = n.project_id and a.agent_id = n.agent_id and a.worker_target = for_worker_target
            where also_unrung and n.rings = 0 and n.due_at <= fresh_until and n.status = 'pending' and (for_project is null or n.project_id = for_project)
            union all
            select c.project_id, c.agent_id from state.calls c
             join resource.project_agents a on a.project_id = c.project_id and a.agent_id = c.agent_id and a.worker_target = for_worker_target
            where c.rings > 0 and c.due_at is not null and (for_project is null or c.project_id = for_project) and (c.wait_status = 'received' or c.wait_status = 'waiting' and c.local and c.claimed_by is null)
              -- With a sibling still open there is nothing to do yet.
              and not exists (select 1 from state.agent_state_head h cross join lateral unnest(h.open_calls) o (id)
                               cross join lateral (select 1 from state.calls k where k.tool_call_id = o.id and k.wait_status = 'waiting'
                                                      and not (k.local and k.claimed_by is null)) k
                               where h.project_id = c.project_id and h.agent_id = c.agent_id and c.wait_status = 'received')
            union all
            select c.project_id, c.agent_id from state.calls c
             join resource.project_agents a on a.project_id = c.project_id and a.agent_id = c.agent_id and a.worker_target = for_worker_target
            where also_unrung and c.rings = 0 and c.due_at <= fresh_until and c.wait_status = 'received' and (for_project is null or c.project_id = for_project)
              and not exists (select 1 from state.agent_state_head h cross join lateral unnest(h.open_calls) o (id)
                               cross join lateral (select 1 from state.calls k where k.tool_call_id = o.id and k.wait_status = 'waiting'
                                                      and not (k.local and k.claimed_by is null)) k
                               where h.project_id = c.project_id and h.agent_id = c.agent_id)
            limit limit_rows) w;
  end if;
  if for_tool_target is not null then
    select * into strict pads from l0.ticket_keys where key_id = 1;
    select coalesce(jsonb_agg(c.command), '[]') into commands
      from (select l0.command_of(k, pads) as command from state.calls k
             where k.rings > 0 and k.due_at is not null and k.wait_status = 'waiting' and k.claimed_by is null and not k.local
               and l0.target_of(k.target_subject) = for_tool_target and (for_project is null or k.project_id = for_project)
             order by k.due_at limit limit_rows) c;
    if also_unrung then
      select commands || coalesce(jsonb_agg(c.command), '[]') into commands
        from (select l0.command_of(k, pads) as command from state.calls k
               where k.rings = 0 and k.due_at <= fresh_until and k.wait_status = 'waiting' and k.claimed_by is null and k.attempt = 0 and not k.local
                 and l0.target_of(k.target_subject) = for_tool_target and (for_project is null or k.project_id = for_project)
               order by k.due_at limit limit_rows) c;
    end if;
  end if;
  return json_build_object('wakes', wakes, 'commands', commands);
end $$;
