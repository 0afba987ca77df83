-- The invariants of a store, each a query that must find nothing. The numbers are those of the fault model.
--
-- kind: safety    holds at any moment, also mid-run
-- kind: liveness  holds once faults have healed and queues have drained
-- kind: overdue   on a live store: what should have moved on by now (takes the moment as $1)

-- name: 01_call_settled
-- kind: liveness
-- says: every tool.call has exactly one settled wait, except where its project is being deleted, which takes calls before cards
select c.card_id, c.tool_call_id, w.wait_status from card.cards c left join state.calls w on w.tool_call_id = c.tool_call_id and w.project_id = c.project_id
 where c.type = 'tool.call' and (w.tool_call_id is null or w.wait_status not in ('applied', 'dropped'))
   and not exists (select 1 from resource.projects p where p.project_id = c.project_id and p.status = 'deleting');

-- name: 02_one_result_in_box
-- kind: safety
-- says: never two tool.result cards for one call in one box
select b.box_id, c.tool_call_id, count(*) from card.box_contents b join card.cards c on c.card_id = b.card_id
 where c.type = 'tool.result' group by b.box_id, c.tool_call_id having count(*) > 1;

-- name: 03_settled_points_to_result
-- kind: safety
-- says: a settled wait points to a tool.result of the same call and project, at the place reserved for it
select w.tool_call_id, w.wait_status, w.result_card_id from state.calls w
  left join card.cards c on c.card_id = w.result_card_id and c.project_id = w.project_id and c.type = 'tool.result' and c.tool_call_id = w.tool_call_id
  left join card.box_contents b on b.box_id = w.box_id and b.pos = w.result_pos and b.card_id = w.result_card_id
 where w.wait_status <> 'waiting' and (c.card_id is null or b.card_id is null);

-- name: 04_one_terminal_event
-- kind: liveness
-- says: each turn ends exactly once
select t.agent_turn_id, t.status, count(e.seq) from state.agent_turns t left join state.events e on e.agent_turn_id = t.agent_turn_id and e.kind = 'task'
 group by t.agent_turn_id, t.status having count(e.seq) <> 1;

-- name: 05_terminal_event_matches_turn
-- kind: safety
-- says: a turn never ends twice, and its terminal event says what the turn says
select t.agent_turn_id, t.status, count(e.seq) from state.agent_turns t left join state.events e on e.agent_turn_id = t.agent_turn_id and e.kind = 'task'
 group by t.agent_turn_id, t.status, t.ended_at
having count(e.seq) > 1 or (t.ended_at is not null) <> (count(e.seq) = 1) or bool_or(e.status is not null and e.status <> t.status);

-- name: 06_deliverable_in_output_box
-- kind: safety
-- says: an ended turn's deliverable is in its output box
select t.agent_turn_id, t.deliverable_card_id from state.agent_turns t
  left join card.box_contents b on b.box_id = t.output_box_id and b.card_id = t.deliverable_card_id
 where t.ended_at is not null and b.card_id is null;

-- name: 07_idle_iff_no_active
-- kind: safety
-- says: a head is idle exactly when no turn of its agent is active, and names the one that is
select h.project_id, h.agent_id, h.status, h.active_agent_turn_id from state.agent_state_head h
  left join state.agent_turns t on t.agent_turn_id = h.active_agent_turn_id and t.status = 'active' and t.project_id = h.project_id and t.agent_id = h.agent_id
 where (h.status = 'idle') <> (h.active_agent_turn_id is null) or (h.active_agent_turn_id is not null and t.agent_turn_id is null);

-- name: 08_single_active_turn
-- kind: safety
-- says: one active turn per agent
select t.project_id, t.agent_id, count(*) from state.agent_turns t where t.status = 'active' group by t.project_id, t.agent_id having count(*) > 1
union all
select t.project_id, t.agent_id, 0 from state.agent_turns t
  join state.agent_state_head h on h.project_id = t.project_id and h.agent_id = t.agent_id
 where t.status = 'active' and h.active_agent_turn_id is distinct from t.agent_turn_id;

