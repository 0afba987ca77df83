-- A turn is stopped from outside, whatever it is doing, in one commit (docs/faults.md#f41, docs/faults.md#f42).
--
-- moves: head.stop (dispatched | running | suspended → idle, epoch + 1), inbox.cancel (queued → skipped), wait.drop
-- item: { project_id, agent_turn_id, reason? }
-- answer: accepted + { agent_id, was, wake? }, or rejected with not_found, already_settled (the turn has ended).
-- A worker that holds the turn finds its epoch stale; a running tool is told by its heartbeat; a late report is refused.

create or replace function l0.stop_turn(items jsonb, at timestamptz default null) returns json
language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = 'force_generic_plan' set jit = off
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set enable_material = off set enable_memoize = off
as $$
declare
  moment timestamptz := coalesce(at, clock_timestamp());
  answers jsonb := '{}';
  i record;
begin
  perform l0.expect_batch(items);
  for i in
    select e.item, e.n
      from jsonb_array_elements(items) with ordinality e (item, n)
      left join lateral (select t.project_id, t.agent_id from state.agent_turns t where t.agent_turn_id = e.item ->> 'agent_turn_id') t on true
     order by t.project_id, t.agent_id, e.n
  loop
    answers := answers || jsonb_build_object(i.n::text, l0.stop_one(i.item, moment));
  end loop;
  return l0.in_item_order(answers, items);
end $$;

create or replace function l0.stop_one(item jsonb, moment timestamptz) returns jsonb
language plpgsql as $$
declare
  turn state.agent_turns;
  h state.agent_state_head;
  reason text := coalesce(item ->> 'reason', 'canceled');
  wake jsonb;
  box_end integer;
begin
  select * into turn from state.agent_turns t where t.agent_turn_id = item ->> 'agent_turn_id' and t.project_id = item ->> 'project_id';
  if not found then
    return jsonb_build_object('outcome', 'rejected', 'code', 'not_found');
  end if;
  select * into h from state.agent_state_head k where k.project_id = turn.project_id and k.agent_id = turn.agent_id for no key update;
  -- Read again under the lock: the turn may have moved while we waited for it, and what it wrote then came before its end.
  moment := greatest(moment, h.updated_at);
  select * into turn from state.agent_turns t where t.agent_turn_id = turn.agent_turn_id;
  if turn.ended_at is not null then
    return jsonb_build_object('outcome', 'rejected', 'code', 'already_settled', 'status', turn.status);
  end if;

  insert into state.inbox (inbox_id, project_id, agent_id, channel_id, message_type, correlation_id, agent_turn_id, turn_epoch, context_headers,
                           payload, status, disposition, next_retry_at, processed_at, created_at)
  values ('stop:' || turn.agent_turn_id, turn.project_id, turn.agent_id, turn.channel_id, 'stop', turn.agent_turn_id, turn.agent_turn_id,
          h.turn_epoch, jsonb_build_object('traceparent', '00-' || turn.trace_id || '-' || turn.span_id || '-01',
                                           'CG-Recursion-Depth', turn.recursion_depth::text),
          jsonb_build_object('reason', reason), 'consumed', 'applied', moment, moment, moment);

  if turn.status = 'queued' then
    update state.inbox n set status = 'skipped', disposition = 'stopped', processed_at = moment,
           payload = n.payload || jsonb_build_object('cancel_reason', reason)
     where n.inbox_id = turn.agent_turn_id;
    -- Its box may be the one that the agent writes now: then its counter is the head's.
    if h.output_box_id = turn.output_box_id and h.status <> 'idle' then
      box_end := h.box_length;
      update state.agent_state_head k set box_length = k.box_length + 1, queue_length = k.queue_length - 1
       where k.project_id = h.project_id and k.agent_id = h.agent_id;
    else
      select coalesce(max(b.pos), -1) + 1 into box_end from card.box_contents b where b.box_id = turn.output_box_id;
      update state.agent_state_head k set queue_length = k.queue_length - 1 where k.project_id = h.project_id and k.agent_id = h.agent_id;
    end if;
    perform l0.record_end(turn, 0, 'canceled', l0.fallback_deliverable(turn, box_end, 'canceled', 'canceled', reason, moment), 'canceled', reason, moment);
    return jsonb_build_object('outcome', 'accepted', 'agent_id', turn.agent_id, 'was', 'queued', 'channel_id', turn.channel_id,
                              'trace_id', turn.trace_id, 'turn_epoch', 0);
  end if;
  wake := l0.end_turn(h, 'canceled', null, 'canceled', reason, 'consumed', moment);
  return jsonb_build_object('outcome', 'accepted', 'agent_id', turn.agent_id, 'was', h.status, 'channel_id', turn.channel_id,
                            'trace_id', turn.trace_id, 'turn_epoch', h.turn_epoch + 1) || coalesce(jsonb_build_object('wake', wake), '{}');
end $$;
