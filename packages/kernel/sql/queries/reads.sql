-- Reads. Each names its project: an id of another project is not there.

-- name: cards_by_id
select d.* from l0.cards_by_id($1, $2::text[]) d;

-- name: box_cards
select c.* from l0.cards_of_boxes($1::jsonb) c order by c.item, c.pos;

-- name: conversation
select c.* from l0.conversation($1, $2, $3, $4, $5::text[]) c order by c.turn_number, c.part, c.pos;

-- name: instructions
select i.* from l0.instructions($1, $2::text[], $3) i;

-- name: box_by_id
select b.* from card.boxes b where b.box_id = $2 and b.project_id = $1;

-- name: box_length
select count(*)::int as cards from card.box_contents b where b.box_id = $2 and b.project_id = $1;

-- name: turn_by_id
select * from state.turns t where t.agent_turn_id = $2 and t.project_id = $1;

-- name: turns_of_project
-- Newest first, by the time at which they were asked for. A null filter lets all pass; ($4, $5) is the last turn of the page before.
select t.* from state.turns t
 where t.project_id = $1 and ($2::text is null or t.status = $2) and ($3::text is null or t.agent_id = $3)
   and ($4::timestamptz is null or (t.created_at, t.agent_turn_id) < ($4, $5 collate "C"))
 order by t.created_at desc, t.agent_turn_id desc limit $6;

-- name: turns_of_parent
-- The same for what one turn asked for, by the index of parents.
select t.* from state.turns t
 where t.parent_agent_turn_id = $7 and t.project_id = $1 and ($2::text is null or t.status = $2) and ($3::text is null or t.agent_id = $3)
   and ($4::timestamptz is null or (t.created_at, t.agent_turn_id) < ($4, $5 collate "C"))
 order by t.created_at desc, t.agent_turn_id desc limit $6;

-- name: head_by_agent
select h.*, coalesce(cardinality(h.open_calls), 0) as waiting_tool_count
  from state.agent_state_head h where h.project_id = $1 and h.agent_id = $2;

-- name: call_by_id
select c.tool_call_id, c.project_id, c.agent_id, c.agent_turn_id, c.channel_id, c.step_id, c.turn_epoch, c.call_index, c.tool_name, c.tool_digest,
       c.target_subject, c.effect, c.after_execution, c.local, c.wait_status, c.attempt, c.attempts_max, c.claimed_by, c.claimed_at, c.lease_until,
       c.deadline_at, c.queue_timeout_ms, c.due_at, c.settled_by, c.call_card_id, c.result_card_id, c.result_status, c.result_after, c.batch_id, c.created_at,
       c.received_at, c.applied_at, c.trace_id, c.span_id, c.report_span_id, c.recursion_depth, c.parent_step_id
  from state.calls c where c.tool_call_id = $2 and c.project_id = $1;

-- name: calls_of_turn
-- Through the turn's cards, in call order: calls need no index of their own for this.
select c.tool_call_id, c.step_id, c.call_index, c.tool_name, c.target_subject, c.effect, c.wait_status, c.attempt, c.claimed_by, c.lease_until,
       c.deadline_at, c.settled_by, c.result_card_id, c.result_status, c.created_at, c.received_at, c.applied_at
  from state.agent_turns t
  join card.cards k on k.box_id = t.output_box_id and k.pos >= t.box_start and k.type = 'tool.call' and k.agent_turn_id = t.agent_turn_id
  join state.calls c on c.tool_call_id = k.tool_call_id
 where t.agent_turn_id = $2 and t.project_id = $1 order by k.pos;

-- name: tools_of_project
select t.* from resource.tools t where t.project_id = $1 order by t.tool_name;

-- name: tools_after
-- One page, by name.
select t.* from resource.tools t where t.project_id = $1 and t.tool_name > $2 collate "C" order by t.tool_name limit $3;

-- name: tool_by_name
select t.* from resource.tools t where t.project_id = $1 and t.tool_name = $2;