-- name: 12_no_work_after_end
-- kind: safety
-- says: no step starts after its turn ended
select c.card_id, c.agent_turn_id from card.cards c join state.agent_turns t on t.agent_turn_id = c.agent_turn_id
 where c.type in ('agent.thought', 'tool.call') and c.created_at > t.ended_at;

-- name: 13_lineage_verbatim
-- kind: safety
-- says: a result carries its call's trace, step and parent step
select r.card_id, r.tool_call_id from card.cards r join state.calls w on w.tool_call_id = r.tool_call_id
  join card.cards c on c.card_id = w.call_card_id
 where r.type = 'tool.result' and (r.trace_id is distinct from c.trace_id or r.step_id is distinct from c.step_id
   or r.parent_step_id is distinct from c.parent_step_id or r.agent_turn_id is distinct from c.agent_turn_id);

-- name: 14_author_is_owner
-- kind: safety
-- says: a settled result is signed by the tool it was sent to, or by the kernel where the kernel settled it
select w.tool_call_id, r.author_id, w.settled_by from state.calls w join card.cards r on r.card_id = w.result_card_id
 where r.author_id <> w.author_id and not (r.author_id = 'sys.kernel' and w.settled_by in ('deadline', 'cancel', 'crash'));

-- name: 15_function_matches_call
-- kind: safety
-- says: a result's function name is its call's tool
select r.card_id, r.function_name, c.content ->> 'tool_name' from card.cards r join state.calls w on w.tool_call_id = r.tool_call_id
  join card.cards c on c.card_id = w.call_card_id
 where r.type = 'tool.result' and r.function_name is distinct from c.content ->> 'tool_name';

-- name: 16_inbox_drained
-- kind: liveness
-- says: nothing is queued, pending, processing or deferred
select i.inbox_id, i.status from state.agent_inbox i
 where i.status in ('queued', 'pending', 'processing', 'deferred') and not (i.message_type = 'answer' and i.status = 'pending');

-- name: 17_open_calls_true
-- kind: safety
-- says: a head's open calls are exactly the calls of its turn that are not applied
select h.agent_id, o.id, w.wait_status from state.agent_state_head h cross join lateral unnest(h.open_calls) o (id)
  left join state.calls w on w.tool_call_id = o.id and w.agent_turn_id = h.active_agent_turn_id and w.step_id = h.step_id
 where w.wait_status is null or w.wait_status not in ('waiting', 'received')
union all
select w.agent_id, w.tool_call_id, w.wait_status from state.calls w
  left join state.agent_state_head h on h.project_id = w.project_id and h.agent_id = w.agent_id and h.active_agent_turn_id = w.agent_turn_id
 where w.wait_status in ('waiting', 'received') and (h.agent_id is null or not (w.tool_call_id = any (coalesce(h.open_calls, '{}'))));

-- name: 18_suspended_can_wake
-- kind: safety
-- says: a suspended head has something to wait for, a deadline, and somebody who will look
select h.agent_id, h.status from state.agent_state_head h
 where h.status = 'suspended' and (coalesce(cardinality(h.open_calls), 0) = 0 or h.resume_deadline is null or h.holder is not null);

-- name: 20_every_wait_has_a_ring
-- kind: safety
-- says: whatever waits says when somebody must look at it again (the row is its own outbox)
select w.tool_call_id, w.wait_status::text from state.calls w where w.wait_status in ('waiting', 'received') and (w.due_at is null or w.due_at = 'infinity')
union all
select i.inbox_id, i.status from state.inbox i
 where i.status in ('pending', 'deferred') and i.due_at is null and not (i.message_type = 'answer' and i.status = 'pending');

-- name: 21_report_has_request
-- kind: safety
-- says: each response edge has its request, with the same depth
select r.edge_id, r.correlation_id from state.execution_edges r
  left join state.execution_edges q on q.project_id = r.project_id and q.correlation_id = r.correlation_id and q.edge_phase = 'request'
   and q.primitive = case r.primitive when 'report' then 'tool_call' else r.primitive end
 where r.edge_phase = 'response' and (q.edge_id is null or q.recursion_depth <> r.recursion_depth);

