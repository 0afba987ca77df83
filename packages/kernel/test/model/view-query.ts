// What an outsider may see of a project, in the shape of the model's view (model-state.ts, M3), in one statement.

export const VIEW = `
select json_build_object(
  'heads', (select coalesce(json_object_agg(a.agent_id, json_build_array(coalesce(h.status, 'idle'), coalesce(h.turn_epoch, 0),
      h.active_agent_turn_id, h.holder, coalesce(h.crash_count, 0), coalesce(h.queue_length, 0), coalesce(h.open_calls, '{}'))), '{}')
    from resource.project_agents a left join state.agent_state_head h on h.project_id = a.project_id and h.agent_id = a.agent_id
    where a.project_id = $1),
  'turns', (select coalesce(json_object_agg(t.agent_turn_id, json_build_array(t.status, t.error_code, t.recursion_depth, i.status, i.retry_count)), '{}')
    from state.agent_turns t join state.inbox i on i.inbox_id = t.agent_turn_id where t.project_id = $1),
  'calls', (select coalesce(json_object_agg(c.tool_call_id, json_build_array(c.wait_status, c.attempt, c.claimed_by, c.settled_by, c.reconcile,
      case when c.wait_status = 'waiting' and c.claimed_by is not null and not c.local then (extract(epoch from c.lease_until) * 1000)::bigint end)), '{}')
    from state.calls c where c.project_id = $1),
  'workers', (select coalesce(json_object_agg(w.worker_id, (extract(epoch from w.lease_until) * 1000)::bigint), '{}')
    from state.workers w where w.worker_id like $1 || '\\_%' and w.lapsed_at is null),
  'transcripts', (select coalesce(json_object_agg(t.agent_turn_id, coalesce((select json_agg(case k.type
        when 'tool.result' then concat_ws(' ', k.type, k.tool_call_id, k.content ->> 'status',
          coalesce(k.content -> 'error' ->> 'code', 'tag' || (k.content -> 'result' ->> 'tag'), '-'))
        when 'tool.call' then concat_ws(' ', k.type, k.tool_call_id)
        else k.type end order by b.pos)
      from card.box_contents b join card.cards k on k.card_id = b.card_id where b.box_id = t.output_box_id), '[]')), '{}')
    from state.agent_turns t where t.project_id = $1),
  'ends', (select coalesce(json_object_agg(t.agent_turn_id, coalesce((select json_agg(e.status order by e.seq)
      from state.events e where e.project_id = t.project_id and e.agent_turn_id = t.agent_turn_id and e.kind = 'task'), '[]')), '{}')
    from state.agent_turns t where t.project_id = $1),
  'batches', (select coalesce(json_object_agg(b.batch_id, (select json_agg(s.status order by s.n) from (
        select b.status, -1 as n union all
        select k.status, k.task_index from state.pmo_batch_tasks k where k.batch_id = b.batch_id) s)), '{}')
    from state.pmo_batches b where b.project_id = $1),
  'deadLetters', (select coalesce(json_agg(x.said order by x.said collate "C"), '[]') from (
    select concat_ws(' ', d.reason, d.correlation_id) as said from state.dead_letters d where d.project_id = $1) x)
) as view`;
