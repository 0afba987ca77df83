-- Copies an agent with its one finished turn: $1 its id, $2 the endings of the copies' ids, one for each copy.
--
-- Every id of a copied row gets the ending, so that what belongs together stays together; trace ids are hashed with it. What
-- names an id inside of a document is replaced there, and the hash of a card is made anew.
with ending as (
  select e.ending from unnest($2::text[]) e(ending)
), turn as (
  select t.* from state.agent_turns t where t.agent_id = $1
), boxes as (
  insert into card.boxes
  select c.* from card.boxes b cross join ending e
   cross join lateral jsonb_populate_record(b, jsonb_build_object(
           'box_id', b.box_id || '_' || e.ending, 'agent_id', b.agent_id || '_' || e.ending)) c
   where b.box_id in (select unnest(array[t.profile_box_id, t.context_box_id, t.output_box_id]) from turn t)
), cards as (
  insert into card.cards
  select c.* from turn t join card.cards k on k.box_id = t.output_box_id cross join ending e
   cross join lateral (select regexp_replace(k.tool_calls::text, '("id": "[^"]*)', '\1_' || e.ending, 'g')::jsonb as tool_calls) n
   cross join lateral jsonb_populate_record(k, jsonb_build_object(
           'card_id', k.card_id || '_' || e.ending, 'author_id', case when k.author_id = $1 then $1 || '_' || e.ending else k.author_id end,
           'agent_turn_id', k.agent_turn_id || '_' || e.ending, 'step_id', k.step_id || '_' || e.ending,
           'tool_call_id', k.tool_call_id || '_' || e.ending, 'trace_id', md5(k.trace_id || e.ending),
           'box_id', k.box_id || '_' || e.ending, 'tool_calls', n.tool_calls,
           'sha256', sha256(convert_to(k.content::text || coalesce(n.tool_calls::text, '') || coalesce(k.metadata::text, ''), 'UTF8'))::text)) c
), agents as (
  insert into resource.project_agents
  select c.* from resource.project_agents a cross join ending e
   cross join lateral jsonb_populate_record(a, jsonb_build_object(
           'agent_id', a.agent_id || '_' || e.ending, 'profile_box_id', a.profile_box_id || '_' || e.ending)) c
   where a.agent_id = $1
), heads as (
  insert into state.agent_state_head
  select c.* from state.agent_state_head h cross join ending e
   cross join lateral jsonb_populate_record(h, jsonb_build_object(
           'agent_id', h.agent_id || '_' || e.ending, 'trace_id', md5(h.trace_id || e.ending),
           'profile_box_id', h.profile_box_id || '_' || e.ending, 'context_box_id', h.context_box_id || '_' || e.ending,
           'output_box_id', h.output_box_id || '_' || e.ending, 'last_output_box_id', h.last_output_box_id || '_' || e.ending,
           'step_id', h.step_id || '_' || e.ending)) c
   where h.agent_id = $1
), turns as (
  insert into state.agent_turns
  select c.* from turn t cross join ending e
   cross join lateral jsonb_populate_record(null::state.agent_turns, to_jsonb(t) || jsonb_build_object(
           'agent_turn_id', t.agent_turn_id || '_' || e.ending, 'agent_id', t.agent_id || '_' || e.ending,
           'correlation_id', t.correlation_id || '_' || e.ending, 'trace_id', md5(t.trace_id || e.ending),
           'profile_box_id', t.profile_box_id || '_' || e.ending, 'context_box_id', t.context_box_id || '_' || e.ending,
           'output_box_id', t.output_box_id || '_' || e.ending,
           'deliverable_card_id', t.deliverable_card_id || '_' || e.ending)) c
), budgets as (
  insert into state.trace_budgets
  select b.project_id, md5(b.trace_id || e.ending), b.turns
    from turn t join state.trace_budgets b on b.project_id = t.project_id and b.trace_id = t.trace_id cross join ending e
), inbox as (
  insert into state.inbox (inbox_id, project_id, agent_id, channel_id, message_type, enqueue_mode, correlation_id, agent_turn_id,
                           turn_epoch, context_headers, payload, status, disposition, retry_count, rings, next_retry_at, due_at,
                           defer_reason, last_error, processed_at, created_at)
  select i.inbox_id || '_' || e.ending, i.project_id, i.agent_id || '_' || e.ending, i.channel_id, i.message_type, i.enqueue_mode,
         i.correlation_id || '_' || e.ending, i.agent_turn_id || '_' || e.ending, i.turn_epoch, i.context_headers, i.payload, i.status,
         i.disposition, i.retry_count, i.rings, i.next_retry_at, i.due_at, i.defer_reason, i.last_error, i.processed_at, i.created_at
    from state.inbox i cross join ending e where i.agent_id = $1
), edges as (
  insert into state.edges
  select c.* from turn t join state.edges g on g.target_agent_turn_id = t.agent_turn_id cross join ending e
   cross join lateral jsonb_populate_record(g, jsonb_build_object(
           'edge_id', g.edge_id || '_' || e.ending, 'target_agent_id', g.target_agent_id || '_' || e.ending,
           'target_agent_turn_id', g.target_agent_turn_id || '_' || e.ending, 'correlation_id', g.correlation_id || '_' || e.ending,
           'trace_id', md5(g.trace_id || e.ending))) c
), events as (
  insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, step_id, payload, created_at)
  select v.project_id, v.agent_id || '_' || e.ending, v.agent_turn_id || '_' || e.ending, v.kind, v.status, v.turn_epoch,
         v.step_id || '_' || e.ending,
         replace(replace(v.payload::text, t.deliverable_card_id, t.deliverable_card_id || '_' || e.ending),
                 t.output_box_id, t.output_box_id || '_' || e.ending)::jsonb,
         v.created_at
    from turn t join state.events v on v.agent_turn_id = t.agent_turn_id cross join ending e
)
insert into state.calls
select c.* from turn t join state.calls k on k.agent_turn_id = t.agent_turn_id cross join ending e
 cross join lateral jsonb_populate_record(k, jsonb_build_object(
         'tool_call_id', k.tool_call_id || '_' || e.ending, 'agent_id', k.agent_id || '_' || e.ending,
         'agent_turn_id', k.agent_turn_id || '_' || e.ending, 'step_id', k.step_id || '_' || e.ending,
         'trace_id', md5(k.trace_id || e.ending), 'call_card_id', k.call_card_id || '_' || e.ending,
         'claim_id', k.claim_id || '_' || e.ending, 'box_id', k.box_id || '_' || e.ending,
         'result_card_id', k.result_card_id || '_' || e.ending)) c
