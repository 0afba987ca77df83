-- Profiles by name (P1, P2 in migration 0006).

-- item: { project_id, name, profile_box_id, worker_target, tags?, description? }, or { project_id, name, removed: true }; both with
--   expected_profile_box_id?, is_repeat?
-- answer: accepted, duplicate (nothing changed), or rejected with not_found (project, box, or the name that is to go), precondition_failed.
-- expected_profile_box_id compares with the box that the name means now; null: there must be no such name. The project's row is locked,
-- so of two writers that expect the same, the second finds what the first wrote.
create or replace function l0.put_profiles(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  kept resource.profiles;
  living_box text;
  answers jsonb := '{}';
  answer text;
begin
  perform l0.expect_batch(items);
  for i in
    select e.*, items -> (e.ord - 1)::integer ? 'expected_profile_box_id' as is_compared
      from rows from (jsonb_to_recordset(items) as (project_id text, name text, profile_box_id text, worker_target text, tags text[],
             description text, removed boolean, expected_profile_box_id text, is_repeat boolean))
           with ordinality as e (project_id, name, profile_box_id, worker_target, tags, description, removed, expected_profile_box_id,
             is_repeat, ord)
     order by e.project_id collate "C", e.name collate "C", e.ord
  loop
    answer := 'accepted';
    perform 1 from resource.projects p where p.project_id = i.project_id and p.status <> 'deleting' for no key update;
    if not found then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'rejected', 'code', 'not_found'));
      continue;
    end if;
    select * into kept from resource.profiles p where p.project_id = i.project_id and p.name = i.name for no key update;
    living_box := case when kept.removed_at is null then kept.profile_box_id end;
    if i.is_compared and living_box is distinct from i.expected_profile_box_id
       -- An answer that was lost is asked for again: what it wrote is what the name means now.
       and not (coalesce(i.is_repeat, false) and living_box is not distinct from case when coalesce(i.removed, false) then null else i.profile_box_id end) then
      answer := 'precondition_failed';
    elsif coalesce(i.removed, false) then
      if kept.name is null or kept.removed_at is not null then
        answer := 'not_found';
      else
        update resource.profiles p set removed_at = moment, updated_at = moment where p.project_id = i.project_id and p.name = i.name;
      end if;
    elsif not exists (select 1 from card.boxes b where b.box_id = i.profile_box_id and b.project_id = i.project_id) then
      answer := 'not_found';
    elsif kept.removed_at is null and kept.profile_box_id = i.profile_box_id and kept.worker_target = i.worker_target
      and kept.tags = coalesce(i.tags, '{}') and kept.description = coalesce(i.description, '') then
      answer := 'duplicate';
    else
      insert into resource.profiles as p (project_id, name, profile_box_id, worker_target, tags, description, updated_at)
      values (i.project_id, i.name, i.profile_box_id, i.worker_target, coalesce(i.tags, '{}'), coalesce(i.description, ''), moment)
      on conflict (project_id, name) do update
        set profile_box_id = excluded.profile_box_id, worker_target = excluded.worker_target, tags = excluded.tags,
            description = excluded.description, updated_at = excluded.updated_at, removed_at = null;
    end if;
    answers := answers || jsonb_build_object(i.ord::text, case when answer in ('accepted', 'duplicate')
      then jsonb_build_object('outcome', answer) else jsonb_build_object('outcome', 'rejected', 'code', answer) end);
  end loop;
  return l0.in_item_order(answers, items);
end $$;
