-- Reads that every turn needs, for many turns at once. They are functions because a plan that was made when the tables were small is
-- kept: it would read a whole table for every box. `limit 1` keeps a look-up by key what it is: without it a plan may begin with the
-- table and look through the items.
--
-- items: [{ project, box, from, limit }], or [{ project, agent }]; answer: the rows, with the number of the item they belong to.

-- Input order, duplicates kept, missing ones skipped (reference §4.2).
create or replace function l0.cards_by_id(project text, ids text[]) returns setof card.card_documents
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
begin
  return query
    select d.* from unnest(ids) with ordinality w (id, n)
     cross join lateral (select * from card.card_documents k where k.card_id = w.id and k.project_id = project limit 1) d
     order by w.n;
end $$;

-- The cards of boxes from a position on. A place that a waiting call has reserved is simply not there yet.
create or replace function l0.cards_of_boxes(items jsonb)
returns table (item integer, pos integer, card_id text, project_id text, type text, author_id text, content jsonb, tool_calls jsonb,
               tool_call_id text, ttl_seconds integer, created_at timestamptz, expires_at timestamptz, metadata jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
begin
  return query
    select i.n::integer, c.pos, d.card_id, d.project_id, d.type, d.author_id, d.content, d.tool_calls, d.tool_call_id, d.ttl_seconds,
           d.created_at, d.expires_at, d.metadata
      from rows from (jsonb_to_recordset(items) as (project text, box text, "from" integer, "limit" integer))
           with ordinality as i (project, box, start, rows_max, n)
     cross join lateral (
       select b.pos, b.card_id from card.box_contents b
        where b.box_id = i.box and b.project_id = i.project and b.pos >= i.start order by b.pos limit i.rows_max) c
     cross join lateral (select * from card.card_documents k where k.card_id = c.card_id limit 1) d
     order by i.n, c.pos;
end $$;

create or replace function l0.agents_by_id(items jsonb)
returns table (item integer, project_id text, agent_id text, profile_box_id text, worker_target text, tags text[], display_name text,
               owner_agent_id text, status text, metadata jsonb, created_at timestamptz, last_seen_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
begin
  return query
    select i.n::integer, a.project_id, a.agent_id, a.profile_box_id, a.worker_target, a.tags, a.display_name, a.owner_agent_id, a.status,
           a.metadata, a.created_at, a.last_seen_at
      from rows from (jsonb_to_recordset(items) as (project text, agent text)) with ordinality as i (project, agent, n)
     cross join lateral (select * from resource.project_agents k where k.project_id = i.project and k.agent_id = i.agent limit 1) a;
end $$;
