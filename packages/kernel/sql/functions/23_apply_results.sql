-- Commit points C and D in one, for a step whose calls all ran where their agent runs: the results are written and applied, and the
-- head stays with its worker. Fenced by the head's epoch, which is the worker's right to all of the step's calls.
--
-- moves: wait.settle + wait.apply. item: { project_id, agent_id, agent_turn_id, turn_epoch, step_id,
--         results: [{ tool_call_id, content: { status, after_execution?, result?, error? }, stack? (19_failures.sql) }] }
-- answer: accepted | duplicate + { after_execution, results: [{ tool_call_id, tool_result_card_id, status, after_execution }] }, or
--   rejected with not_found, stale_epoch, conflict (another step, or a call left without a result), payload_too_large.
-- A result that contradicts itself is written as a failed one (l0.normal_result).
-- A call that the kernel settled meanwhile (its deadline) keeps that outcome: settlement is one compare-and-set.

create or replace function l0.apply_results(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answer json;
begin
  perform l0.expect_batch(items);
  with item as materialized (
    select i.*, row_number() over (partition by i.project_id, i.agent_id order by i.ord) as repetition
      from rows from (jsonb_to_recordset(items) as (project_id text, agent_id text, agent_turn_id text, turn_epoch bigint, step_id text, results jsonb))
           with ordinality as i (project_id, agent_id, agent_turn_id, turn_epoch, step_id, results, ord)
  ), locked as materialized (
    select i.ord, i.repetition, i.results, i.agent_turn_id, i.turn_epoch as asked_epoch, i.step_id as asked_step, h.*
      from (select * from item order by project_id collate "C", agent_id collate "C") i
      left join lateral (
        select * from state.agent_state_head h where h.project_id = i.project_id and h.agent_id = i.agent_id for no key update) h on true
  ), outcome as materialized (
    select l.ord, o.n, c.tool_call_id, c.wait_status, c.after_execution, c.result_card_id, c.result_status, c.result_after, c.attempt,
           c.project_id, c.author_id, c.agent_turn_id, c.step_id, c.trace_id, c.parent_step_id, c.tool_name, c.box_id, c.result_pos,
           case when m.mistake in ('schema_invalid', 'after_execution_mismatch') then l0.normal_result(r.content, c.after_execution::text)
                else r.content end as said,
           case when m.mistake = 'payload_too_large' then m.mistake else '' end as refusal
      from locked l
     cross join lateral (select o.id, o.n from unnest(l.open_calls) with ordinality o (id, n) order by o.id collate "C") o
     cross join lateral (select * from state.calls c where c.tool_call_id = o.id for no key update) c
      left join lateral (select e.value -> 'content' as content from jsonb_array_elements(l.results) e
                          where e.value ->> 'tool_call_id' = c.tool_call_id limit 1) r on true
     cross join lateral (select case when c.wait_status = 'waiting' and r.content is not null
                                  then l0.refuse_result(r.content, c.after_execution::text) end as mistake) m
     where l.active_agent_turn_id = l.agent_turn_id and l.turn_epoch = l.asked_epoch and l.step_id = l.asked_step and l.status = 'running'
  ), decided as materialized (
    select l.*, case
             when l.agent_id is null then 'not_found'
             when l.repetition > 1 then 'agent_busy'
             when l.active_agent_turn_id is distinct from l.agent_turn_id or l.turn_epoch is distinct from l.asked_epoch then 'stale_epoch'
             when l.status <> 'running' or l.step_id is distinct from l.asked_step then 'conflict'
             when l.open_calls is null then 'duplicate'
             when exists (select 1 from outcome o where o.ord = l.ord and o.wait_status = 'waiting' and o.said is null) then 'conflict'
             else coalesce((select o.refusal from outcome o where o.ord = l.ord and o.refusal <> '' order by o.n limit 1), 'accepted')
           end as code
      from locked l
  ), fresh as materialized (
    select o.*, l0.result_content(o.said, o.after_execution::text) as content, l0.new_card_id() as new_card_id,
           coalesce((o.said #>> '{result,__cg_control,after_execution}')::state.after_execution, o.after_execution) as new_after
      from outcome o join decided d on d.ord = o.ord
     where d.code = 'accepted' and o.wait_status = 'waiting'
  ), cards as (
    insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, tool_call_id, trace_id, parent_step_id,
                            function_name, box_id, pos, content, sha256, created_at)
    select f.new_card_id, f.project_id, 'tool.result', f.author_id, f.agent_turn_id, f.step_id, f.tool_call_id, f.trace_id, f.parent_step_id,
           f.tool_name, f.box_id, f.result_pos, f.content, sha256(convert_to(f.content::text, 'UTF8')), moment
      from fresh f
  ), settled as (
    update state.calls c
       set wait_status = 'applied', settled_by = 'worker', result_card_id = f.new_card_id, result_status = (f.content ->> 'status')::state.result_status,
           result_after = f.new_after, report_span_id = encode(substring(uuid_send(gen_random_uuid()) from 9), 'hex'),
           received_at = moment, applied_at = moment, due_at = null
      from fresh f where c.tool_call_id = f.tool_call_id
  ), applied as (
    update state.calls c
       set wait_status = 'applied', applied_at = moment, due_at = null
      from outcome o join decided d on d.ord = o.ord
     where d.code = 'accepted' and o.wait_status = 'received' and c.tool_call_id = o.tool_call_id
  ), head as (
    update state.agent_state_head h
       set open_calls = null, resume_deadline = null, crash_count = 0, updated_at = moment
      from decided d where d.code = 'accepted' and h.project_id = d.project_id and h.agent_id = d.agent_id
  )
  select json_agg(case d.code
           when 'accepted' then json_build_object('outcome', 'accepted',
             'after_execution', (select case when bool_or(coalesce(f.new_after, o.result_after) = 'terminate') then 'terminate' else 'suspend' end
                                   from outcome o left join fresh f on f.tool_call_id = o.tool_call_id where o.ord = d.ord),
             'results', (select json_agg(json_build_object('tool_call_id', o.tool_call_id,
                                  'tool_result_card_id', coalesce(f.new_card_id, o.result_card_id),
                                  'status', coalesce(f.content ->> 'status', o.result_status::text),
                                  'after_execution', coalesce(f.new_after, o.result_after)) order by o.n)
                           from outcome o left join fresh f on f.tool_call_id = o.tool_call_id where o.ord = d.ord))
           when 'duplicate' then json_build_object('outcome', 'duplicate')
           else json_build_object('outcome', 'rejected', 'code', d.code)
         end order by d.ord)
    into answer from decided d;
  if jsonb_path_exists(items, '$[*].results[*].stack') then
    perform l0.note_failures((
      select coalesce(jsonb_agg(jsonb_build_object('tool_call_id', c.tool_call_id, 'stack', r.value -> 'stack') order by e.n, c.call_index), '[]')
        from jsonb_array_elements(items) with ordinality e (item, n)
        join json_array_elements(answer) with ordinality a (outcome, n) on a.n = e.n and a.outcome ->> 'outcome' = 'accepted'
       cross join lateral jsonb_array_elements(e.item -> 'results') r
        -- Only those that this commit settled as its worker said: a deadline that came first keeps its outcome.
        join state.calls c on c.tool_call_id = r.value ->> 'tool_call_id' and c.project_id = e.item ->> 'project_id'
         and c.agent_turn_id = e.item ->> 'agent_turn_id' and c.settled_by = 'worker' and c.applied_at = moment
       where r.value ? 'stack'), moment);
  end if;
  return answer;
end $$;
