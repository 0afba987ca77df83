-- Stacks of what failed (migration 0016), noted in the commit that settles the attempt, gives it back, or ends the turn.
--
-- The caller has proven who reports: what is noted here is of the attempt that the call is in.
-- note: { tool_call_id, attempt? (default: the call's), stack } or { project_id, agent_turn_id, stack }
-- A stack that is no text, or of a call that succeeded, is left out; a longer one is cut. Neither refuses a report: the outcome counts.

create or replace function l0.note_failures(notes jsonb, moment timestamptz) returns void
language plpgsql as $$
declare
  stack_chars_max constant integer := 8192;
begin
  insert into state.failures (project_id, agent_turn_id, tool_call_id, attempt, stack, created_at)
  select coalesce(c.project_id, n.note ->> 'project_id'), coalesce(c.agent_turn_id, n.note ->> 'agent_turn_id'), c.tool_call_id,
         case when c.tool_call_id is not null then coalesce((n.note ->> 'attempt')::integer, c.attempt) end,
         left(n.note ->> 'stack', stack_chars_max), moment
    from jsonb_array_elements(notes) with ordinality n (note, ord)
    left join lateral (select k.project_id, k.agent_turn_id, k.tool_call_id, k.attempt, k.result_status from state.calls k
                        where k.tool_call_id = n.note ->> 'tool_call_id' limit 1) c on true
   where jsonb_typeof(n.note -> 'stack') = 'string' and n.note ->> 'stack' <> ''
     and (case when n.note ? 'tool_call_id' then c.tool_call_id is not null and c.result_status is distinct from 'success'
               else n.note ? 'agent_turn_id' end)
   order by n.ord
  on conflict do nothing;
end $$;
