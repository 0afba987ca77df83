-- compat: expand
-- The reference's tables that are views here, because one row per call holds what they hold (design §3, row shape).

create view state.turn_waiting_tools as
  select c.project_id, c.agent_id, c.agent_turn_id, c.turn_epoch, c.tool_call_id, c.step_id, c.tool_name, c.call_index,
         c.wait_status, c.result_card_id as tool_result_card_id, c.deadline_at as resume_deadline,
         c.received_at, c.applied_at
    from state.calls c;

create view state.agent_state_pointers as
  select h.project_id, h.agent_id, h.memory_context_box_id, h.last_output_box_id from state.agent_state_head h;

create view state.agent_inbox as
  select i.inbox_id, i.project_id, i.agent_id, i.channel_id, i.message_type, i.enqueue_mode, i.correlation_id,
         i.agent_turn_id, i.turn_epoch, i.context_headers, i.payload, i.status, i.disposition, i.retry_count,
         i.next_retry_at, i.defer_reason, i.last_error, i.processed_at, i.created_at
    from state.inbox i
  union all
  select c.tool_call_id, c.project_id, c.agent_id, c.channel_id,
         case when c.settled_by = 'deadline' then 'timeout' else 'tool_result' end, null, c.tool_call_id,
         c.agent_turn_id, c.turn_epoch,
         jsonb_build_object('traceparent', '00-' || c.trace_id || '-' || c.report_span_id || '-01',
                            'CG-Recursion-Depth', c.recursion_depth::text),
         jsonb_build_object('tool_result_card_id', c.result_card_id, 'status', c.result_status,
                            'after_execution', c.after_execution),
         case when c.wait_status = 'received' then 'pending' else 'consumed' end,
         case c.wait_status when 'applied' then 'applied' when 'dropped' then 'stopped' end,
         0::smallint, c.received_at, null, null, c.applied_at, c.received_at
    from state.calls c
   where c.wait_status <> 'waiting'
  union all
  select 'anchor:' || c.tool_call_id, c.project_id, c.agent_id, c.channel_id, 'command_anchor', null, c.tool_call_id,
         c.agent_turn_id, c.turn_epoch,
         jsonb_build_object('traceparent', '00-' || c.trace_id || '-' || c.span_id || '-01',
                            'CG-Recursion-Depth', c.recursion_depth::text),
         jsonb_build_object('kind', 'command', 'subject', c.target_subject, 'correlation_id', c.tool_call_id),
         'consumed', 'applied', 0::smallint, c.created_at, null, null, c.created_at, c.created_at
    from state.calls c;

create view state.execution_edges as
  select e.edge_id, e.project_id, e.channel_id, e.primitive, e.edge_phase, e.source_agent_id, e.source_agent_turn_id,
         e.source_step_id, e.target_agent_id, e.target_agent_turn_id, e.correlation_id, e.enqueue_mode,
         e.recursion_depth, e.trace_id, e.parent_step_id, e.metadata, e.created_at
    from state.edges e
  union all
  select 'call:' || c.tool_call_id, c.project_id, c.channel_id, 'tool_call', 'request', c.agent_id, c.agent_turn_id,
         c.step_id, c.author_id, null, c.tool_call_id, null, c.recursion_depth, c.trace_id, c.parent_step_id, '{}', c.created_at
    from state.calls c
  union all
  select 'report:' || c.tool_call_id, c.project_id, c.channel_id, 'report', 'response', r.author_id, null,
         null, c.agent_id, c.agent_turn_id, c.tool_call_id, null, c.recursion_depth, r.trace_id, r.parent_step_id, '{}', c.received_at
    from state.calls c join card.cards r on r.card_id = c.result_card_id;

create view state.agent_steps as
  select t.project_id, t.author_id as agent_id, t.step_id, t.agent_turn_id, t.trace_id, t.parent_step_id,
         t.card_id as thought_card_id, t.box_id as output_box_id, t.tool_calls as tool_call_ids,
         t.metadata, t.created_at as started_at
    from card.cards t
   where t.type = 'agent.thought';

-- A card as the reference shows it: lineage and place are columns in the table and metadata here.
create view card.card_documents as
  select c.card_id, c.project_id, c.type, c.author_id, c.content, c.tool_calls, c.tool_call_id, c.ttl_seconds, c.created_at,
         c.created_at + make_interval(secs => c.ttl_seconds) as expires_at,
         jsonb_strip_nulls(jsonb_build_object(
           'agent_turn_id', c.agent_turn_id, 'step_id', c.step_id, 'tool_call_id', c.tool_call_id, 'trace_id', c.trace_id,
           'parent_step_id', c.parent_step_id, 'function_name', c.function_name,
           'role', case
             when c.type in ('task.instruction', 'task.result_fields') then 'user'
             when c.type in ('agent.thought', 'tool.call', 'task.deliverable') then 'assistant'
             when c.type = 'tool.result' then 'tool'
             else 'system' end)) || coalesce(c.metadata, '{}') as metadata
    from card.cards c;

-- The cards of a box in order, wherever they live.
create view card.box_contents as
  select c.box_id, c.pos, c.card_id, c.project_id from card.cards c where c.box_id is not null
  union all
  select b.box_id, b.pos, b.card_id, b.project_id from card.box_cards b;

-- What a turn is doing, as the public surface says it (design §7).
create view state.turns as
  select t.*, case when t.status = 'active' then h.status::text else t.status end as turn_status,
         h.turn_epoch, h.holder, h.step_id as current_step_id, h.open_calls, h.resume_deadline
    from state.agent_turns t
    left join state.agent_state_head h
      on t.status = 'active' and h.project_id = t.project_id and h.agent_id = t.agent_id and h.active_agent_turn_id = t.agent_turn_id;
