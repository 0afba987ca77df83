-- compat: expand
-- Conversations: what an instance of an agent was asked, thought, called and answered, over all its turns (decision 41).
--
--   V1. The turns of an agent are numbered in the order of their dispatch. A turn that was never dispatched has no number and is part
--       of no conversation.
--   V2. What a turn remembers is fixed when it is dispatched: the turns from conversation_from up to its own. A reset after that changes
--       only later turns, so a turn that is taken up again is sent what it was sent before.
--   V3. The answer to a request that was not waited for is a row of the asking agent's inbox until it is a card of its conversation:
--       `deferred` until the agent's head counts it, then `pending`, then `consumed` in the commit that writes the card.
--
-- Every turn there is gets its number: some ten seconds for a million turns.

alter table state.agent_turns
  add column turn_number bigint,
  add column conversation_from bigint,
  -- Asked for to begin a conversation: it remembers nothing, and neither do later turns what was before it.
  add column is_fresh boolean not null default false,
  -- Its end is told to the agent of its parent turn, which did not wait for it.
  add column answers_parent boolean not null default false;

alter table state.agent_state_head
  -- How many turns were dispatched, the active one included.
  add column turns_dispatched bigint not null default 0,
  -- The number of the first turn of the conversation; after a reset that of the next turn.
  add column conversation_from bigint not null default 1,
  -- The `pending` answers in the inbox.
  add column answers_waiting integer not null default 0;

alter table state.inbox drop constraint inbox_message_type_check;
alter table state.inbox add constraint inbox_message_type_check
  check (message_type in ('turn', 'stop', 'ui_action', 'join', 'answer')) not valid;
create index inbox_answers on state.inbox (project_id, agent_id, queue_order) where message_type = 'answer' and status = 'pending';

update state.agent_turns t set turn_number = d.n
  from (select k.agent_turn_id, row_number() over (partition by k.project_id, k.agent_id order by k.dispatched_at, k.agent_turn_id) as n
          from state.agent_turns k where k.dispatched_at is not null) d
 where t.agent_turn_id = d.agent_turn_id;
-- A turn under way goes on with what it was sent before: what stands in its own output box.
update state.agent_turns t
   set conversation_from = (select min(k.turn_number) from state.agent_turns k
                             where k.project_id = t.project_id and k.agent_id = t.agent_id and k.output_box_id = t.output_box_id)
 where t.status = 'active';
update state.agent_state_head h set turns_dispatched = d.n
  from (select k.project_id, k.agent_id, max(k.turn_number) as n from state.agent_turns k group by k.project_id, k.agent_id) d
 where h.project_id = d.project_id and h.agent_id = d.agent_id and d.n is not null;

create unique index agent_turns_by_number on state.agent_turns (project_id, agent_id, turn_number) where turn_number is not null;

create or replace view state.turns as
  select t.agent_turn_id, t.project_id, t.agent_id, t.channel_id, t.correlation_id, t.status, t.recursion_depth, t.trace_id, t.span_id,
         t.tracestate, t.parent_traceparent, t.parent_agent_id, t.parent_agent_turn_id, t.parent_step_id, t.profile_box_id,
         t.context_box_id, t.output_box_id, t.box_start, t.display_name, t.metadata, t.runtime_config, t.deliverable_card_id, t.error_code,
         t.error_message, t.created_at, t.dispatched_at, t.stopped_at, t.ended_at,
         case when t.status = 'active' then h.status::text else t.status end as turn_status,
         h.turn_epoch, h.holder, h.step_id as current_step_id, h.open_calls, h.resume_deadline,
         t.turn_number, t.conversation_from, t.is_fresh, t.answers_parent
    from state.agent_turns t
    left join state.agent_state_head h
      on t.status = 'active' and h.project_id = t.project_id and h.agent_id = t.agent_id and h.active_agent_turn_id = t.agent_turn_id;