-- name: 22_depth_bounded
-- kind: safety
-- says: depth stays below 20 and never falls below the parent's
select t.agent_turn_id, t.recursion_depth from state.agent_turns t left join state.agent_turns p on p.agent_turn_id = t.parent_agent_turn_id
 where t.recursion_depth >= 20 or t.recursion_depth < p.recursion_depth;

-- name: 23_tenant_closed
-- kind: safety
-- says: no pointer crosses projects
select w.tool_call_id as id, 'result card' as pointer from state.calls w join card.cards c on c.card_id = w.result_card_id where c.project_id <> w.project_id
union all
select w.tool_call_id, 'call card' from state.calls w join card.cards c on c.card_id = w.call_card_id where c.project_id <> w.project_id
union all
select b.card_id, 'box' from card.box_contents b join card.cards c on c.card_id = b.card_id join card.boxes x on x.box_id = b.box_id
 where b.project_id <> c.project_id or x.project_id <> c.project_id
union all
select k.batch_task_id, 'batch' from state.pmo_batch_tasks k join state.pmo_batches b on b.batch_id = k.batch_id where b.project_id <> k.project_id
union all
select t.agent_turn_id, 'box of a turn' from state.agent_turns t join card.boxes x on x.box_id in (t.profile_box_id, t.context_box_id, t.output_box_id)
 where x.project_id <> t.project_id
union all
select t.agent_turn_id, 'parent turn' from state.agent_turns t join state.agent_turns p on p.agent_turn_id = t.parent_agent_turn_id where p.project_id <> t.project_id;

-- name: 24_batch_consistent
-- kind: liveness
-- says: a batch's status follows its tasks
select b.batch_id, b.status from state.pmo_batches b join state.pmo_batch_tasks k on k.batch_id = b.batch_id group by b.batch_id, b.task_count, b.status
having count(*) <> b.task_count or b.status = 'running' or count(*) filter (where k.status in ('pending', 'dispatched')) > 0
    or (b.status = 'success') <> bool_and(k.status = 'success')
    or (b.status = 'partial' and bool_and(k.status not in ('success', 'partial'))) or (b.status = 'timeout' and bool_and(k.status <> 'timeout'));

-- name: 25_batch_one_join
-- kind: safety
-- says: an ended batch has one join response, a running one none
select b.batch_id, b.status, count(e.edge_id) from state.pmo_batches b
  left join state.edges e on e.project_id = b.project_id and e.correlation_id = b.batch_id and e.primitive = 'join' and e.edge_phase = 'response'
 group by b.batch_id, b.status having count(e.edge_id) <> case when b.status = 'running' then 0 else 1 end;

-- name: 27_card_immutable
-- kind: safety
-- says: a card's content is what was written
select c.card_id from card.cards c
 where c.sha256 is distinct from sha256(convert_to(c.content::text || coalesce(c.tool_calls::text, '') || coalesce(c.metadata::text, ''), 'UTF8'));

-- name: 28_box_single_writer_dense
-- kind: safety
-- says: one agent writes a box; no gap but the reserved places of waiting calls; no card twice; except where its project is being deleted
select b.box_id, count(*) from card.box_contents b
  -- Gathered once: looked up per box, they took minutes at thirty thousand calls.
  left join (select c.box_id, array_agg(c.result_pos) as reserved from state.calls c where c.wait_status = 'waiting' group by c.box_id) w
    on w.box_id = b.box_id
 where not exists (select 1 from resource.projects p where p.project_id = b.project_id and p.status = 'deleting')
 group by b.box_id, w.reserved
having count(*) <> count(distinct b.card_id) and exists (select 1 from card.boxes x where x.box_id = b.box_id and x.agent_id is not null)
    or max(b.pos) + 1 <> count(*) + (select count(*) from unnest(w.reserved) r (pos) where r.pos < max(b.pos))
union all
select b.box_id, 0 from card.cards b join card.boxes x on x.box_id = b.box_id join state.agent_turns t on t.agent_turn_id = b.agent_turn_id
 where x.agent_id is not null and t.agent_id <> x.agent_id;

-- name: 29_report_conservation
-- kind: safety
-- says: every settled call has exactly one result in its box, and no waiting call has one
select w.tool_call_id, w.wait_status, count(b.card_id) from state.calls w
  left join card.box_contents b on b.box_id = w.box_id and b.pos = w.result_pos
 group by w.tool_call_id, w.wait_status having count(b.card_id) <> case when w.wait_status = 'waiting' then 0 else 1 end;

