-- Reads for whoever looks at a project from outside. Each names its project and is bounded by a limit; a null filter lets all pass.
--
-- Steps and edges of calls have no index by project (migration 0008, M3). Their lists look into the boxes of few turns: the newest ones
-- are read until there is a page full of rows; nothing newer than the last of these can be in a turn that had ended before that;
-- the turns that were alive since then are found by indexes (migration 0012) and read in full. So a page costs what it holds and
-- what was alive in the time that it covers. A filter that few turns or steps pass costs those that it passes over.

-- name: projects_page
select p.project_id, p.title, p.owner_id, p.status, p.revision, p.created_at, p.updated_at from resource.projects p
 where ($1::text is null or p.project_id = $1) and p.project_id > $2 collate "C" order by p.project_id limit $3;

-- name: heads_page
select h.project_id, h.agent_id, h.status, h.active_agent_turn_id, h.active_channel_id, h.turn_epoch, h.holder, h.step_id,
       coalesce(cardinality(h.open_calls), 0) as waiting_tool_count, h.resume_deadline, h.updated_at
  from state.agent_state_head h
 where h.project_id = $1 and ($2::text is null or h.active_channel_id = $2) and h.agent_id > $3 collate "C" order by h.agent_id limit $4;

-- name: steps_of_turn
-- By the turn's key and its box. Either order: the page of one turn is sorted whole.
select s.project_id, s.channel_id, s.agent_id, s.agent_turn_id, s.step_id, s.parent_step_id, s.trace_id, s.status, s.thought_card_id,
       s.output_box_id, s.tool_call_ids, s.started_at
  from state.steps s
 where s.project_id = $1 and s.agent_turn_id = $12
   and ($2::text is null or s.channel_id = $2) and ($3::text is null or s.agent_id = $3) and ($4::text is null or s.step_id = $4)
   and ($5::text is null or s.parent_step_id = $5) and ($6::text is null or s.trace_id = $6) and ($7::text is null or s.status = $7)
   and ($8::timestamptz is null or s.started_at > $8) and ($9::timestamptz is null or s.started_at < $9)
   and ($10::timestamptz is null
        or case when $13::boolean then (s.started_at, s.step_id) > ($10, $11::text) else (s.started_at, s.step_id) < ($10, $11::text) end)
 order by case when $13::boolean then s.started_at end, case when $13::boolean then s.step_id end, s.started_at desc, s.step_id desc limit $14;

