-- An executor without a bus asks for work: the oldest calls of a target that nobody has, opened in the same transaction
-- (docs/design.md#claim-before-work).
--
-- moves: claim.open, by l0.open_call_at, which decides as always; this only finds the calls.
-- Takes no ticket: the kernel's role vouches that the caller may work for this target (its API key was checked). Rows that another
-- asker has just locked are passed over, so any number may ask at once. A call that waits out its back-off is left alone until the
-- sweeper rings for it.
-- claim_id: asking again with the same one after a lost answer gives the same calls again, with new capabilities.

create or replace function l0.claim_calls(for_project text, for_target text, executor text, claim_id text, principal text,
                                          limit_rows integer, lease_ms integer, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  items jsonb;
begin
  select jsonb_agg(jsonb_build_object('project_id', for_project, 'tool_call_id', k.tool_call_id, 'target', for_target, 'executor', executor,
                                      'claim_id', claim_calls.claim_id, 'principal', principal, 'lease_ms', lease_ms))
    into items
    from (select c.tool_call_id from state.calls c
           where c.due_at is not null and c.wait_status = 'waiting' and not c.local
             and c.project_id = for_project and l0.target_of(c.target_subject) = for_target and c.deadline_at > moment
             and (c.claimed_by is null and (c.attempt = 0 or c.rings > 0 or c.due_at <= moment)
                  or c.claimed_by = executor and c.claim_id = claim_calls.claim_id)
           order by c.due_at limit limit_rows for no key update skip locked) k;
  if items is null then
    return '[]';
  end if;
  return (select coalesce(json_agg(o.outcome order by o.n), '[]')
            from json_array_elements(l0.open_call_at(items, moment)) with ordinality o (outcome, n)
           where o.outcome ->> 'outcome' = 'accepted');
end $$;
