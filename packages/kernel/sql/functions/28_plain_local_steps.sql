-- The doors of a step whose one call runs where its agent runs and goes well. The rules are those of 26_plain_calls.sql.

create or replace function l0.suspend_locally(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answer json;
  done integer[];
begin
  if (jsonb_array_length(items) > 1 and l0.has_repeats(items, 'agent_id'))
     or jsonb_array_length(items #> '{0,calls}') is distinct from 1 then
    return l0.suspend_on_calls(items, moment);
  end if;
  with item as materialized (
    select i.ord::integer as ord, i.project_id, i.agent_id, i.agent_turn_id, i.turn_epoch, i.step_id, i.thought, c.*
      from rows from (jsonb_to_recordset(items) as (
             project_id text, agent_id text, agent_turn_id text, turn_epoch bigint, step_id text, thought jsonb, calls jsonb))
           with ordinality as i (project_id, agent_id, agent_turn_id, turn_epoch, step_id, thought, calls, ord)
     cross join lateral jsonb_to_record(i.calls -> 0) as c (
             tool_call_id text, card_id text, tool_name text, arguments jsonb, target_subject text, author_id text, span_id text,
             tool_digest text, effect text, after_execution text, deadline_ms integer, attempts_max integer, backoff_ms integer,
             can_reconcile boolean, local boolean, cap_sha256 text, metadata jsonb)
     where jsonb_array_length(i.calls) = 1 and c.local
     order by i.project_id collate "C", i.agent_id collate "C"
  ), head as (
    update state.agent_state_head h
       set box_length = h.box_length + 3, crash_count = 0, step_id = i.step_id, open_calls = array[i.tool_call_id],
           resume_deadline = moment + i.deadline_ms * interval '1 millisecond', updated_at = moment
      from item i
     where h.project_id = i.project_id and h.agent_id = i.agent_id and h.active_agent_turn_id = i.agent_turn_id
       and h.turn_epoch = i.turn_epoch and h.status = 'running' and h.open_calls is null
    returning i.*, h.active_channel_id as channel_id, h.active_recursion_depth as recursion_depth, h.trace_id, h.parent_step_id,
              h.output_box_id, h.holder, h.box_length - 3 as thought_pos
  ), cards as (
    insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, tool_call_id, trace_id, parent_step_id,
                            box_id, pos, content, tool_calls, metadata, sha256, created_at)
    select n.card_id, n.project_id, n.type, n.author_id, n.agent_turn_id, n.step_id, n.tool_call_id, n.trace_id, n.parent_step_id,
           n.box_id, n.pos, n.content, n.tool_calls, n.metadata,
           sha256(convert_to(concat(n.content::text, n.tool_calls::text, n.metadata::text), 'UTF8')), moment
      from (
        select h.thought ->> 'card_id' as card_id, h.project_id, 'agent.thought' as type, h.agent_id as author_id, h.agent_turn_id,
               h.step_id, null as tool_call_id, h.trace_id, h.parent_step_id, h.output_box_id as box_id, h.thought_pos as pos,
               h.thought -> 'content' as content,
               jsonb_build_array(jsonb_build_object('id', h.tool_call_id, 'name', h.tool_name)) as tool_calls,
               h.thought -> 'metadata' as metadata
          from head h
        union all
        select h.card_id, h.project_id, 'tool.call', h.agent_id, h.agent_turn_id, h.step_id, h.tool_call_id, h.trace_id, h.parent_step_id,
               h.output_box_id, h.thought_pos + 1,
               jsonb_build_object('tool_name', h.tool_name, 'arguments', h.arguments, 'status', 'called', 'target_subject', h.target_subject),
               null, h.metadata
          from head h offset 0) n
  ), calls as (
    insert into state.calls (tool_call_id, project_id, agent_id, agent_turn_id, channel_id, step_id, trace_id, span_id, parent_step_id,
                             turn_epoch, recursion_depth, call_index, step_size, tool_name, tool_digest, target_subject, author_id,
                             effect, after_execution, local, can_reconcile, attempts_max, backoff_ms, call_card_id,
                             box_id, result_pos, created_at, deadline_at, due_at, wait_status, attempt, claimed_by, principal,
                             claimed_at, cap_sha256)
    select h.tool_call_id, h.project_id, h.agent_id, h.agent_turn_id, h.channel_id, h.step_id, h.trace_id, h.span_id, h.parent_step_id,
           h.turn_epoch, h.recursion_depth, 0, 1, h.tool_name, h.tool_digest, h.target_subject, h.author_id,
           h.effect::state.tool_effect, h.after_execution::state.after_execution, true, h.can_reconcile, h.attempts_max, h.backoff_ms,
           h.card_id, h.output_box_id, h.thought_pos + 2, moment, moment + h.deadline_ms * interval '1 millisecond',
           moment + least(h.deadline_ms, 5000) * interval '1 millisecond', 'waiting', 1, h.holder, h.holder, moment,
           decode(h.cap_sha256, 'hex')
      from head h
  ), events as (
    insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, step_id, created_at)
    select h.project_id, h.agent_id, h.agent_turn_id, 'state', 'running', h.turn_epoch, h.step_id, moment from head h
  )
  select (select json_agg(a)
            from (select 'accepted' as outcome, h.channel_id, h.trace_id, h.parent_step_id, h.recursion_depth, moment as committed_at,
                         json_build_array(json_build_object('tool_call_id', h.tool_call_id, 'ticket', null)) as calls
                    from head h order by h.ord) a),
         (select array_agg(h.ord order by h.ord) from head h)
    into answer, done;
  if cardinality(done) = jsonb_array_length(items) then
    return answer;
  end if;
  return l0.in_place(answer, done, l0.suspend_on_calls(l0.left_over(items, done), moment));