-- name: steps_newest
with near as materialized (
  select s.started_at
    from state.agent_turns t
   cross join lateral (
     select s.started_at from state.steps s
      where s.agent_turn_id = t.agent_turn_id and ($4::text is null or s.step_id = $4) and ($7::text is null or s.status = $7)
        and ($8::timestamptz is null or s.started_at > $8) and ($9::timestamptz is null or s.started_at < $9)
        and ($10::timestamptz is null or (s.started_at, s.step_id) < ($10, $11::text))
      order by s.started_at desc limit $12) s
   where t.project_id = $1 and t.box_start is not null and t.created_at <= coalesce(least($9::timestamptz, $10::timestamptz), 'infinity')
     and ($2::text is null or t.channel_id = $2) and ($3::text is null or t.agent_id = $3)
     and ($5::text is null or t.parent_step_id = $5) and ($6::text is null or t.trace_id = $6)
   order by t.created_at desc, t.agent_turn_id desc limit $12
), page as materialized (
  select greatest(coalesce($8::timestamptz, '-infinity'), case when count(*) = $12 then min(n.started_at) else '-infinity' end) as since from near n
)
select s.project_id, s.channel_id, s.agent_id, s.agent_turn_id, s.step_id, s.parent_step_id, s.trace_id, s.status, s.thought_card_id,
       s.output_box_id, s.tool_call_ids, s.started_at
  from (select t.agent_turn_id from page p cross join lateral (
           select t.agent_turn_id from state.agent_turns t
            where t.project_id = $1 and t.box_start is not null and t.created_at >= p.since and t.created_at <= coalesce(least($9::timestamptz, $10::timestamptz), 'infinity')
            and ($2::text is null or t.channel_id = $2) and ($3::text is null or t.agent_id = $3)
            and ($5::text is null or t.parent_step_id = $5) and ($6::text is null or t.trace_id = $6)
           offset 0) t
         union all
         select t.agent_turn_id from page p cross join lateral (
           select t.agent_turn_id from state.agent_turns t
            where t.project_id = $1 and t.box_start is not null and t.status = 'active' and t.created_at < p.since and t.created_at <= coalesce(least($9::timestamptz, $10::timestamptz), 'infinity')
            and ($2::text is null or t.channel_id = $2) and ($3::text is null or t.agent_id = $3)
            and ($5::text is null or t.parent_step_id = $5) and ($6::text is null or t.trace_id = $6)
           offset 0) t
         union all
         select t.agent_turn_id from page p cross join generate_series(-7, 31) k (class)
          cross join lateral (
            select t.* from state.agent_turns t
             where t.project_id = $1 and ceil(log(2.0, greatest(extract(epoch from t.ended_at - t.created_at), 0.0078125))) = k.class
               and t.created_at >= p.since - power(2, k.class) * interval '1 second' and t.created_at < p.since and t.created_at <= coalesce(least($9::timestamptz, $10::timestamptz), 'infinity')
               and t.ended_at >= p.since
            offset 0) t
          where t.box_start is not null
            and ($2::text is null or t.channel_id = $2) and ($3::text is null or t.agent_id = $3)
            and ($5::text is null or t.parent_step_id = $5) and ($6::text is null or t.trace_id = $6)) n
 cross join lateral (
   select s.* from state.steps s
    where s.agent_turn_id = n.agent_turn_id and ($4::text is null or s.step_id = $4) and ($7::text is null or s.status = $7)
      and ($8::timestamptz is null or s.started_at > $8) and ($9::timestamptz is null or s.started_at < $9)
      and ($10::timestamptz is null or (s.started_at, s.step_id) < ($10, $11::text))
   offset 0) s
 order by s.started_at desc, s.step_id desc limit $12;

