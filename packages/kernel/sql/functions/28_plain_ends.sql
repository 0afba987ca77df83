-- The end of turns that go well, for many of them at once. The rules are those of 26_plain_calls.sql: what is written here would have
-- been written by the full door (24), and what is left over goes there.

-- A success with a deliverable, of a turn behind which nothing waits: no turn and no answer.
create or replace function l0.finish_plainly(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answer json;
  done integer[];
  ended text[];
  answering text[];
begin
  perform l0.expect_batch(items);
  if jsonb_array_length(items) > 1 then
    -- Also those that are left over, and a turn behind which others wait often is: locked later, they would be locked out of order (P3).
    perform h.locked
       from (select i.project_id, i.agent_id from jsonb_to_recordset(items) as i (project_id text, agent_id text)
              order by i.project_id collate "C", i.agent_id collate "C") i
      cross join lateral (
        select 1 as locked from state.agent_state_head h where h.project_id = i.project_id and h.agent_id = i.agent_id for no key update) h;
  end if;
  with item as materialized (
    select i.ord::integer as ord, i.project_id, i.agent_id, i.agent_turn_id, i.turn_epoch, i.deliverable ->> 'card_id' as deliverable_id,
           n.cards, jsonb_array_length(n.cards) as total
      from rows from (jsonb_to_recordset(items) as (
             project_id text, agent_id text, agent_turn_id text, turn_epoch bigint, status text, cards jsonb, deliverable jsonb,
             error_code text, error_message text))
           with ordinality as i (project_id, agent_id, agent_turn_id, turn_epoch, status, cards, deliverable, error_code, error_message, ord)
     cross join lateral (select coalesce(i.cards, '[]') || jsonb_build_array(i.deliverable || '{"type": "task.deliverable"}') as cards) n
     where i.status = 'success' and i.error_code is null and i.error_message is null and i.deliverable ->> 'card_id' is not null
       and not exists (
         select 1 from jsonb_array_elements(n.cards) c (card)
          where c.card ->> 'type' in ('tool.call', 'tool.result')
             or exists (select 1 from card.cards k where k.card_id = c.card ->> 'card_id'))
     order by i.project_id collate "C", i.agent_id collate "C", i.ord
  ), head as (
    update state.agent_state_head h
       set status = 'idle', holder = null, active_agent_turn_id = null, step_id = null, resume_deadline = null, crash_count = 0,
           box_length = h.box_length + i.total, last_output_box_id = h.output_box_id, updated_at = greatest(moment, h.updated_at)
      from item i
     where h.project_id = i.project_id and h.agent_id = i.agent_id and h.active_agent_turn_id = i.agent_turn_id
       and h.turn_epoch = i.turn_epoch and h.status = 'running' and h.open_calls is null and h.queue_length = 0 and h.answers_waiting = 0
    returning i.*, h.active_channel_id as channel_id, h.trace_id, h.parent_step_id, h.output_box_id, h.box_length - i.total as first_pos,
              h.updated_at as ended_at
  ), turn as (
    update state.agent_turns t
       set status = 'success', deliverable_card_id = h.deliverable_id, error_code = null, error_message = null, ended_at = h.ended_at,
           stopped_at = null
      from head h where t.agent_turn_id = h.agent_turn_id
    returning t.agent_turn_id, t.answers_parent
  ), cards as (
    insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, trace_id, parent_step_id, box_id, pos, content,
                            tool_calls, metadata, sha256, created_at)
    select c.card ->> 'card_id', h.project_id, c.card ->> 'type', coalesce(c.card ->> 'author_id', h.agent_id), h.agent_turn_id,
           c.card ->> 'step_id', h.trace_id, h.parent_step_id, h.output_box_id, h.first_pos + c.n - 1, c.card -> 'content',
           c.card -> 'tool_calls', c.card -> 'metadata',
           sha256(convert_to(concat((c.card -> 'content')::text, (c.card -> 'tool_calls')::text, (c.card -> 'metadata')::text), 'UTF8')), moment
      from head h cross join lateral jsonb_array_elements(h.cards) with ordinality c (card, n)
  ), events as (
    insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, payload, created_at)
    select h.project_id, h.agent_id, h.agent_turn_id, 'task', 'success', h.turn_epoch,
           jsonb_build_object('output_box_id', h.output_box_id, 'deliverable_card_id', h.deliverable_id), h.ended_at
      from head h order by h.ord
  ), message as (
    update state.inbox n
       set status = 'consumed', processed_at = h.ended_at, due_at = null, last_error = null, disposition = 'applied'
      from head h where n.inbox_id = h.agent_turn_id
  )
  select (select json_agg(a)
            from (select 'accepted' as outcome, h.deliverable_id as deliverable_card_id, h.output_box_id, h.channel_id, h.trace_id,
                         null as wake
                    from head h order by h.ord) a),
         (select array_agg(h.ord order by h.ord) from head h), (select array_agg(h.agent_turn_id) from head h),
         (select array_agg(t.agent_turn_id order by t.agent_turn_id) from turn t where t.answers_parent)
    into answer, done, ended, answering;
  -- A batch that waits for such a turn learns of its end in the same commit. In a statement of its own, which sees a task that was
  -- dispatched while the turn's lock was waited for (50_batches.sql, move_batch_task).
  update state.pmo_batch_tasks k
     set status = 'success', ended_at = t.ended_at, error_detail = null
    from unnest(ended) e (id)
   cross join lateral (select t.agent_turn_id, t.ended_at from state.agent_turns t where t.agent_turn_id = e.id limit 1) t
   where k.current_agent_turn_id = t.agent_turn_id and k.status = 'dispatched';
  if answering is not null then
    answer := l0.with_answer_wakes(answer, answering, moment);
  end if;
  if cardinality(done) = jsonb_array_length(items) then
    return answer;
  end if;
  return l0.in_place(answer, done, l0.finish_turn(l0.left_over(items, done), moment));
end $$;
