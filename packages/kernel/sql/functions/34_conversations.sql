-- Conversations: which turns a turn remembers, where a conversation begins anew, and how answers that were not waited for come into it
-- (migration 0015, V1–V3).
--
--   A1. An answer is written in the commit that ends the turn which gives it. That commit holds the head of the turn that ended, so it
--       never waits for the head of the agent that asked: where that is locked, the answer stays `deferred` and the sweeper counts it.
--   A2. A head counts the answers that wait for it. Its running turn takes them into its output; a turn that ends with some left starts
--       another turn for them in the same commit.
--   A3. The card of an answer has an id of its own, which follows from the turn that gave it: it exists once, in one box.
--   A4. An answer starts no turn of its own where the turn that asked was stopped, or its trace has had its turns; the agent's next turn
--       finds it.

-- The number of the first turn that turn n remembers. It moves in jumps, so that what is sent begins alike for many turns.
create or replace function l0.first_remembered(conversation_from bigint, n bigint) returns bigint
language sql immutable as $$ select greatest(conversation_from, (n - 200) / 100 * 100) $$;

-- A turn that ended tells the agent that asked for it. The caller holds the head of the turn that ended.
create or replace function l0.answer_parent(turn_id text, moment timestamptz) returns void
language plpgsql as $$
declare
  turn state.agent_turns;
begin
  select * into strict turn from state.agent_turns t where t.agent_turn_id = turn_id;
  insert into state.inbox (inbox_id, project_id, agent_id, channel_id, message_type, correlation_id, agent_turn_id, payload, status,
                           next_retry_at, due_at, created_at)
  values ('answer:' || turn_id, turn.project_id, turn.parent_agent_id, turn.channel_id, 'answer', turn_id, turn.parent_agent_turn_id,
          jsonb_build_object('agent_turn_id', turn_id, 'deliverable_card_id', turn.deliverable_card_id, 'status', turn.status),
          'deferred', moment, moment, moment);
  perform l0.count_answer('answer:' || turn_id, moment);
end $$;

-- A deferred answer is counted by its agent's head, unless that is locked (A1). An idle agent gets a turn for it.
create or replace function l0.count_answer(id text, moment timestamptz) returns void
language plpgsql as $$
declare
  n state.inbox;
  h state.agent_state_head;
begin
  select * into strict n from state.inbox i where i.inbox_id = id;
  select * into h from state.agent_state_head k where k.project_id = n.project_id and k.agent_id = n.agent_id for no key update skip locked;
  if not found then
    update state.inbox i set due_at = moment + interval '1 second' where i.inbox_id = id;
    return;
  end if;
  update state.inbox i set status = 'pending', due_at = null where i.inbox_id = id and i.status = 'deferred';
  if not found then
    return;
  end if;
  update state.agent_state_head k set answers_waiting = k.answers_waiting + 1, updated_at = greatest(k.updated_at, moment)
   where k.project_id = h.project_id and k.agent_id = h.agent_id;
  if h.status = 'idle' then
    perform l0.ask_by_answers(h.project_id, h.agent_id, moment);
  end if;
end $$;

-- The cards of the answers that wait, oldest first.
create or replace function l0.answer_cards(project text, agent text)
returns table (inbox_id text, card jsonb)
language plpgsql stable as $$
begin
  return query
    select n.inbox_id, jsonb_build_object(
             'card_id', 'card_' || left(encode(sha256(convert_to(n.inbox_id, 'UTF8')), 'hex'), 32), -- A3
             'type', 'agent.answer', 'author_id', t.agent_id,
             'content', jsonb_build_object('data', jsonb_build_object('status', t.status) || case
               when t.error_code is not null then jsonb_build_object('error', jsonb_build_object('code', t.error_code, 'message', t.error_message))
               when d.content ? 'text' then jsonb_build_object('text', d.content -> 'text')
               else jsonb_build_object('data', d.content -> 'data') end),
             'metadata', jsonb_strip_nulls(jsonb_build_object('role', 'user', 'agent_name', t.display_name, 'answer_of', t.agent_turn_id,
                           'asked_by', t.parent_agent_turn_id, 'correlation_id', coalesce(t.metadata ->> 'reply_correlation_id', t.correlation_id), 'deliverable_card_id', t.deliverable_card_id,
                           'request', (select c.metadata from card.cards c where c.box_id = t.context_box_id and c.pos = 0),
                           'tool_call_id_of_request', t.metadata ->> 'tool_call_id')))
      from state.inbox n
     cross join lateral (select * from state.agent_turns k where k.agent_turn_id = n.correlation_id limit 1) t
     cross join lateral (select * from card.cards k where k.card_id = t.deliverable_card_id limit 1) d
     where n.project_id = project and n.agent_id = agent and n.message_type = 'answer' and n.status = 'pending'
     order by n.queue_order;
