-- A worker is about to run a local call once more, after a failure that its tool calls retryable.
--
-- move: claim.repeat (claimed → claimed, attempt + 1). item: { project_id, tool_call_id, worker_id, attempt: the one that begins,
--         stack?: where the attempt before it failed (19_failures.sql) }
-- answer: accepted, duplicate (it was asked for before, and the answer was lost), or rejected with not_found, already_settled,
--   stale_attempt (the call is somebody else's by now, or nobody's: do not run it).
--
-- No two runs of a call have the same number, and a worker that was given up begins none: a tool that is asked whether the runs
-- before this one had their effect tells them apart by that number.

create or replace function l0.repeat_call(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answer json;
begin
  perform l0.expect_batch(items);
  with item as materialized (
    select i.*
      from rows from (jsonb_to_recordset(items) as (project_id text, tool_call_id text, worker_id text, attempt integer))
           with ordinality as i (project_id, tool_call_id, worker_id, attempt, ord)
  ), decided as materialized (
    select i.ord, i.attempt, c.tool_call_id,
           case when c.project_id is distinct from i.project_id or not c.local then 'not_found'
                when c.wait_status <> 'waiting' then 'already_settled'
                when c.claimed_by is distinct from i.worker_id then 'stale_attempt'
                when c.attempt = i.attempt then 'duplicate'
                when c.attempt = i.attempt - 1 then 'accepted'
                else 'stale_attempt' end as code
      from (select * from item order by tool_call_id collate "C") i
      -- Another project's row is not locked to be refused.
      left join lateral (select * from state.calls c where c.tool_call_id = i.tool_call_id and c.project_id = i.project_id for no key update) c on true
  ), repeated as (
    update state.calls c set attempt = d.attempt, claimed_at = moment
      from decided d where d.code = 'accepted' and c.tool_call_id = d.tool_call_id
  )
  select json_agg(case when d.code in ('accepted', 'duplicate') then json_build_object('outcome', d.code)
                       else json_build_object('outcome', 'rejected', 'code', d.code) end order by d.ord)
    into answer from decided d;
  if jsonb_path_exists(items, '$[*].stack') then
    perform l0.note_failures((
      select coalesce(jsonb_agg(jsonb_build_object('tool_call_id', e.item ->> 'tool_call_id', 'attempt', (e.item ->> 'attempt')::integer - 1,
                                                   'stack', e.item -> 'stack') order by e.n), '[]')
        from jsonb_array_elements(items) with ordinality e (item, n)
        join json_array_elements(answer) with ordinality a (outcome, n) on a.n = e.n
       where a.outcome ->> 'outcome' = 'accepted' and e.item ? 'stack'), moment);
  end if;
  return coalesce(answer, '[]');
end $$;
