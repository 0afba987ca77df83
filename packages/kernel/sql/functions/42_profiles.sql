-- Profiles by name (P1, P2 in migration 0006).

-- item: { project_id, name, profile_box_id, worker_target, tags?, description? }, or { project_id, name, removed: true }
-- answer: accepted, duplicate (nothing changed), or rejected with not_found (project, box, or the name that is to go).
create or replace function l0.put_profiles(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  kept resource.profiles;
  answers jsonb := '{}';
  answer text;
begin
  for i in
    select * from rows from (jsonb_to_recordset(items) as (project_id text, name text, profile_box_id text, worker_target text, tags text[],
             description text, removed boolean))
           with ordinality as e (project_id, name, profile_box_id, worker_target, tags, description, removed, ord)
     order by e.project_id collate "C", e.name collate "C", e.ord
  loop
    answer := 'accepted';
    select * into kept from resource.profiles p where p.project_id = i.project_id and p.name = i.name for no key update;
    if coalesce(i.removed, false) then
      if kept.name is null or kept.removed_at is not null then
        answer := 'not_found';
      else
        update resource.profiles p set removed_at = moment, updated_at = moment where p.project_id = i.project_id and p.name = i.name;
      end if;
    elsif not exists (select 1 from card.boxes b where b.box_id = i.profile_box_id and b.project_id = i.project_id)
       or not exists (select 1 from resource.projects p where p.project_id = i.project_id) then
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
