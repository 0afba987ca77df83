-- The bus was away and is back: whatever it may have lost is due now, and not when its first ring would have been (5 s). Done once per
-- return, before the sweeps; they ring. What was rung already needs nothing: whoever listens looks for it in the store every second.
--
-- moves: none. What somebody holds (a claimed call), what was put off (a deferred turn) and what waits out its back-off (a call that
-- is to be tried again) waits for its own time.
-- answer: { calls, inbox } how many.

create or replace function l0.ring_early(limit_rows integer, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off set enable_seqscan = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  calls integer;
  inbox integer;
begin
  update state.calls c set due_at = moment
    from (select k.tool_call_id from state.calls k
           where k.due_at > moment and k.due_at <= moment + l0.ring_delay(0) and k.rings = 0
             and (k.wait_status = 'received' or k.wait_status = 'waiting' and k.claimed_by is null and k.attempt = 0)
           order by k.due_at limit limit_rows for no key update skip locked) d
   where c.tool_call_id = d.tool_call_id;
  get diagnostics calls = row_count;
  update state.inbox n set due_at = moment
    from (select k.inbox_id from state.inbox k
           where k.due_at > moment and k.due_at <= moment + l0.ring_delay(0) and k.rings = 0 and k.status = 'pending'
           order by k.due_at limit limit_rows for no key update skip locked) d
   where n.inbox_id = d.inbox_id;
  get diagnostics inbox = row_count;
  return json_build_object('calls', calls, 'inbox', inbox);
end $$;
