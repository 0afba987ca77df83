-- A result is written down before it is reported: the seeds' card-then-pointer flow. It changes nothing: the call still waits,
-- the card is in no box, and it counts only when a report points to it.
--
-- item: { project_id, tool_call_id, capability, content: { status, after_execution?, result?, error? }, card_id?, author_id?,
--         function_name?, traceparent?, principal? }
-- answer: accepted + tool_result_card_id (the same content again is accepted too), or rejected with not_found, auth_failed,
--   stale_attempt, already_settled, schema_invalid, payload_too_large, protocol_violation, conflict (same id, other content).
-- Author, lineage and function name come from the call; a claim that differs is refused (design D8).

create or replace function l0.put_result_card_at(items jsonb, at timestamptz) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  c state.calls;
  wanted card.cards;
  code text;
  answers jsonb := '{}';
  content jsonb;
  digest bytea;
begin
  perform l0.expect_batch(items);
  for i in
    select * from rows from (jsonb_to_recordset(items) as (
             project_id text, tool_call_id text, capability text, content jsonb, card_id text, author_id text, function_name text,
             traceparent text, principal text))
           with ordinality as e (project_id, tool_call_id, capability, content, card_id, author_id, function_name, traceparent, principal, ord)
     order by e.tool_call_id collate "C", e.ord
  loop
    select * into c from state.calls k where k.tool_call_id = i.tool_call_id for no key update;
    code := l0.refuse_holder(c.project_id = i.project_id, c.cap_sha256, c.stale_caps, c.principal, c.wait_status, i.capability, i.principal);
    code := coalesce(code, l0.refuse_claims(c.author_id, c.tool_name, c.trace_id, i.author_id, i.function_name, i.traceparent), l0.refuse_result(i.content, c.after_execution::text));
    if code is null then
      content := l0.result_content(i.content, c.after_execution::text);
      digest := sha256(convert_to(content::text, 'UTF8'));
      insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, tool_call_id, trace_id, parent_step_id,
                              function_name, content, sha256, created_at)
      values (coalesce(i.card_id, l0.saved_card_id(c.tool_call_id, c.attempt, c.cap_sha256)), c.project_id, 'tool.result', c.author_id,
              c.agent_turn_id, c.step_id, c.tool_call_id, c.trace_id, c.parent_step_id, c.tool_name, content, digest, moment)
      on conflict (card_id) do nothing;
      select * into wanted
        from card.cards k where k.card_id = coalesce(i.card_id, l0.saved_card_id(c.tool_call_id, c.attempt, c.cap_sha256));
      if wanted.tool_call_id is distinct from c.tool_call_id or wanted.project_id <> c.project_id or wanted.sha256 <> digest then
        code := 'conflict';
      end if;
    end if;
    -- A call that does not exist is nobody's to look after, and its project may be gone.
    if code is not null and c.project_id = i.project_id then
      insert into state.audit_log (project_id, kind, code, tool_call_id, principal, created_at)
      values (i.project_id, 'put_result_card', code, i.tool_call_id, i.principal, moment);
    end if;
    answers := answers || jsonb_build_object(i.ord::text, case when code is null
      then jsonb_build_object('outcome', 'accepted', 'tool_result_card_id', wanted.card_id)
      else jsonb_build_object('outcome', 'rejected', 'code', code) end);
  end loop;
  return l0.in_item_order(answers, items);
end $$;

-- Ids of cards that l0 makes are random: a holder that may choose the id of its own card must not be able to take one that the
-- kernel will need.
drop function if exists l0.new_card_id(text);
create or replace function l0.new_card_id() returns text
language sql volatile parallel safe as $$ select 'card_' || replace(gen_random_uuid()::text, '-', '') $$;

-- The card of an attempt that chose no id: the same when it is saved again, and known to nobody without the capability.
create or replace function l0.saved_card_id(tool_call_id text, attempt integer, cap_sha256 bytea) returns text
language sql stable parallel safe as $$ select 'card_' || md5(tool_call_id || ':' || attempt || ':' || encode(cap_sha256, 'hex')) $$;

-- What a caller says about itself must be what the call says (reference §5.5 rows 8–10; faults R4–R6).
create or replace function l0.refuse_claims(true_author text, true_function text, true_trace text, author_id text, function_name text,
                                            traceparent text) returns text
language plpgsql immutable as $$
begin
  return case
    when author_id <> true_author then 'protocol_violation'
    when function_name <> true_function then 'protocol_violation'
    when traceparent is not null
     and (lower(traceparent) !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'
          or split_part(lower(traceparent), '-', 2) <> true_trace) then 'protocol_violation'
  end;
end $$;

-- Whether a result's content is one: status and error agree, the control key is sane, the size is bounded (faults R7, R10, C4).
create or replace function l0.refuse_result(content jsonb, after_execution text) returns text
language plpgsql immutable as $$
declare
  status text := content ->> 'status';
  error jsonb := nullif(content -> 'error', 'null');
  control jsonb := case when jsonb_typeof(content -> 'result') = 'object' then content -> 'result' -> '__cg_control' end;
  claimed text := content ->> 'after_execution';
begin
  return case
    when jsonb_typeof(content) is distinct from 'object' then 'schema_invalid'
    when content - '{status,after_execution,result,error}'::text[] <> '{}' then 'schema_invalid'
    when status is null or status not in ('success', 'failed', 'canceled', 'timeout', 'partial') then 'schema_invalid'
    when status = 'success' and error is not null then 'schema_invalid'
    when status <> 'success' and status <> 'partial' and error is null then 'schema_invalid'
    when error is not null and (jsonb_typeof(error) <> 'object' or jsonb_typeof(error -> 'code') is distinct from 'string'
                                or error ->> 'code' = '' or jsonb_typeof(error -> 'message') is distinct from 'string') then 'schema_invalid'
    when control is not null and jsonb_typeof(control) <> 'object' then 'schema_invalid'
    when control ->> 'after_execution' not in ('suspend', 'terminate') then 'schema_invalid'
    when claimed not in ('suspend', 'terminate') then 'schema_invalid'
    when claimed <> after_execution and claimed is distinct from control ->> 'after_execution' then 'after_execution_mismatch'
    -- jsonb is printed with a space behind each comma and colon that the limit does not mean.
    when octet_length(content::text) > 1048576
     and octet_length(replace(replace(content::text, ', ', ','), ': ', ':')) > 1048576 then 'payload_too_large'
  end;
end $$;

-- The content as it is stored: all four keys, the call's after_execution (a reader applies the control key last), a bounded message.
create or replace function l0.result_content(content jsonb, after_execution text) returns jsonb
language plpgsql immutable as $$
declare
  error jsonb := nullif(content -> 'error', 'null');
begin
  if error is not null and length(error ->> 'message') > 1000 then
    error := jsonb_set(error, '{message}', to_jsonb(left(error ->> 'message', 999) || '…'));
  end if;
  return jsonb_build_object('status', content -> 'status', 'after_execution', after_execution,
                            'result', content -> 'result', 'error', error);
end $$;
