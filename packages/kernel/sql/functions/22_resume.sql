-- Commit point D: a worker takes an agent's turn forward. A wakeup names only the agent; what there is to do is decided here.
--
-- moves: head.start (dispatched → running), head.resume (suspended → running, epoch + 1), wait.apply (received → applied),
--        inbox.claim (pending | due deferred → processing); claim.open for local calls that lost their worker.
-- item: { project_id, agent_id, worker_id, reclaim?, cap_sha256? }
--   reclaim: this worker holds the turn by the database but not in its memory (a lost answer): give it again, epoch + 1.
--   cap_sha256: the capability (made by the worker) for local calls of a mixed step that must be run again.
-- answer: accepted + state: started | resumed + everything the next step needs; or nothing + why: idle | held | waiting | deferred
--   (waiting may carry local_calls to run); or rejected with not_found, worker_lapsed, agent_busy.
--
-- The worker must be alive by the database's clock (docs/design.md#writes-are-fenced). The results come in call order.

create or replace function l0.resume(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answer json;
  has_others boolean;
begin
  if l0.has_repeats(items, 'agent_id') then
    return l0.in_rounds('resume', 'agent_id', items, moment);
  end if;

  with item as materialized (
    select i.*
      from rows from (jsonb_to_recordset(items) as (project_id text, agent_id text, worker_id text))
           with ordinality as i (project_id, agent_id, worker_id, ord)
  ), decided as materialized (
    select i.ord, i.worker_id, h.*,
           case
             when h.agent_id is null then 'not_found'
             when w.worker_id is null then 'worker_lapsed'
             -- As it was dispatched: a turn that was put off or lost its worker since has another epoch.
             when h.status = 'dispatched' and h.open_calls is null and exists (
               select 1 from state.inbox n where n.inbox_id = h.active_agent_turn_id and n.status = 'pending' and n.turn_epoch = h.turn_epoch)
               then 'started'
             when h.status <> 'suspended' then 'other'
             -- Counted, not quantified: a head that was suspended while this statement waited for its lock names calls that the
             -- statement's snapshot does not hold yet.
             when cardinality(h.open_calls) = (
               select count(*) from unnest(h.open_calls) o (id)
                cross join lateral (select 1 from state.calls c where c.tool_call_id = o.id and c.wait_status = 'received') c) then 'resumed'
             else 'other'
           end as code
      from (select * from item order by project_id collate "C", agent_id collate "C") i
      left join lateral (
        select h.project_id, h.agent_id, h.active_agent_turn_id, h.active_channel_id, h.active_recursion_depth, h.trace_id, h.parent_step_id,
               h.profile_box_id, h.context_box_id, h.output_box_id, h.status, h.turn_epoch, h.box_length, h.crash_count, h.step_id, h.open_calls,
               h.answers_waiting
          from state.agent_state_head h where h.project_id = i.project_id and h.agent_id = i.agent_id for no key update) h on true
      left join lateral (
        select w.worker_id from state.workers w
         where w.worker_id = i.worker_id and w.lease_until > moment and w.lapsed_at is null) w on true
  ), step as materialized (
    -- Narrow on purpose: an UPDATE carries a copy of each row it joins.
    select d.project_id, d.agent_id, d.worker_id, d.open_calls from decided d where d.code = 'resumed'
  ), head as (
    update state.agent_state_head h
       set status = 'running', turn_epoch = h.turn_epoch + 1, holder = d.worker_id, crash_count = 0, step_id = null, open_calls = null,
           resume_deadline = null, updated_at = moment
      from step d
     where h.project_id = d.project_id and h.agent_id = d.agent_id
  ), begun as materialized (
    select d.project_id, d.agent_id, d.worker_id, d.active_agent_turn_id, d.turn_epoch, d.ord from decided d where d.code = 'started'
  ), begun_head as (
    update state.agent_state_head h
       set status = 'running', holder = d.worker_id, updated_at = moment
      from begun d
     where h.project_id = d.project_id and h.agent_id = d.agent_id
  ), begun_message as (
    update state.inbox n set status = 'processing', due_at = null, defer_reason = null
      from begun d where n.inbox_id = d.active_agent_turn_id
  ), begun_event as (
    insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, created_at)
    select d.project_id, d.agent_id, d.active_agent_turn_id, 'state', 'running', d.turn_epoch, moment from begun d order by d.ord
  ), applied as (
    update state.calls c
       set wait_status = 'applied', applied_at = moment, due_at = null
      from (select o.id from step d cross join lateral unnest(d.open_calls) o (id) order by o.id collate "C") o
     where c.tool_call_id = o.id and c.wait_status = 'received'
  )
  select json_agg(case
           when d.code in ('resumed', 'started') then json_build_object(
             'outcome', 'accepted', 'state', d.code,
             'project_id', d.project_id, 'agent_id', d.agent_id, 'agent_turn_id', d.active_agent_turn_id,
             'turn_epoch', d.turn_epoch + case d.code when 'resumed' then 1 else 0 end,
             'channel_id', d.active_channel_id, 'recursion_depth', d.active_recursion_depth, 'trace_id', d.trace_id,
             'parent_step_id', d.parent_step_id, 'profile_box_id', d.profile_box_id, 'context_box_id', d.context_box_id,
             'output_box_id', d.output_box_id, 'box_length', d.box_length, 'crash_count', d.crash_count, 'step_id', d.step_id,
             'span_id', turn.span_id, 'tracestate', turn.tracestate, 'box_start', turn.box_start, 'parent_agent_id', turn.parent_agent_id,
             'parent_agent_turn_id', turn.parent_agent_turn_id, 'display_name', turn.display_name, 'metadata', turn.metadata,
             'runtime_config', turn.runtime_config, 'turn_number', turn.turn_number, 'conversation_from', turn.conversation_from,
             'answers_waiting', d.answers_waiting, 'after_execution', results.aggregate, 'results', results.list, 'local_calls', null)
           when d.code = 'other' then json_build_object('outcome', 'other')
           else json_build_object('outcome', 'rejected', 'code', d.code)
         end order by d.ord),
         bool_or(d.code = 'other')
    into answer, has_others
    from decided d
    left join lateral (
      select t.span_id, t.tracestate, t.box_start, t.parent_agent_id, t.parent_agent_turn_id, t.display_name, t.metadata, t.runtime_config,
             t.turn_number, t.conversation_from
        from state.agent_turns t where t.agent_turn_id = d.active_agent_turn_id and d.code in ('resumed', 'started')) turn on true
    left join lateral (
      select case when bool_or(c.result_after = 'terminate') then 'terminate' else 'suspend' end as aggregate,
             json_agg(json_build_object('tool_call_id', c.tool_call_id, 'tool_name', c.tool_name, 'call_index', c.call_index,
                        'tool_result_card_id', c.result_card_id, 'status', c.result_status, 'after_execution', c.result_after,
                        'content', r.content) order by o.n) as list
        from unnest(d.open_calls) with ordinality o (id, n)
       cross join lateral (
         select c.tool_call_id, c.tool_name, c.call_index, c.result_card_id, c.result_status, c.result_after
           from state.calls c where c.tool_call_id = o.id) c
       cross join lateral (select r.content from card.cards r where r.card_id = c.result_card_id) r
       where d.code = 'resumed') results on true;

  if has_others then
    select json_agg(case when a.outcome ->> 'outcome' = 'other' then l0.take_turn(e.item, moment)::json else a.outcome end order by a.n)
      into answer
      from json_array_elements(answer) with ordinality a (outcome, n)
      join jsonb_array_elements(items) with ordinality e (item, n) on e.n = a.n;
  end if;
  return answer;