-- name: steps_oldest
-- The other way round: of each turn that began after the last row, its first step.
with near as materialized (
  select s.started_at
    from state.agent_turns t
   cross join lateral (
     select s.started_at from state.steps s
      where s.agent_turn_id = t.agent_turn_id and ($4::text is null or s.step_id = $4) and ($7::text is null or s.status = $7)
        and ($8::timestamptz is null or s.started_at > $8) and ($9::timestamptz is null or s.started_at < $9)
        and ($10::timestamptz is null or (s.started_at, s.step_id) > ($10, $11::text))
      order by s.started_at limit 1) s
   where t.project_id = $1 and t.box_start is not null and t.created_at >= coalesce(greatest($8::timestamptz, $10::timestamptz), '-infinity')
     and ($2::text is null or t.channel_id = $2) and ($3::text is null or t.agent_id = $3)
     and ($5::text is null or t.parent_step_id = $5) and ($6::text is null or t.trace_id = $6)
   order by t.created_at, t.agent_turn_id limit $12
), page as materialized (
  select coalesce(greatest($8::timestamptz, $10::timestamptz), '-infinity') as since,
         least(coalesce($9::timestamptz, 'infinity'), case when count(*) = $12 then max(n.started_at) else 'infinity' end) as until from near n
)
select s.project_id, s.channel_id, s.agent_id, s.agent_turn_id, s.step_id, s.parent_step_id, s.trace_id, s.status, s.thought_card_id,
       s.output_box_id, s.tool_call_ids, s.started_at
  from (select t.agent_turn_id from page p cross join lateral (
           select t.agent_turn_id from state.agent_turns t
            where t.project_id = $1 and t.box_start is not null and t.created_at >= p.since and t.created_at <= p.until
            and ($2::text is null or t.channel_id = $2) and ($3::text is null or t.agent_id = $3)
            and ($5::text is null or t.parent_step_id = $5) and ($6::text is null or t.trace_id = $6)
           offset 0) t
         union all
         select t.agent_turn_id from page p cross join lateral (
           select t.agent_turn_id from state.agent_turns t
            where t.project_id = $1 and t.box_start is not null and t.status = 'active' and t.created_at < p.since and t.created_at <= p.until
            and ($2::text is null or t.channel_id = $2) and ($3::text is null or t.agent_id = $3)
            and ($5::text is null or t.parent_step_id = $5) and ($6::text is null or t.trace_id = $6)
           offset 0) t
         union all
         select t.agent_turn_id from page p cross join generate_series(-7, 31) k (class)
          cross join lateral (
            select t.* from state.agent_turns t
             where t.project_id = $1 and ceil(log(2.0, greatest(extract(epoch from t.ended_at - t.created_at), 0.0078125))) = k.class
               and t.created_at >= p.since - power(2, k.class) * interval '1 second' and t.created_at < p.since and t.created_at <= p.until
               and t.ended_at >= p.since
            offset 0) t
          where t.box_start is not null
            and ($2::text is null or t.channel_id = $2) and ($3::text is null or t.agent_id = $3)
            and ($5::text is null or t.parent_step_id = $5) and ($6::text is null or t.trace_id = $6)) n
 cross join lateral (
   select s.* from state.steps s
    where s.agent_turn_id = n.agent_turn_id and ($4::text is null or s.step_id = $4) and ($7::text is null or s.status = $7)
      and ($8::timestamptz is null or s.started_at > $8) and ($9::timestamptz is null or s.started_at < $9)
      and ($10::timestamptz is null or (s.started_at, s.step_id) > ($10, $11::text))
   offset 0) s
 order by s.started_at, s.step_id limit $12;

-- name: execution_edges_of_correlation
-- By the key of the call and of the other edges.
select e.edge_id, e.channel_id, e.primitive, e.edge_phase, e.source_agent_id, e.source_agent_turn_id, e.source_step_id, e.target_agent_id,
       e.target_agent_turn_id, e.correlation_id, e.enqueue_mode, e.recursion_depth, e.trace_id, e.parent_step_id, e.metadata, e.created_at
  from state.execution_edges e
 where e.project_id = $1 and e.correlation_id = $10
   and ($2::text is null or e.channel_id = $2) and ($3::text is null or $3 in (e.source_agent_id, e.target_agent_id))
   and ($4::text is null or e.primitive = $4) and ($5::text is null or e.edge_phase = $5) and ($6::text is null or e.trace_id = $6)
   and ($7::text is null or e.parent_step_id = $7) and ($8::timestamptz is null or (e.created_at, e.edge_id) < ($8, $9::text))
 order by e.created_at desc, e.edge_id desc limit $11;

