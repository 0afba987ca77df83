-- Projects: made, changed, deleted; and the record of what was refused.

-- Whether anything may be written for a project: it is there and is not being deleted (migration 0008, M2). The lock lets other writers
-- pass and keeps delete_project waiting until this transaction is over, so that what it writes is found and deleted.
create or replace function l0.living_project(project text) returns boolean
language plpgsql as $$
begin
  perform 1 from resource.projects p where p.project_id = project and p.status <> 'deleting' for key share;
  return found;
end $$;

-- What is not given stays as it is. `expected_revision` compares before it writes; null: there must be no such project.
-- item: { project_id, title?, owner_id?, status?, expected_revision?, is_repeat? }
-- answer: accepted + revision, duplicate + revision (an answer that was lost is given again), or rejected with precondition_failed,
--   conflict (it is being deleted).
create or replace function l0.put_projects(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answers jsonb := '{}';
  answer jsonb;
  kept resource.projects;
  i record;
begin
  perform l0.expect_batch(items);
  for i in
    select e.item, e.n from jsonb_array_elements(items) with ordinality e (item, n) order by (e.item ->> 'project_id') collate "C", e.n
  loop
    insert into resource.projects (project_id, title, owner_id, status, created_at, updated_at)
    select i.item ->> 'project_id', coalesce(i.item ->> 'title', ''), i.item ->> 'owner_id', coalesce(i.item ->> 'status', 'active'), moment, moment
     where coalesce(i.item -> 'expected_revision', 'null') = 'null'
    on conflict (project_id) do nothing;
    if found then
      answer := jsonb_build_object('outcome', 'accepted', 'revision', 1);
    else
      select * into kept from resource.projects p where p.project_id = i.item ->> 'project_id' for no key update;
      answer := l0.change_project(kept, i.item, moment);
    end if;
    answers := answers || jsonb_build_object(i.n::text, answer);
  end loop;
  return l0.in_item_order(answers, items);
end $$;

-- The caller holds the project's row.
create or replace function l0.change_project(kept resource.projects, item jsonb, moment timestamptz) returns jsonb
language plpgsql as $$
declare
  -- A lost answer is asked for again: the revision has moved on by our own change, and the row says what was asked for.
  is_repeat boolean := coalesce((item ->> 'is_repeat')::boolean, false)
    and kept.revision = coalesce((item ->> 'expected_revision')::integer, 0) + 1
    and kept.title = coalesce(item ->> 'title', kept.title) and kept.status = coalesce(item ->> 'status', kept.status)
    and kept.owner_id is not distinct from coalesce(item ->> 'owner_id', kept.owner_id);
begin
  if item ? 'expected_revision' and kept.revision is distinct from (item ->> 'expected_revision')::integer then
    return case when is_repeat then jsonb_build_object('outcome', 'duplicate', 'revision', kept.revision)
                else jsonb_build_object('outcome', 'rejected', 'code', 'precondition_failed') end;
  end if;
  if kept.project_id is null or kept.status = 'deleting' then
    return jsonb_build_object('outcome', 'rejected', 'code', 'conflict');
  end if;
  update resource.projects p
     set title = coalesce(item ->> 'title', p.title), owner_id = coalesce(item ->> 'owner_id', p.owner_id),
         status = coalesce(item ->> 'status', p.status), revision = p.revision + 1, updated_at = moment
   where p.project_id = kept.project_id;
  return jsonb_build_object('outcome', 'accepted', 'revision', kept.revision + 1);
end $$;

-- Deletes a project, one bounded piece per call: first with stage 0, then with the `next` of each answer until there is none. Whoever
-- starts again from the beginning, after a crash, finishes it.
--
-- answer: accepted + next? ({ stage, block }), or rejected with not_found, conflict + open_turns (turns are queued or active).
--
-- The order of the stages keeps the invariants true meanwhile: turns go before their events and cards, calls before their results,
-- batches before their edges, responses before their requests. Tables without an index by project are passed through once, by blocks:
-- nothing of this project is written or moved any more, so what a pass has left behind is gone. What a block holds bounds a piece.
--
-- Runs with its owner's rights: no role of ours may delete cards or calls by any other way.
create or replace function l0.delete_project(project text, stage integer, block bigint, at timestamptz default null) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  rows_max constant integer := 2000;
  blocks_max constant integer := 128;
  stages constant text[] := array[
    'state.failures', 'state.pmo_batches', 'state.calls *', 'state.agent_turns', 'state.inbox', 'state.edges response', 'state.edges', 'state.identity_edges',
    'state.events', 'state.trace_budgets', 'state.agent_state_head', 'card.box_cards *', 'card.cards *', 'card.boxes *',
    'resource.project_agents', 'resource.profiles', 'resource.tool_versions', 'state.dead_letters', 'state.audit_log', 'resource.api_keys'];
  kept resource.projects;
  open_turns integer;
  done integer;
  target text;
begin
  -- Waits for whoever writes for this project now (living_project).
  select * into kept from resource.projects p where p.project_id = project for update;
  if not found then
    return json_build_object('outcome', 'rejected', 'code', 'not_found');
  end if;
  if kept.status <> 'deleting' and stage > 0 then
    -- Somebody else finished it, and the name is in use again: this is another project.
    return json_build_object('outcome', 'accepted');
  end if;
  if kept.status <> 'deleting' then
    -- A turn is added under its head's lock: those that hold one are waited for, those that come later find the project deleting.
    perform 1 from state.agent_state_head h where h.project_id = project order by h.agent_id for no key update;
    select count(*) into open_turns from state.agent_turns t where t.project_id = project and t.status in ('queued', 'active');
    if open_turns > 0 then
      return json_build_object('outcome', 'rejected', 'code', 'conflict', 'open_turns', open_turns);
    end if;
    update resource.projects p set status = 'deleting', revision = p.revision + 1, updated_at = moment where p.project_id = project;
    return json_build_object('outcome', 'accepted', 'next', json_build_object('stage', 1, 'block', 0));
  end if;

  stage := greatest(stage, 1);
  if stage > cardinality(stages) then
    delete from resource.projects p where p.project_id = project;
    return json_build_object('outcome', 'accepted');
  end if;
  target := split_part(stages[stage], ' ', 1);
  if stages[stage] like '% *' then
    execute format('delete from %s t where t.project_id = $1 and t.ctid >= $2 and t.ctid < $3', target)
      using project, format('(%s,0)', block)::tid, format('(%s,0)', block + blocks_max)::tid;
    block := block + blocks_max;
    if block * current_setting('block_size')::bigint < pg_relation_size(target::regclass) then
      return json_build_object('outcome', 'accepted', 'next', json_build_object('stage', stage, 'block', block));
    end if;
  else
    execute format('delete from %s t where t.ctid = any (array(select r.ctid from %s r where r.project_id = $1 %s limit $2))', target, target,
                   case when stages[stage] like '% response' then 'and r.edge_phase = ''response''' else '' end)
      using project, rows_max;
    get diagnostics done = row_count;
    if done = rows_max then
      return json_build_object('outcome', 'accepted', 'next', json_build_object('stage', stage, 'block', 0));
    end if;
  end if;
  return json_build_object('outcome', 'accepted', 'next', json_build_object('stage', stage + 1, 'block', 0));
end $$;

-- Who was refused what, or did what is worth noting. A row of a project that is not there, e.g. was just removed, belongs to the store;
-- its detail says which project was meant.
-- item: { project_id?, kind, code, principal?, agent_turn_id?, tool_call_id?, detail? }
create or replace function l0.put_audit(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform l0.expect_batch(items);
  insert into state.audit_log (project_id, kind, code, tool_call_id, agent_turn_id, principal, detail, created_at)
  select case when p.is_there then i.project_id end, i.kind, i.code, i.tool_call_id, i.agent_turn_id, i.principal,
         coalesce(i.detail, '{}') || case when p.is_there or i.project_id is null then '{}' else jsonb_build_object('project_id', i.project_id) end,
         coalesce(at, clock_timestamp())
    from jsonb_to_recordset(items) as i (project_id text, kind text, code text, tool_call_id text, agent_turn_id text, principal text, detail jsonb)
   cross join lateral (select l0.living_project(i.project_id) as is_there) p;
  return (select json_agg(json_build_object('outcome', 'accepted')) from jsonb_array_elements(items));
end $$;
