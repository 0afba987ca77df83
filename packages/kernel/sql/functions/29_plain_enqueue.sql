-- Turns for agents that are idle, asked for together: each is written and dispatched in one go. The rules are those of
-- 26_plain_calls.sql; the full door is l0.enqueue_turn, and an item that this function leaves over changes nothing here.
--
--   E1. Heads are locked first, in key order, then the turns that ask; what follows is read after that, in a statement of its own. So
--       a project that is being deleted, a turn that was asked for before and a parent that was stopped are seen as the full door
--       sees them.
--   E2. `limit 1` keeps a look-up by key what it is: without it a plan may begin with the table and look through the items.
--   E3. What a trace has left is taken for all of its turns at once; if that is too much for it, the full door decides which of them may.

-- answer: the answers of l0.enqueue_turn, for the items that are in `done`.
create or replace function l0.enqueue_idle(items jsonb, moment timestamptz, out answer json, out done integer[])
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
begin
  perform h.locked
     from (select i.project_id, i.agent_id from jsonb_to_recordset(items) as i (project_id text, agent_id text)
            order by i.project_id collate "C", i.agent_id collate "C") i
    cross join lateral (
      select 1 as locked from state.agent_state_head h where h.project_id = i.project_id and h.agent_id = i.agent_id for no key update) h; -- E1
  perform t.locked
     from (select distinct i.project_id, i.parent_agent_turn_id as id
             from jsonb_to_recordset(items) as i (project_id text, parent_agent_turn_id text, depth_policy text)
            where i.parent_agent_turn_id is not null and i.depth_policy is distinct from 'root' order by 2) i
    cross join lateral (
      select 1 as locked from state.agent_turns t where t.agent_turn_id = i.id and t.project_id = i.project_id for share) t;

  with named as (
    -- The first of its agent, of its turn and of its correlation, also where that one is left over: the others must meet what it did.
    select e.item, e.ord,
           row_number() over (partition by e.item ->> 'project_id', e.item ->> 'agent_id' order by e.ord) = 1
           and row_number() over (partition by e.item ->> 'agent_turn_id' order by e.ord) = 1
           and row_number() over (partition by e.item ->> 'project_id', coalesce(e.item ->> 'correlation_id', e.item ->> 'agent_turn_id')
                                      order by e.ord) = 1 as is_first
      from jsonb_array_elements(items) with ordinality e (item, ord)
  ), item as materialized (
    select e.ord::integer as ord, i.project_id, i.agent_id, i.agent_turn_id, coalesce(i.correlation_id, i.agent_turn_id) as correlation_id,
           coalesce(i.channel_id, 'public') as channel_id, i.trace_id, i.span_id, i.tracestate, i.parent_traceparent, i.parent_step_id,
           i.context_box_id is not null as has_context, coalesce(i.context_box_id, i.new_box_ids ->> 1) as context_box_id, i.context_cards,
           i.new_box_ids ->> 0 as output_box_id, i.display_name, e.item -> 'metadata' as metadata,
           e.item -> 'runtime_config' as runtime_config, i.source_agent_id,
           coalesce(i.profile_box_id, a.profile_box_id) as profile_box_id, a.worker_target, h.turn_epoch + 1 as turn_epoch,
           h.turns_dispatched + 1 as turn_number, coalesce(i.is_fresh, false) as is_fresh,
           case when i.is_fresh then h.turns_dispatched + 1 else h.conversation_from end as conversation_from,
           coalesce(i.answers_parent, false) and parent.agent_turn_id is not null as answers_parent,
           parent.agent_id as parent_agent_id, parent.agent_turn_id as parent_agent_turn_id,
           coalesce(parent.recursion_depth + 1, 0) as depth, coalesce(parent.trace_id, i.trace_id) as spent_trace_id
      from named e
     cross join lateral jsonb_to_record(e.item) as i (
             project_id text, agent_id text, agent_turn_id text, correlation_id text, message_type text, channel_id text, trace_id text,
             span_id text, tracestate text, parent_traceparent text, depth_policy text, parent_agent_turn_id text, parent_step_id text,
             profile_box_id text, context_box_id text, context_cards jsonb, output_box_id text, new_box_ids jsonb, display_name text,
             source_agent_id text, is_fresh boolean, answers_parent boolean)
     cross join lateral (
       select a.profile_box_id, a.worker_target from resource.project_agents a
        where a.project_id = i.project_id and a.agent_id = i.agent_id and a.status = 'active' limit 1) a
     cross join lateral (
       select h.turn_epoch, h.turns_dispatched, h.conversation_from from state.agent_state_head h
        where h.project_id = i.project_id and h.agent_id = i.agent_id and h.status = 'idle' and h.queue_length = 0 limit 1) h
     cross join lateral (select 1 from resource.projects p where p.project_id = i.project_id and p.status = 'active' limit 1) p
      left join lateral (
        select t.agent_id, t.agent_turn_id, t.recursion_depth, t.trace_id from state.agent_turns t
         where t.agent_turn_id = i.parent_agent_turn_id and t.project_id = i.project_id and t.status <> 'canceled'
           and t.parent_agent_turn_id is null and t.recursion_depth < 19 limit 1) parent on true
     where e.is_first and i.agent_turn_id is not null and i.trace_id ~ '^[0-9a-f]{32}$' and i.span_id ~ '^[0-9a-f]{16}$'
       and coalesce(i.message_type, 'turn') = 'turn' and i.output_box_id is null
       -- Without a parent the policies are one.
       and (coalesce(i.depth_policy, 'descend') = 'descend'
            or i.depth_policy = 'root' and not e.item ? 'parent_agent_turn_id' and i.parent_step_id is null)
       and jsonb_typeof(e.item -> 'context_cards') is not distinct from
           case when e.item ? 'context_cards' then 'array' end
       and (e.item ? 'parent_agent_turn_id') = (parent.agent_turn_id is not null)
       and coalesce(i.profile_box_id, a.profile_box_id) is not null
       and (i.profile_box_id is null or exists (
         select 1 from card.boxes b where b.box_id = i.profile_box_id and b.project_id = i.project_id))
       and (i.context_box_id is null or exists (
         select 1 from card.boxes b where b.box_id = i.context_box_id and b.project_id = i.project_id))
       and not exists (select 1 from state.agent_turns t where t.agent_turn_id = i.agent_turn_id)
       and not exists (
         select 1 from state.inbox n where n.project_id = i.project_id and n.message_type = 'turn'
            and n.correlation_id = coalesce(i.correlation_id, i.agent_turn_id))
     order by i.project_id collate "C", i.agent_id collate "C", e.ord
  ), budget as (
    insert into state.trace_budgets as b (project_id, trace_id, turns)
    select i.project_id, i.spent_trace_id, count(*) from item i group by i.project_id, i.spent_trace_id order by 1, 2
    on conflict (project_id, trace_id) do update set turns = b.turns + excluded.turns where b.turns + excluded.turns <= 1000 -- E3
    returning b.project_id, b.trace_id
  ), new as materialized (
    select i.* from item i join budget b on b.project_id = i.project_id and b.trace_id = i.spent_trace_id
     order by i.project_id collate "C", i.agent_id collate "C"
  ), head as (
    update state.agent_state_head h
       set status = 'dispatched', turn_epoch = h.turn_epoch + 1, active_agent_turn_id = n.agent_turn_id, active_channel_id = n.channel_id,
           active_recursion_depth = n.depth, trace_id = n.trace_id, parent_step_id = n.parent_step_id, profile_box_id = n.profile_box_id,
           context_box_id = n.context_box_id, output_box_id = n.output_box_id, box_length = 0, crash_count = 0, step_id = null,
           open_calls = null, resume_deadline = null, holder = null, updated_at = moment, turns_dispatched = n.turn_number,
           conversation_from = n.conversation_from
      from new n where h.project_id = n.project_id and h.agent_id = n.agent_id
  ), boxes as (
    insert into card.boxes (box_id, project_id, agent_id, created_at)
    select n.output_box_id, n.project_id, n.agent_id, moment from new n
    union all
    select n.context_box_id, n.project_id, null, moment from new n where not n.has_context
  ), cards as (
    insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, trace_id, box_id, pos, content, metadata, sha256, created_at)
    select c.card ->> 'card_id', n.project_id, c.card ->> 'type', coalesce(c.card ->> 'author_id', n.source_agent_id, 'sys.entry'),
           n.agent_turn_id, n.trace_id, n.context_box_id, c.n - 1, c.card -> 'content', c.card -> 'metadata',
           sha256(convert_to((c.card -> 'content')::text || coalesce((c.card -> 'metadata')::text, ''), 'UTF8')), moment
      from new n cross join lateral jsonb_array_elements(n.context_cards) with ordinality c (card, n)
     where not n.has_context
  ), turns as (
    insert into state.agent_turns (agent_turn_id, project_id, agent_id, channel_id, correlation_id, status, recursion_depth, trace_id, span_id,
                                   tracestate, parent_traceparent, parent_agent_id, parent_agent_turn_id, parent_step_id, profile_box_id,
                                   context_box_id, output_box_id, box_start, display_name, metadata, runtime_config, created_at, dispatched_at,
                                   turn_number, conversation_from, is_fresh, answers_parent)
    select n.agent_turn_id, n.project_id, n.agent_id, n.channel_id, n.correlation_id, 'active', n.depth, n.trace_id, n.span_id,
           n.tracestate, n.parent_traceparent, n.parent_agent_id, n.parent_agent_turn_id, n.parent_step_id, n.profile_box_id,
           n.context_box_id, n.output_box_id, 0, n.display_name, n.metadata, n.runtime_config, moment, moment, n.turn_number,
           l0.first_remembered(n.conversation_from, n.turn_number), n.is_fresh, n.answers_parent
      from new n
  ), messages as (
    insert into state.inbox (inbox_id, project_id, agent_id, channel_id, message_type, correlation_id, agent_turn_id, turn_epoch, context_headers,
                             payload, status, next_retry_at, due_at, created_at)
    select n.agent_turn_id, n.project_id, n.agent_id, n.channel_id, 'turn', n.correlation_id, n.agent_turn_id, n.turn_epoch,
           jsonb_strip_nulls(jsonb_build_object(
             'traceparent', '00-' || n.trace_id || '-' || n.span_id || '-01', 'tracestate', n.tracestate, 'CG-Recursion-Depth', n.depth::text,
             'CG-Parent-Agent-Id', n.parent_agent_id, 'CG-Parent-Turn-Id', n.parent_agent_turn_id, 'CG-Parent-Step-Id', n.parent_step_id,
             'CG-Parent-Traceparent', n.parent_traceparent)),
           jsonb_build_object('context_box_id', n.context_box_id, 'output_box_id', n.output_box_id), 'pending', moment,
           moment + interval '5 seconds', moment
      from new n order by n.ord
  ), edges as (
    insert into state.edges (edge_id, project_id, channel_id, primitive, edge_phase, source_agent_id, source_agent_turn_id, source_step_id,
                             target_agent_id, target_agent_turn_id, correlation_id, enqueue_mode, recursion_depth, trace_id, parent_step_id, created_at)
    select 'enqueue:' || n.agent_turn_id, n.project_id, n.channel_id, 'enqueue', 'request', coalesce(n.parent_agent_id, n.source_agent_id),
           n.parent_agent_turn_id, n.parent_step_id, n.agent_id, n.agent_turn_id, n.correlation_id, 'call', n.depth, n.trace_id,
           n.parent_step_id, moment
      from new n
  ), events as (
    insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, created_at)
    select n.project_id, n.agent_id, n.agent_turn_id, 'state', 'dispatched', n.turn_epoch, moment from new n order by n.ord
  )
  select (select json_agg(a)
            from (select 'accepted' as outcome, n.agent_turn_id, n.agent_turn_id as inbox_id, n.correlation_id, n.trace_id, n.channel_id,
                         n.depth as recursion_depth, n.context_box_id, n.output_box_id, n.turn_epoch,
                         json_build_object('project_id', n.project_id, 'channel_id', n.channel_id, 'agent_id', n.agent_id,
                           'agent_turn_id', n.agent_turn_id, 'turn_epoch', n.turn_epoch, 'trace_id', n.trace_id,
                           'worker_target', n.worker_target, 'reason', 'dispatch_next') as wake
                    from new n order by n.ord) a),
         (select array_agg(n.ord order by n.ord) from new n)
    into answer, done;
end $$;

create or replace function l0.enqueue_plainly(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answer json;
  done integer[];
begin
  perform l0.expect_batch(items);
  select e.answer, e.done into answer, done from l0.enqueue_idle(items, moment) e;
  if cardinality(done) = jsonb_array_length(items) then
    return answer;
  end if;
  return l0.in_place(answer, done, l0.enqueue_turn(l0.left_over(items, done), moment));
end $$;
