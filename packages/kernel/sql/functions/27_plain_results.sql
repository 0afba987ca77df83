-- The second half of a call that goes well: its result is reported and applied. The rules are those of 26_plain_calls.sql.

create or replace function l0.report_plainly(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  -- The id of a result begins with its time, as a card's that a worker minted, so that the index grows at its end; the rest
  -- nobody can guess.
  age text := lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0');
  answer json;
  done integer[];
begin
  perform l0.expect_batch(items);
  if items #>> '{0,content,status}' is distinct from 'success' then
    return l0.report_at(items, moment);
  end if;
  with named as (
    select i.*, lag(i.tool_call_id) over (order by i.tool_call_id collate "C", i.ord) is distinct from i.tool_call_id as is_first -- P4
      from rows from (jsonb_to_recordset(items) as (
             project_id text, tool_call_id text, capability text, content jsonb, tool_result_card_id text, message_type text, agent_id text,
             agent_turn_id text, turn_epoch bigint, recursion_depth integer, author_id text, function_name text, traceparent text,
             principal text))
           with ordinality as i (project_id, tool_call_id, capability, content, tool_result_card_id, message_type, agent_id, agent_turn_id,
             turn_epoch, recursion_depth, author_id, function_name, traceparent, principal, ord)
  ), item as materialized (
    -- A success with nothing to check but its holder. Far below the limit by its stored size, so its text need not be measured.
    select i.ord::integer as ord, i.project_id, i.tool_call_id, i.content, i.agent_id, i.agent_turn_id, i.turn_epoch, i.recursion_depth,
           i.author_id, i.function_name, i.principal, sha256(decode(i.capability, 'hex')) as shown,
           age || substr(replace(gen_random_uuid()::text, '-', ''), 13) as id
      from named i
     where i.is_first and length(i.capability) = 64 and translate(i.capability, '0123456789abcdef', '') = ''
       and i.tool_result_card_id is null and i.traceparent is null and coalesce(i.message_type, 'tool_result') = 'tool_result'
       and i.content ->> 'status' = 'success' and i.content ->> 'error' is null
       and case when jsonb_typeof(i.content) = 'object' then i.content - '{status,after_execution,result,error}'::text[] = '{}' end
       and i.content #> '{result,__cg_control}' is null
       and pg_column_size(i.content) < 16384
     order by i.tool_call_id collate "C", i.ord
  ), settled as (
    update state.calls c
       set wait_status = 'received', settled_by = 'report', result_card_id = 'card_' || i.id, result_status = 'success',
           result_after = c.after_execution, report_span_id = right(i.id, 16), received_at = moment,
           due_at = least(c.due_at, moment + interval '5 seconds'), rings = 0
      from item i
     where c.tool_call_id = i.tool_call_id and c.project_id = i.project_id and c.wait_status = 'waiting' and c.cap_sha256 = i.shown
       -- A step of several calls wakes its agent with the last of them, which takes more than this.
       and c.step_size = 1 and c.recursion_depth < 20
       and (c.principal = i.principal) is not false
       and coalesce(nullif(i.turn_epoch, 0), c.turn_epoch) = c.turn_epoch and coalesce(i.recursion_depth, c.recursion_depth) = c.recursion_depth
       and coalesce(i.agent_id, c.agent_id) = c.agent_id and coalesce(i.agent_turn_id, c.agent_turn_id) = c.agent_turn_id
       and coalesce(i.author_id, c.author_id) = c.author_id and coalesce(i.function_name, c.tool_name) = c.tool_name
       and (not i.content ? 'after_execution' or i.content ->> 'after_execution' = c.after_execution::text)
    returning i.ord, c.tool_call_id, c.project_id, c.channel_id, c.agent_id, c.agent_turn_id, c.turn_epoch, c.step_id, c.trace_id,
              c.parent_step_id, c.author_id, c.tool_name, c.box_id, c.result_pos, c.result_card_id,
              (case c.after_execution when 'suspend' then '{"status":"success","after_execution":"suspend","result":null,"error":null}'::jsonb
                 else '{"status":"success","after_execution":"terminate","result":null,"error":null}' end) || i.content as content
  ), cards as (
    insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, tool_call_id, trace_id, parent_step_id,
                            function_name, box_id, pos, content, sha256, created_at)
    select c.result_card_id, c.project_id, 'tool.result', c.author_id, c.agent_turn_id, c.step_id, c.tool_call_id, c.trace_id,
           c.parent_step_id, c.tool_name, c.box_id, c.result_pos, c.content, sha256(convert_to(c.content::text, 'UTF8')), moment
      from settled c
  )
  select (select json_agg(a)
            from (select 'accepted' as outcome, c.result_card_id as tool_result_card_id, c.tool_call_id as inbox_id,
                         c.tool_call_id as correlation_id, c.trace_id, c.project_id, c.agent_id, 1 as step_size,
                         json_build_object('project_id', c.project_id, 'channel_id', c.channel_id, 'agent_id', c.agent_id,
                                           'agent_turn_id', c.agent_turn_id, 'turn_epoch', c.turn_epoch, 'trace_id', c.trace_id,
                                           'worker_target', roster.worker_target, 'inbox_id', c.tool_call_id) as wake
                    from settled c
                    left join lateral (select r.worker_target from resource.project_agents r
                                        where r.project_id = c.project_id and r.agent_id = c.agent_id) roster on true
                   order by c.ord) a),
         (select array_agg(c.ord order by c.ord) from settled c)
    into answer, done;
  if coalesce(cardinality(done), 0) < jsonb_array_length(items) then
    return l0.with_the_rest('report', items, moment, answer, done);
  end if;
  return answer;
