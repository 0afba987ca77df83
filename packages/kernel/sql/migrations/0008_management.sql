-- compat: expand
-- What the management of a store needs: revisions to compare with, projects that can be deleted, reads by project.
--
--   M1. A project's revision grows with every change of its row: whoever writes may say which one it read.
--   M2. A project that is `deleting` stays so until its row is gone. From then on nothing is written for it (l0.living_project), and
--       its cards, and only they, may be deleted (C1): what a card may lose follows from a row, not from a setting of a session.
--   M3. Steps and the edges of calls are read through the turns of their project and the output boxes of these: the hot tables
--       (cards, calls) carry no index by project, which every call would pay for.

alter table resource.projects add column revision integer not null default 1;
alter table resource.projects add column updated_at timestamptz not null default clock_timestamp();
update resource.projects set updated_at = created_at;
alter table resource.projects drop constraint projects_status_check;
alter table resource.projects add constraint projects_status_check check (status in ('active', 'inactive', 'archived', 'deleting'));

create or replace function card.refuse_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'DELETE' and exists (select 1 from resource.projects p where p.project_id = old.project_id and p.status = 'deleting') then
    return old;
  end if;
  raise exception 'cards are immutable: % on card.% is refused; write a new card instead', tg_op, tg_table_name
    using errcode = 'restrict_violation';
end $$;

-- None of these tables is written by a call that goes well.
create index identity_edges_by_project on state.identity_edges (project_id, created_at, edge_id);
create index pmo_batches_by_project on state.pmo_batches (project_id);
create index dead_letters_by_project on state.dead_letters (project_id, dead_letter_id);
create index audit_log_by_project on state.audit_log (project_id, audit_id);
create index audit_log_by_call on state.audit_log (tool_call_id) where tool_call_id is not null;

-- Turns are listed by time: the id of a turn that was asked for under a key of its caller's follows from that key and says nothing
-- about when. One index in the place of the other, written once for each turn.
create index agent_turns_by_time on state.agent_turns (project_id, created_at, agent_turn_id);
drop index state.agent_turns_by_project;

-- One row per step: its first thought, and how its calls stand. `waiting` while one of them is not applied, `ended` where the turn
-- ended before that, `done` otherwise. The inner query runs once per turn, by the place of its cards (M3).
create view state.steps as
  select t.project_id, t.channel_id, t.agent_id, t.agent_turn_id, k.step_id, t.parent_step_id, t.trace_id, s.status,
         k.card_id as thought_card_id, t.output_box_id, s.tool_call_ids, k.created_at as started_at, t.ended_at as turn_ended_at
    from state.agent_turns t
   cross join lateral (
     select distinct on (c.step_id) c.step_id, c.card_id, c.tool_calls, c.created_at from card.cards c
      where c.box_id = t.output_box_id and c.pos >= t.box_start and c.agent_turn_id = t.agent_turn_id and c.type = 'agent.thought'
        and c.step_id is not null
      order by c.step_id, c.pos) k
   cross join lateral (
     select case when bool_or(w.wait_status in ('waiting', 'received')) then 'waiting'
                 when bool_or(w.wait_status = 'dropped') then 'ended' else 'done' end as status,
            coalesce(array_agg(e.call ->> 'id' order by e.n) filter (where e.n is not null), '{}') as tool_call_ids
       from jsonb_array_elements(k.tool_calls) with ordinality e (call, n)
       left join state.calls w on w.tool_call_id = e.call ->> 'id') s;

-- Both edges of each call, by turn (M3). state.execution_edges says the same by call.
create view state.turn_call_edges as
  select t.project_id, t.agent_turn_id, t.ended_at as turn_ended_at, t.channel_id, e.edge_id, e.primitive, e.edge_phase, e.source_agent_id,
         e.source_agent_turn_id, e.source_step_id, e.target_agent_id, e.target_agent_turn_id, w.tool_call_id as correlation_id,
         w.recursion_depth, w.trace_id, w.parent_step_id, e.created_at
    from state.agent_turns t
   cross join lateral (
     select c.tool_call_id from card.cards c
      where c.box_id = t.output_box_id and c.pos >= t.box_start and c.agent_turn_id = t.agent_turn_id and c.type = 'tool.call'
     offset 0) k
    join state.calls w on w.tool_call_id = k.tool_call_id
   cross join lateral (
     select 'call:' || w.tool_call_id as edge_id, 'tool_call' as primitive, 'request' as edge_phase, w.agent_id as source_agent_id,
            w.agent_turn_id as source_agent_turn_id, w.step_id as source_step_id, w.author_id as target_agent_id,
            null as target_agent_turn_id, w.created_at
     union all
     select 'report:' || w.tool_call_id, 'report', 'response', r.author_id, null, null, w.agent_id, w.agent_turn_id, w.received_at
       from card.cards r where r.card_id = w.result_card_id) e;