-- name: execution_edges_newest
-- The edges of calls as the steps above; the others (one per turn, two per batch) by an index of their own.
with near as materialized (
  select e.created_at
    from state.agent_turns t
   cross join lateral (
     select e.created_at from state.turn_call_edges e
      where e.agent_turn_id = t.agent_turn_id and ($3::text is null or $3 in (e.source_agent_id, e.target_agent_id))
        and ($4::text is null or e.primitive = $4) and ($5::text is null or e.edge_phase = $5)
        and ($8::timestamptz is null or (e.created_at, e.edge_id) < ($8, $9::text))
      order by e.created_at desc limit $10) e
   where t.project_id = $1 and t.box_start is not null and t.created_at <= coalesce($8::timestamptz, 'infinity')
     and ($2::text is null or t.channel_id = $2) and ($6::text is null or t.trace_id = $6) and ($7::text is null or t.parent_step_id = $7)
     and ($4::text is null or $4 in ('tool_call', 'report'))
   order by t.created_at desc, t.agent_turn_id desc limit $10
), page as materialized (
  select case when count(*) = $10 then min(n.created_at) else '-infinity' end as since from near n
)
select * from (
  (select e.edge_id, e.channel_id, e.primitive, e.edge_phase, e.source_agent_id, e.source_agent_turn_id, e.source_step_id, e.target_agent_id,
          e.target_agent_turn_id, e.correlation_id, e.enqueue_mode, e.recursion_depth, e.trace_id, e.parent_step_id, e.metadata, e.created_at
     from state.edges e
    where e.project_id = $1 and e.created_at <= coalesce($8::timestamptz, 'infinity')
      and ($2::text is null or e.channel_id = $2) and ($3::text is null or $3 in (e.source_agent_id, e.target_agent_id))
      and ($4::text is null or e.primitive = $4) and ($5::text is null or e.edge_phase = $5) and ($6::text is null or e.trace_id = $6)
      and ($7::text is null or e.parent_step_id = $7) and ($8::timestamptz is null or (e.created_at, e.edge_id) < ($8, $9::text))
    order by e.created_at desc, e.edge_id desc limit $10)
  union all
  select e.edge_id, e.channel_id, e.primitive, e.edge_phase, e.source_agent_id, e.source_agent_turn_id, e.source_step_id, e.target_agent_id,
         e.target_agent_turn_id, e.correlation_id, null, e.recursion_depth, e.trace_id, e.parent_step_id, '{}', e.created_at
    from (select t.agent_turn_id from page p cross join lateral (
           select t.agent_turn_id from state.agent_turns t
            where t.project_id = $1 and t.box_start is not null and t.created_at >= p.since and t.created_at <= coalesce($8::timestamptz, 'infinity')
            and ($2::text is null or t.channel_id = $2) and ($6::text is null or t.trace_id = $6) and ($7::text is null or t.parent_step_id = $7)
            and ($4::text is null or $4 in ('tool_call', 'report'))
           offset 0) t
         union all
         select t.agent_turn_id from page p cross join lateral (
           select t.agent_turn_id from state.agent_turns t
            where t.project_id = $1 and t.box_start is not null and t.status = 'active' and t.created_at < p.since and t.created_at <= coalesce($8::timestamptz, 'infinity')
            and ($2::text is null or t.channel_id = $2) and ($6::text is null or t.trace_id = $6) and ($7::text is null or t.parent_step_id = $7)
            and ($4::text is null or $4 in ('tool_call', 'report'))
           offset 0) t
         union all
         select t.agent_turn_id from page p cross join generate_series(-7, 31) k (class)
          cross join lateral (
            select t.* from state.agent_turns t
             where t.project_id = $1 and ceil(log(2.0, greatest(extract(epoch from t.ended_at - t.created_at), 0.0078125))) = k.class
               and t.created_at >= p.since - power(2, k.class) * interval '1 second' and t.created_at < p.since and t.created_at <= coalesce($8::timestamptz, 'infinity')
               and t.ended_at >= p.since
            offset 0) t
          where t.box_start is not null
            and ($2::text is null or t.channel_id = $2) and ($6::text is null or t.trace_id = $6) and ($7::text is null or t.parent_step_id = $7)
            and ($4::text is null or $4 in ('tool_call', 'report'))) n
   cross join lateral (
     select e.* from state.turn_call_edges e
      where e.agent_turn_id = n.agent_turn_id and ($3::text is null or $3 in (e.source_agent_id, e.target_agent_id))
        and ($4::text is null or e.primitive = $4) and ($5::text is null or e.edge_phase = $5)
        and ($8::timestamptz is null or (e.created_at, e.edge_id) < ($8, $9::text))
     offset 0) e) e
 order by e.created_at desc, e.edge_id desc limit $10;