-- name: tool_by_digest
select v.* from resource.tool_versions v where v.project_id = $1 and v.tool_name = $2 and v.digest = $3
 order by v.removed, v.version desc limit 1;

-- name: project_by_id
select p.* from resource.projects p where p.project_id = $1;

-- name: api_keys_of_project
-- Null lists the keys of every project, and those that have none. The hash stays where it is.
select k.key_id, k.project_id, k.role, k.targets, k.delegation_policy, k.label, k.created_at, k.expires_at, k.revoked_at, k.last_used_at
  from resource.api_keys k where ($1::text is null or k.project_id = $1) and k.key_id > $3 collate "C" order by k.key_id limit $2;

-- name: agents_by_id
select a.* from l0.agents_by_id($1::jsonb) a;

-- name: agents_of_project
-- One page of the roster, by id; a null filter lets all pass.
select a.* from resource.project_agents a
 where a.project_id = $1 and ($2::text is null or a.worker_target = $2) and ($3::text is null or $3 = any (a.tags))
   and ($4::text is null or a.owner_agent_id = $4) and ($5::text is null or a.profile_box_id = $5)
   and a.agent_id > $6 collate "C" order by a.agent_id limit $7;

-- name: profile_by_name
select p.project_id, p.name, p.profile_box_id, p.worker_target, p.tags, p.description, p.updated_at
  from resource.profiles p where p.project_id = $1 and p.name = $2 and p.removed_at is null;

-- name: profiles_of_project
select p.project_id, p.name, p.profile_box_id, p.worker_target, p.tags, p.description, p.updated_at
  from resource.profiles p where p.project_id = $1 and p.removed_at is null and p.name > $3 collate "C" order by p.name limit $2;

-- name: profile_by_box
-- Several names may mean one box; the first by name answers.
select p.project_id, p.name, p.profile_box_id, p.worker_target, p.tags, p.description, p.updated_at
  from resource.profiles p where p.project_id = $1 and p.profile_box_id = $2 and p.removed_at is null order by p.name limit 1;

-- name: turns_by_parent
-- With the call whose batch runs the turn; a turn that was not asked for through a batch, or was tried again since, has none.
select t.*, b.parent_tool_call_id
  from state.turns t
  left join state.pmo_batch_tasks k on k.current_agent_turn_id = t.agent_turn_id and k.project_id = t.project_id
  left join state.pmo_batches b on b.batch_id = k.batch_id and b.parent_agent_turn_id = t.parent_agent_turn_id
 where t.parent_agent_turn_id = $2 and t.project_id = $1 order by t.created_at, t.agent_turn_id limit $3;

-- name: events_after
select e.* from l0.events_after($1, $2, $3) e order by e.seq;

-- name: batch_by_id
select b.*, (select json_agg(t order by t.task_index) from state.pmo_batch_tasks t where t.batch_id = b.batch_id) as tasks
  from state.pmo_batches b where b.batch_id = $2 and b.project_id = $1;

-- name: failures_of_turn
-- In the order in which they were reported. The tool's name is its call's.
select f.failure_id, f.tool_call_id, c.tool_name, f.attempt, f.stack, f.created_at
  from state.failures f left join state.calls c on c.tool_call_id = f.tool_call_id
 where f.project_id = $1 and f.agent_turn_id = $2 and f.failure_id > $3 order by f.failure_id limit $4;

-- name: dead_letters_of_project
select d.* from state.dead_letters d where d.project_id = $1 and ($3::bigint is null or d.dead_letter_id < $3) order by d.dead_letter_id desc limit $2;

-- name: audit_of_project
select a.* from state.audit_log a where a.project_id = $1 and ($3::bigint is null or a.audit_id < $3) order by a.audit_id desc limit $2;

-- name: audit_of_store
-- What belongs to no project.
select a.* from state.audit_log a where a.project_id is null and ($2::bigint is null or a.audit_id < $2) order by a.audit_id desc limit $1;