end $$;

-- They have become cards. The caller holds the head.
create or replace function l0.consume_answers(project text, agent text, moment timestamptz) returns void
language plpgsql as $$
begin
  update state.inbox n set status = 'consumed', disposition = 'applied', processed_at = moment, due_at = null
   where n.project_id = project and n.agent_id = agent and n.message_type = 'answer' and n.status = 'pending';
  update state.agent_state_head h set answers_waiting = 0 where h.project_id = project and h.agent_id = agent;
end $$;

-- A turn for answers that came when none was running: a peer of the newest turn that asked for one of them and was not stopped, so depth
-- and budget are its own. Answers the wake; null where there is no answer, or no such turn (A4). The caller holds the head, which is idle.
create or replace function l0.ask_by_answers(project text, agent text, moment timestamptz) returns jsonb
language plpgsql as $$
declare
  asking state.agent_turns;
  cards jsonb;
  first text;
  outcome jsonb;
begin
  if not exists (select 1 from state.agent_state_head h where h.project_id = project and h.agent_id = agent and h.answers_waiting > 0) then
    return null;
  end if;
  select t.* into asking from state.inbox n
   cross join lateral (select * from state.agent_turns k where k.agent_turn_id = n.agent_turn_id limit 1) t
   where n.project_id = project and n.agent_id = agent and n.message_type = 'answer' and n.status = 'pending' and t.status <> 'canceled'
   order by n.queue_order desc limit 1;
  if not found then
    return null;
  end if;
  select jsonb_agg(a.card), min(a.inbox_id) into cards, first from l0.answer_cards(project, agent) a;
  outcome := l0.enqueue_one(jsonb_build_object('project_id', project, 'agent_id', agent,
    'agent_turn_id', 'turn_' || left(encode(sha256(convert_to('answers:' || first, 'UTF8')), 'hex'), 32),
    'channel_id', asking.channel_id, 'trace_id', asking.trace_id, 'span_id', left(encode(sha256(convert_to('span:' || first, 'UTF8')), 'hex'), 16),
    'depth_policy', 'peer', 'parent_agent_turn_id', asking.agent_turn_id, 'parent_step_id', asking.parent_step_id, 'source_agent_id', agent,
    'context_cards', cards, 'display_name', asking.display_name, 'metadata', jsonb_build_object('awaited', false),
    'new_box_ids', jsonb_build_array('box_' || left(encode(sha256(convert_to('output:' || first, 'UTF8')), 'hex'), 32),
                                     'box_' || left(encode(sha256(convert_to('context:' || first, 'UTF8')), 'hex'), 32))), moment);
  if outcome ->> 'outcome' <> 'accepted' then
    return null;
  end if;
  perform l0.consume_answers(project, agent, moment);
  return outcome -> 'wake';
end $$;