-- name: 30_exhausted_is_dead_lettered
-- kind: safety
-- says: nothing dies silently
select i.inbox_id, i.last_error from state.inbox i left join state.dead_letters d on d.project_id = i.project_id and d.correlation_id = i.correlation_id
 where i.disposition = 'dead' and d.dead_letter_id is null;

-- name: 31_no_new_work_after_stop
-- kind: safety
-- says: no tool.call is made after its turn was stopped
select c.card_id, c.agent_turn_id from card.cards c join state.agent_turns t on t.agent_turn_id = c.agent_turn_id
 where c.type = 'tool.call' and c.created_at > t.stopped_at;

-- name: 37_queue_length_true
-- kind: safety
-- says: a head's queue length is the number of its queued turns
select h.project_id, h.agent_id, h.queue_length from state.agent_state_head h
 where h.queue_length <> (select count(*) from state.inbox i where i.project_id = h.project_id and i.agent_id = h.agent_id and i.status = 'queued');

-- name: 38_idle_has_no_queue
-- kind: safety
-- says: an idle agent has no queued turn: whoever makes a head idle dispatches the next
select h.project_id, h.agent_id, h.queue_length from state.agent_state_head h where h.status = 'idle' and h.queue_length > 0;

-- name: 39_running_has_message
-- kind: safety
-- says: the message of an active turn is pending, deferred or processing, as its head is dispatched or taken
select h.agent_id, h.status, i.status as inbox_status from state.agent_state_head h left join state.inbox i on i.inbox_id = h.active_agent_turn_id
 where h.status <> 'idle' and (i.inbox_id is null
   or (h.status = 'dispatched') <> (i.status in ('pending', 'deferred')) or (h.status <> 'dispatched') <> (i.status = 'processing'));

-- name: 42_rows_fit_their_state
-- kind: safety
-- says: a row's columns are what its state says (the hot tables have no CHECK constraints: migration 0001, C4)
select 'call' as row_kind, w.tool_call_id as id from state.calls w
 where (w.wait_status = 'waiting') <> (w.result_card_id is null) or (w.wait_status = 'waiting') <> (w.settled_by is null)
    or (w.wait_status = 'applied') <> (w.applied_at is not null) or (w.claimed_by is not null and w.attempt = 0)
    or (w.wait_status = 'waiting' and (w.claimed_by is null) <> (w.cap_sha256 is null))
union all
select 'head', h.agent_id from state.agent_state_head h
 where (h.status = 'running') <> (h.holder is not null) or h.queue_length < 0 or (h.status = 'idle' and h.open_calls is not null)
union all
select 'card', c.card_id from card.cards c
 where (c.box_id is null) <> (c.pos is null) or (c.type in ('tool.call', 'tool.result')) <> (c.tool_call_id is not null);

-- name: 43_budget_counts_turns
-- kind: safety
-- says: a trace has spent no fewer turns than it has, those of its children with traces of their own included
with recursive tree as (
  select t.agent_turn_id, t.project_id, t.trace_id from state.agent_turns t where t.parent_agent_turn_id is null
  union all
  select t.agent_turn_id, t.project_id, p.trace_id from tree p join state.agent_turns t on t.parent_agent_turn_id = p.agent_turn_id
)
select t.project_id, t.trace_id, count(*) as turns, max(b.turns) as spent from tree t
  left join state.trace_budgets b on b.project_id = t.project_id and b.trace_id = t.trace_id
 where not exists (select 1 from resource.projects p where p.project_id = t.project_id and p.status = 'deleting')
 group by t.project_id, t.trace_id having count(*) > coalesce(max(b.turns), 0);

-- name: 44_turns_are_numbered
-- kind: safety
-- says: the turns of an agent that were dispatched are numbered without a gap, and no turn remembers one that comes after it; except where its project is being deleted
select h.agent_id, h.turns_dispatched, count(t.turn_number) as numbered from state.agent_state_head h
  left join state.agent_turns t on t.project_id = h.project_id and t.agent_id = h.agent_id
 where not exists (select 1 from resource.projects p where p.project_id = h.project_id and p.status = 'deleting')
 group by h.project_id, h.agent_id, h.turns_dispatched
