-- The doors of a call that goes well, in as few steps as a call can take: a step of one call for elsewhere, opened with its ticket,
-- reported as a success, applied by the worker that was woken. These are the doors that the kernel's client knocks at first.
--
--   P1. Each writes by one compare-and-set that holds every condition of the full door of its name (files 10, 11, 14 and 22). An item
--       that fails any of them changes nothing here and is handed to the full door, which decides it as always, in the same transaction.
--       So nothing is refused, repeated or noted here, and what is accepted here would have been accepted there, with the same answer.
--   P2. A row is found once where the full door finds it to lock it, and again to write it. The condition is checked again on a row that
--       changed while this statement waited for it.
--   P3. Rows are written in key order, heads before calls, as everywhere. What is left over is locked after that, whatever its
--       key: such a batch and any other that locks two of its rows could wait for one another, which the database ends and the client
--       repeats.
--   P4. A batch that names one row twice leaves the second item over, so that it meets what the first did. A call may be named twice
--       by a stranger, so the first is told by its place; a head only by the client, and it does not.
--
-- Answers are made from rows, not pair by pair: json_build_object looks up the type of every key and value of every answer.

create or replace function l0.with_the_rest(door text, items jsonb, moment timestamptz, answer json, done integer[]) returns json
language plpgsql as $$
declare
  rest jsonb := l0.left_over(items, done);
  rest_answers json;
begin
  case door
    when 'suspend_on_calls' then rest_answers := l0.suspend_on_calls(rest, moment);
    -- Claims of both kinds may share this transaction, so it waits for the disk unless all of it was left over.
    when 'open_call' then rest_answers := l0.open_call_at(rest, moment, done is not null);
    when 'report' then rest_answers := l0.report_at(rest, moment);
    when 'resume' then rest_answers := l0.resume(rest, moment);
  end case;
  return l0.in_place(answer, done, rest_answers);
end $$;

create or replace function l0.suspend_plainly(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  pads l0.ticket_keys;
  answer json;
  done integer[];
begin
  perform l0.expect_batch(items);
  -- Steps like the first are likely to follow: a worker whose steps have several calls should not pay for a look in vain.
  if jsonb_array_length(items #> '{0,calls}') is distinct from 1 then
    return l0.suspend_on_calls(items, moment);
  end if;
  select * into strict pads from l0.ticket_keys where key_id = 1;
  with item as materialized (
    select i.ord::integer as ord, i.project_id, i.agent_id, i.agent_turn_id, i.turn_epoch, i.step_id, i.thought, c.*
      from rows from (jsonb_to_recordset(items) as (
             project_id text, agent_id text, agent_turn_id text, turn_epoch bigint, step_id text, thought jsonb, calls jsonb))
           with ordinality as i (project_id, agent_id, agent_turn_id, turn_epoch, step_id, thought, calls, ord)
     cross join lateral jsonb_to_record(i.calls -> 0) as c (
             tool_call_id text, card_id text, tool_name text, arguments jsonb, target_subject text, author_id text, span_id text,
             tool_digest text, effect text, after_execution text, deadline_ms integer, attempts_max integer, backoff_ms integer,
             can_reconcile boolean, local boolean, metadata jsonb, queue_timeout_ms integer, run_deadline_ms integer)
     where jsonb_array_length(i.calls) = 1 and not c.local
     order by i.project_id collate "C", i.agent_id collate "C", i.ord
  ), head as (
    update state.agent_state_head h
       set status = 'suspended', holder = null, box_length = h.box_length + 3, crash_count = 0, step_id = i.step_id,
           open_calls = array[i.tool_call_id], resume_deadline = moment + i.deadline_ms * interval '1 millisecond', updated_at = moment
      from item i
     where h.project_id = i.project_id and h.agent_id = i.agent_id and h.active_agent_turn_id = i.agent_turn_id
       and h.turn_epoch = i.turn_epoch and h.status = 'running' and h.open_calls is null
    returning i.*, h.active_channel_id as channel_id, h.active_recursion_depth as recursion_depth, h.trace_id, h.parent_step_id,
              h.output_box_id, h.box_length - 3 as thought_pos
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
                             box_id, result_pos, created_at, deadline_at, due_at, wait_status, queue_timeout_ms, run_deadline_ms)
    select h.tool_call_id, h.project_id, h.agent_id, h.agent_turn_id, h.channel_id, h.step_id, h.trace_id, h.span_id, h.parent_step_id,
           h.turn_epoch, h.recursion_depth, 0, 1, h.tool_name, h.tool_digest, h.target_subject, h.author_id,
           h.effect::state.tool_effect, h.after_execution::state.after_execution, false, h.can_reconcile, h.attempts_max, h.backoff_ms,
           h.card_id, h.output_box_id, h.thought_pos + 2, moment, moment + h.deadline_ms * interval '1 millisecond',
           moment + least(h.deadline_ms, 5000) * interval '1 millisecond', 'waiting', h.queue_timeout_ms, h.run_deadline_ms
      from head h
  ), events as (
    insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, step_id, created_at)
    select h.project_id, h.agent_id, h.agent_turn_id, 'state', 'suspended', h.turn_epoch, h.step_id, moment from head h
  )
  select (select json_agg(a)
            from (select 'accepted' as outcome, h.channel_id, h.trace_id, h.parent_step_id, h.recursion_depth, moment as committed_at,
                         json_build_array(json_build_object('tool_call_id', h.tool_call_id,
                           'ticket', l0.ticket(pads.inner_pad, pads.outer_pad, h.project_id, h.tool_call_id, 1))) as calls
                    from head h order by h.ord) a),
         (select array_agg(h.ord order by h.ord) from head h)
    into answer, done;
  if coalesce(cardinality(done), 0) < jsonb_array_length(items) then
    return l0.with_the_rest('suspend_on_calls', items, moment, answer, done);
  end if;
  return answer;