end $$;

create or replace function l0.apply_plainly(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  age text := lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0'); -- as in l0.report_plainly
  answer json;
  done integer[];
begin
  if (jsonb_array_length(items) > 1 and l0.has_repeats(items, 'agent_id'))
     or items #>> '{0,results,0,content,status}' is distinct from 'success' then
    return l0.apply_results(items, moment);
  end if;
  with item as materialized (
    -- One success with nothing to check but its holder, as in l0.report_plainly.
    select i.ord::integer as ord, i.project_id, i.agent_id, i.agent_turn_id, i.turn_epoch, i.step_id, r.tool_call_id, r.content,
           age || substr(replace(gen_random_uuid()::text, '-', ''), 13) as id
      from rows from (jsonb_to_recordset(items) as (
             project_id text, agent_id text, agent_turn_id text, turn_epoch bigint, step_id text, results jsonb))
           with ordinality as i (project_id, agent_id, agent_turn_id, turn_epoch, step_id, results, ord)
     cross join lateral jsonb_to_record(i.results -> 0) as r (tool_call_id text, content jsonb)
     where jsonb_array_length(i.results) = 1
       and r.content ->> 'status' = 'success' and r.content ->> 'error' is null
       and case when jsonb_typeof(r.content) = 'object' then r.content - '{status,after_execution,result,error}'::text[] = '{}' end
       and r.content #> '{result,__cg_control}' is null
       and pg_column_size(r.content) < 16384
     order by i.project_id collate "C", i.agent_id collate "C"
  ), held as materialized (
    select i.ord, i.project_id, i.agent_id, i.content, i.id, h.call_id
      from item i
     cross join lateral (
        select case when h.active_agent_turn_id = i.agent_turn_id and h.turn_epoch = i.turn_epoch and h.step_id = i.step_id
                     and h.status = 'running' and h.open_calls = array[i.tool_call_id] then i.tool_call_id end as call_id
          from state.agent_state_head h
         where h.project_id = i.project_id and h.agent_id = i.agent_id
           for no key update) h -- also those that fail here: locked later, they would be locked out of order (P3)
  ), applied as (
    update state.calls c
       set wait_status = 'applied', settled_by = 'worker', result_card_id = 'card_' || d.id, result_status = 'success',
           result_after = c.after_execution, report_span_id = right(d.id, 16), received_at = moment, applied_at = moment, due_at = null
      from (select * from held order by call_id collate "C") d -- calls in their own order, after the last head is locked (P3)
     where c.tool_call_id = d.call_id and c.wait_status = 'waiting'
       and (not d.content ? 'after_execution' or d.content ->> 'after_execution' = c.after_execution::text)
    returning d.ord, c.tool_call_id, c.project_id, c.agent_id, c.agent_turn_id, c.step_id, c.trace_id, c.parent_step_id, c.author_id,
              c.tool_name, c.box_id, c.result_pos, c.result_card_id, c.result_after,
              (case c.after_execution when 'suspend' then '{"status":"success","after_execution":"suspend","result":null,"error":null}'::jsonb
                 else '{"status":"success","after_execution":"terminate","result":null,"error":null}' end) || d.content as content
  ), cards as (
    insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, tool_call_id, trace_id, parent_step_id,
                            function_name, box_id, pos, content, sha256, created_at)
    select a.result_card_id, a.project_id, 'tool.result', a.author_id, a.agent_turn_id, a.step_id, a.tool_call_id, a.trace_id,
           a.parent_step_id, a.tool_name, a.box_id, a.result_pos, a.content, sha256(convert_to(a.content::text, 'UTF8')), moment
      from applied a
  ), head as (
    update state.agent_state_head h
       set open_calls = null, resume_deadline = null, crash_count = 0, updated_at = moment
      from applied a
     where h.project_id = a.project_id and h.agent_id = a.agent_id
  )
  select (select json_agg(a)
            from (select 'accepted' as outcome, d.result_after as after_execution,
                         json_build_array(json_build_object('tool_call_id', d.tool_call_id, 'tool_result_card_id', d.result_card_id,
                           'status', 'success', 'after_execution', d.result_after)) as results
                    from applied d order by d.ord) a),
         (select array_agg(d.ord order by d.ord) from applied d)
    into answer, done;
  if cardinality(done) = jsonb_array_length(items) then
    return answer;
  end if;
  return l0.in_place(answer, done, l0.apply_results(l0.left_over(items, done), moment));
end $$;
