-- Roles with least privilege. Roles belong to the cluster, so migrations never make them: run this in each database, as a
-- superuser, after `tessera migrate`, and again after every upgrade:
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f deploy/roles.sql
--
-- It is safe to run again. Logins are made by the operator and given one of these:
--
--   create role orders_tool login password '…' connection limit 10 in role tessera_tool;
--
-- Without a limit a login may take every connection of the server; `tessera doctor` names those of tools and readers that have none.
--
--   tessera_kernel   the sweeper, and whatever runs all roles in one process: may execute every l0 function
--   tessera_worker   agents, PMO, tool services: turns and calls, and the definitions they bring along; no keys, no sweep, no deletion
--   tessera_api      the HTTP API: resources, keys, asking for turns and stopping them, the executor edge; takes no turn, sweeps nothing
--   tessera_api_ro   may read, and nothing else
--   tessera_tool     may execute four functions; reads and writes no table, and cannot choose the time
--
-- The functions of the first three write the tables with the rights of who calls them. So each has the rights that its functions need
-- and no others; no role may delete what a project holds, except through l0.delete_project, which runs with its owner's rights.
--
-- A login of its own in this database is for tools you run yourself: inside a transaction that it leaves open, it can hold the row
-- of a call it was given. Others pass over that row, and the sweeper ends the session after five seconds (l0.end_holders). Tools of
-- strangers report over HTTP.

do $$
declare
  name text;
begin
  foreach name in array array['tessera_kernel', 'tessera_worker', 'tessera_api', 'tessera_api_ro', 'tessera_tool'] loop
    if not exists (select 1 from pg_catalog.pg_roles r where r.rolname = name) then
      begin
        execute format('create role %I nologin', name);
      exception when duplicate_object or unique_violation then
        null; -- Another database of the cluster was given its roles at the same moment.
      end;
    end if;
  end loop;
end $$;

-- A temporary object could stand in for a name of ours; no role needs one here.
do $$
begin
  execute format('revoke temporary on database %I from public', current_database());
end $$;
-- Functions of PostgreSQL that everybody may run: advisory locks are one namespace for all logins of a database, so one login could hold
-- what another waits for; large objects, messages in the log of the server's writes and exported snapshots are written with no right but to connect.
-- Nothing of ours needs them, except that two that migrate at once wait for one another.
do $$
declare
  name text;
begin
  for name in
    select p.oid::regprocedure::text from pg_catalog.pg_proc p
     where p.pronamespace = 'pg_catalog'::regnamespace
       and (p.proname ~ '^pg_(try_)?advisory_' or p.proname ~ '^lo_' or p.proname in ('loread', 'lowrite', 'pg_logical_emit_message', 'pg_export_snapshot'))
  loop
    execute format('revoke execute on function %s from public', name);
  end loop;
  execute format('grant execute on function pg_catalog.pg_advisory_xact_lock(bigint) to %I',
                 (select n.nspowner::regrole from pg_catalog.pg_namespace n where n.nspname = 'l0'));
end $$;
-- The watchdog ends sessions of the logins above that keep rows locked: its function runs with the rights of l0's owner, who needs
-- two for it. Where you may not grant them, `tessera doctor` says so, and such a session keeps its rows until you end it.
do $$
declare
  owner regrole := (select n.nspowner::regrole from pg_catalog.pg_namespace n where n.nspname = 'l0');
begin
  if not (select r.rolsuper from pg_catalog.pg_roles r where r.oid = owner) then
    execute format('grant pg_signal_backend, pg_read_all_stats to %s', owner);
  end if;
exception when insufficient_privilege then
  raise warning '% may not end sessions that keep rows locked: grant it pg_signal_backend and pg_read_all_stats', owner;
end $$;
revoke all on schema public from public;
revoke all on schema l0, card, resource, state from public;
revoke all on all tables in schema l0, card, resource, state from public;
revoke all on all functions in schema l0, card, resource, state from public;

-- The kernel's login runs the functions with its own rights; the ticket keys stay with l0's owner's functions and those that give out calls.
grant usage on schema l0, card, resource, state to tessera_kernel;
grant execute on all functions in schema l0 to tessera_kernel;
grant select, insert, update on all tables in schema card, resource, state to tessera_kernel;
grant select on all tables in schema l0 to tessera_kernel;
grant usage on all sequences in schema state to tessera_kernel;
grant delete on state.workers, resource.target_principals to tessera_kernel;
-- A view writes with its owner's rights: through one, what is revoked below could be done all the same. No role writes a view.
do $$
declare
  name text;
begin
  for name in select format('%I.%I', v.schemaname, v.viewname) from pg_catalog.pg_views v where v.schemaname in ('l0', 'card', 'resource', 'state') loop
    execute format('revoke insert, update, delete on %s from tessera_kernel', name);
  end loop;
end $$;
-- Cards are written once: the trigger refuses a change, and no role of ours is granted one.
revoke update on card.cards, card.box_cards, card.boxes, resource.tool_versions, state.events, state.audit_log, state.dead_letters,
  state.failures from tessera_kernel;

