-- compat: expand
-- State: what is going on. Only the functions of schema l0 write here.
--
--   S1. state.calls: one row is a call's whole life: command, outbox, claim, wait, inbox entry and both edges.
--   S2. No indexed column changes between the making of a call and its application, so that the updates in between
--       are heap-only; due_at alone leaves its partial index, once, when the call is applied.
--   S3. A head is written only by a move that names the turn and the epoch it replaces.
--   S4. due_at is the outbox (design D4): whatever waits says when somebody must look at it again.

create type state.head_status as enum ('idle', 'dispatched', 'running', 'suspended');
create type state.wait_status as enum ('waiting', 'received', 'applied', 'dropped');
create type state.tool_effect as enum ('read', 'idempotent', 'once');
create type state.after_execution as enum ('suspend', 'terminate');
create type state.result_status as enum ('success', 'failed', 'canceled', 'timeout', 'partial');
create type state.settler as enum ('report', 'deadline', 'cancel', 'crash', 'batch', 'worker');
create type state.event_kind as enum ('state', 'task');

create table state.agent_state_head (
  project_id         text collate "C" not null,
  agent_id           text collate "C" not null,
  -- Set by dispatch, constant while a turn is active.
  active_agent_turn_id     text collate "C",
  active_channel_id        text collate "C",
  active_recursion_depth   integer not null default 0,
  trace_id                 text collate "C",
  parent_step_id           text collate "C",
  profile_box_id           text collate "C",
  context_box_id           text collate "C",
  output_box_id            text collate "C",
  memory_context_box_id    text collate "C",
  last_output_box_id       text collate "C",
  queue_length             integer not null default 0,
  -- Written by every move, kept together so that an update logs few bytes.
  status             state.head_status not null default 'idle',
  turn_epoch         bigint not null default 0,
  box_length         integer not null default 0,
  crash_count        smallint not null default 0,
  holder             text collate "C",
  step_id            text collate "C",
  -- The calls of the current step that are not applied yet, in call order.
  open_calls         text[] collate "C",
  resume_deadline    timestamptz,
  updated_at         timestamptz not null,
  primary key (project_id, agent_id)
) with (fillfactor = 40);

create table state.agent_turns (
  agent_turn_id         text collate "C" primary key,
  project_id            text collate "C" not null,
  agent_id              text collate "C" not null,
  channel_id            text collate "C" not null,
  correlation_id        text collate "C" not null,
  -- queued | active | one of the terminal statuses. While active the head tells more.
  status                text collate "C" not null
                          check (status in ('queued', 'active', 'success', 'failed', 'canceled', 'timeout', 'partial')),
  recursion_depth       integer not null check (recursion_depth between 0 and 19),
  trace_id              text collate "C" not null,
  span_id               text collate "C" not null,
  tracestate            text,
  parent_traceparent    text collate "C",
  parent_agent_id       text collate "C",
  parent_agent_turn_id  text collate "C",
  parent_step_id        text collate "C",
  profile_box_id        text collate "C",
  context_box_id        text collate "C",
  output_box_id         text collate "C" not null,
  -- Where this turn's output begins in its output box.
  box_start             integer,
  display_name          text,
  metadata              jsonb,
  runtime_config        jsonb,
  deliverable_card_id   text collate "C",
  error_code            text collate "C",
  error_message         text,
  created_at            timestamptz not null,
  dispatched_at         timestamptz,
  stopped_at            timestamptz,
  ended_at              timestamptz,
  check ((status in ('queued', 'active')) = (ended_at is null)),
  check ((ended_at is null) = (deliverable_card_id is null))
) with (fillfactor = 70);
create index agent_turns_by_project on state.agent_turns (project_id, agent_turn_id);
create index agent_turns_active on state.agent_turns (project_id, agent_id) where status = 'active';
create index agent_turns_by_parent on state.agent_turns (parent_agent_turn_id) where parent_agent_turn_id is not null;

