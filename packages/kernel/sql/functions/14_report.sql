-- Commit point C: a call's outcome is settled, once, whoever comes first (docs/design.md#authority-is-in-the-database).
--
-- move: wait.settle (waiting → received). A retryable failure with attempts left does not settle: it gives the call back.
-- item: { project_id, tool_call_id, capability, content | tool_result_card_id (+ status, after_execution), message_type?,
--         agent_id?, agent_turn_id?, turn_epoch?, recursion_depth?, author_id?, function_name?, traceparent?, principal?, stack? }
--   stack: where the tool failed, for operators (19_failures.sql); kept with a report that is accepted and is no success.
-- answer: accepted + { tool_result_card_id, inbox_id, correlation_id, trace_id, wake?, warning? }, accepted + retry_at, duplicate,
--   or rejected + code. `wake` is there when none of the step's calls is left open.
--
-- Order of the checks: capability → settled by this attempt (duplicate, body not compared) → stale → what the report
-- says of its target and itself → content (docs/protocol/reports.md#checks-of-a-report).
-- A content that contradicts itself, or a pointer its card, comes last, so that whoever says it was proven: it settles the call as
-- failed, and the strict answer is the `warning` (l0.normal_result). A pointer to a card that is no success is that card.
-- Judged first, locked after, as in file 11: who does not hold a call locks nothing.
-- Locks: the first of the siblings (the open call of the step with the smallest key, in key order, only where a step has several calls),
-- then calls in key order. The lock on the first sibling makes the last of several concurrent reports see all the others, so whichever
-- commits last wakes the agent. It is a row's, not an advisory lock, which any login of the database could take and keep.

create or replace function l0.report_at(items jsonb, at timestamptz) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  siblings text[];
  is_rare boolean;
  answer json;
  changed integer[];
  unchanged integer[];
begin
  -- A settled call stays settled: however often it is reported again, one look answers all.
  if l0.has_repeats(items, 'tool_call_id') and exists (
    select 1 from jsonb_array_elements(items) e (item)
     cross join lateral (select c.wait_status from state.calls c where c.tool_call_id = e.item ->> 'tool_call_id') c
     where c.wait_status = 'waiting') then
    return l0.in_rounds('report', 'tool_call_id', items, moment);
  end if;
  select array_agg(distinct coalesce(f.first, c.tool_call_id) collate "C") into siblings
    from jsonb_array_elements(items) e (item)
   cross join lateral (select c.tool_call_id, c.project_id, c.agent_id from state.calls c
                        where c.tool_call_id = e.item ->> 'tool_call_id' and c.step_size > 1 and l0.refuse_holder(
                          c.project_id = e.item ->> 'project_id', c.cap_sha256, c.stale_caps, c.principal, c.wait_status,
                          e.item ->> 'capability', e.item ->> 'principal') is null) c
    left join lateral (select min(o.id collate "C") as first from state.agent_state_head h cross join lateral unnest(h.open_calls) o (id)
                        where h.project_id = c.project_id and h.agent_id = c.agent_id) f on true;
  if siblings is not null then
    -- array_agg(distinct …) is sorted, so every reporter takes the locks in one order.
    perform 1 from unnest(siblings) s (id) cross join lateral (select 1 from state.calls c where c.tool_call_id = s.id for no key update) c;
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
           i.tool_result_card_id as asked_card_id, i.status as asked_status, i.after_execution as asked_after, c.*,
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
             when i.recursion_depth <> c.recursion_depth then 'protocol_violation'
             when c.recursion_depth >= 20 then 'recursion_depth_exceeded'
             else coalesce(
               case when i.author_id is not null or i.function_name is not null or i.traceparent is not null
                 then l0.refuse_claims(c.author_id, c.tool_name, c.trace_id, i.author_id, i.function_name, i.traceparent) end,
               case when i.content is not null then l0.refuse_result(i.content, c.after_execution::text)
                    when i.status is distinct from pointed.content ->> 'status'
                      or i.after_execution not in (c.after_execution::text,
                           coalesce(pointed.content -> 'result' -> '__cg_control' ->> 'after_execution', c.after_execution::text))
                      then 'schema_invalid' end,
               'accepted')
           end as verdict
      from (select * from item order by tool_call_id collate "C") i
      left join lateral (
        select c.tool_call_id, c.project_id, c.channel_id, c.agent_id, c.agent_turn_id, c.turn_epoch, c.step_id, c.trace_id,
               c.parent_step_id, c.recursion_depth, c.step_size, c.tool_name, c.author_id, c.after_execution, c.box_id, c.result_pos,
               c.wait_status, c.settled_by, c.attempt, c.attempts_max, c.backoff_ms, c.deadline_at, c.queue_timeout_ms, c.principal, c.cap_sha256,
               c.stale_caps, c.result_card_id
          from state.calls c where c.tool_call_id = i.tool_call_id) c on true
      left join lateral (select * from card.cards p where p.card_id = i.tool_result_card_id) pointed on true
  ), decided as materialized (
    select k.*, not k.is_heard or held.is_unchanged is not null as is_unchanged,
           case when k.is_heard then l0.result_content(k.word, k.after_execution::text) end as content,
           coalesce(k.pointed_card_id, l0.new_card_id()) as new_card_id,
           case
             when k.is_heard and held.is_unchanged is null then 'changed'
             when k.is_heard and k.word ->> 'status' = 'failed' and k.word -> 'error' ->> 'retryable' = 'true'
              and k.attempt < k.attempts_max
              and (k.queue_timeout_ms is not null
                   or moment + k.backoff_ms * power(2, least(k.attempt - 1, 20)) * interval '1 millisecond' < k.deadline_at) then 'retry'
             when k.is_heard then 'accepted'
             else k.verdict
           end as code
      from (select c.*, case when m.mended is null then c.asked_card_id end as pointed_card_id, coalesce(m.mended, c.said) as word,
                   c.verdict in ('accepted', 'schema_invalid', 'after_execution_mismatch') as is_heard,
                   case when c.verdict in ('schema_invalid', 'after_execution_mismatch')
                     then coalesce(m.mended #> '{error,detail,warning}',
                                   '{"code": "schema_invalid", "message": "the report differs from its card, and the card counts"}') end as warning
              from checked c
             cross join lateral (select case when c.verdict in ('schema_invalid', 'after_execution_mismatch')
               then l0.mended_report(c.said, c.after_execution::text, c.asked_card_id is not null, c.asked_status, c.asked_after) end as mended) m
            offset 0) k
      left join lateral (select true as is_unchanged from state.calls c
                          where c.tool_call_id = k.tool_call_id and k.is_heard and c.wait_status = k.wait_status
                            and c.cap_sha256 is not distinct from k.cap_sha256 for no key update) held on true
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
           when 'accepted' then case when d.warning is null then taken.answer
                                     else (taken.answer::jsonb || jsonb_build_object('warning', d.warning))::json end
           when 'retry' then json_build_object('outcome', 'accepted',
             'retry_at', moment + d.backoff_ms * power(2, least(d.attempt - 1, 20)) * interval '1 millisecond')
           when 'duplicate' then json_build_object('outcome', 'duplicate', 'tool_result_card_id', coalesce(d.result_card_id, d.new_card_id))
           else json_build_object('outcome', 'rejected', 'code', d.code)
         end order by d.ord) filter (where d.is_unchanged),
         bool_or(d.code not in ('accepted', 'duplicate') or d.asked_card_id is not null or d.warning is not null) filter (where d.is_unchanged),
         array_agg(d.ord::integer order by d.ord) filter (where not d.is_unchanged),
         array_agg(d.ord::integer order by d.ord) filter (where d.is_unchanged)
    into answer, is_rare, changed, unchanged
    from decided d
    left join lateral (select a.worker_target from resource.project_agents a
                        where a.project_id = d.project_id and a.agent_id = d.agent_id and d.code = 'accepted') roster on true
    cross join lateral (select json_build_object('outcome', 'accepted', 'tool_result_card_id', d.new_card_id, 'inbox_id', d.tool_call_id,
             'correlation_id', d.tool_call_id, 'trace_id', d.trace_id, 'project_id', d.project_id, 'agent_id', d.agent_id,
             'step_size', d.step_size,
             'wake', json_build_object('project_id', d.project_id, 'channel_id', d.channel_id, 'agent_id', d.agent_id,
                                       'agent_turn_id', d.agent_turn_id, 'turn_epoch', d.turn_epoch, 'trace_id', d.trace_id,
                                       'worker_target', roster.worker_target, 'inbox_id', d.tool_call_id)) as answer) taken;

  if is_rare or jsonb_path_exists(items, '$[*].stack') then
    perform l0.report_rarities(l0.left_over(items, changed), answer, moment);
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
  if changed is not null then
    return l0.in_place(answer, unchanged, l0.report_at(l0.left_over(items, unchanged), moment));
  end if;
  return coalesce(answer, '[]');