-- name: identity_edges_newest
-- Owner, target and tags are the target's, as the roster has them now.
select e.edge_id, e.channel_id, e.action, e.source_agent_id, e.target_agent_id, a.owner_agent_id, a.worker_target,
       coalesce(a.tags, '{}') as tags, e.trace_id, e.parent_step_id, e.metadata, e.created_at
  from state.identity_edges e left join resource.project_agents a on a.project_id = e.project_id and a.agent_id = e.target_agent_id
 where e.project_id = $1 and ($2::text is null or e.channel_id = $2) and ($3::text is null or $3 in (e.source_agent_id, e.target_agent_id))
   and ($4::text is null or a.owner_agent_id = $4) and ($5::text is null or a.worker_target = $5) and ($6::text is null or $6 = any (a.tags))
   and ($7::text is null or e.action = $7) and ($8::text is null or e.trace_id = $8) and ($9::text is null or e.parent_step_id = $9)
   and ($10::timestamptz is null or (e.created_at, e.edge_id) < ($10, $11::text))
 order by e.created_at desc, e.edge_id desc limit $12;

-- name: box_tail
select * from (
  select b.pos, d.* from (select b.pos, b.card_id from card.box_contents b where b.box_id = $2 and b.project_id = $1 order by b.pos desc limit $3) b
   cross join lateral (select * from card.card_documents d where d.card_id = b.card_id and d.project_id = $1) d) t
 order by t.pos;

-- name: box_tail_ids
-- In the order asked for; an empty box has no ids, a box that is not there no row.
select b.box_id, coalesce(c.card_ids, '{}') as card_ids
  from (select w.id, min(w.n) as n from unnest($2::text[]) with ordinality w (id, n) group by w.id) w
  join card.boxes b on b.box_id = w.id and b.project_id = $1
 cross join lateral (
   select array_agg(k.card_id order by k.pos) as card_ids
     from (select k.pos, k.card_id from card.box_contents k where k.box_id = b.box_id and k.project_id = $1 order by k.pos desc limit $3) k) c
 order by w.n;

