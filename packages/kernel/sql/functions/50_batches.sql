-- Fork and join: a call that is answered by a batch of child turns. The batch owns its call: no lease, its own deadline.
-- What to dispatch and when is the PMO's business; that each move happens once is decided here.

-- The holder of a fork_join call turns it into a batch.
-- item: { project_id, tool_call_id, capability, principal?, batch_id, deadline_ms?, fail_fast?, metadata?,
--         tasks: [{ batch_task_id, agent_id?, profile_box_id?, context_box_id?, output_box_id?, payload_hash?, metadata? }] }
-- answer: accepted | duplicate + batch_id, or rejected with the codes of a holder's writes, or fan_out_exceeded.
create or replace function l0.open_batch(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  c state.calls;
  code text;
  answers jsonb := '{}';
begin
  perform l0.expect_batch(items);
  for i in
    select * from rows from (jsonb_to_recordset(items) as (project_id text, tool_call_id text, capability text, principal text, batch_id text,
             deadline_ms bigint, fail_fast boolean, metadata jsonb, tasks jsonb))
           with ordinality as e (project_id, tool_call_id, capability, principal, batch_id, deadline_ms, fail_fast, metadata, tasks, ord)
     order by e.tool_call_id collate "C"
  loop
    select * into c from state.calls k where k.tool_call_id = i.tool_call_id and k.project_id = i.project_id for no key update;
    if c.batch_id = i.batch_id and c.project_id = i.project_id then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'duplicate', 'batch_id', i.batch_id));
      continue;
    end if;
    code := l0.refuse_holder(c.project_id = i.project_id, c.cap_sha256, c.stale_caps, c.principal, c.wait_status, i.capability, i.principal);
    code := coalesce(code, case when jsonb_array_length(i.tasks) not between 1 and 50 then 'fan_out_exceeded' end);
    if code is not null then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'rejected', 'code', code));
      continue;
    end if;
    insert into state.pmo_batches (batch_id, project_id, channel_id, parent_agent_id, parent_agent_turn_id, parent_tool_call_id, parent_turn_epoch,
                                   task_count, fail_fast, status, deadline_at, due_at, metadata, created_at)
    values (i.batch_id, c.project_id, c.channel_id, c.agent_id, c.agent_turn_id, c.tool_call_id, c.turn_epoch, jsonb_array_length(i.tasks),
            coalesce(i.fail_fast, false), 'running', moment + coalesce(i.deadline_ms, 900000) * interval '1 millisecond', moment, coalesce(i.metadata, '{}'), moment);
    insert into state.pmo_batch_tasks (batch_task_id, batch_id, project_id, task_index, agent_id, status, next_retry_at, payload_hash,
                                       profile_box_id, context_box_id, output_box_id, metadata, created_at)
    select t.task ->> 'batch_task_id', i.batch_id, c.project_id, t.n - 1, t.task ->> 'agent_id', 'pending', moment, t.task ->> 'payload_hash',
           t.task ->> 'profile_box_id', t.task ->> 'context_box_id', t.task ->> 'output_box_id', coalesce(t.task -> 'metadata', '{}'), moment
      from jsonb_array_elements(i.tasks) with ordinality t (task, n);
    insert into state.edges (edge_id, project_id, channel_id, primitive, edge_phase, source_agent_id, source_agent_turn_id, source_step_id,
                             target_agent_id, correlation_id, recursion_depth, trace_id, parent_step_id, created_at)
    values ('join:' || i.batch_id, c.project_id, c.channel_id, 'join', 'request', c.agent_id, c.agent_turn_id, c.step_id, c.author_id, i.batch_id,
            c.recursion_depth, c.trace_id, c.parent_step_id, moment);
    -- The call's own deadline lies past the batch's, so that the batch answers first.
    update state.calls k
       set batch_id = i.batch_id, lease_until = null,
           deadline_at = greatest(k.deadline_at, moment + coalesce(i.deadline_ms, 900000) * interval '1 millisecond' + interval '30 seconds')
     where k.tool_call_id = c.tool_call_id;
    answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'accepted', 'batch_id', i.batch_id));
  end loop;
  return l0.in_item_order(answers, items);