end $$;

create or replace function l0.resume_plainly(items jsonb, at timestamptz default null) returns json
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
  perform l0.expect_batch(items);
  with item as materialized (
    select i.ord::integer as ord, i.project_id, i.agent_id, i.worker_id
      from rows from (jsonb_to_recordset(items) as (project_id text, agent_id text, worker_id text))
           with ordinality as i (project_id, agent_id, worker_id, ord)
     -- A process is one worker, so one look answers for the batch.
     where i.worker_id = (select w.worker_id from state.workers w
                           where w.worker_id = items -> 0 ->> 'worker_id' and w.lease_until > moment and w.lapsed_at is null)
     order by i.project_id collate "C", i.agent_id collate "C", i.ord
  ), held as materialized (
    select i.ord, i.worker_id, h.*
      from item i
     cross join lateral (
        select h.project_id, h.agent_id, h.active_agent_turn_id, h.active_channel_id, h.active_recursion_depth, h.trace_id, h.parent_step_id,
               h.profile_box_id, h.context_box_id, h.output_box_id, h.turn_epoch, h.box_length, h.crash_count, h.step_id, h.answers_waiting,
               case when h.status = 'suspended' and cardinality(h.open_calls) = 1 then h.open_calls[1] end as call_id
          from state.agent_state_head h
         where h.project_id = i.project_id and h.agent_id = i.agent_id
           for no key update) h -- also those that are left over: locked later, they would be locked out of order (P3)
  ), applied as (
    update state.calls c
       set wait_status = 'applied', applied_at = moment, due_at = null
      from (select * from held order by call_id collate "C") d -- calls in their own order, after the last head is locked (P3)
     where c.tool_call_id = d.call_id and c.wait_status = 'received'
    returning d.*, c.tool_name, c.call_index, c.result_card_id, c.result_status, c.result_after
  ), head as (
    update state.agent_state_head h
       set status = 'running', turn_epoch = h.turn_epoch + 1, holder = a.worker_id, crash_count = 0, step_id = null, open_calls = null,
           resume_deadline = null, updated_at = moment
      from applied a
     where h.project_id = a.project_id and h.agent_id = a.agent_id
  )
  select (select json_agg(a)
            from (select 'accepted' as outcome, 'resumed' as state, d.project_id, d.agent_id, d.active_agent_turn_id as agent_turn_id,
                         d.turn_epoch + 1 as turn_epoch, d.active_channel_id as channel_id, d.active_recursion_depth as recursion_depth,
                         d.trace_id, d.parent_step_id, d.profile_box_id, d.context_box_id, d.output_box_id, d.box_length, d.crash_count,
                         d.step_id, turn.span_id, turn.tracestate, turn.box_start, turn.parent_agent_id, turn.parent_agent_turn_id,
                         turn.display_name, turn.metadata, turn.runtime_config, turn.turn_number, turn.conversation_from,
                         d.answers_waiting, d.result_after as after_execution,
                         json_build_array(json_build_object('tool_call_id', d.call_id, 'tool_name', d.tool_name, 'call_index', d.call_index,
                           'tool_result_card_id', d.result_card_id, 'status', d.result_status, 'after_execution', d.result_after,
                           'content', r.content)) as results, null::json as local_calls
                    from applied d
                    left join lateral (
                      select t.span_id, t.tracestate, t.box_start, t.parent_agent_id, t.parent_agent_turn_id, t.display_name, t.metadata,
                             t.runtime_config, t.turn_number, t.conversation_from
                        from state.agent_turns t where t.agent_turn_id = d.active_agent_turn_id) turn on true
                    left join lateral (select k.content from card.cards k where k.card_id = d.result_card_id) r on true
                   order by d.ord) a),
         (select array_agg(d.ord order by d.ord) from applied d)
    into answer, done;
  if coalesce(cardinality(done), 0) < jsonb_array_length(items) then
    return l0.with_the_rest('resume', items, moment, answer, done);
  end if;
  return answer;
end $$;