having h.turns_dispatched <> count(t.turn_number) or h.turns_dispatched <> coalesce(max(t.turn_number), 0)
    or count(*) filter (where (t.turn_number is null) <> (t.dispatched_at is null)) > 0
    or count(*) filter (where t.conversation_from > t.turn_number) > 0
    or count(*) filter (where t.is_fresh and t.conversation_from <> t.turn_number) > 0;

-- name: 45_answers_once
-- kind: safety
-- says: each turn that owes its asker an answer has written one when it ended, and an answer that was taken is one card of the asker's
select t.agent_turn_id, count(n.inbox_id) as answers, count(c.card_id) as cards from state.agent_turns t
  left join state.inbox n on n.project_id = t.project_id and n.message_type = 'answer' and n.correlation_id = t.agent_turn_id
  left join card.cards c on c.project_id = t.project_id and c.type = 'agent.answer' and c.metadata ->> 'answer_of' = t.agent_turn_id
 where t.answers_parent and not exists (select 1 from resource.projects p where p.project_id = t.project_id and p.status = 'deleting')
 group by t.agent_turn_id, t.ended_at, t.parent_agent_id
having count(distinct n.inbox_id) <> case when t.ended_at is null then 0 else 1 end
    or count(distinct c.card_id) <> count(distinct n.inbox_id) filter (where n.status = 'consumed')
    or bool_or(n.agent_id <> t.parent_agent_id);

-- name: 46_answers_counted
-- kind: safety
-- says: a head counts the answers that wait for it
select h.agent_id, h.answers_waiting from state.agent_state_head h
 where h.answers_waiting <> (select count(*) from state.inbox n
                              where n.project_id = h.project_id and n.agent_id = h.agent_id and n.message_type = 'answer' and n.status = 'pending')
   and not exists (select 1 from resource.projects p where p.project_id = h.project_id and p.status = 'deleting');

-- name: 47_answers_are_told
-- kind: liveness
-- says: no answer waits for an idle agent whose turn that asked was not stopped, where every trace has turns left
select n.inbox_id, n.agent_id from state.inbox n
  join state.agent_turns t on t.agent_turn_id = n.agent_turn_id
  join state.agent_state_head h on h.project_id = n.project_id and h.agent_id = n.agent_id
  join resource.projects p on p.project_id = n.project_id and p.status = 'active'
 where n.message_type = 'answer' and n.status = 'pending' and h.status = 'idle' and t.status <> 'canceled'
   and not exists (select 1 from state.trace_budgets b where b.project_id = t.project_id and b.turns >= 1000);

-- name: 40_overdue_calls
-- kind: overdue
-- says: no call waits a minute past its deadline, and no settled call waits five minutes to be applied
select w.tool_call_id, w.wait_status, w.deadline_at, w.received_at from state.calls w
 where w.due_at is not null and (w.wait_status = 'waiting' and w.deadline_at < $1::timestamptz - interval '1 minute'
    or w.wait_status = 'received' and w.received_at < $1::timestamptz - interval '5 minutes'
       and not exists (select 1 from state.agent_state_head h cross join lateral unnest(h.open_calls) o (id)
                        join state.calls s on s.tool_call_id = o.id and s.wait_status = 'waiting'
                        where h.project_id = w.project_id and h.agent_id = w.agent_id));

-- name: 41_overdue_turns
-- kind: overdue
-- says: no dispatched turn waits five minutes for a worker, and no running turn is held by a worker that is long dead
select h.agent_id, h.status, h.active_agent_turn_id, h.holder, h.updated_at from state.agent_state_head h
  left join state.workers w on w.worker_id = h.holder
  left join state.inbox i on i.inbox_id = h.active_agent_turn_id
 where h.status = 'dispatched' and greatest(h.updated_at, i.next_retry_at) < $1::timestamptz - interval '5 minutes'
    or h.status = 'running' and (w.worker_id is null or w.lease_until < $1::timestamptz - interval '1 minute');
