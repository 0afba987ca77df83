-- Commit point C: a call's outcome is settled, once, whoever comes first (design D8).
--
-- move: wait.settle (waiting → received). A retryable failure with attempts left does not settle: it gives the call back.
-- item: { project_id, tool_call_id, capability, content | tool_result_card_id (+ status, after_execution), message_type?,
--         agent_id?, agent_turn_id?, turn_epoch?, recursion_depth?, author_id?, function_name?, traceparent?, principal? }
-- answer: accepted + { tool_result_card_id, inbox_id, correlation_id, trace_id, wake? }, accepted + retry_at, duplicate,
--   or rejected + code. `wake` is there when none of the step's calls is left open.
--
-- Order of the checks: capability → settled by this attempt (duplicate, body not compared) → stale → reference §5.5 rows 5–12.
-- Locks: siblings first (an advisory lock per agent, in key order, only where a step has several calls), then calls in key order.
-- The sibling lock makes the last of several concurrent reports see all the others, so whichever commits last wakes the agent.

create or replace function l0.report_at(items jsonb, at timestamptz) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  siblings bigint[];
  is_rare boolean;
  answer json;
begin
  if l0.has_repeats(items, 'tool_call_id') then
    return l0.in_rounds('report', 'tool_call_id', items, moment);
  end if;
  select array_agg(distinct hashtextextended(c.project_id || '/' || c.agent_id, 0)) into siblings
    from jsonb_array_elements(items) e (item)
   cross join lateral (select c.project_id, c.agent_id from state.calls c
                        where c.tool_call_id = e.item ->> 'tool_call_id' and c.step_size > 1) c;
  if siblings is not null then
    -- array_agg(distinct …) is sorted, so every reporter takes the locks in one order.
    for n in 1..cardinality(siblings) loop
      perform pg_advisory_xact_lock(siblings[n]);
    end loop;
  end if;

  with item as materialized (
    select i.*, case when i.capability ~ '^[0-9a-f]{64}$' then sha256(decode(i.capability, 'hex')) end as shown
      from rows from (jsonb_to_recordset(items) as (
             project_id text, tool_call_id text, capability text, content jsonb, tool_result_card_id text, status text,
             after_execution text, message_type text, agent_id text, agent_turn_id text, turn_epoch bigint, recursion_depth integer,
             author_id text, function_name text, traceparent text, principal text))
           with ordinality as i (project_id, tool_call_id, capability, content, tool_result_card_id, status, after_execution,
             message_type, agent_id, agent_turn_id, turn_epoch, recursion_depth, author_id, function_name, traceparent, principal, ord)
  ), checked as (
    select i.ord, i.project_id as asked_project, i.tool_call_id as asked_call, i.principal as asked_by,
           i.tool_result_card_id as pointed_card_id, c.*,
           coalesce(i.content, pointed.content) as said,
           case
             -- refuse_holder(), spelled out: this is the hot path.
             when c.project_id is distinct from i.project_id then 'not_found'
             when i.shown is null then 'auth_failed'
             when c.cap_sha256 is distinct from i.shown then case when i.shown = any (c.stale_caps) then 'stale_attempt' else 'auth_failed' end
             when c.principal <> i.principal then 'auth_failed'
             when c.wait_status <> 'waiting' then case when c.settled_by = 'report' then 'duplicate' else 'already_settled' end
             when i.turn_epoch > 0 and i.turn_epoch <> c.turn_epoch then 'stale_epoch'
             when i.message_type = 'timeout' then 'forbidden'
             when i.message_type <> 'tool_result' then 'protocol_violation'
             when i.agent_id <> c.agent_id or i.agent_turn_id <> c.agent_turn_id then 'protocol_violation'
             when (i.content is null) = (i.tool_result_card_id is null) then 'protocol_violation'
             when i.tool_result_card_id is not null
              and (pointed.card_id is null or pointed.project_id <> c.project_id or pointed.type <> 'tool.result'
                   or pointed.tool_call_id <> c.tool_call_id or pointed.author_id <> c.author_id
                   or pointed.function_name is distinct from c.tool_name or pointed.box_id is not null) then 'protocol_violation'
             when i.tool_result_card_id is not null
              and (i.status is distinct from pointed.content ->> 'status'
                   or i.after_execution not in (c.after_execution::text,
                        coalesce(pointed.content -> 'result' -> '__cg_control' ->> 'after_execution', c.after_execution::text)))
               then 'schema_invalid'
             when i.recursion_depth <> c.recursion_depth then 'protocol_violation'
             when c.recursion_depth >= 20 then 'recursion_depth_exceeded'
             else coalesce(
               case when i.author_id is not null or i.function_name is not null or i.traceparent is not null
                 then l0.refuse_claims(c.author_id, c.tool_name, c.trace_id, i.author_id, i.function_name, i.traceparent) end,
               case when i.content is not null then l0.refuse_result(i.content, c.after_execution::text) end,
               'accepted')
           end as verdict
      from (select * from item order by tool_call_id collate "C") i
      left join lateral (
        select c.tool_call_id, c.project_id, c.channel_id, c.agent_id, c.agent_turn_id, c.turn_epoch, c.step_id, c.trace_id,
               c.parent_step_id, c.recursion_depth, c.step_size, c.tool_name, c.author_id, c.after_execution, c.box_id, c.result_pos,
               c.wait_status, c.settled_by, c.attempt, c.attempts_max, c.backoff_ms, c.deadline_at, c.principal, c.cap_sha256,
               c.stale_caps, c.result_card_id
          from state.calls c where c.tool_call_id = i.tool_call_id for no key update) c on true
      left join lateral (select * from card.cards p where p.card_id = i.tool_result_card_id) pointed on true
  ), decided as materialized (
    select k.*,
           case when k.verdict = 'accepted' then l0.result_content(k.said, k.after_execution::text) end as content,
           coalesce(k.pointed_card_id, l0.new_card_id()) as new_card_id,
           case
             when k.verdict = 'accepted' and k.said ->> 'status' = 'failed' and k.said -> 'error' ->> 'retryable' = 'true'
              and k.attempt < k.attempts_max
              and moment + k.backoff_ms * power(2, least(k.attempt - 1, 20)) * interval '1 millisecond' < k.deadline_at then 'retry'
             else k.verdict
           end as code
      from (select * from checked offset 0) k
  ), settlement as materialized (
    -- Narrow on purpose: an UPDATE carries a copy of each row it joins.
    select d.tool_call_id, d.new_card_id, (d.content ->> 'status')::state.result_status as status,
           coalesce((d.content #>> '{result,__cg_control,after_execution}')::state.after_execution, d.after_execution) as result_after
      from decided d where d.code = 'accepted'
  ), settled as (
    update state.calls c
       set wait_status = 'received', settled_by = 'report', result_card_id = d.new_card_id, result_status = d.status,
           result_after = d.result_after,
           report_span_id = encode(substring(uuid_send(gen_random_uuid()) from 9), 'hex'),
           received_at = moment,
           -- Unchanged for a call that was quick, so that this update stays heap-only (S2); sooner for a slow one, so that a lost
           -- wakeup is rung again after the first interval.
           due_at = least(c.due_at, moment + interval '5 seconds'),
           rings = 0
      from settlement d
     where c.tool_call_id = d.tool_call_id
  ), cards as (
    insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, tool_call_id, trace_id, parent_step_id,
                            function_name, box_id, pos, content, sha256, created_at)
    select d.new_card_id, d.project_id, 'tool.result', d.author_id, d.agent_turn_id, d.step_id, d.tool_call_id, d.trace_id,
           d.parent_step_id, d.tool_name, d.box_id, d.result_pos, d.content, sha256(convert_to(d.content::text, 'UTF8')), moment
      from decided d where d.code = 'accepted' and d.pointed_card_id is null
  )
  select json_agg(case d.code
           when 'accepted' then json_build_object('outcome', 'accepted', 'tool_result_card_id', d.new_card_id, 'inbox_id', d.tool_call_id,
             'correlation_id', d.tool_call_id, 'trace_id', d.trace_id, 'project_id', d.project_id, 'agent_id', d.agent_id,
             'step_size', d.step_size,
             'wake', json_build_object('project_id', d.project_id, 'channel_id', d.channel_id, 'agent_id', d.agent_id,
                                       'agent_turn_id', d.agent_turn_id, 'turn_epoch', d.turn_epoch, 'trace_id', d.trace_id,
                                       'worker_target', roster.worker_target, 'inbox_id', d.tool_call_id))
           when 'retry' then json_build_object('outcome', 'accepted',
             'retry_at', moment + d.backoff_ms * power(2, least(d.attempt - 1, 20)) * interval '1 millisecond')
           when 'duplicate' then json_build_object('outcome', 'duplicate', 'tool_result_card_id', coalesce(d.result_card_id, d.new_card_id))
           else json_build_object('outcome', 'rejected', 'code', d.code)
         end order by d.ord),
         bool_or(d.code not in ('accepted', 'duplicate') or d.pointed_card_id is not null)
    into answer, is_rare
    from decided d
    left join lateral (select a.worker_target from resource.project_agents a
                        where a.project_id = d.project_id and a.agent_id = d.agent_id and d.code = 'accepted') roster on true;

  if is_rare then
    perform l0.report_rarities(items, answer, moment);
  end if;
  if siblings is not null then
    -- A new statement sees what the siblings committed while this one waited for the lock.
    select json_agg(case when (e.item ->> 'step_size')::integer > 1 and exists (
                      select 1 from state.agent_state_head h
                       cross join lateral unnest(h.open_calls) o (id)
                       cross join lateral (select c.wait_status from state.calls c where c.tool_call_id = o.id) c
                       where h.project_id = e.item ->> 'project_id' and h.agent_id = e.item ->> 'agent_id' and c.wait_status = 'waiting')
                    then (e.item::jsonb - 'wake')::json else e.item end order by e.n)
      into answer
      from json_array_elements(answer) with ordinality e (item, n);
  end if;
  return coalesce(answer, '[]');
end $$;

-- What few reports need, kept out of the statement that all of them pay for: a pointed card gets its place, a call to be retried is
-- given back, and what was refused or will be retried is noted.
create or replace function l0.report_rarities(items jsonb, answer json, moment timestamptz) returns void
language plpgsql as $$
declare
  r record;
begin
  for r in
    select e.item, a.outcome from jsonb_array_elements(items) with ordinality e (item, n)
      join json_array_elements(answer) with ordinality a (outcome, n) on a.n = e.n
     order by (e.item ->> 'tool_call_id') collate "C"
  loop
    if r.outcome ->> 'outcome' = 'accepted' and r.item ->> 'tool_result_card_id' is not null then
      insert into card.box_cards (box_id, pos, card_id, project_id)
      select c.box_id, c.result_pos, c.result_card_id, c.project_id from state.calls c
       where c.tool_call_id = r.item ->> 'tool_call_id' and c.result_card_id = r.item ->> 'tool_result_card_id';
    end if;
    if r.outcome ->> 'retry_at' is not null then
      update state.calls c
         set claimed_by = null, principal = null, claim_id = null, claimed_at = null, lease_until = null,
             stale_caps = array_append(c.stale_caps, c.cap_sha256), cap_sha256 = null, rings = 0,
             due_at = (r.outcome ->> 'retry_at')::timestamptz
       where c.tool_call_id = r.item ->> 'tool_call_id';
    end if;
    if r.outcome ->> 'code' = 'not_found' then
      -- A call that does not exist is nobody's to look after: noting each would let a stranger fill the log. One of another project is
      -- noted where it belongs; whoever asked must not read in its own log that it exists, nor its owner who that was.
      insert into state.audit_log (project_id, kind, code, tool_call_id, created_at)
      select c.project_id, 'report', 'tenant_mismatch', c.tool_call_id, moment from state.calls c
       where c.tool_call_id = r.item ->> 'tool_call_id';
    elsif r.outcome ->> 'outcome' = 'rejected' or r.outcome ->> 'retry_at' is not null then
      insert into state.audit_log (project_id, kind, code, tool_call_id, principal, detail, created_at)
      values (r.item ->> 'project_id', 'report', coalesce(r.outcome ->> 'code', 'retry'), r.item ->> 'tool_call_id', r.item ->> 'principal',
              case when r.outcome ->> 'code' is null then jsonb_build_object('error', r.item -> 'content' -> 'error') else '{}' end, moment);
    end if;
  end loop;
end $$;