-- What is addressed to an agent and is not a call's result: turn, stop, ui_action, join.
create table state.inbox (
  inbox_id         text collate "C" primary key,
  project_id       text collate "C" not null,
  agent_id         text collate "C" not null,
  channel_id       text collate "C" not null,
  message_type     text collate "C" not null check (message_type in ('turn', 'stop', 'ui_action', 'join')),
  enqueue_mode     text collate "C" not null default 'call',
  correlation_id   text collate "C" not null,
  agent_turn_id    text collate "C" not null,
  turn_epoch       bigint not null default 0,
  context_headers  jsonb not null default '{}',
  payload          jsonb not null default '{}',
  status           text collate "C" not null
                     check (status in ('queued', 'pending', 'processing', 'deferred', 'consumed', 'error', 'skipped')),
  disposition      text collate "C",
  retry_count      smallint not null default 0,
  rings            smallint not null default 0,
  next_retry_at    timestamptz not null,
  due_at           timestamptz,
  defer_reason     text collate "C",
  last_error       text,
  processed_at     timestamptz,
  created_at       timestamptz not null,
  queue_order      bigint generated always as identity,
  unique (project_id, message_type, correlation_id)
) with (fillfactor = 70);
create index inbox_queue on state.inbox (project_id, agent_id, queue_order) where status = 'queued';
create index inbox_due on state.inbox (due_at) where due_at is not null;
create index inbox_rung on state.inbox (due_at) where rings > 0 and due_at is not null;

create table state.calls (
  tool_call_id     text collate "C" primary key,
  project_id       text collate "C" not null,
  agent_id         text collate "C" not null,
  agent_turn_id    text collate "C" not null,
  channel_id       text collate "C" not null,
  step_id          text collate "C" not null,
  trace_id         text collate "C" not null,
  span_id          text collate "C" not null,
  parent_step_id   text collate "C",
  turn_epoch       bigint not null,
  recursion_depth  smallint not null,
  call_index       smallint not null,
  step_size        smallint not null,
  tool_name        text collate "C" not null,
  tool_digest      text collate "C",
  target_subject   text collate "C" not null,
  author_id        text collate "C" not null,
  effect           state.tool_effect not null,
  after_execution  state.after_execution not null,
  -- Runs where its agent runs; the worker's lease stands for the call's.
  local            boolean not null,
  can_reconcile    boolean not null,
  attempts_max     smallint not null,
  backoff_ms       integer not null,
  call_card_id     text collate "C" not null,
  box_id           text collate "C" not null,
  result_pos       integer not null,
  created_at       timestamptz not null,
  deadline_at      timestamptz not null,
  due_at           timestamptz,
  -- Everything below changes; kept together so that an update logs few bytes.
  wait_status      state.wait_status not null,
  rings            smallint not null default 0,
  attempt          smallint not null default 0,
  claimed_by       text collate "C",
  principal        text collate "C",
  claim_id         text collate "C",
  claimed_at       timestamptz,
  lease_until      timestamptz,
  cap_sha256       bytea,
  -- Capabilities of attempts that lost their lease: a late holder is told `stale_attempt`, a forger `auth_failed`.
  stale_caps       bytea[],
  -- The last attempt died and its tool may have acted: the next holder asks the tool what happened before anything else.
  reconcile        boolean not null default false,
  batch_id         text collate "C",
  settled_by       state.settler,
  result_card_id   text collate "C",
  result_status    state.result_status,
  result_after     state.after_execution,
  report_span_id   text collate "C",
  received_at      timestamptz,
  applied_at       timestamptz
) with (fillfactor = 45);
create index calls_due on state.calls (due_at) where due_at is not null;
-- Rung again and still waiting: what a process that hears no bell finds by looking (l0.overdue_rings). A call that goes well is never here.
create index calls_rung on state.calls (due_at) where rings > 0 and due_at is not null;

create table state.workers (
  worker_id      text collate "C" primary key,
  worker_target  text collate "C" not null,
  lease_until    timestamptz not null,
  started_at     timestamptz not null,
  -- Declared dead; and all its turns found.
  lapsed_at      timestamptz,
  drained_at     timestamptz,
  info           jsonb not null default '{}'
) with (fillfactor = 50);

-- Edges that no call row holds: enqueue/request, join/request, join/response.
create table state.edges (
  edge_id               text collate "C" primary key,
  project_id            text collate "C" not null,
  channel_id            text collate "C" not null,
  primitive             text collate "C" not null check (primitive in ('enqueue', 'join')),
  edge_phase            text collate "C" not null check (edge_phase in ('request', 'response')),
  source_agent_id       text collate "C",
  source_agent_turn_id  text collate "C",
  source_step_id        text collate "C",
  target_agent_id       text collate "C",
  target_agent_turn_id  text collate "C",
  correlation_id        text collate "C" not null,
  enqueue_mode          text collate "C",
  recursion_depth       integer not null check (recursion_depth >= 0),
  trace_id              text collate "C",
  parent_step_id        text collate "C",
  metadata              jsonb not null default '{}',
  created_at            timestamptz not null,
  unique (project_id, correlation_id, primitive, edge_phase)
);

