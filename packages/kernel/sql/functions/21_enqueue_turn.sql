-- A turn is asked for: written down, put in its agent's queue, and dispatched at once if the agent is idle.
--
-- item: { project_id, agent_id, agent_turn_id, correlation_id?, message_type?: turn | ui_action, channel_id?, trace_id, span_id, tracestate?,
--         parent_traceparent?, depth_policy?: descend | peer | root, parent_agent_turn_id?, parent_step_id?, profile_box_id?,
--         context_box_id? | context_cards?: [{ card_id, type, author_id, content, metadata? }], output_box_id?, new_box_ids: [a, b],
--         display_name?, metadata?, runtime_config?, source_agent_id?, is_fresh?, answers_parent? }
-- answer: accepted | duplicate (same turn id or correlation) + { agent_turn_id, inbox_id, correlation_id, trace_id, channel_id,
--   recursion_depth, turn_epoch?, wake? }, or rejected with not_found, agent_busy, backlog_full, recursion_depth_exceeded,
--   trace_budget_exceeded, canceled (the parent was stopped), forbidden (output box of another agent), conflict (the id names another turn; the
--   project is inactive or archived), bad_request.
--
-- The depth comes from the stored parent, never from a header (docs/faults.md#f43); the budget of the trace
-- stops fan-out bombs.

create or replace function l0.enqueue_turn(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answers jsonb := '{}';
  i record;
begin
  perform l0.expect_batch(items);
  -- Heads are locked in key order; the answers go back in item order.
  for i in
    select e.item, e.n from jsonb_array_elements(items) with ordinality e (item, n)
     order by (e.item ->> 'project_id') collate "C", (e.item ->> 'agent_id') collate "C", e.n
  loop
    answers := answers || jsonb_build_object(i.n::text, l0.enqueue_one(i.item, moment));
  end loop;
  return l0.in_item_order(answers, items);
end $$;

create or replace function l0.enqueue_one(item jsonb, moment timestamptz) returns jsonb
language plpgsql as $$
declare
  project text := item ->> 'project_id';
  agent text := item ->> 'agent_id';
  turn_id text := item ->> 'agent_turn_id';
  correlation text := coalesce(item ->> 'correlation_id', item ->> 'agent_turn_id');
  kind text := coalesce(item ->> 'message_type', 'turn');
  policy text := coalesce(item ->> 'depth_policy', 'descend');
  roster resource.project_agents;
  project_status text;
  h state.agent_state_head;
  known state.agent_turns;
  parent state.agent_turns;
  ancestor state.agent_turns;
  depth integer := 0;
  context_box text := item ->> 'context_box_id';
  output_box text := item ->> 'output_box_id';
  context_headers jsonb;
  spent integer;
  wake jsonb;
  epoch bigint;
begin
  if turn_id is null or coalesce(item ->> 'trace_id', '') !~ '^[0-9a-f]{32}$' or coalesce(item ->> 'span_id', '') !~ '^[0-9a-f]{16}$'
     or kind not in ('turn', 'ui_action') or policy not in ('descend', 'peer', 'root') then
    return jsonb_build_object('outcome', 'rejected', 'code', 'bad_request');
  end if;
  select * into roster from resource.project_agents a where a.project_id = project and a.agent_id = agent and a.status = 'active';
  if not found then
    return jsonb_build_object('outcome', 'rejected', 'code', 'not_found');
  end if;
  select * into h from state.agent_state_head k where k.project_id = project and k.agent_id = agent for no key update;
  -- Read under the head's lock: delete_project waits for it, or has marked the project before. A read by key, without a lock.
  select p.status into project_status from resource.projects p where p.project_id = project;
  if coalesce(project_status, 'deleting') = 'deleting' then
    return jsonb_build_object('outcome', 'rejected', 'code', 'not_found');
  end if;

  select * into known from state.agent_turns t where t.agent_turn_id = turn_id;
  if not found then
    select t.* into known from state.inbox n join state.agent_turns t on t.agent_turn_id = n.agent_turn_id
     where n.project_id = project and n.message_type = kind and n.correlation_id = correlation;
  end if;
  if found then
    if known.project_id <> project or known.agent_id <> agent or known.correlation_id <> correlation then
      return jsonb_build_object('outcome', 'rejected', 'code', 'conflict');
    end if;
    return jsonb_build_object('outcome', 'duplicate', 'agent_turn_id', known.agent_turn_id, 'inbox_id', known.agent_turn_id,
      'correlation_id', known.correlation_id, 'trace_id', known.trace_id, 'channel_id', known.channel_id,
      'recursion_depth', known.recursion_depth, 'status', known.status);
  end if;

  if project_status <> 'active' then
    return jsonb_build_object('outcome', 'rejected', 'code', 'conflict', 'project_status', project_status);
  end if;
  if kind = 'ui_action' and h.status <> 'idle' then
    return jsonb_build_object('outcome', 'rejected', 'code', 'agent_busy');
  end if;
  if h.queue_length >= 10000 then
    return jsonb_build_object('outcome', 'rejected', 'code', 'backlog_full');
  end if;
  if item ? 'parent_agent_turn_id' and policy <> 'root' then
    -- Locked against its end: a stopped turn gets no more children, so that whoever stops them finds them all (migration 0007, B2).
    select * into parent from state.agent_turns t where t.agent_turn_id = item ->> 'parent_agent_turn_id' and t.project_id = project for share;
    if not found then
      return jsonb_build_object('outcome', 'rejected', 'code', 'not_found');
    end if;
    if parent.status = 'canceled' then
      return jsonb_build_object('outcome', 'rejected', 'code', 'canceled');
    end if;
    depth := parent.recursion_depth + case policy when 'descend' then 1 else 0 end;
  end if;
  if depth >= 20 then
    return jsonb_build_object('outcome', 'rejected', 'code', 'recursion_depth_exceeded');
  end if;
  if output_box is not null then
    if not exists (select 1 from card.boxes b where b.box_id = output_box and b.project_id = project and b.agent_id = agent) then
      return jsonb_build_object('outcome', 'rejected', 'code', 'forbidden');
    end if;
  end if;
  if item ->> 'profile_box_id' is not null and not exists (
       select 1 from card.boxes b where b.box_id = item ->> 'profile_box_id' and b.project_id = project) then
    return jsonb_build_object('outcome', 'rejected', 'code', 'not_found');
  end if;
  if context_box is not null and not exists (select 1 from card.boxes b where b.box_id = context_box and b.project_id = project) then
    return jsonb_build_object('outcome', 'rejected', 'code', 'not_found');
  end if;
  -- Children may have a trace of their own (fork_join); what they spend is their first ancestor's, or a bomb would buy a new budget per fork.
  ancestor := parent;
  while ancestor.parent_agent_turn_id is not null loop
    select * into strict ancestor from state.agent_turns t where t.agent_turn_id = ancestor.parent_agent_turn_id;
  end loop;
  insert into state.trace_budgets as b (project_id, trace_id, turns) values (project, coalesce(ancestor.trace_id, item ->> 'trace_id'), 1)
    on conflict (project_id, trace_id) do update set turns = b.turns + 1 where b.turns < 1000
    returning b.turns into spent;
  if spent is null then
    return jsonb_build_object('outcome', 'rejected', 'code', 'trace_budget_exceeded');
  end if;

  if output_box is null then
    output_box := item -> 'new_box_ids' ->> 0;
    insert into card.boxes (box_id, project_id, agent_id, created_at) values (output_box, project, agent, moment);
  end if;
  if context_box is null then
    context_box := item -> 'new_box_ids' ->> 1;
    insert into card.boxes (box_id, project_id, created_at) values (context_box, project, moment);
    insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, trace_id, box_id, pos, content, metadata, sha256, created_at)
    select c.card ->> 'card_id', project, c.card ->> 'type', coalesce(c.card ->> 'author_id', item ->> 'source_agent_id', 'sys.entry'), turn_id,
           item ->> 'trace_id', context_box, c.n - 1, c.card -> 'content', c.card -> 'metadata',
           sha256(convert_to((c.card -> 'content')::text || coalesce((c.card -> 'metadata')::text, ''), 'UTF8')), moment
      from jsonb_array_elements(item -> 'context_cards') with ordinality c (card, n);
  end if;

  context_headers := jsonb_strip_nulls(jsonb_build_object(
    'traceparent', '00-' || (item ->> 'trace_id') || '-' || (item ->> 'span_id') || '-01', 'tracestate', item ->> 'tracestate',
    'CG-Recursion-Depth', depth::text, 'CG-Parent-Agent-Id', parent.agent_id, 'CG-Parent-Turn-Id', parent.agent_turn_id,
    'CG-Parent-Step-Id', case when policy <> 'root' then item ->> 'parent_step_id' end, 'CG-Parent-Traceparent', item ->> 'parent_traceparent'));
  insert into state.agent_turns (agent_turn_id, project_id, agent_id, channel_id, correlation_id, status, recursion_depth, trace_id, span_id,
                                 tracestate, parent_traceparent, parent_agent_id, parent_agent_turn_id, parent_step_id, profile_box_id,
                                 context_box_id, output_box_id, display_name, metadata, runtime_config, created_at, is_fresh, answers_parent)
  values (turn_id, project, agent, coalesce(item ->> 'channel_id', 'public'), correlation, 'queued', depth, item ->> 'trace_id', item ->> 'span_id',
          item ->> 'tracestate', item ->> 'parent_traceparent', parent.agent_id, parent.agent_turn_id,
          case when policy <> 'root' then item ->> 'parent_step_id' end, coalesce(item ->> 'profile_box_id', roster.profile_box_id),
          context_box, output_box, item ->> 'display_name', item -> 'metadata', item -> 'runtime_config', moment,
          coalesce((item ->> 'is_fresh')::boolean, false), coalesce((item ->> 'answers_parent')::boolean, false) and parent.agent_turn_id is not null);
  insert into state.inbox (inbox_id, project_id, agent_id, channel_id, message_type, correlation_id, agent_turn_id, context_headers, payload,
                           status, next_retry_at, created_at)
  values (turn_id, project, agent, coalesce(item ->> 'channel_id', 'public'), kind, correlation, turn_id, context_headers,
          jsonb_build_object('context_box_id', context_box, 'output_box_id', output_box), 'queued', moment, moment);
  insert into state.edges (edge_id, project_id, channel_id, primitive, edge_phase, source_agent_id, source_agent_turn_id, source_step_id,
                           target_agent_id, target_agent_turn_id, correlation_id, enqueue_mode, recursion_depth, trace_id, parent_step_id, created_at)
  values ('enqueue:' || turn_id, project, coalesce(item ->> 'channel_id', 'public'), 'enqueue', 'request',
          coalesce(parent.agent_id, item ->> 'source_agent_id'), parent.agent_turn_id, item ->> 'parent_step_id', agent, turn_id, correlation,
          'call', depth, item ->> 'trace_id', item ->> 'parent_step_id', moment);
  update state.agent_state_head k set queue_length = k.queue_length + 1 where k.project_id = project and k.agent_id = agent;

  if h.status = 'idle' then
    wake := l0.dispatch_next(project, agent, moment);
    epoch := (wake ->> 'turn_epoch')::bigint;
  end if;
  return jsonb_strip_nulls(jsonb_build_object('outcome', 'accepted', 'agent_turn_id', turn_id, 'inbox_id', turn_id, 'correlation_id', correlation,
    'trace_id', item ->> 'trace_id', 'channel_id', coalesce(item ->> 'channel_id', 'public'), 'recursion_depth', depth,
    'context_box_id', context_box, 'output_box_id', output_box, 'turn_epoch', epoch, 'wake', wake));
end $$;