end $$;

-- Moves of one task, each a compare-and-set on the state it leaves; anything else changes no row.
-- item: { batch_task_id, project_id, move: dispatch | requeue | settle, status? (settle), agent_turn_id? (dispatch), agent_id?, turn_epoch?,
--         delay_ms? (requeue), error_detail?, metadata? }
create or replace function l0.move_batch_task(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  task state.pmo_batch_tasks;
  answers jsonb := '{}';
begin
  perform l0.expect_batch(items);
  for i in
    select * from rows from (jsonb_to_recordset(items) as (batch_task_id text, project_id text, move text, status text, agent_turn_id text,
             agent_id text, turn_epoch bigint, delay_ms integer, error_detail jsonb, metadata jsonb))
           with ordinality as e (batch_task_id, project_id, move, status, agent_turn_id, agent_id, turn_epoch, delay_ms, error_detail, metadata, ord)
     order by e.batch_task_id collate "C"
  loop
    -- Turn before task, as the end of a turn locks them: either that end sees this task dispatched, or this move sees that end.
    if i.move = 'dispatch' then
      perform 1 from state.agent_turns t where t.agent_turn_id = i.agent_turn_id and t.project_id = i.project_id for no key update;
    end if;
    select * into task from state.pmo_batch_tasks k where k.batch_task_id = i.batch_task_id and k.project_id = i.project_id for no key update;
    if not found then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'rejected', 'code', 'not_found'));
    elsif i.move = 'dispatch' and task.status = 'pending' and task.next_retry_at <= moment and exists (
            select 1 from state.pmo_batches b where b.batch_id = task.batch_id and b.status = 'running') then
      update state.pmo_batch_tasks k
         set status = 'dispatched', current_agent_turn_id = i.agent_turn_id, agent_id = coalesce(i.agent_id, k.agent_id),
             current_turn_epoch = i.turn_epoch, attempt_count = k.attempt_count + 1
       where k.batch_task_id = task.batch_task_id;
      -- A child that was quicker than this move has ended already; nobody will tell its task again.
      update state.pmo_batch_tasks k set status = t.status, ended_at = t.ended_at
        from state.agent_turns t
       where k.batch_task_id = task.batch_task_id and t.agent_turn_id = i.agent_turn_id and t.ended_at is not null;
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'accepted', 'attempt_count', task.attempt_count + 1));
    elsif i.move = 'requeue' and task.status = 'dispatched' then
      update state.pmo_batch_tasks k
         set status = 'pending', current_agent_turn_id = null, next_retry_at = moment + coalesce(i.delay_ms, 0) * interval '1 millisecond'
       where k.batch_task_id = task.batch_task_id;
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'accepted'));
    elsif i.move = 'settle' and (task.status = 'dispatched' and i.status in ('success', 'failed', 'canceled', 'timeout', 'partial')
                                 or task.status = 'pending' and i.status in ('failed', 'canceled', 'timeout')) then
      update state.pmo_batch_tasks k
         set status = i.status, ended_at = moment, error_detail = i.error_detail, metadata = k.metadata || coalesce(i.metadata, '{}')
       where k.batch_task_id = task.batch_task_id;
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'accepted'));
    else
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'rejected', 'code', 'conflict', 'status', task.status));
    end if;
  end loop;
  return l0.in_item_order(answers, items);
end $$;

