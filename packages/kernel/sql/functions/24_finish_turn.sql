-- Commit point E, and the other writes of a worker that holds a turn. Every one is fenced by turn and epoch
-- (docs/design.md#writes-are-fenced).

-- Cards that a step adds to the output box without calling a tool: reminders, errors, a thought that goes on.
-- item: { project_id, agent_id, agent_turn_id, turn_epoch, cards: [{ card_id, type, content, metadata?, step_id? }] }
-- answer: accepted | duplicate (all are there already, with this content), or rejected with not_found, stale_epoch, conflict, bad_request.
create or replace function l0.append_cards(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off set enable_seqscan = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answers jsonb := '{}';
  h state.agent_state_head;
  code text;
  i record;
begin
  perform l0.expect_batch(items);
  for i in
    select e.item, e.n from jsonb_array_elements(items) with ordinality e (item, n)
     order by (e.item ->> 'project_id') collate "C", (e.item ->> 'agent_id') collate "C", e.n
  loop
    select * into h from state.agent_state_head k
     where k.project_id = i.item ->> 'project_id' and k.agent_id = i.item ->> 'agent_id' for no key update;
    code := l0.refuse_worker(h, i.item);
    code := coalesce(code, l0.append_to_output(h, i.item -> 'cards', moment));
    answers := answers || jsonb_build_object(i.n::text, case
      when code is null then jsonb_build_object('outcome', 'accepted')
      when code = 'duplicate' then jsonb_build_object('outcome', 'duplicate')
      else jsonb_build_object('outcome', 'rejected', 'code', code) end);
  end loop;
  return l0.in_item_order(answers, items);
end $$;

-- Why this worker may not write, or null.
create or replace function l0.refuse_worker(h state.agent_state_head, item jsonb) returns text
language plpgsql immutable as $$
begin
  return case
    when h.agent_id is null then 'not_found'
    when h.active_agent_turn_id is distinct from item ->> 'agent_turn_id' or h.turn_epoch is distinct from (item ->> 'turn_epoch')::bigint then 'stale_epoch'
    when h.status <> 'running' then 'conflict'
  end;
end $$;

-- Appends to the box of a held turn. tool.call and tool.result have their own doors; what is there already with the same content is kept.
create or replace function l0.append_to_output(h state.agent_state_head, cards jsonb, moment timestamptz) returns text
language plpgsql as $$
declare
  total integer := coalesce(jsonb_array_length(cards), 0);
  there integer;
  same integer;
begin
  if total = 0 then
    return null;
  end if;
  if exists (select 1 from jsonb_array_elements(cards) c where c.value ->> 'type' in ('tool.call', 'tool.result')) then
    return 'bad_request';
  end if;
  select count(k.card_id), count(*) filter (where k.project_id = h.project_id and k.sha256 = sha256(convert_to(
           (c.value -> 'content')::text || coalesce((c.value -> 'tool_calls')::text, '') || coalesce((c.value -> 'metadata')::text, ''), 'UTF8')))
    into there, same
    from jsonb_array_elements(cards) c
    left join lateral (select * from card.cards k where k.card_id = c.value ->> 'card_id') k on true;
  if there > 0 then
    return case when same = total then 'duplicate' else 'conflict' end;
  end if;
  insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, trace_id, parent_step_id, box_id, pos, content, tool_calls,
                          metadata, sha256, created_at)
  select c.card ->> 'card_id', h.project_id, c.card ->> 'type', coalesce(c.card ->> 'author_id', h.agent_id), h.active_agent_turn_id,
         c.card ->> 'step_id', h.trace_id, h.parent_step_id, h.output_box_id, h.box_length + c.n - 1, c.card -> 'content', c.card -> 'tool_calls',
         c.card -> 'metadata', sha256(convert_to((c.card -> 'content')::text || coalesce((c.card -> 'tool_calls')::text, '')
                                                 || coalesce((c.card -> 'metadata')::text, ''), 'UTF8')), moment
    from jsonb_array_elements(cards) with ordinality c (card, n);
  update state.agent_state_head k set box_length = k.box_length + total, crash_count = 0, updated_at = greatest(k.updated_at, moment)
   where k.project_id = h.project_id and k.agent_id = h.agent_id;
  return null;
end $$;

-- move: head.finish (running → idle). Only this makes a head idle when all goes well.
-- item: { project_id, agent_id, agent_turn_id, turn_epoch, status, cards?, deliverable?: { card_id, content, metadata? }, error_code?,
--         error_message?, stack? (of a turn that its worker could not run: 19_failures.sql) }
-- answer: accepted | duplicate (the turn ended with this status and deliverable) + { deliverable_card_id, wake?, answer_wake? }, or rejected.
--   answer_wake: of the agent that is told how this turn ended, where it has something to do about it.
create or replace function l0.finish_turn(items jsonb, at timestamptz default null) returns json
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
  for i in
    select e.item, e.n from jsonb_array_elements(items) with ordinality e (item, n)
     order by (e.item ->> 'project_id') collate "C", (e.item ->> 'agent_id') collate "C", e.n
  loop
    answers := answers || jsonb_build_object(i.n::text, l0.finish_one(i.item, moment));
  end loop;
  return l0.in_item_order(answers, items);
end $$;

create or replace function l0.finish_one(item jsonb, moment timestamptz) returns jsonb
language plpgsql as $$
declare
  h state.agent_state_head;
  ended state.agent_turns;
  deliverable text := item -> 'deliverable' ->> 'card_id';
  code text;
  wake jsonb;
begin
  if item ->> 'status' is null or item ->> 'status' not in ('success', 'failed', 'canceled', 'timeout', 'partial') then
    return jsonb_build_object('outcome', 'rejected', 'code', 'bad_request');
  end if;
  select * into h from state.agent_state_head k
   where k.project_id = item ->> 'project_id' and k.agent_id = item ->> 'agent_id' for no key update;
  code := l0.refuse_worker(h, item);
  if code = 'stale_epoch' then
    select * into ended from state.agent_turns t where t.agent_turn_id = item ->> 'agent_turn_id' and t.project_id = item ->> 'project_id';
    if ended.status = item ->> 'status' and ended.deliverable_card_id = deliverable then
      return jsonb_build_object('outcome', 'duplicate', 'deliverable_card_id', deliverable);
    end if;
  end if;
  if code is null and deliverable is not null then
    code := l0.append_to_output(h, coalesce(item -> 'cards', '[]') || jsonb_build_array(
      (item -> 'deliverable') || jsonb_build_object('type', 'task.deliverable')), moment);
  elsif code is null and item ? 'cards' then
    code := l0.append_to_output(h, item -> 'cards', moment);
  end if;
  if code is not null then
    return jsonb_build_object('outcome', 'rejected', 'code', case when code = 'duplicate' then 'conflict' else code end);
  end if;
  select * into h from state.agent_state_head k where k.project_id = h.project_id and k.agent_id = h.agent_id;
  wake := l0.end_turn(h, item ->> 'status', deliverable, item ->> 'error_code', item ->> 'error_message', 'consumed', moment);
  if item ? 'stack' and item ->> 'status' <> 'success' then
    perform l0.note_failures(jsonb_build_array(jsonb_build_object('project_id', h.project_id, 'agent_turn_id', h.active_agent_turn_id,
                                                                  'stack', item -> 'stack')), moment);
  end if;
  return jsonb_build_object('outcome', 'accepted', 'deliverable_card_id',
    coalesce(deliverable, (select t.deliverable_card_id from state.agent_turns t where t.agent_turn_id = item ->> 'agent_turn_id')),
    'output_box_id', h.output_box_id, 'channel_id', h.active_channel_id, 'trace_id', h.trace_id) || coalesce(jsonb_build_object('wake', wake), '{}')
    || l0.answer_wake(h.active_agent_turn_id);
end $$;

-- A worker gives its turn back for later (docs/protocol/turns.md#putting-a-turn-off): after `deferrals_max` times the turn fails.
-- moves: head.defer (running → dispatched, epoch + 1), inbox.defer (processing → deferred); or head.exhaust, inbox.fail
-- item: { project_id, agent_id, agent_turn_id, turn_epoch, reason, delay_ms, deferrals_max }
create or replace function l0.defer_turn(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off set enable_seqscan = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answers jsonb := '{}';
  h state.agent_state_head;
  message state.inbox;
  code text;
  wake jsonb;
  i record;
begin
  perform l0.expect_batch(items);
  for i in
    select e.item, e.n from jsonb_array_elements(items) with ordinality e (item, n)
     order by (e.item ->> 'project_id') collate "C", (e.item ->> 'agent_id') collate "C", e.n
  loop
    select * into h from state.agent_state_head k
     where k.project_id = i.item ->> 'project_id' and k.agent_id = i.item ->> 'agent_id' for no key update;
    code := coalesce(l0.refuse_worker(h, i.item), case when h.open_calls is not null then 'conflict' end);
    wake := null;
    if code is null then
      select * into strict message from state.inbox n where n.inbox_id = h.active_agent_turn_id for no key update;
      if message.retry_count >= (i.item ->> 'deferrals_max')::integer then
        code := 'resume_retry_exhausted';
        wake := l0.end_turn(h, 'failed', null, code, 'put off ' || message.retry_count || ' times; last: ' || (i.item ->> 'reason'), 'error', moment);
      else
        update state.inbox n
           set status = 'deferred', retry_count = n.retry_count + 1, defer_reason = i.item ->> 'reason',
               next_retry_at = moment + (i.item ->> 'delay_ms')::integer * interval '1 millisecond',
               due_at = moment + (i.item ->> 'delay_ms')::integer * interval '1 millisecond'
         where n.inbox_id = message.inbox_id;
        update state.agent_state_head k set status = 'dispatched', turn_epoch = k.turn_epoch + 1, holder = null, updated_at = moment
         where k.project_id = h.project_id and k.agent_id = h.agent_id;
      end if;
    end if;
    answers := answers || jsonb_build_object(i.n::text, case
      when code is null then jsonb_build_object('outcome', 'accepted', 'retry_count', message.retry_count + 1)
      else jsonb_strip_nulls(jsonb_build_object('outcome', 'rejected', 'code', code, 'wake', wake)) end);
  end loop;
  return l0.in_item_order(answers, items);
end $$;
