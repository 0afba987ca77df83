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
-- Keeps D6: the worker must be alive by the database's clock. The results come in call order (promise 7).

create or replace function l0.resume(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = '' set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answer json;
begin
  with item as materialized (
    select i.*, row_number() over (partition by i.project_id, i.agent_id order by i.ord) as repetition
      from rows from (jsonb_to_recordset(items) as (project_id text, agent_id text, worker_id text, reclaim boolean, cap_sha256 text))
           with ordinality as i (project_id, agent_id, worker_id, reclaim, cap_sha256, ord)
  ), locked as materialized (
    select i.ord, i.worker_id, i.reclaim, i.repetition, i.cap_sha256, h.*,
           w.worker_id is not null as worker_lives,
           -- Counted, not quantified: a head that was suspended while this statement waited for its lock names calls that the
           -- statement's snapshot does not hold yet.
           h.status = 'suspended' and cardinality(h.open_calls) = (
             select count(*) from unnest(h.open_calls) o (id)
              cross join lateral (select 1 from state.calls c where c.tool_call_id = o.id and c.wait_status = 'received') c) as all_received,
           case when h.status = 'dispatched' then coalesce((
             select n.status = 'deferred' and n.next_retry_at > moment from state.inbox n where n.inbox_id = h.active_agent_turn_id), false) end as too_early
      from (select * from item order by project_id, agent_id) i
      left join lateral (
        select * from state.agent_state_head h where h.project_id = i.project_id and h.agent_id = i.agent_id for no key update) h on true
      left join lateral (
        select w.worker_id from state.workers w
         where w.worker_id = i.worker_id and w.lease_until > moment and w.lapsed_at is null) w on true
  ), decided as materialized (
    select l.*, case
             when l.agent_id is null then 'not_found'
             when not l.worker_lives then 'worker_lapsed'
             when l.repetition > 1 then 'agent_busy'
             when l.status = 'idle' then 'idle'
             when l.status = 'dispatched' then case when l.too_early then 'deferred' else 'started' end
             when l.status = 'running' then case when l.holder = l.worker_id and l.reclaim then 'reclaimed' else 'held' end
             when l.all_received then 'resumed'
             else 'waiting'
           end as code
      from locked l
  ), step as materialized (
    -- Narrow on purpose: an UPDATE carries a copy of each row it joins.
    select d.project_id, d.agent_id, d.code, d.worker_id from decided d where d.code in ('started', 'resumed', 'reclaimed')
  ), head as (
    update state.agent_state_head h
       set status = 'running', turn_epoch = h.turn_epoch + case when d.code = 'started' then 0 else 1 end,
           holder = d.worker_id,
           crash_count = case when d.code = 'resumed' then 0 else h.crash_count end,
           step_id = case when d.code = 'resumed' then null else h.step_id end,
           open_calls = case when d.code = 'resumed' then null else h.open_calls end,
           resume_deadline = case when d.code = 'resumed' then null else h.resume_deadline end,
           updated_at = moment
      from step d
     where h.project_id = d.project_id and h.agent_id = d.agent_id
  ), due as materialized (
    select o.id from decided d cross join lateral unnest(d.open_calls) o (id) where d.code = 'resumed'
  ), applied as (
    update state.calls c
       set wait_status = 'applied', applied_at = moment, due_at = null
      from due where c.tool_call_id = due.id and c.wait_status = 'received'
  ), taken as (
    -- Local calls that lost their worker and may run again are claimed for this one.
    update state.calls c
       set attempt = c.attempt + 1, claimed_by = d.worker_id, principal = d.worker_id, claimed_at = moment,
           cap_sha256 = decode(d.cap_sha256, 'hex')
      from decided d cross join lateral unnest(d.open_calls) o (id)
     where d.code in ('started', 'reclaimed', 'waiting') and c.tool_call_id = o.id
       and c.local and c.wait_status = 'waiting' and c.claimed_by is null
    returning d.ord, c.tool_call_id, c.attempt, c.reconcile
  ), claimed as (
    update state.inbox n
       set status = 'processing', due_at = null, defer_reason = null
      from decided d
     where d.code = 'started' and n.inbox_id = d.active_agent_turn_id and n.status in ('pending', 'deferred')
  ), events as (
    insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, step_id, created_at)
    -- A resumed step needs none: its call's applied_at says it, and the next step or the end follows.
    select d.project_id, d.agent_id, d.active_agent_turn_id, 'state', 'running', d.turn_epoch + case when d.code = 'started' then 0 else 1 end, null, moment
      from decided d where d.code in ('started', 'reclaimed')
  )
  select json_agg(case
           when d.code in ('started', 'resumed', 'reclaimed') then json_build_object(
             'outcome', 'accepted', 'state', case when d.code = 'resumed' then 'resumed' else 'started' end,
             'project_id', d.project_id, 'agent_id', d.agent_id, 'agent_turn_id', d.active_agent_turn_id,
             'turn_epoch', d.turn_epoch + case when d.code = 'started' then 0 else 1 end,
             'channel_id', d.active_channel_id, 'recursion_depth', d.active_recursion_depth, 'trace_id', d.trace_id,
             'parent_step_id', d.parent_step_id, 'profile_box_id', d.profile_box_id, 'context_box_id', d.context_box_id,
             'output_box_id', d.output_box_id, 'box_length', d.box_length, 'crash_count', d.crash_count, 'step_id', d.step_id,
             'span_id', turn.span_id, 'tracestate', turn.tracestate, 'box_start', turn.box_start, 'parent_agent_id', turn.parent_agent_id,
             'parent_agent_turn_id', turn.parent_agent_turn_id, 'display_name', turn.display_name, 'metadata', turn.metadata,
             'runtime_config', turn.runtime_config,
             'after_execution', results.aggregate, 'results', results.list, 'local_calls', local.list)
           when d.code in ('idle', 'held', 'waiting', 'deferred') then json_build_object(
             'outcome', 'nothing', 'why', d.code, 'agent_turn_id', d.active_agent_turn_id, 'turn_epoch', d.turn_epoch, 'local_calls', local.list)
           else json_build_object('outcome', 'rejected', 'code', d.code)
         end order by d.ord)
    into answer
    from decided d
    left join lateral (
      select t.* from state.agent_turns t where t.agent_turn_id = d.active_agent_turn_id and d.code in ('started', 'resumed', 'reclaimed')) turn on true
    left join lateral (
      select case when bool_or(c.result_after = 'terminate') then 'terminate' else 'suspend' end as aggregate,
             json_agg(json_build_object('tool_call_id', c.tool_call_id, 'tool_name', c.tool_name, 'call_index', c.call_index,
                        'tool_result_card_id', c.result_card_id, 'status', c.result_status, 'after_execution', c.result_after,
                        'content', r.content) order by o.n) as list
        from unnest(d.open_calls) with ordinality o (id, n)
       cross join lateral (select * from state.calls c where c.tool_call_id = o.id and c.wait_status = 'received') c
       cross join lateral (select r.content from card.cards r where r.card_id = c.result_card_id) r
       where d.code in ('started', 'resumed', 'reclaimed')) results on true
    left join lateral (
      select json_agg(json_build_object('tool_call_id', c.tool_call_id, 'tool_call_card_id', c.call_card_id, 'tool_name', c.tool_name,
                        'tool_digest', c.tool_digest, 'call_index', c.call_index, 'effect', c.effect, 'after_execution', c.after_execution,
                        'attempt', t.attempt, 'mode', case when t.reconcile then 'reconcile' else 'run' end,
                        'deadline_at', c.deadline_at, 'arguments', a.content -> 'arguments') order by c.call_index) as list
        from taken t
       cross join lateral (select * from state.calls c where c.tool_call_id = t.tool_call_id) c
       cross join lateral (select a.content from card.cards a where a.card_id = c.call_card_id) a
       where t.ord = d.ord) local on true;
  return answer;
end $$;