-- The end of a batch and the answer of its call in one commit, whoever of several PMOs comes first (docs/faults.md#f39).
-- moves: batch running → success | failed | timeout | partial; wait.settle by 'batch'
-- item: { batch_id, project_id, status, result, error? }
-- What the tasks came to bounds the status: success if all succeeded and only then, partial if some delivered, timeout if one timed out. Which of
-- those that remain a batch gets (fail_fast, a caller that is gone) is the PMO's business; any other status is refused with conflict.
create or replace function l0.finish_batch(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  b state.pmo_batches;
  c state.calls;
  answers jsonb := '{}';
begin
  perform l0.expect_batch(items);
  for i in
    select * from rows from (jsonb_to_recordset(items) as (batch_id text, project_id text, status text, result jsonb, error jsonb))
           with ordinality as e (batch_id, project_id, status, result, error, ord)
     order by e.batch_id collate "C"
  loop
    select * into b from state.pmo_batches k where k.batch_id = i.batch_id and k.project_id = i.project_id for no key update;
    if not found then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'rejected', 'code', 'not_found'));
      continue;
    end if;
    if b.status <> 'running' then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', case when b.status = i.status then 'duplicate' else 'rejected' end, 'code', 'already_settled',
                                              'status', b.status));
      continue;
    end if;
    if (select bool_or(t.status in ('pending', 'dispatched')) or (i.status = 'success') <> bool_and(t.status = 'success')
             or not case i.status when 'success' then true when 'failed' then true when 'partial' then bool_or(t.status in ('success', 'partial'))
                                  when 'timeout' then bool_or(t.status = 'timeout') else false end
          from state.pmo_batch_tasks t where t.batch_id = b.batch_id) then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'rejected', 'code', 'conflict', 'status', b.status));
      continue;
    end if;
    update state.pmo_batches k set status = i.status, ended_at = moment where k.batch_id = b.batch_id;
    select * into c from state.calls k where k.tool_call_id = b.parent_tool_call_id for no key update;
    insert into state.edges (edge_id, project_id, channel_id, primitive, edge_phase, source_agent_id, target_agent_id, target_agent_turn_id,
                             correlation_id, recursion_depth, trace_id, parent_step_id, created_at)
    values ('joined:' || b.batch_id, b.project_id, b.channel_id, 'join', 'response', 'sys.pmo.batch_manager', b.parent_agent_id,
            b.parent_agent_turn_id, b.batch_id, c.recursion_depth, c.trace_id, c.parent_step_id, moment);
    if c.wait_status = 'waiting' then
      perform l0.settle_call(c, i.status::state.result_status, 'received', 'batch', nullif(i.error, 'null'), i.result, c.author_id, moment);
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'accepted', 'wake', l0.wake_of(c.project_id, c.agent_id, 'batch_joined')));
    else
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'accepted'));
    end if;
  end loop;
  return l0.in_item_order(answers, items);
end $$;