-- A worker takes the answers that wait into the output of the turn it holds.
-- item: { project_id, agent_id, agent_turn_id, turn_epoch, is_repeat? }
--   is_repeat: asked before, and the answer may have been lost: all answers that the turn has taken are told, and not only the new ones.
-- answer: accepted + { cards: [card document] }, or rejected with not_found, stale_epoch, conflict.
create or replace function l0.take_answers(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answers jsonb := '{}';
  h state.agent_state_head;
  cards jsonb;
  code text;
  i record;
begin
  perform l0.expect_batch(items);
  for i in
    select e.item, e.n from jsonb_array_elements(items) with ordinality e (item, n)
     order by (e.item ->> 'project_id') collate "C", (e.item ->> 'agent_id') collate "C", e.n
  loop
    select * into h from state.agent_state_head k
     where k.project_id = i.item ->> 'project_id' and k.agent_id = i.item ->> 'agent_id' for no key update;
    code := l0.refuse_worker(h, i.item);
    cards := null;
    if code is null then
      select jsonb_agg(a.card) into cards from l0.answer_cards(h.project_id, h.agent_id) a;
      code := l0.append_to_output(h, cards, moment);
    end if;
    if code is null and cards is not null then
      perform l0.consume_answers(h.project_id, h.agent_id, moment);
    end if;
    if code is null and (i.item ->> 'is_repeat')::boolean then
      select jsonb_agg(jsonb_build_object('card_id', k.card_id) order by k.pos) into cards from card.cards k
       where k.box_id = h.output_box_id and k.type = 'agent.answer' and k.agent_turn_id = h.active_agent_turn_id;
    end if;
    answers := answers || jsonb_build_object(i.n::text, case
      when code is not null then jsonb_build_object('outcome', 'rejected', 'code', code)
      else jsonb_build_object('outcome', 'accepted', 'cards', coalesce((
        select jsonb_agg(to_jsonb(d) order by c.n) from jsonb_array_elements(cards) with ordinality c (card, n)
         cross join lateral (select * from card.card_documents k where k.card_id = c.card ->> 'card_id' limit 1) d), '[]')) end);
  end loop;
  return l0.in_item_order(answers, items);
end $$;

-- The wake of the agent that is told how a turn ended; empty where no agent is, or it has nothing to do.
create or replace function l0.answer_wake(turn_id text) returns jsonb
language plpgsql stable as $$
begin
  return coalesce((
    select jsonb_strip_nulls(jsonb_build_object('answer_wake', l0.wake_of(t.project_id, t.parent_agent_id, 'answer')))
      from state.agent_turns t where t.agent_turn_id = turn_id and t.answers_parent), '{}');
end $$;

-- The same for turns that ended together, which tell their askers here.
create or replace function l0.with_answer_wakes(answer json, turn_ids text[], moment timestamptz) returns json
language plpgsql as $$
declare
  id text;
begin
  foreach id in array turn_ids loop
    perform l0.answer_parent(id, moment);
  end loop;
  return (select json_agg(a.item::jsonb || coalesce(w.wake, '{}') order by a.n)
            from json_array_elements(answer) with ordinality a (item, n)
            left join lateral (
              select l0.answer_wake(t.agent_turn_id) as wake from state.agent_turns t
               where t.agent_turn_id = any (turn_ids) and t.deliverable_card_id = a.item ->> 'deliverable_card_id') w on true);
end $$;

-- Begins the conversation of an instance anew. A card says who did it and why; nothing is deleted, and a turn that was dispatched before
-- remembers what it did.
-- answer: accepted + { card_id, conversation_from }, or rejected with not_found, conflict (the card is another reset's).
create or replace function l0.reset_conversation(project text, agent text, card text, author text, reason text, at timestamptz default null)
returns json language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  h state.agent_state_head;
  known card.cards;
  content jsonb;
begin
  select * into h from state.agent_state_head k where k.project_id = project and k.agent_id = agent for no key update;
  if not found or not exists (select 1 from resource.projects p where p.project_id = project and p.status <> 'deleting') then
    return json_build_object('outcome', 'rejected', 'code', 'not_found');
  end if;
  select * into known from card.cards c where c.card_id = card;
  if found then
    return case when known.project_id = project and known.type = 'agent.reset' and known.content #>> '{data,agent_id}' = agent
      then json_build_object('outcome', 'duplicate', 'card_id', card, 'conversation_from', known.content #> '{data,conversation_from}')
      else json_build_object('outcome', 'rejected', 'code', 'conflict') end;
  end if;
  content := jsonb_build_object('data', jsonb_strip_nulls(jsonb_build_object(
    'agent_id', agent, 'conversation_from', h.turns_dispatched + 1, 'reason', reason)));
  insert into card.cards (card_id, project_id, type, author_id, content, sha256, created_at)
  values (card, project, 'agent.reset', author, content, sha256(convert_to(content::text, 'UTF8')), moment);
  update state.agent_state_head k set conversation_from = h.turns_dispatched + 1, updated_at = greatest(k.updated_at, moment)
   where k.project_id = project and k.agent_id = agent;
  return json_build_object('outcome', 'accepted', 'card_id', card, 'conversation_from', h.turns_dispatched + 1);
end $$;