end $$;

-- Everything else: a turn that was put off or lost its worker is started, a lost answer given again, local calls of a lost worker
-- handed out.
-- The caller holds the head's lock.
create or replace function l0.take_turn(item jsonb, moment timestamptz) returns jsonb
language plpgsql as $$
declare
  h state.agent_state_head;
  turn state.agent_turns;
  worker text := item ->> 'worker_id';
  bump integer;
  local_calls jsonb;
  results jsonb;
  aggregate text;
begin
  select * into strict h from state.agent_state_head k where k.project_id = item ->> 'project_id' and k.agent_id = item ->> 'agent_id';
  if h.status = 'idle' or h.status = 'running' and not (h.holder = worker and coalesce((item ->> 'reclaim')::boolean, false)) then
    return jsonb_build_object('outcome', 'nothing', 'why', case h.status when 'idle' then 'idle' else 'held' end,
                              'agent_turn_id', h.active_agent_turn_id, 'turn_epoch', h.turn_epoch, 'local_calls', null);
  end if;
  if h.status = 'dispatched' and exists (
       select 1 from state.inbox n where n.inbox_id = h.active_agent_turn_id and n.status = 'deferred' and n.next_retry_at > moment) then
    return jsonb_build_object('outcome', 'nothing', 'why', 'deferred', 'agent_turn_id', h.active_agent_turn_id, 'turn_epoch', h.turn_epoch,
                              'local_calls', null);
  end if;

  if h.status = 'running' then
    -- The worker holds the turn but lost the answer that told it so. Whether it acted on its open local calls it cannot know:
    -- they are treated as if their executor had died.
    perform l0.lapse_call(c, moment)
       from (select id from unnest(h.open_calls) o (id) order by id) o
      cross join lateral (select * from state.calls k where k.tool_call_id = o.id and k.wait_status = 'waiting' and k.local
                             and k.claimed_by is not null and k.cap_sha256 is distinct from decode(item ->> 'cap_sha256', 'hex')
                             for no key update) c;
  end if;
  with taken as (
    update state.calls c
       set attempt = c.attempt + case when c.claimed_by is null then 1 else 0 end, claimed_by = worker, principal = worker, claimed_at = moment,
           cap_sha256 = decode(item ->> 'cap_sha256', 'hex')
      from unnest(h.open_calls) o (id)
     where c.tool_call_id = o.id and c.local and c.wait_status = 'waiting'
       -- Its own capability again: the answer that handed these calls out was lost, and they are handed out once more.
       and (c.claimed_by is null or c.claimed_by = worker and c.cap_sha256 = decode(item ->> 'cap_sha256', 'hex'))
    returning c.*)
  select jsonb_agg(jsonb_build_object('tool_call_id', t.tool_call_id, 'tool_call_card_id', t.call_card_id, 'tool_name', t.tool_name,
                     'tool_digest', t.tool_digest, 'call_index', t.call_index, 'effect', t.effect, 'after_execution', t.after_execution,
                     'attempt', t.attempt, 'mode', case when t.reconcile then 'reconcile' else 'run' end,
                     'deadline_at', t.deadline_at, 'arguments', a.content -> 'arguments') order by t.call_index)
    into local_calls from taken t join card.cards a on a.card_id = t.call_card_id;
  if h.status = 'suspended' then
    return jsonb_build_object('outcome', 'nothing', 'why', 'waiting', 'agent_turn_id', h.active_agent_turn_id, 'turn_epoch', h.turn_epoch,
                              'local_calls', local_calls);
  end if;

  bump := case when h.status = 'running' then 1 else 0 end;
  update state.agent_state_head k set status = 'running', turn_epoch = k.turn_epoch + bump, holder = worker, updated_at = moment
   where k.project_id = h.project_id and k.agent_id = h.agent_id;
  update state.inbox n set status = 'processing', due_at = null, defer_reason = null
   where n.inbox_id = h.active_agent_turn_id and n.status in ('pending', 'deferred');
  insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, created_at)
  values (h.project_id, h.agent_id, h.active_agent_turn_id, 'state', 'running', h.turn_epoch + bump, moment);
  select * into strict turn from state.agent_turns t where t.agent_turn_id = h.active_agent_turn_id;
  select case when bool_or(c.result_after = 'terminate') then 'terminate' else 'suspend' end,
         jsonb_agg(jsonb_build_object('tool_call_id', c.tool_call_id, 'tool_name', c.tool_name, 'call_index', c.call_index,
                     'tool_result_card_id', c.result_card_id, 'status', c.result_status, 'after_execution', c.result_after,
                     'content', r.content) order by c.call_index)
    into aggregate, results
    from unnest(h.open_calls) o (id)
    join state.calls c on c.tool_call_id = o.id and c.wait_status = 'received'
    join card.cards r on r.card_id = c.result_card_id;
  return jsonb_build_object(
    'outcome', 'accepted', 'state', 'started', 'project_id', h.project_id, 'agent_id', h.agent_id, 'agent_turn_id', h.active_agent_turn_id,
    'turn_epoch', h.turn_epoch + bump, 'channel_id', h.active_channel_id, 'recursion_depth', h.active_recursion_depth,
    'trace_id', h.trace_id, 'parent_step_id', h.parent_step_id, 'profile_box_id', h.profile_box_id, 'context_box_id', h.context_box_id,
    'output_box_id', h.output_box_id, 'box_length', h.box_length, 'crash_count', h.crash_count, 'step_id', h.step_id)
    || jsonb_build_object('span_id', turn.span_id, 'tracestate', turn.tracestate, 'box_start', turn.box_start,
    'parent_agent_id', turn.parent_agent_id, 'parent_agent_turn_id', turn.parent_agent_turn_id, 'display_name', turn.display_name,
    'metadata', turn.metadata, 'runtime_config', turn.runtime_config, 'turn_number', turn.turn_number,
    'conversation_from', turn.conversation_from, 'answers_waiting', h.answers_waiting, 'after_execution', aggregate, 'results', results,
    'local_calls', local_calls);
end $$;