create table state.identity_edges (
  edge_id          text collate "C" primary key,
  project_id       text collate "C" not null,
  channel_id       text collate "C" not null,
  action           text collate "C" not null,
  source_agent_id  text collate "C",
  target_agent_id  text collate "C" not null,
  trace_id         text collate "C",
  parent_step_id   text collate "C",
  metadata         jsonb not null default '{}',
  created_at       timestamptz not null
);

-- Sequenced events, read by cursor through l0.events_after.
create table state.events (
  project_id     text collate "C" not null,
  seq            bigint generated always as identity,
  agent_id       text collate "C" not null,
  agent_turn_id  text collate "C" not null,
  kind           state.event_kind not null,
  status         text collate "C" not null,
  turn_epoch     bigint not null,
  step_id        text collate "C",
  payload        jsonb,
  created_at     timestamptz not null,
  primary key (project_id, seq)
);
-- A turn ends once: the second terminal event of a turn cannot be written.
create unique index events_one_terminal on state.events (agent_turn_id) where kind = 'task';

create table state.trace_budgets (
  project_id  text collate "C" not null,
  trace_id    text collate "C" not null,
  turns       integer not null,
  primary key (project_id, trace_id)
) with (fillfactor = 60);

create table state.pmo_batches (
  batch_id              text collate "C" primary key,
  project_id            text collate "C" not null,
  channel_id            text collate "C" not null,
  parent_agent_id       text collate "C" not null,
  parent_agent_turn_id  text collate "C" not null,
  parent_tool_call_id   text collate "C" not null unique,
  parent_turn_epoch     bigint not null,
  task_count            integer not null check (task_count between 1 and 50),
  fail_fast             boolean not null default false,
  status                text collate "C" not null check (status in ('running', 'success', 'failed', 'timeout', 'partial')),
  deadline_at           timestamptz,
  metadata              jsonb not null default '{}',
  created_at            timestamptz not null,
  ended_at              timestamptz,
  check ((status = 'running') = (ended_at is null))
);
create index pmo_batches_running on state.pmo_batches (deadline_at) where status = 'running';

create table state.pmo_batch_tasks (
  batch_task_id          text collate "C" primary key,
  batch_id               text collate "C" not null references state.pmo_batches on delete cascade,
  project_id             text collate "C" not null,
  task_index             integer not null,
  agent_id               text collate "C",
  status                 text collate "C" not null
                           check (status in ('pending', 'dispatched', 'success', 'failed', 'canceled', 'timeout', 'partial')),
  retryable              boolean not null default true,
  next_retry_at          timestamptz not null,
  attempt_count          integer not null default 0,
  current_agent_turn_id  text collate "C" unique,
  current_turn_epoch     bigint,
  payload_hash           text collate "C",
  profile_box_id         text collate "C",
  context_box_id         text collate "C",
  output_box_id          text collate "C",
  error_detail           jsonb,
  metadata               jsonb not null default '{}',
  created_at             timestamptz not null,
  ended_at               timestamptz,
  unique (batch_id, task_index)
);

create table state.dead_letters (
  dead_letter_id  bigint generated always as identity primary key,
  project_id      text collate "C",
  correlation_id  text collate "C",
  reason          text collate "C" not null,
  detail          jsonb not null default '{}',
  created_at      timestamptz not null
);

-- What was refused, and attempts that failed and will be tried again. Append only.
create table state.audit_log (
  audit_id       bigint generated always as identity primary key,
  project_id     text collate "C",
  kind           text collate "C" not null,
  code           text collate "C" not null,
  tool_call_id   text collate "C",
  agent_turn_id  text collate "C",
  principal      text collate "C",
  detail         jsonb not null default '{}',
  created_at     timestamptz not null
);

-- The key of the tickets (design D8), split into the two pads of HMAC-SHA-256. Only l0 reads it.
create table l0.ticket_keys (
  key_id  integer primary key check (key_id = 1),
  inner_pad  bytea not null,
  outer_pad  bytea not null
);
do $$
declare
  secret bytea := '';
  inner_pad bytea := '';
  outer_pad bytea := '';
begin
  for i in 1..4 loop
    secret := secret || pg_catalog.uuid_send(pg_catalog.gen_random_uuid());
  end loop;
  inner_pad := secret;
  outer_pad := secret;
  for i in 0..63 loop
    inner_pad := pg_catalog.set_byte(inner_pad, i, pg_catalog.get_byte(secret, i) # 54);
    outer_pad := pg_catalog.set_byte(outer_pad, i, pg_catalog.get_byte(secret, i) # 92);
  end loop;
  insert into l0.ticket_keys values (1, inner_pad, outer_pad);
end $$;
