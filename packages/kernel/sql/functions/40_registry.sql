-- Resources and standalone cards: agents, tool definitions, boxes. Nothing is written for a project that is not there or is being deleted.

-- The roster: an agent and its head come into being together.
-- item: { project_id, agent_id, worker_target, profile_box_id?, tags?, display_name?, owner_agent_id?, status?, metadata?, only_new?,
--         identity_edge?: { edge_id, action, source_agent_id?, trace_id?, parent_step_id?, channel_id? } }
-- answer: accepted, or rejected with not_found (project, box), conflict (only_new, and there is one that this edge did not make).
create or replace function l0.put_agents(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  answers json[] := '{}';
begin
  perform l0.expect_batch(items);
  for i in
    select * from jsonb_to_recordset(items) as e (project_id text, agent_id text, worker_target text, profile_box_id text, tags text[],
      display_name text, owner_agent_id text, status text, metadata jsonb, only_new boolean, identity_edge jsonb)
  loop
    if not l0.living_project(i.project_id)
       or i.profile_box_id is not null and not exists (
            select 1 from card.boxes b where b.box_id = i.profile_box_id and b.project_id = i.project_id) then
      answers := answers || json_build_object('outcome', 'rejected', 'code', 'not_found');
      continue;
    end if;
    insert into resource.project_agents as a (project_id, agent_id, profile_box_id, worker_target, tags, display_name, owner_agent_id, status, metadata, created_at)
    values (i.project_id, i.agent_id, i.profile_box_id, i.worker_target, coalesce(i.tags, '{}'), i.display_name, i.owner_agent_id,
            coalesce(i.status, 'active'), coalesce(i.metadata, '{}'), moment)
    on conflict (project_id, agent_id) do update
      set profile_box_id = coalesce(excluded.profile_box_id, a.profile_box_id), worker_target = excluded.worker_target,
          tags = coalesce(i.tags, a.tags), display_name = coalesce(excluded.display_name, a.display_name),
          owner_agent_id = coalesce(a.owner_agent_id, excluded.owner_agent_id), status = excluded.status,
          metadata = coalesce(i.metadata, a.metadata)
      where not coalesce(i.only_new, false);
    if not found then
      -- An answer that was lost is asked for again: its edge is there.
      answers := answers || case when exists (
          select 1 from state.identity_edges e
           where e.edge_id = i.identity_edge ->> 'edge_id' and e.project_id = i.project_id and e.target_agent_id = i.agent_id)
        then json_build_object('outcome', 'duplicate') else json_build_object('outcome', 'rejected', 'code', 'conflict') end;
      continue;
    end if;
    insert into state.agent_state_head (project_id, agent_id, updated_at) values (i.project_id, i.agent_id, moment)
    on conflict (project_id, agent_id) do nothing;
    if i.identity_edge is not null then
      insert into state.identity_edges (edge_id, project_id, channel_id, action, source_agent_id, target_agent_id, trace_id, parent_step_id, created_at)
      values (i.identity_edge ->> 'edge_id', i.project_id, coalesce(i.identity_edge ->> 'channel_id', 'public'), i.identity_edge ->> 'action',
              i.identity_edge ->> 'source_agent_id', i.agent_id, i.identity_edge ->> 'trace_id', i.identity_edge ->> 'parent_step_id', moment)
      on conflict (edge_id) do nothing;
    end if;
    answers := answers || json_build_object('outcome', 'accepted');
  end loop;
  return array_to_json(answers);
end $$;

-- Appends a version (T1). The same definition as the current one is not appended again; removed: true ends the name.
-- expected_digest compares with the current version before it writes; null: there must be none. The project's row is locked, so of two
-- writers that expect the same, the second finds what the first wrote.
-- item: { project_id, tool_name, digest, description?, parameters?, target_subject, after_execution, options?, removed?, expected_digest?,
--         is_repeat? }
create or replace function l0.put_tools(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  newest resource.tool_versions;
  living_digest text;
  answers jsonb := '{}';
begin
  perform l0.expect_batch(items);
  for i in
    select e.*, items -> (e.ord - 1)::integer ? 'expected_digest' as is_compared
      from rows from (jsonb_to_recordset(items) as (project_id text, tool_name text, digest text, description text, parameters jsonb,
             target_subject text, after_execution text, options jsonb, removed boolean, expected_digest text, is_repeat boolean))
           with ordinality as e (project_id, tool_name, digest, description, parameters, target_subject, after_execution, options, removed,
             expected_digest, is_repeat, ord)
     order by e.project_id collate "C", e.tool_name collate "C"
  loop
    perform 1 from resource.projects p where p.project_id = i.project_id and p.status <> 'deleting' for no key update;
    if not found then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'rejected', 'code', 'not_found', 'tool_name', i.tool_name));
      continue;
    end if;
    select * into newest from resource.tool_versions v
     where v.project_id = i.project_id and v.tool_name = i.tool_name order by v.version desc limit 1;
    living_digest := case when not newest.removed then newest.digest end;
    if i.is_compared and living_digest is distinct from i.expected_digest
       -- An answer that was lost is asked for again: what it wrote is the current one.
       and not (coalesce(i.is_repeat, false) and living_digest is not distinct from case when coalesce(i.removed, false) then null else i.digest end) then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'rejected', 'code', 'precondition_failed', 'tool_name', i.tool_name));
    elsif coalesce(i.removed, false) and (newest.version is null or newest.removed) then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'rejected', 'code', 'not_found', 'tool_name', i.tool_name));
    elsif coalesce(i.removed, false) and exists (
            select 1 from state.calls c where c.due_at is not null and c.wait_status = 'waiting'
               and c.project_id = i.project_id and c.tool_name = i.tool_name) then
      -- A call that waits may still be opened and asks for its definition then.
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'rejected', 'code', 'conflict', 'tool_name', i.tool_name));
    elsif coalesce(i.removed, false) then
      insert into resource.tool_versions
      values (i.project_id, i.tool_name, newest.version + 1, newest.digest, true, newest.description, newest.parameters, newest.target_subject,
              newest.after_execution, newest.options, moment);
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'accepted', 'tool_name', i.tool_name, 'version', newest.version + 1));
    elsif not newest.removed and newest.digest = i.digest then
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'duplicate', 'tool_name', i.tool_name, 'digest', i.digest, 'version', newest.version));
    else
      insert into resource.tool_versions
      values (i.project_id, i.tool_name, coalesce(newest.version, 0) + 1, i.digest, false, coalesce(i.description, ''), coalesce(i.parameters, '{}'),
              i.target_subject, i.after_execution, coalesce(i.options, '{}'), moment);
      answers := answers || jsonb_build_object(i.ord::text, jsonb_build_object('outcome', 'accepted', 'tool_name', i.tool_name, 'digest', i.digest, 'version', coalesce(newest.version, 0) + 1));
    end if;
  end loop;
  return l0.in_item_order(answers, items);
