-- What the moves of a turn share. None of these is called from outside l0; each expects its head row locked by the caller.
-- Lock order everywhere: head, then call.

-- A call settled by the kernel itself: deadline, cancel, crash, batch. The caller holds the call's row and knows that it waits.
-- move: wait.settle (→ received), or wait.drop (→ dropped) when its turn is ending.
create or replace function l0.settle_call(c state.calls, new_status state.result_status, wait state.wait_status, by state.settler, error jsonb, result jsonb, author text, moment timestamptz)
returns void language plpgsql as $$
declare
  content jsonb := jsonb_build_object('status', new_status, 'after_execution', c.after_execution, 'result', coalesce(result, 'null'), 'error', error);
  id text := l0.new_card_id();
begin
  insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, step_id, tool_call_id, trace_id, parent_step_id,
                          function_name, box_id, pos, content, sha256, created_at)
  values (id, c.project_id, 'tool.result', author, c.agent_turn_id, c.step_id, c.tool_call_id, c.trace_id, c.parent_step_id,
          c.tool_name, c.box_id, c.result_pos, content, sha256(convert_to(content::text, 'UTF8')), moment);
  update state.calls k
     set wait_status = wait, settled_by = by, result_card_id = id, result_status = new_status, result_after = c.after_execution,
         report_span_id = encode(substring(uuid_send(gen_random_uuid()) from 9), 'hex'), received_at = moment,
         due_at = case when wait = 'received' then moment + interval '5 seconds' end, rings = 0
   where k.tool_call_id = c.tool_call_id and k.wait_status = 'waiting';
end $$;

create or replace function l0.kernel_error(code text, message text) returns jsonb
language sql immutable as $$ select jsonb_build_object('code', code, 'message', message, 'source', 'kernel') $$;

-- The wakeup of an agent: what the client publishes after the commit.
create or replace function l0.wake_of(project text, agent text, reason text) returns jsonb
language plpgsql stable as $$
begin
  return (select jsonb_build_object('project_id', h.project_id, 'channel_id', h.active_channel_id, 'agent_id', h.agent_id,
                                    'agent_turn_id', h.active_agent_turn_id, 'turn_epoch', h.turn_epoch, 'trace_id', h.trace_id,
                                    'worker_target', a.worker_target, 'reason', reason)
            from state.agent_state_head h
            join resource.project_agents a on a.project_id = h.project_id and a.agent_id = h.agent_id
           where h.project_id = project and h.agent_id = agent and h.active_agent_turn_id is not null);
end $$;

-- A deliverable for a turn that ends without one of its own (docs/protocol/cards.md#fallback-deliverable).
create or replace function l0.fallback_deliverable(turn state.agent_turns, box_pos integer, final_status text, code text, message text, moment timestamptz)
returns text language plpgsql as $$
declare
  id text := l0.new_card_id();
  content jsonb := jsonb_build_object('data', jsonb_build_object(
    'schema_version', 1, 'kind', 'fallback_deliverable', 'status', case when final_status = 'success' then 'success' else 'partial' end,
    'partial', final_status <> 'success', 'message', message,
    'fields', jsonb_build_array(jsonb_build_object('name', 'summary', 'value', message), jsonb_build_object('name', 'output', 'value', null),
                                jsonb_build_object('name', 'reason', 'value', code)),
    'diagnostics', jsonb_build_object('source', 'kernel', 'terminal_status', final_status, 'partial', final_status <> 'success')));
begin
  insert into card.cards (card_id, project_id, type, author_id, agent_turn_id, trace_id, parent_step_id, box_id, pos, content, sha256, created_at)
  values (id, turn.project_id, 'task.deliverable', 'sys.kernel', turn.agent_turn_id, turn.trace_id, turn.parent_step_id,
          turn.output_box_id, box_pos, content, sha256(convert_to(content::text, 'UTF8')), moment);
  return id;
end $$;

-- The terminal event. events_one_terminal makes a second one impossible.
create or replace function l0.record_end(turn state.agent_turns, epoch bigint, final_status text, deliverable text, code text, message text, moment timestamptz)
returns void language plpgsql as $$
begin
  update state.agent_turns t
     set status = final_status, deliverable_card_id = deliverable, error_code = code, error_message = left(message, 1000), ended_at = moment,
         stopped_at = case when final_status = 'canceled' then moment end
   where t.agent_turn_id = turn.agent_turn_id;
  insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, payload, created_at)
  values (turn.project_id, turn.agent_id, turn.agent_turn_id, 'task', final_status, epoch,
          jsonb_strip_nulls(jsonb_build_object('output_box_id', turn.output_box_id, 'deliverable_card_id', deliverable, 'error_code', code,
                                               'error', left(message, 1000))), moment);
  -- A batch that waits for this turn learns of its end in the same commit.
  update state.pmo_batch_tasks k
     set status = final_status, ended_at = moment,
         error_detail = case when code is not null then jsonb_build_object('code', code, 'message', left(message, 1000)) end
   where k.current_agent_turn_id = turn.agent_turn_id and k.status = 'dispatched';
  if turn.answers_parent then
    perform l0.answer_parent(turn.agent_turn_id, moment);
  end if;