-- name: turn_timeline
-- The last entries of what a turn went through, oldest first. At one moment: what was asked for, then what it became, then what came of it.
--
-- Events are read by project and number. The first that may be the turn's is found by halving: numbers grow with time, save for the
-- moments that a transaction waits between its time and its number, for which a minute is allowed. From there to the turn's end
-- the project's events are read, the last $4 of them at most: a turn of days in a busy project has its older states left out, which
-- has_unread says.
with recursive turn as materialized (
  select t.* from state.agent_turns t where t.agent_turn_id = $2 and t.project_id = $1
), halving (low, high, turns_left) as (
  select 0::bigint, coalesce(max(e.seq), 0), 64 from state.events e where e.project_id = $1
  union all
  select case when p.created_at < t.created_at - interval '1 minute' then p.seq else h.low end,
         case when p.created_at < t.created_at - interval '1 minute' then h.high else (h.low + h.high) / 2 end, h.turns_left - 1
    from halving h, turn t
    left join lateral (select e.seq, e.created_at from state.events e
                        where e.project_id = $1 and e.seq > (h.low + h.high) / 2 order by e.seq limit 1) p on true
   where h.low < h.high and h.turns_left > 0
), range as materialized (
  select (select max(h.low) from halving h) as low,
         coalesce((select z.seq from state.events z where z.agent_turn_id = t.agent_turn_id and z.kind = 'task'), 9223372036854775807) as high
    from turn t
), bound as materialized (
  -- The number in front of the events that are read; null where all are.
  select (select e.seq from state.events e where e.project_id = $1 and e.seq > r.low and e.seq <= r.high
           order by e.seq desc offset $4 limit 1) as low
    from range r
), events as (
  select e.* from turn t, range r, bound b, state.events e
   where e.project_id = $1 and e.seq > coalesce(b.low, r.low) and e.seq <= r.high and e.agent_turn_id = t.agent_turn_id and e.kind = 'state'
), steps as (
  select s.* from turn t join state.steps s on s.agent_turn_id = t.agent_turn_id
), calls as (
  select c.* from steps s cross join lateral unnest(s.tool_call_ids) o (id) join state.calls c on c.tool_call_id = o.id and c.project_id = $1
), lost as (
  select a.* from calls c join state.audit_log a on a.tool_call_id = c.tool_call_id and a.project_id = $1 and a.kind = 'attempt' and a.code = 'lost'
), children as (
  select c.* from turn t join state.agent_turns c on c.parent_agent_turn_id = t.agent_turn_id and c.project_id = t.project_id
), entries (at, rank, place, kind, status, step_id, tool_call_id, name, agent_turn_id, detail) as (
  select t.created_at, 0, 0::bigint, 'turn.queued', 'queued', null, null, null, null, '{}'::jsonb from turn t
  union all
  select s.started_at, 1, 0, 'step', s.status, s.step_id, null, null, null, jsonb_build_object('thought_card_id', s.thought_card_id) from steps s
  union all
  select c.created_at, 2, c.call_index, 'call.made', 'waiting', c.step_id, c.tool_call_id, c.tool_name, null,
         jsonb_build_object('effect', c.effect, 'target', l0.target_of(c.target_subject), 'deadline_at', c.deadline_at) from calls c
  union all
  select k.created_at, 3, 0, 'child.queued', 'queued', k.parent_step_id, null, k.agent_id, k.agent_turn_id, '{}' from children k
  union all
  select e.created_at, 4, e.seq, 'turn.state', e.status, e.step_id, null, null, null,
         jsonb_build_object('turn_epoch', e.turn_epoch) || coalesce(e.payload, '{}') from events e
  union all
  select c.claimed_at, 5, c.call_index, 'call.claimed', 'claimed', c.step_id, c.tool_call_id, c.tool_name, null,
         jsonb_build_object('executor', c.claimed_by, 'attempt', c.attempt) from calls c where c.claimed_at is not null
  union all
  -- Attempts whose executor was lost (l0.lapse_call); the row of a call knows only its last one.
  select coalesce((a.detail ->> 'claimed_at')::timestamptz, a.created_at), 5, c.call_index, 'call.claimed', 'claimed', c.step_id, c.tool_call_id, c.tool_name, null,
         jsonb_build_object('executor', a.principal, 'attempt', a.detail -> 'attempt') from lost a join calls c on c.tool_call_id = a.tool_call_id
   where c.claimed_at is null or (a.detail ->> 'attempt')::integer < c.attempt
  union all
  select a.created_at, 4, -1, 'call.lost', 'lost', c.step_id, c.tool_call_id, c.tool_name, null,
         jsonb_build_object('executor', a.principal, 'attempt', a.detail -> 'attempt') from lost a join calls c on c.tool_call_id = a.tool_call_id
  union all
  select k.ended_at, 6, 0, 'child.ended', k.status, k.parent_step_id, null, k.agent_id, k.agent_turn_id,
         jsonb_strip_nulls(jsonb_build_object('error_code', k.error_code)) from children k where k.ended_at is not null
  union all
  select c.received_at, 7, c.call_index, 'call.settled', c.result_status::text, c.step_id, c.tool_call_id, c.tool_name, null,
         jsonb_build_object('settled_by', c.settled_by, 'attempt', c.attempt, 'result_card_id', c.result_card_id) from calls c where c.received_at is not null
  union all
  select c.applied_at, 8, c.call_index, 'call.applied', 'applied', c.step_id, c.tool_call_id, c.tool_name, null, '{}' from calls c where c.applied_at is not null
  union all
  select t.ended_at, 9, 0, 'turn.ended', t.status, null, null, null, null,
         jsonb_strip_nulls(jsonb_build_object('deliverable_card_id', t.deliverable_card_id, 'error_code', t.error_code, 'error', t.error_message))
    from turn t where t.ended_at is not null
)
select e.at, e.kind, e.status, e.step_id, e.tool_call_id, e.name, e.agent_turn_id, e.detail, b.low is not null as has_unread
  from (select * from entries e order by e.at desc, e.rank desc, e.place desc, e.step_id desc, e.tool_call_id desc, e.agent_turn_id desc limit $3) e,
       bound b
 order by e.at, e.rank, e.place, e.step_id, e.tool_call_id, e.agent_turn_id;

