-- Reads that every turn needs, for many turns at once. They are functions because a plan that was made when the tables were small is
-- kept: it would read a whole table for every box. `limit 1` keeps a look-up by key what it is: without it a plan may begin with the
-- table and look through the items.
--
-- items: [{ project, box, from, limit }], or [{ project, agent }]; answer: the rows, with the number of the item they belong to.

-- Input order, duplicates kept, missing ones skipped (docs/protocol/cards.md#rules).
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

-- What turns were asked, by their contexts: the text of the instruction, no longer than `characters_max` (null: whole). The newest
-- instruction of a context is its turn's own; in front of it stands what was handed down.
create or replace function l0.instructions(project text, boxes text[], characters_max integer) returns table (box_id text, input text)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
begin
  return query
    select w.id, coalesce(left(c.text, characters_max), c.text)
      from (select distinct u.id from unnest(boxes) u (id)) w
     cross join lateral (
       select k.content ->> 'text' as text
         from (select b.pos, b.card_id from card.box_contents b
                where b.box_id = w.id and b.project_id = project order by b.pos desc limit 8) b
        cross join lateral (select d.type, d.content from card.card_documents d where d.card_id = b.card_id limit 1) k
        where k.type = 'task.instruction' order by b.pos desc limit 1) c
     where c.text is not null;
end $$;

-- Turns of a conversation from one number up to another, and what each was asked (its context) and gave (its own cards in its output
-- box, which several turns may share), in order. Of turns that the caller has read before (`known`) only the turn is answered.
create or replace function l0.conversation(project text, agent text, first bigint, last bigint, known text[])
returns table (turn_number bigint, agent_turn_id text, part text, pos integer, card_id text, project_id text, type text, author_id text,
               content jsonb, tool_calls jsonb, tool_call_id text, created_at timestamptz, metadata jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
begin
  return query
    select t.turn_number, t.agent_turn_id, k.part, k.pos, k.card_id, k.project_id, k.type, k.author_id, k.content, k.tool_calls,
           k.tool_call_id, k.created_at, k.metadata
      from (select a.* from state.agent_turns a
             where a.project_id = project and a.agent_id = agent and a.turn_number between first and last order by a.turn_number) t
      left join lateral (
        select 'context' as part, b.pos, d.* from card.box_contents b
         cross join lateral (select * from card.card_documents x where x.card_id = b.card_id limit 1) d
         where b.box_id = t.context_box_id and b.project_id = project
        union all
        select 'output', b.pos, d.* from card.box_contents b
         cross join lateral (select * from card.card_documents x where x.card_id = b.card_id limit 1) d
         where b.box_id = t.output_box_id and b.project_id = project and b.pos >= t.box_start
           and d.metadata ->> 'agent_turn_id' = t.agent_turn_id) k on not t.agent_turn_id = any (known)
     order by t.turn_number, k.part, k.pos;
end $$;