end $$;

-- What few reports need, kept out of the statement that all of them pay for: a pointed card gets its place, a call to be retried is
-- given back, what was refused or will be retried is noted, and so is where a tool failed.
create or replace function l0.report_rarities(items jsonb, answer json, moment timestamptz) returns void
language plpgsql as $$
declare
  r record;
  notes jsonb := '[]';
  failures jsonb := '[]';
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
             due_at = (r.outcome ->> 'retry_at')::timestamptz,
             -- It waits for an executor anew once the pause is over (decision 40).
             deadline_at = coalesce((r.outcome ->> 'retry_at')::timestamptz + c.queue_timeout_ms * interval '1 millisecond', c.deadline_at)
       where c.tool_call_id = r.item ->> 'tool_call_id';
      insert into state.audit_log (project_id, kind, code, tool_call_id, principal, detail, created_at)
      values (r.item ->> 'project_id', 'report', 'retry', r.item ->> 'tool_call_id', r.item ->> 'principal',
              jsonb_build_object('error', r.item -> 'content' -> 'error'), moment);
    end if;
    if r.outcome ->> 'outcome' = 'accepted' and r.item ? 'stack' then
      failures := failures || jsonb_build_object('tool_call_id', r.item ->> 'tool_call_id', 'stack', r.item -> 'stack');
    end if;
    if r.outcome ->> 'code' = 'not_found' then
      -- A call that does not exist is nobody's to look after: noting each would let a stranger fill the log. One of another project is
      -- noted where it belongs; whoever asked must not read in its own log that it exists, nor its owner who that was.
      notes := notes || coalesce((select jsonb_build_object('project_id', c.project_id, 'code', 'tenant_mismatch', 'tool_call_id', c.tool_call_id)
                                    from state.calls c where c.tool_call_id = r.item ->> 'tool_call_id'), '[]');
    elsif r.outcome ->> 'outcome' = 'rejected' then
      notes := notes || jsonb_build_object('project_id', r.item ->> 'project_id', 'code', r.outcome ->> 'code',
        'tool_call_id', r.item ->> 'tool_call_id', 'principal', r.item ->> 'principal');
    elsif r.outcome -> 'warning' is not null then
      -- Once for a call, which it has settled: these are as many as there are calls.
      insert into state.audit_log (project_id, kind, code, tool_call_id, principal, detail, created_at)
      values (r.item ->> 'project_id', 'report', r.outcome #>> '{warning,code}', r.item ->> 'tool_call_id', r.item ->> 'principal',
              jsonb_build_object('normalised', r.outcome #>> '{warning,message}'), moment);
    end if;
  end loop;
  perform l0.note_failures(failures, moment);
  perform l0.note_refusals('report', notes, moment);
end $$;

-- What a proven report that contradicts itself says, as the failed result that is written (l0.normal_result); null where the card that
-- it points to counts as it is: because it is no success, or because the pointer only left its status out.
create or replace function l0.mended_report(said jsonb, after_execution text, is_pointer boolean, asked_status text, asked_after text)
returns jsonb
language plpgsql immutable as $$
declare
  pointed jsonb := said || jsonb_strip_nulls(jsonb_build_object('status', asked_status, 'after_execution', asked_after));
begin
  return case
    when not is_pointer then l0.normal_result(said, after_execution)
    when said ->> 'status' <> 'success' then null
    when asked_status <> 'success' or l0.result_mistake(pointed, after_execution) is not null then l0.normal_result(pointed, after_execution)
  end;
end $$;
