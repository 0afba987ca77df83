-- The doors of l0, one call each: items in, one outcome per item out, in one transaction.

-- name: enqueue_turn
select l0.enqueue_plainly($1::jsonb, $2::timestamptz) as answer;

-- name: resume
select l0.resume_plainly($1::jsonb, $2::timestamptz) as answer;

-- name: suspend_on_calls
-- Steps like the first are likely to follow; each door leaves over what is not for it.
select case when $1::jsonb #>> '{0,calls,0,local}' is distinct from 'true' then l0.suspend_plainly($1::jsonb, $2::timestamptz)
            else l0.suspend_locally($1::jsonb, $2::timestamptz) end as answer;

-- name: open_call
select l0.open_plainly($1::jsonb, $2::timestamptz) as answer;

-- name: claim_calls
select l0.claim_calls($1, $2, $3, $4, $5, $6, $7, $8::timestamptz) as answer;

-- name: renew_call
select l0.renew_call_at($1::jsonb, $2::timestamptz) as answer;

-- name: repeat_call
select l0.repeat_call($1::jsonb, $2::timestamptz) as answer;

-- name: put_result_card
select l0.put_result_card_at($1::jsonb, $2::timestamptz) as answer;

-- name: report
select l0.report_plainly($1::jsonb, $2::timestamptz) as answer;

-- name: apply_results
select l0.apply_plainly($1::jsonb, $2::timestamptz) as answer;

-- name: take_answers
select l0.take_answers($1::jsonb, $2::timestamptz) as answer;

-- name: reset_conversation
select l0.reset_conversation($1, $2, $3, $4, $5, $6::timestamptz) as answer;

-- name: append_cards
select l0.append_cards($1::jsonb, $2::timestamptz) as answer;

-- name: finish_turn
select l0.finish_plainly($1::jsonb, $2::timestamptz) as answer;

-- name: defer_turn
select l0.defer_turn($1::jsonb, $2::timestamptz) as answer;

-- name: stop_turn
select l0.stop_turn($1::jsonb, $2::timestamptz) as answer;

-- name: renew_worker
select l0.renew_worker($1::jsonb, $2::timestamptz) as answer;

-- name: put_projects
select l0.put_projects($1::jsonb, $2::timestamptz) as answer;

-- name: delete_project
select l0.delete_project($1, $2, $3, $4::timestamptz) as answer;

-- name: put_audit
select l0.put_audit($1::jsonb, $2::timestamptz) as answer;

-- name: put_agents
select l0.put_agents($1::jsonb, $2::timestamptz) as answer;

-- name: put_tools
select l0.put_tools($1::jsonb, $2::timestamptz) as answer;

-- name: put_cards
select l0.put_cards($1::jsonb, $2::timestamptz) as answer;

-- name: put_boxes
select l0.put_boxes($1::jsonb, $2::timestamptz) as answer;

-- name: put_target_principals
select l0.put_target_principals($1::jsonb, $2::timestamptz) as answer;

-- name: put_dead_letters
select l0.put_dead_letters($1::jsonb, $2::timestamptz) as answer;

-- name: put_profiles
select l0.put_profiles($1::jsonb, $2::timestamptz) as answer;

-- name: put_api_keys
select l0.put_api_keys($1::jsonb, $2::timestamptz) as answer;

-- name: living_api_key
select l0.living_api_key($1, $2::timestamptz) as answer;

-- name: note_api_key_use
select l0.note_api_key_use($1, $2::timestamptz) as answer;

-- name: open_batch
select l0.open_batch($1::jsonb, $2::timestamptz) as answer;

-- name: move_batch_task
select l0.move_batch_task($1::jsonb, $2::timestamptz) as answer;

-- name: dispatch_batch_task
select l0.dispatch_batch_task($1::jsonb, $2::timestamptz) as answer;

-- name: take_due_batches
select l0.take_due_batches($1, $2::timestamptz) as answer;

-- name: children_of_stopped
select l0.children_of_stopped($1, $2::timestamptz) as answer;

-- name: finish_batch
select l0.finish_batch($1::jsonb, $2::timestamptz) as answer;

-- name: retire_worker
select l0.retire_worker($1, $2::timestamptz);

-- name: free_leases
select l0.free_leases($1::timestamptz) as answer;

-- name: note_hang
select l0.note_hang($1::jsonb, $2::timestamptz) as answer;

-- name: ring_early
select l0.ring_early($1, $2::timestamptz) as answer;

-- name: end_holders
select l0.end_holders($1, $2) as answer;

-- name: sweep_calls
select l0.sweep_calls($1, $2::timestamptz) as answer;

-- name: sweep_held_call
select l0.sweep_held_call($1::timestamptz) as answer;

-- name: sweep_inbox
select l0.sweep_inbox($1, $2::timestamptz) as answer;

-- name: sweep_workers
select l0.sweep_workers($1, $2::timestamptz) as answer;

-- name: overdue_rings
select l0.overdue_rings($1, $2, $3, $4, $5, $6::timestamptz) as answer;

-- name: probe_write
select l0.probe_write($1::timestamptz) as answer;

-- name: is_read_only
select current_setting('transaction_read_only')::boolean as is_read_only;
