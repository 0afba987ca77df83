-- compat: expand
-- What the PMO looks for, as rows that say when (S4): batches that need a hand, and stopped turns whose children still run.
--
--   B1. A running batch has a due_at: now when it was made, when one of its tasks changes, and when whoever took it last may have died;
--       otherwise its next retry or its deadline. A batch that only waits is not looked at.
--   B2. A canceled turn without cascaded_at may have children to stop. It is set when none of them runs, and from then on none can be
--       added: enqueue_turn refuses children of a canceled turn.

alter table state.pmo_batches add column due_at timestamptz;
update state.pmo_batches set due_at = created_at where status = 'running';
create index pmo_batches_due on state.pmo_batches (due_at) where status = 'running';
create index pmo_batches_by_parent on state.pmo_batches (parent_agent_turn_id) where status = 'running';

create function state.batch_is_due() returns trigger language plpgsql as $$
begin
  update state.pmo_batches b set due_at = least(b.due_at, coalesce(new.ended_at, new.next_retry_at))
   where b.batch_id = new.batch_id and b.status = 'running';
  return null;
end $$;
create trigger batch_is_due after update of status on state.pmo_batch_tasks
  for each row when (old.status is distinct from new.status and new.status <> 'dispatched') execute function state.batch_is_due();

alter table state.agent_turns add column cascaded_at timestamptz;
update state.agent_turns set cascaded_at = ended_at where status = 'canceled';
create index agent_turns_to_cascade on state.agent_turns (ended_at) where status = 'canceled' and cascaded_at is null;
