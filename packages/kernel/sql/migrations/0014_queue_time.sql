-- compat: expand
-- How long a call may wait for an executor, apart from how long it may run (decision 40).
--
--   Null in both: one deadline from the commit on, for waiting and running, as it always was.
--   Else `deadline_at` is queue_timeout_ms after the call became free while nobody has it, and run_deadline_ms after its claim.

alter table state.calls
  add column queue_timeout_ms integer,
  add column run_deadline_ms integer,
  add constraint calls_queue_time check ((queue_timeout_ms is null) = (run_deadline_ms is null)) not valid;

-- What the executors of a key may reach through ctx.runtime (decision 36); null: what tools and agents allow them.
alter table resource.api_keys
  add column delegation_policy jsonb,
  add constraint api_keys_delegation check (delegation_policy is null or role = 'executor') not valid;