-- name: activity_of_project
-- What was asked for in a span: turns by when they were made, calls by when they were made. Costs one pass over the project's turns
-- and the calls of those that were alive in the span, and one over the calls that are open in the whole store.
with turns as materialized (
  select t.* from state.agent_turns t
   where t.project_id = $1 and t.created_at < coalesce($3::timestamptz, 'infinity') and coalesce(t.ended_at, 'infinity') >= $2::timestamptz
), calls as materialized (
  select w.* from turns t
   cross join lateral (
     select c.tool_call_id from card.cards c
      where c.box_id = t.output_box_id and c.pos >= t.box_start and c.agent_turn_id = t.agent_turn_id and c.type = 'tool.call'
        and c.created_at >= $2::timestamptz and c.created_at < coalesce($3::timestamptz, 'infinity')
     offset 0) k
    join state.calls w on w.tool_call_id = k.tool_call_id
), turn_counts as (
  select t.status, count(*) as count, percentile_cont(0.5) within group (order by d.ms) as p50_ms, percentile_cont(0.95) within group (order by d.ms) as p95_ms
    from turns t cross join lateral (select extract(epoch from t.ended_at - t.created_at)::float8 * 1000 as ms) d
   where t.created_at >= $2::timestamptz group by t.status
), call_counts as (
  select c.tool_name, count(*) as count, count(*) filter (where c.wait_status = 'waiting') as open,
         count(*) filter (where c.result_status = 'success') as success,
         count(*) filter (where c.result_status in ('failed', 'partial') and not u.is_unknown) as failed,
         count(*) filter (where c.result_status = 'timeout') as timeout, count(*) filter (where c.result_status = 'canceled') as canceled,
         count(*) filter (where u.is_unknown) as unknown, sum(c.attempt) as attempts,
         percentile_cont(0.5) within group (order by d.ms) as p50_ms, percentile_cont(0.95) within group (order by d.ms) as p95_ms
    from calls c
   cross join lateral (select extract(epoch from c.received_at - c.created_at)::float8 * 1000 as ms) d
   cross join lateral (
     select coalesce(c.result_status = 'failed' and (
              select r.content #>> '{error,code}' from card.cards r where r.card_id = c.result_card_id) = 'outcome_unknown', false) as is_unknown) u
   group by c.tool_name
), refusals as (
  -- `ok` is what the log says of a write that was done.
  select a.kind, a.code, sum(1 + coalesce((a.detail ->> 'left_out')::bigint, 0))::bigint as count from state.audit_log a
   where a.project_id = $1 and a.created_at >= $2::timestamptz and a.created_at < coalesce($3::timestamptz, 'infinity') and a.code <> 'ok'
   group by a.kind, a.code
), unserved as (
  select l0.target_of(c.target_subject) as target, count(*) as open, to_char(min(c.created_at) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as oldest_at from state.calls c
   where c.due_at is not null and c.wait_status = 'waiting' and c.claimed_by is null and not c.local and c.project_id = $1 group by 1
)
select (select coalesce(json_agg(t order by t.status), '[]') from turn_counts t) as turns,
       (select coalesce(json_agg(c order by c.tool_name), '[]') from call_counts c) as calls,
       (select coalesce(json_agg(r order by r.kind, r.code), '[]') from refusals r) as refusals,
       (select count(*) from state.dead_letters d
         where d.project_id = $1 and d.created_at >= $2::timestamptz and d.created_at < coalesce($3::timestamptz, 'infinity')) as dead_letters,
       (select coalesce(json_agg(u order by u.target), '[]') from unserved u) as unserved,
       (select json_build_object('queued', coalesce(sum(h.queue_length), 0), 'active', count(*) filter (where h.status <> 'idle'))
          from state.agent_state_head h where h.project_id = $1) as backlog;

-- name: last_event_seq
select l0.last_event_seq($1) as seq;