end $$;

-- The end of an active turn, whoever decides it: open calls are dropped with a result each (no transcript dangles), the deliverable is
-- in the box, one terminal event is written, the head is idle, and the next queued turn is dispatched.
-- moves: head.finish | stop | exhaust, wait.drop, inbox.consume | fail
create or replace function l0.end_turn(h state.agent_state_head, final_status text, deliverable text, code text, message text,
                                       inbox_end text, moment timestamptz)
returns jsonb language plpgsql as $$
declare
  turn state.agent_turns;
  c state.calls;
  bump integer := case when deliverable is null then 1 else 0 end;
  delivered text := deliverable;
begin
  -- A caller that waited for the head's lock brought a time from before what was written meanwhile.
  moment := greatest(moment, h.updated_at);
  select * into strict turn from state.agent_turns t where t.agent_turn_id = h.active_agent_turn_id for no key update;
  for c in
    select k.* from (select id from unnest(h.open_calls) o (id) order by id collate "C") o
     cross join lateral (select * from state.calls k where k.tool_call_id = o.id for no key update) k
  loop
    if c.wait_status = 'waiting' then
      perform l0.settle_call(c, 'canceled', 'dropped', 'cancel', l0.kernel_error('canceled', 'the turn ended before this call was answered'),
                             null, 'sys.kernel', moment);
    elsif c.wait_status = 'received' then
      update state.calls k set wait_status = 'dropped', due_at = null where k.tool_call_id = c.tool_call_id;
    end if;
  end loop;
  if delivered is null then
    delivered := l0.fallback_deliverable(turn, h.box_length, final_status, code, coalesce(message, final_status), moment);
  end if;
  perform l0.record_end(turn, h.turn_epoch, final_status, delivered, code, message, moment);
  update state.inbox i
     set status = inbox_end, processed_at = moment, due_at = null, last_error = code,
         disposition = case when inbox_end = 'error' then 'dead' when final_status = 'canceled' then 'stopped' else 'applied' end
   where i.inbox_id = turn.agent_turn_id;
  if inbox_end = 'error' then
    insert into state.dead_letters (project_id, correlation_id, reason, detail, created_at)
    values (turn.project_id, turn.correlation_id, code, jsonb_build_object('agent_turn_id', turn.agent_turn_id, 'message', message), moment);
  end if;
  -- Who ends a turn from outside bumps the epoch, so that its holder finds its number stale; a holder that finishes needs not.
  update state.agent_state_head k
     set status = 'idle', turn_epoch = k.turn_epoch + bump, holder = null, active_agent_turn_id = null, step_id = null, open_calls = null,
         resume_deadline = null, crash_count = 0, last_output_box_id = h.output_box_id, updated_at = moment
   where k.project_id = h.project_id and k.agent_id = h.agent_id;
  return l0.dispatch_next(h.project_id, h.agent_id, moment);
