-- compat: expand
-- Lists of steps and edges cost what their page holds, however many turns a project has had.
--
-- A page covers a span of time, and its rows are those of the turns that were alive in it: begun in it (agent_turns_by_time), not ended
-- yet (agent_turns_active), or begun before it and ended since. The last are found by how long they took: a turn of the class c took at
-- most 2^c seconds, and more than half of that, so it was begun at most that long before. What is read in vain is about as
-- much as what is found. Written once for each turn, when it ends; the tables of calls and cards have no index by project (0008, M3).
-- Both are made while the tables are locked for writes: about a second for a million turns.

create index agent_turns_by_duration on state.agent_turns
  (project_id, (ceil(log(2.0, greatest(extract(epoch from ended_at - created_at), 0.0078125)))), created_at) where ended_at is not null;
create index edges_by_time on state.edges (project_id, created_at, edge_id);

-- As before; its calls are looked up by their keys, also where a planner thinks that a pass over all calls costs less.
create or replace view state.steps as
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
       left join lateral (select c.wait_status from state.calls c where c.tool_call_id = e.call ->> 'id' offset 0) w on true) s;