end $$;

-- Standalone cards: profiles, instructions, whatever is not made by a turn. Same id and same content: accepted; other content: conflict.
-- item: { project_id, card_id, type, author_id, content, metadata?, ttl_seconds?, trace_id? }
create or replace function l0.put_cards(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  digest bytea;
  kept card.cards;
  answers json[] := '{}';
begin
  perform l0.expect_batch(items);
  for i in
    select * from jsonb_to_recordset(items) as e (project_id text, card_id text, type text, author_id text, content jsonb, metadata jsonb,
      ttl_seconds integer, trace_id text)
  loop
    if i.type in ('tool.call', 'tool.result', 'agent.thought', 'agent.calls', 'agent.answer', 'agent.reset', 'task.deliverable') then
      answers := answers || json_build_object('outcome', 'rejected', 'code', 'forbidden', 'card_id', i.card_id);
      continue;
    end if;
    if not l0.living_project(i.project_id) then
      answers := answers || json_build_object('outcome', 'rejected', 'code', 'not_found', 'card_id', i.card_id);
      continue;
    end if;
    digest := sha256(convert_to(i.content::text || coalesce(i.metadata::text, ''), 'UTF8'));
    insert into card.cards (card_id, project_id, type, author_id, trace_id, content, metadata, ttl_seconds, sha256, created_at)
    values (i.card_id, i.project_id, i.type, i.author_id, i.trace_id, i.content, i.metadata, i.ttl_seconds, digest, moment)
    on conflict (card_id) do nothing;
    select * into kept from card.cards c where c.card_id = i.card_id;
    if kept.project_id = i.project_id and kept.type = i.type and kept.author_id = i.author_id and kept.sha256 = digest then
      answers := answers || json_build_object('outcome', 'accepted', 'card_id', i.card_id);
    else
      answers := answers || json_build_object('outcome', 'rejected', 'code', 'conflict', 'card_id', i.card_id);
    end if;
  end loop;
  return array_to_json(answers);
end $$;

-- A sealed box of cards that exist, or an agent's empty output box. The same box with the same cards again: duplicate.
-- item: { project_id, box_id, agent_id?, card_ids?: [] }
create or replace function l0.put_boxes(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  i record;
  missing text;
  answers json[] := '{}';
begin
  perform l0.expect_batch(items);
  for i in
    select * from jsonb_to_recordset(items) as e (project_id text, box_id text, agent_id text, card_ids text[])
  loop
    if not l0.living_project(i.project_id) then
      answers := answers || json_build_object('outcome', 'rejected', 'code', 'not_found', 'box_id', i.box_id);
      continue;
    end if;
    select w.id into missing from unnest(i.card_ids) w (id)
     where not exists (select 1 from card.cards c where c.card_id = w.id and c.project_id = i.project_id) limit 1;
    if missing is not null then
      answers := answers || json_build_object('outcome', 'rejected', 'code', 'card_not_found', 'card_id', missing);
      continue;
    end if;
    insert into card.boxes (box_id, project_id, agent_id, created_at) values (i.box_id, i.project_id, i.agent_id, moment)
    on conflict (box_id) do nothing;
    if found then
      insert into card.box_cards (box_id, pos, card_id, project_id)
      select i.box_id, w.n - 1, w.id, i.project_id from unnest(i.card_ids) with ordinality w (id, n);
      answers := answers || json_build_object('outcome', 'accepted', 'box_id', i.box_id);
    elsif exists (select 1 from card.boxes b where b.box_id = i.box_id and b.project_id = i.project_id and b.agent_id is not distinct from i.agent_id)
      and (i.agent_id is not null or (select array_agg(b.card_id order by b.pos) from card.box_contents b where b.box_id = i.box_id)
            is not distinct from nullif(i.card_ids, '{}')) then
      answers := answers || json_build_object('outcome', 'duplicate', 'box_id', i.box_id);
    else
      answers := answers || json_build_object('outcome', 'rejected', 'code', 'conflict', 'box_id', i.box_id);
    end if;
  end loop;
  return array_to_json(answers);
end $$;

-- A message that cannot be handled is kept with its reason, and nothing else changes. A project that is not there is not named: its
-- rows would outlive it.
-- item: { project_id?, correlation_id?, reason, detail? }
create or replace function l0.put_dead_letters(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform l0.expect_batch(items);
  insert into state.dead_letters (project_id, correlation_id, reason, detail, created_at)
  select case when l0.living_project(i.project_id) then i.project_id end, i.correlation_id, i.reason, coalesce(i.detail, '{}'), coalesce(at, clock_timestamp())
    from jsonb_to_recordset(items) as i (project_id text, correlation_id text, reason text, detail jsonb);
  return (select json_agg(json_build_object('outcome', 'accepted')) from jsonb_array_elements(items));
end $$;

-- Binds a target to a database login, or lets it go again.
-- item: { target, principal, removed? }
create or replace function l0.put_target_principals(items jsonb, at timestamptz default null) returns json
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform l0.expect_batch(items);
  delete from resource.target_principals p
   using jsonb_to_recordset(items) as i (target text, principal text, removed boolean)
   where i.removed and p.target = i.target and p.principal = i.principal;
  insert into resource.target_principals (target, principal, created_at)
  select i.target, i.principal, coalesce(at, clock_timestamp())
    from jsonb_to_recordset(items) as i (target text, principal text, removed boolean) where not coalesce(i.removed, false)
  on conflict do nothing;
  return (select coalesce(json_agg(json_build_object('outcome', 'accepted')), '[]') from jsonb_array_elements(items));
end $$;