end $$;

-- Leases the head to the oldest queued turn; without one, to a turn for the answers that came in (34_conversations.sql). The epoch
-- grows here (and in resume, recover, defer, stop): a worker of an earlier turn finds its number stale. Bad candidates are put
-- aside until a good one is found: an idle head has no queue (invariant 38).
-- moves: head.dispatch (idle → dispatched), inbox.dispatch (queued → pending) | inbox.fail
create or replace function l0.dispatch_next(project text, agent text, moment timestamptz) returns jsonb
language plpgsql as $$
declare
  candidate state.inbox;
  turn state.agent_turns;
  head state.agent_state_head;
  start integer;
begin
  loop
    select * into candidate from state.inbox i
     where i.project_id = project and i.agent_id = agent and i.status = 'queued'
     order by i.queue_order limit 1 for no key update;
    if not found then
      return l0.ask_by_answers(project, agent, moment);
    end if;
    select * into turn from state.agent_turns t where t.agent_turn_id = candidate.agent_turn_id for no key update;
    select coalesce(max(b.pos), -1) + 1 into start from card.box_contents b where b.box_id = turn.output_box_id;
    if turn.profile_box_id is not null and turn.context_box_id is not null
       and exists (select 1 from card.boxes b where b.box_id = turn.output_box_id and b.agent_id = agent) then
      update state.inbox i
         set status = 'pending', due_at = moment + interval '5 seconds', rings = 0,
             turn_epoch = (select h.turn_epoch + 1 from state.agent_state_head h where h.project_id = project and h.agent_id = agent)
       where i.inbox_id = candidate.inbox_id;
      update state.agent_state_head h
         set status = 'dispatched', turn_epoch = h.turn_epoch + 1, active_agent_turn_id = turn.agent_turn_id,
             active_channel_id = turn.channel_id, active_recursion_depth = turn.recursion_depth, trace_id = turn.trace_id,
             parent_step_id = turn.parent_step_id, profile_box_id = turn.profile_box_id, context_box_id = turn.context_box_id,
             output_box_id = turn.output_box_id, box_length = start, queue_length = h.queue_length - 1, crash_count = 0,
             step_id = null, open_calls = null, resume_deadline = null, holder = null, updated_at = moment,
             turns_dispatched = h.turns_dispatched + 1,
             conversation_from = case when turn.is_fresh then h.turns_dispatched + 1 else h.conversation_from end
       where h.project_id = project and h.agent_id = agent
      returning h.* into head;
      update state.agent_turns t
         set status = 'active', box_start = start, dispatched_at = moment, turn_number = head.turns_dispatched,
             conversation_from = l0.first_remembered(head.conversation_from, head.turns_dispatched)
       where t.agent_turn_id = turn.agent_turn_id;
      insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, created_at)
      select project, agent, turn.agent_turn_id, 'state', 'dispatched', h.turn_epoch, moment
        from state.agent_state_head h where h.project_id = project and h.agent_id = agent;
      return l0.wake_of(project, agent, 'dispatch_next');
    end if;
    update state.inbox i
       set status = 'error', disposition = 'dead', last_error = 'missing_required_fields', processed_at = moment
     where i.inbox_id = candidate.inbox_id;
    insert into state.dead_letters (project_id, correlation_id, reason, detail, created_at)
    values (project, candidate.correlation_id, 'missing_required_fields', jsonb_build_object('agent_turn_id', turn.agent_turn_id), moment);
    update state.agent_state_head h set queue_length = h.queue_length - 1 where h.project_id = project and h.agent_id = agent;
    perform l0.record_end(turn, 0, 'failed',
      l0.fallback_deliverable(turn, start, 'failed', 'missing_required_fields', 'the turn has no profile or context box', moment),
      'missing_required_fields', 'the turn has no profile or context box', moment);
  end loop;
end $$;
