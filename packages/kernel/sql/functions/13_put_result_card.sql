-- A result is written down before it is reported: the card, then the pointer to it. It changes nothing: the call still waits,
-- the card is in no box, and it counts only when a report points to it.
--
-- item: { project_id, tool_call_id, capability, content: { status, after_execution?, result?, error? }, card_id?, author_id?,
--         function_name?, traceparent?, principal? }
-- answer: accepted + tool_result_card_id (the same content again is accepted too) + warning?, or rejected with not_found, auth_failed,
--   stale_attempt, already_settled, payload_too_large, protocol_violation, conflict (same id, other content).
-- A content that contradicts itself is saved as a failed result, with the strict answer as `warning` (l0.normal_result).
-- Author, lineage and function name come from the call; a claim that differs is refused (docs/design.md#authority-is-in-the-database).

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
  warning jsonb;
begin
  perform l0.expect_batch(items);
  for i in
    select * from rows from (jsonb_to_recordset(items) as (
             project_id text, tool_call_id text, capability text, content jsonb, card_id text, author_id text, function_name text,
             traceparent text, principal text))
           with ordinality as e (project_id, tool_call_id, capability, content, card_id, author_id, function_name, traceparent, principal, ord)
     order by e.tool_call_id collate "C", e.ord
  loop
    -- Judged first, locked after, as in file 11; under the lock judged again, because it may have changed.
    for is_locked in 0..1 loop
      if is_locked = 0 then
        select * into c from state.calls k where k.tool_call_id = i.tool_call_id;
      else
        select * into c from state.calls k where k.tool_call_id = i.tool_call_id for no key update;
      end if;
      code := l0.refuse_holder(c.project_id = i.project_id, c.cap_sha256, c.stale_caps, c.principal, c.wait_status, i.capability, i.principal);
      code := coalesce(code, l0.refuse_claims(c.author_id, c.tool_name, c.trace_id, i.author_id, i.function_name, i.traceparent), l0.refuse_result(i.content, c.after_execution::text));
      content := i.content;
      warning := null;
      if code in ('schema_invalid', 'after_execution_mismatch') then
        content := l0.normal_result(content, c.after_execution::text);
        warning := content #> '{error,detail,warning}';
        code := null;
      end if;
      exit when code is not null;
    end loop;
    if code is null then
      content := l0.result_content(content, c.after_execution::text);
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
      perform l0.note_refusals('put_result_card', jsonb_build_array(jsonb_build_object('project_id', i.project_id, 'code', code,
                'tool_call_id', i.tool_call_id, 'principal', i.principal)), moment);
    end if;
    answers := answers || jsonb_build_object(i.ord::text, case when code is null
      then jsonb_strip_nulls(jsonb_build_object('outcome', 'accepted', 'tool_result_card_id', wanted.card_id, 'warning', warning))
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

-- What a caller says about itself must be what the call says (docs/protocol/reports.md#checks-of-a-report).
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

-- What is wrong with a result's content, or null: { the strict answer, the code of the failed result that is made of it, in words }.
-- Null as the second: the error that came with it says enough. A content that is too large has no second and no
-- third: its executor can report a smaller one, so it is refused.
create or replace function l0.result_mistake(content jsonb, after_execution text) returns text[]
language plpgsql immutable as $$
declare
  status text := content ->> 'status';
  error jsonb := nullif(content -> 'error', 'null');
  control jsonb := case when jsonb_typeof(content -> 'result') = 'object' then content -> 'result' -> '__cg_control' end;
  claimed text := content ->> 'after_execution';
begin
  return case
    -- jsonb is printed with a space behind each comma and colon that the limit does not mean.
    when octet_length(content::text) > 1048576
     and octet_length(replace(replace(content::text, ', ', ','), ': ', ':')) > 1048576 then array['payload_too_large']
    when jsonb_typeof(content) is distinct from 'object' then array['schema_invalid', 'schema_invalid', 'a result must be an object']
    when control is not null and jsonb_typeof(control) <> 'object' or control ->> 'after_execution' not in ('suspend', 'terminate')
      then array['schema_invalid', 'invalid_after_execution', '__cg_control must be {after_execution: suspend or terminate}']
    when claimed not in ('suspend', 'terminate')
      then array['schema_invalid', 'invalid_after_execution', 'after_execution must be suspend or terminate']
    when status is null or status not in ('success', 'failed', 'canceled', 'timeout', 'partial')
      then array['schema_invalid', 'invalid_status', 'status must be one of success, failed, canceled, timeout, partial']
    when status = 'success' and error is not null then array['schema_invalid', null, 'a success report has no error']
    when status <> 'success' and (status <> 'partial' or error is not null)
     and (jsonb_typeof(error) is distinct from 'object' or jsonb_typeof(error -> 'code') is distinct from 'string'
          or error ->> 'code' = '' or jsonb_typeof(error -> 'message') is distinct from 'string')
      then array['schema_invalid', null, format('a %s report needs error: {code, message}, both strings', status)]
    when content - '{status,after_execution,result,error}'::text[] <> '{}'
      then array['schema_invalid', case when status = 'success' then 'schema_invalid' end,
                 'a result has status, after_execution, result and error, and no other field']
    when claimed <> after_execution and claimed is distinct from control ->> 'after_execution'
      then array['after_execution_mismatch', 'invalid_after_execution', format('the call''s after_execution is %s', after_execution)]
  end;
end $$;

create or replace function l0.refuse_result(content jsonb, after_execution text) returns text
language plpgsql immutable as $$
begin
  return (l0.result_mistake(content, after_execution))[1];
end $$;

-- A result that contradicts itself, as the failed one that is written instead (docs/protocol/reports.md#building-a-result): its executor
-- was heard, and would not say it better the second time. Towards failure only; the strict answer stays in it as error.detail.warning.
-- The executor must have been proven before.
create or replace function l0.normal_result(content jsonb, after_execution text) returns jsonb
language plpgsql immutable as $$
declare
  mistake text[] := coalesce(l0.result_mistake(content, after_execution),
                             array['schema_invalid', 'invalid_status', 'the status of a report must be the status of its card']);
  said jsonb := case when jsonb_typeof(content) = 'object' then content else '{}' end;
  status text := said ->> 'status';
  result jsonb := said -> 'result';
  given jsonb := l0.normal_error(nullif(said -> 'error', 'null'), result);
  warning jsonb := jsonb_build_object('code', mistake[1], 'message', mistake[3]);
  normal jsonb;
begin
  if mistake[2] = 'invalid_after_execution' and jsonb_typeof(result) = 'object' then
    result := result - '__cg_control'; -- whoever steered wrongly does not steer
  end if;
  if mistake[2] is not null then
    given := jsonb_build_object('code', mistake[2], 'message', mistake[3], 'source', 'tool', 'detail',
      case when coalesce(said -> 'error', 'null') = 'null' then '{}' else jsonb_build_object('original_error', given) end);
  elsif status = 'success' then
    given := given - 'retryable'; -- what may have succeeded is not done again
  end if;
  given := given || jsonb_build_object('detail', case
    when jsonb_typeof(given -> 'detail') = 'object' then given -> 'detail'
    when given ? 'detail' then jsonb_build_object('detail', given -> 'detail')
    else '{}' end || jsonb_build_object('warning', warning));
  normal := jsonb_build_object('status', case when mistake[2] is null and status <> 'success' then status else 'failed' end,
                               'result', result, 'error', given);
  -- The words above may have taken it over the limit; the error matters more than a result that is not believed.
  return case when octet_length(normal::text) > 1048576 then normal || '{"result": null}' else normal end;
end $$;

-- Whatever was given as an error, as one: code, message and source, and the optional fields that are what they should be
-- (docs/protocol/reports.md#error-objects). Without one, the result may say why.
create or replace function l0.normal_error(given jsonb, result jsonb) returns jsonb
language plpgsql immutable as $$
declare
  said jsonb := case when jsonb_typeof(given) = 'object' then given when given is null and jsonb_typeof(result) = 'object' then result else '{}' end;
  code text := case when given is not null and jsonb_typeof(said -> 'code') = 'string' then said ->> 'code'
                    when jsonb_typeof(said -> 'error_code') = 'string' then said ->> 'error_code' end;
  message text := case when given is not null and jsonb_typeof(said -> 'message') = 'string' then said ->> 'message'
                       when jsonb_typeof(said -> 'error_message') = 'string' then said ->> 'error_message' end;
begin
  return jsonb_strip_nulls(jsonb_build_object(
      'code', coalesce(nullif(left(code, 128), ''), 'unknown_error'),
      'message', left(coalesce(message, case when jsonb_typeof(given) = 'string' then given #>> '{}' else given::text end,
                               'the tool gave no reason'), 1000),
      'source', case when jsonb_typeof(given -> 'source') = 'string' and given ->> 'source' <> '' then left(given ->> 'source', 128)
                     else 'tool' end,
      'retryable', case when jsonb_typeof(given -> 'retryable') = 'boolean' then given -> 'retryable' end,
      'http_status', case when jsonb_typeof(given -> 'http_status') = 'number' and given ->> 'http_status' ~ '^-?[0-9]{1,9}$'
                          then given -> 'http_status' end))
    || case when jsonb_typeof(given) = 'object' and coalesce(given -> 'detail', 'null') <> 'null'
         then jsonb_build_object('detail', given -> 'detail') else '{}' end;
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