-- Workers, PMO, tool services.
revoke all on all tables in schema l0, card, resource, state from tessera_worker;
revoke all on all functions in schema l0 from tessera_worker;
grant usage on schema l0, card, resource, state to tessera_worker;
grant execute on all functions in schema l0 to tessera_worker;
revoke execute on function l0.end_holders, l0.watched_logins, l0.watches_holders, l0.ring_early, l0.sweep_calls, l0.sweep_call, l0.sweep_held_call, l0.sweep_inbox, l0.sweep_workers, l0.free_leases, l0.delete_project,
  l0.put_api_keys, l0.living_api_key, l0.note_api_key_use, l0.put_target_principals, l0.put_audit, l0.reset_conversation from tessera_worker;
grant select on all tables in schema card, resource, state to tessera_worker;
-- Stacks are written by those that run tools, and read by those that answer operators.
revoke select on resource.api_keys, state.failures from tessera_worker;
grant select on l0.ticket_keys, l0.migrations, l0.functions_installed, l0.store to tessera_worker;
grant usage on all sequences in schema state to tessera_worker;
grant insert on card.cards, card.boxes, card.box_cards, state.events, state.edges, state.identity_edges, state.audit_log, state.dead_letters,
  state.failures, resource.tool_versions to tessera_worker;
grant insert, update on state.agent_state_head, state.agent_turns, state.inbox, state.calls, state.trace_budgets, state.workers,
  state.pmo_batches, state.pmo_batch_tasks, resource.project_agents, resource.profiles to tessera_worker;
-- It may make the project of its bundle, and lock it; what the row says is not its to change.
grant insert, update (updated_at) on resource.projects to tessera_worker;

-- The API. Stopping a turn moves head, turn, message, calls and batch task; so it may write these, and make none but turns and messages.
revoke all on all tables in schema l0, card, resource, state from tessera_api;
revoke all on all functions in schema l0 from tessera_api;
grant usage on schema l0, card, resource, state to tessera_api;
grant execute on all functions in schema l0 to tessera_api;
revoke execute on function l0.resume, l0.resume_plainly, l0.take_turn, l0.suspend_on_calls, l0.suspend_plainly, l0.suspend_locally,
  l0.apply_results, l0.apply_plainly, l0.append_cards, l0.append_to_output, l0.finish_turn, l0.finish_one, l0.finish_plainly, l0.with_answer_wakes, l0.answer_wake,
  l0.take_answers,
  l0.defer_turn, l0.repeat_call, l0.renew_worker, l0.retire_worker, l0.recover_turn, l0.note_hang, l0.has_hung_twice, l0.end_hung_turn,
  l0.end_holders, l0.watched_logins, l0.watches_holders, l0.free_leases, l0.ring_early, l0.sweep_calls, l0.sweep_call, l0.sweep_held_call, l0.sweep_inbox, l0.sweep_workers, l0.open_batch, l0.move_batch_task,
  l0.dispatch_batch_task, l0.dispatch_one_task, l0.take_due_batches, l0.children_of_stopped, l0.finish_batch, l0.put_target_principals from tessera_api;
grant select on all tables in schema card, resource, state to tessera_api;
grant select on l0.ticket_keys, l0.migrations, l0.functions_installed, l0.store to tessera_api;
grant usage on all sequences in schema state to tessera_api;
grant insert on card.cards, card.boxes, card.box_cards, state.events, state.edges, state.identity_edges, state.audit_log, state.dead_letters,
  state.failures, resource.tool_versions to tessera_api;
grant insert, update on state.agent_state_head, state.agent_turns, state.inbox, state.trace_budgets, resource.projects, resource.project_agents,
  resource.profiles, resource.api_keys to tessera_api;
grant update on state.calls, state.pmo_batch_tasks to tessera_api;
grant update (due_at) on state.pmo_batches to tessera_api;

grant usage on schema card, resource, state, l0 to tessera_api_ro;
grant select on all tables in schema card, resource, state to tessera_api_ro;
-- Who may do what is worth reading; the hashes of the keys are not.
revoke select on resource.api_keys from tessera_api_ro;
grant select (key_id, project_id, role, targets, delegation_policy, label, created_at, expires_at, revoked_at, last_used_at) on resource.api_keys to tessera_api_ro;
-- `tessera verify` asks which schema it looks at.
grant select on l0.migrations, l0.functions_installed, l0.store to tessera_api_ro;
-- Reads that are functions; the last number of an event is part of one.
grant execute on function l0.target_of, l0.settled_event_seq, l0.events_after, l0.last_event_seq, l0.cards_by_id, l0.cards_of_boxes,
  l0.agents_by_id, l0.conversation, l0.instructions to tessera_api_ro;
grant select on all sequences in schema state to tessera_api_ro;

revoke all on all functions in schema l0 from tessera_tool;
grant usage on schema l0 to tessera_tool;
grant execute on function l0.open_call(jsonb), l0.renew_call(jsonb), l0.put_result_card(jsonb), l0.report(jsonb) to tessera_tool;