end $$;

create or replace function l0.open_plainly(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  pads l0.ticket_keys;
  answer json;
  done integer[];
  only_reads boolean;
begin
  perform l0.expect_batch(items);
  select * into strict pads from l0.ticket_keys where key_id = 1;
  with named as (
    select i.*, lag(i.tool_call_id) over (order by i.tool_call_id collate "C", i.ord) is distinct from i.tool_call_id as is_first -- P4
      from rows from (jsonb_to_recordset(items) as (
             project_id text, tool_call_id text, tool_call_card_id text, ticket text, executor text, claim_id text, lease_ms integer,
             known_digest text, principal text))
           with ordinality as i (project_id, tool_call_id, tool_call_card_id, ticket, executor, claim_id, lease_ms, known_digest,
             principal, ord)
  ), item as materialized (
    select i.ord::integer as ord, i.project_id, i.tool_call_id, i.tool_call_card_id, i.ticket, i.executor, i.claim_id, i.known_digest,
           i.principal, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) as capability,
           moment + least(coalesce(i.lease_ms, 15000), 600000) * interval '1 millisecond' as new_lease
      from named i
     where i.is_first and i.ticket is not null and length(i.executor) between 1 and 256 and length(i.claim_id) between 1 and 256
     order by i.tool_call_id collate "C", i.ord
  ), claimed as (
    update state.calls c
       set attempt = c.attempt + 1, claimed_by = i.executor, principal = i.principal, claim_id = i.claim_id, claimed_at = moment,
           lease_until = i.new_lease, cap_sha256 = sha256(i.capability), due_at = least(c.due_at, i.new_lease),
           deadline_at = coalesce(moment + c.run_deadline_ms * interval '1 millisecond', c.deadline_at)
      from item i
     where c.tool_call_id = i.tool_call_id and c.project_id = i.project_id and c.wait_status = 'waiting' and c.claimed_by is null
       and not c.local and c.deadline_at > moment and coalesce(i.tool_call_card_id, c.call_card_id) = c.call_card_id
       and i.ticket = l0.ticket(pads.inner_pad, pads.outer_pad, c.project_id, c.tool_call_id, c.attempt + 1)
    returning i.ord, i.known_digest, encode(i.capability, 'hex') as capability, c.tool_call_id, c.project_id, c.channel_id, c.agent_id,
              c.agent_turn_id, c.turn_epoch, c.step_id, c.trace_id, c.span_id, c.parent_step_id, c.recursion_depth, c.call_card_id,
              c.tool_name, c.tool_digest, c.author_id, c.target_subject, c.effect, c.after_execution, c.attempt, c.reconcile,
              c.lease_until, c.deadline_at, c.box_id, c.result_pos - c.step_size - c.call_index - 1 as thought_pos
  )
  select (select json_agg(a)
            from (select 'accepted' as outcome, c.tool_call_id, c.project_id, c.channel_id, c.agent_id, c.agent_turn_id, c.turn_epoch,
                         c.step_id, c.trace_id, c.span_id, c.parent_step_id, c.recursion_depth, c.call_card_id as tool_call_card_id,
                         c.tool_name, c.tool_digest, c.author_id, c.target_subject, c.effect, c.after_execution,
                         call_card.content -> 'arguments' as arguments, call_card.metadata as call_metadata,
                         json_build_object('card_id', thought.card_id, 'content', thought.content, 'tool_calls', thought.tool_calls,
                                           'created_at', thought.created_at) as message,
                         definition.document as definition, c.attempt, case when c.reconcile then 'reconcile' else 'run' end as mode,
                         'tool.' || c.project_id || '.' || c.tool_name || '.' || encode(sha256(convert_to(c.tool_call_id, 'UTF8')), 'hex')
                           as idempotency_key,
                         c.capability, c.lease_until as lease_expires_at, c.deadline_at
                    from claimed c
                    left join lateral (select k.content, k.metadata from card.cards k where k.card_id = c.call_card_id) call_card on true
                    left join lateral (
                      select k.card_id, k.content, k.tool_calls, k.created_at from card.cards k
                       where k.box_id = c.box_id and k.pos = c.thought_pos) thought on true
                    left join lateral (
                      select json_build_object('tool_name', v.tool_name, 'description', v.description, 'parameters', v.parameters,
                                               'target_subject', v.target_subject, 'after_execution', v.after_execution,
                                               'options', v.options, 'digest', v.digest) as document
                        from resource.tool_versions v
                       where v.project_id = c.project_id and v.tool_name = c.tool_name and v.digest = c.tool_digest
                         and c.tool_digest is distinct from c.known_digest
                       limit 1) definition on true
                   order by c.ord) a),
         k.done, k.only_reads
    into answer, done, only_reads
    from (select array_agg(c.ord order by c.ord) as done, bool_and(c.effect = 'read') as only_reads from claimed c) k;
  if coalesce(cardinality(done), 0) < jsonb_array_length(items) then
    return l0.with_the_rest('open_call', items, moment, answer, done);
  end if;
  -- Losing the claim of a `read` tool repeats a read (docs/design.md#effects): no need to wait for the disk.
  if only_reads then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  return answer;
end $$;
