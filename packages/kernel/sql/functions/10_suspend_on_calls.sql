-- Commit point A: a step's thought and its calls become durable, and the head lets go.
--
-- move: head.suspend (running → suspended); a step whose calls are all local keeps its head running.
-- item: { project_id, agent_id, agent_turn_id, turn_epoch, step_id, thought: { card_id, content, metadata? },
--         calls: [{ tool_call_id, card_id, tool_name, arguments, target_subject, author_id, span_id, tool_digest?, effect,
--                   after_execution, deadline_ms, attempts_max, backoff_ms, can_reconcile, local, cap_sha256?, metadata?,
--                   queue_timeout_ms?, run_deadline_ms? }] }
--   With the last two, deadline_ms is the queue time and a claim sets the deadline anew (decision 40); never for a local call.
-- answer per item: accepted | duplicate (the same step is already there) with a ticket per call, or rejected + code.
--
-- The head is locked first and must be held at this turn and epoch, or nothing is written (docs/design.md#writes-are-fenced).
-- Keeps C3: the places of the results are reserved here, in call order.

create or replace function l0.suspend_on_calls(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  pads l0.ticket_keys;
  answer json;
  has_duplicates boolean;
begin
  if l0.has_repeats(items, 'agent_id') then
    return l0.in_rounds('suspend_on_calls', 'agent_id', items, moment);
  end if;
  select * into strict pads from l0.ticket_keys where key_id = 1;

  with item as materialized (
    select i.*
      from rows from (jsonb_to_recordset(items) as (
             project_id text, agent_id text, agent_turn_id text, turn_epoch bigint, step_id text, thought jsonb, calls jsonb))
           with ordinality as i (project_id, agent_id, agent_turn_id, turn_epoch, step_id, thought, calls, ord)
  ), decided as materialized (
    select i.ord, i.project_id, i.agent_id, i.agent_turn_id, i.turn_epoch, i.step_id, i.thought, i.calls,
           h.active_channel_id as channel_id, h.active_recursion_depth as recursion_depth, h.trace_id, h.parent_step_id,
           h.output_box_id, h.box_length, h.holder, h.open_calls, s.step_size, s.all_local, s.call_ids, s.locals, s.tool_calls, s.deadline_ms,
           case
             when h.agent_id is null then 'not_found'
             when h.active_agent_turn_id is distinct from i.agent_turn_id or h.turn_epoch is distinct from i.turn_epoch then 'stale_epoch'
             when h.step_id = i.step_id and h.open_calls is not null then 'duplicate'
             when h.status <> 'running' or h.open_calls is not null then 'conflict'
             when s.step_size = 0 then 'bad_request'
             when s.step_size > 64 then 'too_many_calls'
             else 'accepted'
           end as code
      from (select * from item order by project_id collate "C", agent_id collate "C") i
      left join lateral (
        select * from state.agent_state_head h
         where h.project_id = i.project_id and h.agent_id = i.agent_id
           for no key update) h on true
     cross join lateral (
        select count(*)::integer as step_size, bool_and(c.local) as all_local, max(c.deadline_ms) as deadline_ms,
               array_agg(c.tool_call_id order by c.n) as call_ids, array_agg(c.local order by c.n) as locals,
               jsonb_agg(jsonb_build_object('id', c.tool_call_id, 'name', c.tool_name) order by c.n) as tool_calls
          from rows from (jsonb_to_recordset(i.calls) as (tool_call_id text, tool_name text, local boolean, deadline_ms integer))
               with ordinality as c (tool_call_id, tool_name, local, deadline_ms, n)) s
  ), step as materialized (
    -- Narrow on purpose: an UPDATE carries a copy of each row it joins.
    select d.project_id, d.agent_id, d.agent_turn_id, d.turn_epoch, d.step_id, d.all_local, d.call_ids, d.deadline_ms, d.step_size
      from decided d where d.code = 'accepted'
  ), call as materialized (
    select d.project_id, d.agent_id, d.agent_turn_id, d.turn_epoch, d.step_id, d.channel_id, d.recursion_depth, d.trace_id,
           d.parent_step_id, d.output_box_id, d.holder, d.box_length, d.step_size, c.*
      from decided d
     cross join lateral rows from (jsonb_to_recordset(d.calls) as (
             tool_call_id text, card_id text, tool_name text, arguments jsonb, target_subject text, author_id text, span_id text,
             tool_digest text, effect text, after_execution text, deadline_ms integer, attempts_max integer, backoff_ms integer,
             can_reconcile boolean, local boolean, cap_sha256 text, metadata jsonb, queue_timeout_ms integer, run_deadline_ms integer))
           with ordinality as c (tool_call_id, card_id, tool_name, arguments, target_subject, author_id, span_id, tool_digest,
             effect, after_execution, deadline_ms, attempts_max, backoff_ms, can_reconcile, local, cap_sha256,
             metadata, queue_timeout_ms, run_deadline_ms, call_no)
     where d.code = 'accepted'
  ), head as (
    update state.agent_state_head h
       set status = (case when s.all_local then 'running' else 'suspended' end)::state.head_status,
           holder = case when s.all_local then h.holder end,
           box_length = h.box_length + 1 + 2 * s.step_size,
           crash_count = 0,
           step_id = s.step_id,
           open_calls = s.call_ids,
           resume_deadline = moment + s.deadline_ms * interval '1 millisecond',
           updated_at = moment
      from step s
     where h.project_id = s.project_id and h.agent_id = s.agent_id
  ), cards as (
    insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, tool_call_id, trace_id, parent_step_id,
                            box_id, pos, content, tool_calls, metadata, sha256, created_at)
    select n.card_id, n.project_id, n.type, n.author_id, n.agent_turn_id, n.step_id, n.tool_call_id, n.trace_id, n.parent_step_id,
           n.box_id, n.pos, n.content, n.tool_calls, n.metadata,
           sha256(convert_to(n.content::text || coalesce(n.tool_calls::text, '') || coalesce(n.metadata::text, ''), 'UTF8')), moment
      from (
        select d.thought ->> 'card_id' as card_id, d.project_id, 'agent.thought' as type, d.agent_id as author_id, d.agent_turn_id,
               d.step_id, null as tool_call_id, d.trace_id, d.parent_step_id, d.output_box_id as box_id, d.box_length as pos,
               d.thought -> 'content' as content, d.tool_calls, d.thought -> 'metadata' as metadata
          from decided d where d.code = 'accepted'
        union all
        select c.card_id, c.project_id, 'tool.call', c.agent_id, c.agent_turn_id, c.step_id, c.tool_call_id, c.trace_id, c.parent_step_id,
               c.output_box_id, c.box_length + c.call_no::integer,
               jsonb_build_object('tool_name', c.tool_name, 'arguments', c.arguments, 'status', 'called', 'target_subject', c.target_subject),
               null, c.metadata
          from call c) n
  ), calls as (
    insert into state.calls (tool_call_id, project_id, agent_id, agent_turn_id, channel_id, step_id, trace_id, span_id, parent_step_id,
                             turn_epoch, recursion_depth, call_index, step_size, tool_name, tool_digest, target_subject, author_id,
                             effect, after_execution, local, can_reconcile, attempts_max, backoff_ms, call_card_id,
                             box_id, result_pos, created_at, deadline_at, due_at, wait_status, attempt, claimed_by, principal,
                             claimed_at, cap_sha256, queue_timeout_ms, run_deadline_ms)
    select c.tool_call_id, c.project_id, c.agent_id, c.agent_turn_id, c.channel_id, c.step_id, c.trace_id, c.span_id, c.parent_step_id,
           c.turn_epoch, c.recursion_depth, c.call_no - 1, c.step_size, c.tool_name, c.tool_digest, c.target_subject, c.author_id,
           c.effect::state.tool_effect, c.after_execution::state.after_execution, c.local, c.can_reconcile, c.attempts_max, c.backoff_ms, c.card_id,
           c.output_box_id, c.box_length + c.step_size + c.call_no::integer, moment, moment + c.deadline_ms * interval '1 millisecond',
           moment + least(c.deadline_ms, 5000) * interval '1 millisecond', 'waiting',
           case when c.local then 1 else 0 end, case when c.local then c.holder end, case when c.local then c.holder end,
           case when c.local then moment end, case when c.local then decode(c.cap_sha256, 'hex') end, c.queue_timeout_ms, c.run_deadline_ms
      from call c
  ), events as (
    insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, step_id, created_at)
    select s.project_id, s.agent_id, s.agent_turn_id, 'state', case when s.all_local then 'running' else 'suspended' end,
           s.turn_epoch, s.step_id, moment
      from step s
  )
  select json_agg(
           case d.code
             when 'accepted' then json_build_object('outcome', 'accepted', 'channel_id', d.channel_id, 'trace_id', d.trace_id,
               'parent_step_id', d.parent_step_id, 'recursion_depth', d.recursion_depth, 'committed_at', moment,
               'calls', (select json_agg(json_build_object('tool_call_id', c.id,
                                  'ticket', case when not c.local then l0.ticket(pads.inner_pad, pads.outer_pad, d.project_id, c.id, 1) end) order by c.n)
                           from unnest(d.call_ids, d.locals) with ordinality c (id, local, n)))
             when 'duplicate' then json_build_object('outcome', 'duplicate', 'channel_id', d.channel_id, 'trace_id', d.trace_id,
               'parent_step_id', d.parent_step_id, 'recursion_depth', d.recursion_depth, 'open_calls', d.open_calls)
             else json_build_object('outcome', 'rejected', 'code', d.code)
           end order by d.ord),
         bool_or(d.code = 'duplicate')
    into answer, has_duplicates from decided d;

  if has_duplicates then
    -- The step is already there: its calls as they stand, with a ticket for those that nobody has taken.
    select json_agg(case when e.item ->> 'outcome' = 'duplicate'
                      then (e.item::jsonb - 'open_calls' || jsonb_build_object('calls', (
                             select jsonb_agg(jsonb_build_object('tool_call_id', c.tool_call_id,
                                      'ticket', case when c.wait_status = 'waiting' and c.claimed_by is null then
                                        l0.ticket(pads.inner_pad, pads.outer_pad, c.project_id, c.tool_call_id, c.attempt + 1) end) order by o.n)
                               from json_array_elements_text(e.item -> 'open_calls') with ordinality o (id, n)
                              cross join lateral (select * from state.calls c where c.tool_call_id = o.id) c)))::json
                      else e.item end order by e.n)
      into answer from json_array_elements(answer) with ordinality e (item, n);
  end if;
  return answer;
end $$;
