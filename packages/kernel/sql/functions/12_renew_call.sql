-- A holder says that it is still at work. Losing the call is an answer, not an error.
--
-- move: claim.renew. item: { project_id, tool_call_id, capability, lease_ms?, principal? }
-- answer: accepted + { lease_expires_at, cancel: false }, or rejected with not_found, auth_failed, stale_attempt, already_settled
--   (cancel: true, so that the holder stops its tool).
-- Judged first, locked after, as in file 11: what is refused leaves nothing locked.

create or replace function l0.renew_call_at(items jsonb, at timestamptz) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answer json;
  changed integer[];
  unchanged integer[];
begin
  perform l0.expect_batch(items);
  with item as materialized (
    select i.*
      from rows from (jsonb_to_recordset(items) as (project_id text, tool_call_id text, capability text, lease_ms integer, principal text))
           with ordinality as i (project_id, tool_call_id, capability, lease_ms, principal, ord)
  ), decided as materialized (
    select i.ord, c.tool_call_id, c.cap_sha256, c.wait_status,
           moment + least(coalesce(i.lease_ms, 15000), 600000) * interval '1 millisecond' as new_lease,
           l0.refuse_holder(c.project_id = i.project_id, c.cap_sha256, c.stale_caps, c.principal, c.wait_status, i.capability, i.principal) as code
      from (select * from item order by tool_call_id collate "C") i
      left join lateral (select * from state.calls c where c.tool_call_id = i.tool_call_id) c on true
  ), renewed as (
    update state.calls c
       set lease_until = greatest(c.lease_until, d.new_lease)
      from (select tool_call_id, cap_sha256, wait_status, max(new_lease) as new_lease from decided where code is null
             group by tool_call_id, cap_sha256, wait_status order by tool_call_id collate "C") d
     where c.tool_call_id = d.tool_call_id and c.cap_sha256 = d.cap_sha256 and c.wait_status = d.wait_status
    returning c.tool_call_id
  )
  select json_agg(case when d.code is null
                    then json_build_object('outcome', 'accepted', 'lease_expires_at', d.new_lease, 'cancel', false)
                    else json_build_object('outcome', 'rejected', 'code', d.code, 'cancel', true)
                  end order by d.ord) filter (where k.is_unchanged),
         array_agg(d.ord::integer order by d.ord) filter (where not k.is_unchanged),
         array_agg(d.ord::integer order by d.ord) filter (where k.is_unchanged)
    into answer, changed, unchanged
    from decided d
   cross join lateral (select d.code is not null or d.tool_call_id in (select r.tool_call_id from renewed r) as is_unchanged) k;
  if changed is not null then
    return l0.in_place(answer, unchanged, l0.renew_call_at(l0.left_over(items, unchanged), moment));
  end if;
  return coalesce(answer, '[]');
end $$;

-- Why this caller may not write for this call, or null when it may: the first three checks of every executor write
-- (docs/design.md#authority-is-in-the-database), in their order: capability, stale, settled.
drop function if exists l0.refuse_holder(boolean, bytea, bytea[], text, state.wait_status, state.settler, text, text);
create or replace function l0.refuse_holder(known boolean, cap_sha256 bytea, stale_caps bytea[], claimed_as text, wait_status state.wait_status,
                                            capability text, principal text) returns text
language plpgsql immutable as $$
declare
  shown bytea;
begin
  if known is distinct from true then
    return 'not_found';
  end if;
  if capability is null or capability !~ '^[0-9a-f]{64}$' then
    return 'auth_failed';
  end if;
  shown := sha256(decode(capability, 'hex'));
  if cap_sha256 is distinct from shown then
    return case when shown = any (stale_caps) then 'stale_attempt' else 'auth_failed' end;
  end if;
  if claimed_as <> principal then
    return 'auth_failed';
  end if;
  if wait_status <> 'waiting' then
    return 'already_settled';
  end if;
  return null;
end $$;
