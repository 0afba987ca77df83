-- Commit point B: an executor takes a call, and with it everything it needs to run it (docs/design.md#claim-before-work).
--
-- move: claim.open (unclaimed → claimed). The attempt grows here and in claim.repeat; for local calls where a worker takes
-- them (files 10, 22 and 28).
-- item: { project_id, tool_call_id, tool_call_card_id?, ticket | target, executor, claim_id, lease_ms?, known_digest?, principal? }
--   ticket: from the command. target: a caller that the kernel's own role vouches for may open any call sent to this target.
--   claim_id: made by the executor for this opening; asking again with the same one is the same claim (a lost answer).
-- answer: accepted + { attempt, capability, lease_expires_at, mode: run | reconcile, … }, or rejected with card_not_found,
--   tenant_mismatch, protocol_violation, auth_failed, already_settled, already_claimed, stale_attempt, tool_timeout.
--
-- A batch in which every claim is of a `read` tool need not wait for the disk: losing such a claim repeats a read (docs/design.md#effects).
--
-- Judged first, locked after: a caller may keep its transaction open, so what is refused must leave nothing locked. What was judged
-- good is written by a compare-and-set on what was judged; an item whose row has changed meanwhile is judged again, in a new statement.

create or replace function l0.open_call_at(items jsonb, at timestamptz, in_rounds boolean default false) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  pads l0.ticket_keys;
  answer json;
  only_reads boolean;
  has_forgeries boolean;
  changed integer[];
  unchanged integer[];
begin
  if l0.has_repeats(items, 'tool_call_id') then
    return l0.in_rounds('open_call', 'tool_call_id', items, moment);
  end if;
  select * into strict pads from l0.ticket_keys where key_id = 1;

  with item as materialized (
    select i.*
      from rows from (jsonb_to_recordset(items) as (
             project_id text, tool_call_id text, tool_call_card_id text, ticket text, target text, executor text, claim_id text,
             lease_ms integer, known_digest text, principal text))
           with ordinality as i (project_id, tool_call_id, tool_call_card_id, ticket, target, executor, claim_id, lease_ms,
             known_digest, principal, ord)
  ), judged as materialized (
    select i.ord, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) as capability,
           moment + least(coalesce(i.lease_ms, 15000), 600000) * interval '1 millisecond' as new_lease, i.executor, i.claim_id as asked_claim, i.known_digest, i.principal as asked_by,
           c.*,
           case
             when coalesce(i.executor, '') = '' or coalesce(i.claim_id, '') = '' or length(i.executor) > 256 or length(i.claim_id) > 256 then 'bad_request'
             when c.tool_call_id is null or i.project_id is null then 'card_not_found'
             -- Whether a call of another project exists is told only to who shows its ticket.
             when c.project_id is distinct from i.project_id then
               case when i.ticket = l0.ticket(pads.inner_pad, pads.outer_pad, c.project_id, c.tool_call_id, c.attempt + 1)
                 then 'tenant_mismatch' else 'card_not_found' end
             -- Another call's card is a contradiction; anything else is no card at all, whatever it is.
             when i.tool_call_card_id <> c.call_card_id then
               case when exists (select 1 from card.cards k where k.card_id = i.tool_call_card_id and k.project_id = c.project_id and k.type = 'tool.call')
                 then 'protocol_violation' else 'card_not_found' end
             when i.ticket is null and (i.target is null or l0.target_of(c.target_subject) <> i.target) then 'auth_failed'
             when i.ticket is not null
              and i.ticket <> l0.ticket(pads.inner_pad, pads.outer_pad, c.project_id, c.tool_call_id, c.attempt + 1)
              and not l0.ticket_was_used(pads.inner_pad, pads.outer_pad, i.ticket, c.project_id, c.tool_call_id, c.attempt)
               then 'auth_failed'
             when c.wait_status <> 'waiting' then 'already_settled'
             when c.claimed_by = i.executor and c.claim_id = i.claim_id and c.principal is not distinct from i.principal then 'reopened'
             when c.claimed_by is not null then 'already_claimed'
             when c.local then 'forbidden'
             when i.ticket is not null
              and i.ticket <> l0.ticket(pads.inner_pad, pads.outer_pad, c.project_id, c.tool_call_id, c.attempt + 1)
               then 'stale_attempt'
             when c.deadline_at <= moment then 'tool_timeout'
             else 'accepted'
           end as code
      from (select * from item order by tool_call_id collate "C") i
      left join lateral (
        select c.tool_call_id, c.project_id, c.channel_id, c.agent_id, c.agent_turn_id, c.turn_epoch, c.step_id, c.trace_id, c.span_id,
               c.parent_step_id, c.recursion_depth, c.call_card_id, c.box_id, c.result_pos - c.step_size - c.call_index - 1 as thought_pos, c.tool_name, c.tool_digest, c.author_id,
               c.target_subject, c.effect, c.after_execution, c.wait_status, c.attempt, c.claimed_by, c.claim_id, c.principal,
               c.reconcile, c.deadline_at, c.run_deadline_ms, c.local
          from state.calls c where c.tool_call_id = i.tool_call_id) c on true
  ), decided as materialized (
    -- The tool's own time begins when it is claimed; opened again, it is the same run (decision 40).
    select j.*, case when j.code = 'accepted' then coalesce(moment + j.run_deadline_ms * interval '1 millisecond', j.deadline_at)
                     else j.deadline_at end as new_deadline
      from judged j
  ), claim as materialized (
    -- Narrow on purpose: an UPDATE carries a copy of each row it joins.
    select d.ord, d.tool_call_id, case when d.code = 'accepted' then 1 else 0 end as attempts, d.executor, d.asked_by, d.asked_claim,
           d.new_lease, d.new_deadline, sha256(d.capability) as cap_sha256, d.wait_status, d.attempt, d.claimed_by, d.claim_id, d.principal
      from decided d where d.code in ('accepted', 'reopened')
  ), claimed as (
    update state.calls c
       set attempt = c.attempt + d.attempts, claimed_by = d.executor, principal = d.asked_by, claim_id = d.asked_claim, claimed_at = moment,
           lease_until = d.new_lease, cap_sha256 = d.cap_sha256,
           -- Unchanged for a call that was taken soon, so that this update stays heap-only (S2). One that was rung for long is looked
           -- at again only after a minute: a lost executor must be noticed when its lease ends.
           due_at = least(c.due_at, d.new_lease), deadline_at = d.new_deadline
      from claim d
     where c.tool_call_id = d.tool_call_id and c.wait_status = d.wait_status and c.attempt = d.attempt
       and c.claimed_by is not distinct from d.claimed_by and c.claim_id is not distinct from d.claim_id
       and c.principal is not distinct from d.principal
    returning d.ord
  )
  select json_agg(
           case when d.code in ('accepted', 'reopened') then json_build_object(
             'outcome', 'accepted', 'tool_call_id', d.tool_call_id, 'project_id', d.project_id, 'channel_id', d.channel_id,
             'agent_id', d.agent_id, 'agent_turn_id', d.agent_turn_id, 'turn_epoch', d.turn_epoch, 'step_id', d.step_id,
             'trace_id', d.trace_id, 'span_id', d.span_id, 'parent_step_id', d.parent_step_id, 'recursion_depth', d.recursion_depth,
             'tool_call_card_id', d.call_card_id, 'tool_name', d.tool_name, 'tool_digest', d.tool_digest, 'author_id', d.author_id,
             'target_subject', d.target_subject, 'effect', d.effect, 'after_execution', d.after_execution,
             'arguments', call_card.content -> 'arguments', 'call_metadata', call_card.metadata,
             'message', json_build_object('card_id', thought.card_id, 'content', thought.content, 'tool_calls', thought.tool_calls,
                                           'created_at', thought.created_at),
             'definition', definition.document,
             'attempt', d.attempt + case when d.code = 'accepted' then 1 else 0 end,
             'mode', case when d.reconcile then 'reconcile' else 'run' end,
             'idempotency_key', 'tool.' || d.project_id || '.' || d.tool_name || '.' || encode(sha256(convert_to(d.tool_call_id, 'UTF8')), 'hex'),
             'capability', encode(d.capability, 'hex'), 'lease_expires_at', d.new_lease, 'deadline_at', d.new_deadline)
           else json_build_object('outcome', 'rejected', 'code', d.code)
           end order by d.ord) filter (where k.is_unchanged),
         coalesce(bool_and(d.effect = 'read') filter (where d.code in ('accepted', 'reopened')), false),
         bool_or(d.code = 'auth_failed'),
         array_agg(d.ord::integer order by d.ord) filter (where not k.is_unchanged),
         array_agg(d.ord::integer order by d.ord) filter (where k.is_unchanged)
    into answer, only_reads, has_forgeries, changed, unchanged
    from decided d
   cross join lateral (select d.code not in ('accepted', 'reopened') or d.ord in (select w.ord from claimed w) as is_unchanged) k
    left join lateral (
      select c.content, c.metadata from card.cards c where c.card_id = d.call_card_id and d.code in ('accepted', 'reopened')) call_card on true
    left join lateral (
      select c.card_id, c.content, c.tool_calls, c.created_at from card.cards c
       where c.box_id = d.box_id and c.pos = d.thought_pos and d.code in ('accepted', 'reopened')) thought on true
    left join lateral (
      select json_build_object('tool_name', v.tool_name, 'description', v.description, 'parameters', v.parameters,
                               'target_subject', v.target_subject, 'after_execution', v.after_execution, 'options', v.options,
                               'digest', v.digest) as document
        from resource.tool_versions v
       where v.project_id = d.project_id and v.tool_name = d.tool_name and v.digest = d.tool_digest
         and d.tool_digest is distinct from d.known_digest and d.code in ('accepted', 'reopened')
       limit 1) definition on true;

  if has_forgeries then
    perform l0.note_refusals('open_call', jsonb_agg(jsonb_build_object('project_id', e.item ->> 'project_id', 'code', 'auth_failed',
              'tool_call_id', e.item ->> 'tool_call_id', 'principal', e.item ->> 'principal',
              'detail', jsonb_build_object('executor', e.item ->> 'executor'))), moment)
       from jsonb_array_elements(l0.left_over(items, changed)) with ordinality e (item, n)
       join json_array_elements(answer) with ordinality a (outcome, n) on a.n = e.n
      where a.outcome ->> 'code' = 'auth_failed';
  end if;
  if changed is not null then
    return l0.in_place(answer, unchanged, l0.open_call_at(l0.left_over(items, unchanged), moment, true));
  end if;
  -- A batch answered in rounds may hold claims of both kinds, so it waits.
  if only_reads and not in_rounds then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  return coalesce(answer, '[]');
end $$;

-- Whom a command is for: `echo` of cmd.tool.echo.run, `sys.pmo` of cmd.sys.pmo.internal.fork_join.
create or replace function l0.target_of(target_subject text) returns text
language sql immutable parallel safe as $$
  select case when split_part(target_subject, '.', 6) = 'tool' then split_part(target_subject, '.', 7)
              else split_part(target_subject, '.', 6) || '.' || split_part(target_subject, '.', 7) end
$$;
