-- compat: expand
-- What a tool's author needs to find a mistake: the stack of an attempt that failed, or of a turn that its worker could not run.
--
--   F1. For operators. It is in no card, no event and no message, and no model sees it: a stack names files and may repeat values.
--   F2. Written in the commit that the failure is reported with, for the call and attempt that the reporter was proven to hold
--       (functions/19_failures.sql). Each attempt keeps its own. Nothing that goes well writes here.
--   F3. Kept as long as its call, which goes with its project.

create table state.failures (
  failure_id     bigint generated always as identity primary key,
  project_id     text collate "C" not null,
  agent_turn_id  text collate "C" not null,
  -- Null in both: the turn itself failed, and no call of it.
  tool_call_id   text collate "C",
  attempt        integer,
  stack          text not null check (length(stack) between 1 and 8192),
  created_at     timestamptz not null,
  check ((tool_call_id is null) = (attempt is null))
);
create index failures_by_turn on state.failures (project_id, agent_turn_id, failure_id);
create unique index failures_by_attempt on state.failures (tool_call_id, attempt) where tool_call_id is not null;