-- Starts the child of a task: the turn and the move are one commit, so no child runs that its batch does not know.
-- moves: batch_task.dispatch, or put off (pending → pending, later), or batch_task.settle_failed
-- item: { project_id, batch_task_id, only_idle, attempts_max, delay_first_ms, delay_max_ms, turn: an item of l0.enqueue_turn }
--   only_idle: an agent that is at work is busy, instead of getting one more turn in its queue.
-- answer: accepted | duplicate + { agent_turn_id, wake? }, or rejected with not_found, conflict (another PMO was first; the batch or its call is
--   over), agent_busy or backlog_full + { retry_at } (put off), dispatch_retry_exhausted or a code of enqueue_turn (the task failed).
create or replace function l0.dispatch_batch_task(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answers jsonb;
  turns jsonb;
  places integer[];
  i record;
begin
  perform l0.expect_batch(items);
  -- Head before task, as everywhere; both in key order. What is read afterwards is as it is under these locks.
  perform h.locked
     from (select e.item ->> 'project_id' as project_id, e.item -> 'turn' ->> 'agent_id' as agent_id from jsonb_array_elements(items) e (item)
            order by (e.item ->> 'project_id') collate "C", (e.item -> 'turn' ->> 'agent_id') collate "C") x
    cross join lateral (
      select 1 as locked from state.agent_state_head h where h.project_id = x.project_id and h.agent_id = x.agent_id for no key update) h;
  perform k.locked
     from (select e.item ->> 'project_id' as project_id, e.item ->> 'batch_task_id' as id from jsonb_array_elements(items) e (item)
            order by (e.item ->> 'batch_task_id') collate "C") x
    cross join lateral (
      select 1 as locked from state.pmo_batch_tasks k where k.batch_task_id = x.id and k.project_id = x.project_id for no key update) k;

  -- Those that may start are asked for together; what an idle agent cannot take at once is decided one by one below.
  select jsonb_agg(e.item -> 'turn' order by e.n), array_agg(e.n order by e.n) into turns, places
    from (select x.item, x.n, row_number() over (partition by x.item ->> 'batch_task_id' order by x.n) as nth
            from jsonb_array_elements(items) with ordinality x (item, n)) e
   cross join lateral (
     select k.batch_id from state.pmo_batch_tasks k
      where k.batch_task_id = e.item ->> 'batch_task_id' and k.project_id = e.item ->> 'project_id' and k.status = 'pending'
        and k.next_retry_at <= moment and k.current_agent_turn_id is distinct from e.item -> 'turn' ->> 'agent_turn_id' limit 1) k
   cross join lateral (select b.parent_tool_call_id from state.pmo_batches b where b.batch_id = k.batch_id and b.status = 'running' limit 1) b
   cross join lateral (select 1 from state.calls c where c.tool_call_id = b.parent_tool_call_id and c.wait_status = 'waiting' limit 1) c
   where e.nth = 1 -- one that names the same task meets what the first did
     and e.item -> 'turn' ->> 'project_id' = e.item ->> 'project_id';
  with child as materialized (
    select places[a.done[c.n]] as n, c.child
      from l0.enqueue_idle(turns, moment) a cross join lateral json_array_elements(a.answer) with ordinality c (child, n)
     where turns is not null
  ), task as (
    update state.pmo_batch_tasks k
       set status = 'dispatched', current_agent_turn_id = c.child ->> 'agent_turn_id', agent_id = c.child -> 'wake' ->> 'agent_id',
           attempt_count = k.attempt_count + 1, current_turn_epoch = (c.child ->> 'turn_epoch')::bigint, output_box_id = c.child ->> 'output_box_id'
      from child c where k.batch_task_id = items -> (c.n - 1) ->> 'batch_task_id'
  )
  select coalesce(jsonb_object_agg(c.n::text, jsonb_build_object('outcome', 'accepted', 'agent_turn_id', c.child ->> 'agent_turn_id',
                                                                 'wake', c.child -> 'wake')), '{}')
    into answers from child c;
  for i in
    select e.item, e.n from jsonb_array_elements(items) with ordinality e (item, n) where not answers ? e.n::text
     order by (e.item ->> 'project_id') collate "C", (e.item -> 'turn' ->> 'agent_id') collate "C", e.n
  loop
    answers := answers || jsonb_build_object(i.n::text, l0.dispatch_one_task(i.item, moment));
  end loop;
  return l0.in_item_order(answers, items);
end $$;

create or replace function l0.dispatch_one_task(item jsonb, moment timestamptz) returns jsonb
language plpgsql as $$
declare
  turn jsonb := item -> 'turn';
  h state.agent_state_head;
  task state.pmo_batch_tasks;
  child jsonb;
  code text;
  tries integer;
  later timestamptz;
begin
  -- Head before task, as everywhere.
  select * into h from state.agent_state_head k
   where k.project_id = item ->> 'project_id' and k.agent_id = turn ->> 'agent_id' for no key update;
  select * into task from state.pmo_batch_tasks k
   where k.batch_task_id = item ->> 'batch_task_id' and k.project_id = item ->> 'project_id' for no key update;
  if not found then
    return jsonb_build_object('outcome', 'rejected', 'code', 'not_found');
  end if;
  if task.current_agent_turn_id = turn ->> 'agent_turn_id' then
    return jsonb_build_object('outcome', 'duplicate', 'agent_turn_id', task.current_agent_turn_id);
  end if;
  if task.status <> 'pending' or task.next_retry_at > moment or not exists (
       select 1 from state.pmo_batches b join state.calls c on c.tool_call_id = b.parent_tool_call_id
        where b.batch_id = task.batch_id and b.status = 'running' and c.wait_status = 'waiting') then
    return jsonb_build_object('outcome', 'rejected', 'code', 'conflict', 'status', task.status);
  end if;
  tries := task.attempt_count + 1;
  if (item ->> 'only_idle')::boolean and h.status <> 'idle' then
    code := 'agent_busy';
  else
    child := l0.enqueue_one(turn, moment);
    code := child ->> 'code';
  end if;

  if code is null then
    update state.pmo_batch_tasks k
       set status = 'dispatched', current_agent_turn_id = child ->> 'agent_turn_id', agent_id = turn ->> 'agent_id', attempt_count = tries,
           current_turn_epoch = (child ->> 'turn_epoch')::bigint, output_box_id = coalesce(child ->> 'output_box_id', k.output_box_id)
     where k.batch_task_id = task.batch_task_id;
    if child ->> 'outcome' = 'duplicate' then
      -- The turn was there before; if it has ended, nobody will tell its task again.
      update state.pmo_batch_tasks k set status = t.status, ended_at = t.ended_at, output_box_id = t.output_box_id
        from state.agent_turns t
       where k.batch_task_id = task.batch_task_id and t.agent_turn_id = child ->> 'agent_turn_id' and t.ended_at is not null;
    end if;
    return jsonb_strip_nulls(jsonb_build_object('outcome', 'accepted', 'agent_turn_id', child ->> 'agent_turn_id', 'wake', child -> 'wake'));
  end if;
  if code in ('agent_busy', 'backlog_full') and tries <= (item ->> 'attempts_max')::integer then
    later := moment + least((item ->> 'delay_first_ms')::integer * power(2, tries - 1), (item ->> 'delay_max_ms')::integer) * interval '1 millisecond';
    update state.pmo_batch_tasks k set attempt_count = tries, next_retry_at = later where k.batch_task_id = task.batch_task_id;
    update state.pmo_batches b set due_at = least(b.due_at, later) where b.batch_id = task.batch_id;
    return jsonb_build_object('outcome', 'rejected', 'code', code, 'retry_at', later);
  end if;
  update state.pmo_batch_tasks k
     set status = 'failed', ended_at = moment, retryable = false, attempt_count = tries,
         error_detail = case when code in ('agent_busy', 'backlog_full')
           then jsonb_build_object('code', 'dispatch_retry_exhausted', 'message', 'the agent was busy at every try', 'detail', jsonb_build_object('last', code))
           else jsonb_build_object('code', code, 'message', 'dispatch_rejected:' || code) end
   where k.batch_task_id = task.batch_task_id;
  return jsonb_build_object('outcome', 'rejected', 'code', case when code in ('agent_busy', 'backlog_full') then 'dispatch_retry_exhausted' else code end);
end $$;

-- Hands out batches that need a hand (B1), each to one PMO at a time; if that one dies, it is handed out again after a few seconds.
-- answer: [{ batch_id, project_id, channel_id, parent_agent_id, parent_agent_turn_id, parent_tool_call_id, fail_fast, metadata, is_awaited (its call
--   still waits), is_late (its deadline has passed), call: { trace_id, span_id, step_id }, tasks: [{ batch_task_id, task_index, status,
--   agent_id, current_agent_turn_id, profile_box_id, context_box_id, output_box_id, error_detail, metadata, is_due (pending, to be
--   started now), is_running (its turn has not ended), is_untaken (a minute after its start no worker has taken it), deliverable_card_id }] }]
create or replace function l0.take_due_batches(limit_rows integer, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  b state.pmo_batches;
  c state.calls;
  seen record;
  answers json[] := '{}';
begin
  for b in
    select * from state.pmo_batches k where k.status = 'running' and k.due_at <= moment order by k.due_at limit limit_rows
       for no key update skip locked
  loop
    select * into c from state.calls k where k.tool_call_id = b.parent_tool_call_id;
    select json_agg(json_build_object('batch_task_id', k.batch_task_id, 'task_index', k.task_index, 'status', k.status, 'agent_id', k.agent_id,
             'current_agent_turn_id', k.current_agent_turn_id, 'profile_box_id', k.profile_box_id, 'context_box_id', k.context_box_id,
             'output_box_id', k.output_box_id, 'error_detail', k.error_detail, 'metadata', k.metadata,
             'is_due', k.status = 'pending' and k.next_retry_at <= moment,
             'is_running', t.agent_turn_id is not null and t.ended_at is null,
             'is_untaken', u.untaken_at <= moment, 'deliverable_card_id', t.deliverable_card_id) order by k.task_index) as tasks,
           bool_and(k.status not in ('pending', 'dispatched')) as is_done,
           bool_or(k.status = 'pending' and k.next_retry_at <= moment) as has_due,
           bool_or(k.status in ('failed', 'canceled', 'timeout')) as has_failed,
           bool_or(u.untaken_at <= moment) as has_untaken,
           min(k.next_retry_at) filter (where k.status = 'pending') as retry_at,
           min(u.untaken_at) as untaken_at
      into seen
      from state.pmo_batch_tasks k
      left join state.agent_turns t on t.agent_turn_id = k.current_agent_turn_id
      left join lateral (
        select t.created_at + interval '60 seconds' as untaken_at from state.agent_state_head h
         where k.status = 'dispatched' and t.ended_at is null and h.project_id = t.project_id and h.agent_id = t.agent_id
           and (t.status = 'queued' or h.active_agent_turn_id = t.agent_turn_id and h.status = 'dispatched' and h.crash_count = 0)) u on true
     where k.batch_id = b.batch_id;
    update state.pmo_batches k
       set due_at = case
             when seen.is_done or seen.has_due or b.deadline_at <= moment or c.wait_status <> 'waiting'
               or b.fail_fast and (seen.has_failed or seen.has_untaken) then
               least(moment + interval '5 seconds', case when b.deadline_at > moment then b.deadline_at end)
             else least(b.deadline_at, seen.retry_at, case when b.fail_fast then seen.untaken_at end) end
     where k.batch_id = b.batch_id;
    answers := answers || json_build_object('batch_id', b.batch_id, 'project_id', b.project_id, 'channel_id', b.channel_id,
      'parent_agent_id', b.parent_agent_id, 'parent_agent_turn_id', b.parent_agent_turn_id, 'parent_tool_call_id', b.parent_tool_call_id,
      'fail_fast', b.fail_fast, 'metadata', b.metadata, 'is_awaited', c.wait_status = 'waiting', 'is_late', coalesce(b.deadline_at <= moment, false),
      'call', json_build_object('trace_id', c.trace_id, 'span_id', c.span_id, 'step_id', c.step_id), 'tasks', seen.tasks);
  end loop;
  return array_to_json(answers);
end $$;

-- Stopped turns (B2): their open children, to be stopped by whoever asks; a turn without open children is done with.
-- answer: [{ project_id, agent_turn_id }], the children.
create or replace function l0.children_of_stopped(limit_rows integer, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  stopped record;
  open_children json;
  answers jsonb := '[]';
begin
  for stopped in
    select t.agent_turn_id, t.project_id from state.agent_turns t where t.status = 'canceled' and t.cascaded_at is null
     order by t.ended_at limit limit_rows for no key update skip locked
  loop
    update state.pmo_batches b set due_at = least(b.due_at, moment)
      from (select k.batch_id from state.pmo_batches k where k.parent_agent_turn_id = stopped.agent_turn_id and k.status = 'running'
             order by k.batch_id for no key update skip locked) k
     where b.batch_id = k.batch_id;
    select json_agg(json_build_object('project_id', t.project_id, 'agent_turn_id', t.agent_turn_id) order by t.created_at) into open_children
      from state.agent_turns t where t.parent_agent_turn_id = stopped.agent_turn_id and t.ended_at is null;
    if open_children is null and not exists (
         select 1 from state.pmo_batches b where b.parent_agent_turn_id = stopped.agent_turn_id and b.status = 'running' and b.due_at > moment) then
      -- Not while a batch of it was passed over above, because another session has it locked.
      update state.agent_turns t set cascaded_at = moment where t.agent_turn_id = stopped.agent_turn_id;
    else
      answers := answers || coalesce(open_children::jsonb, '[]');
    end if;
  end loop;
  return answers::json;
end $$;
