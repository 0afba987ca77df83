// Pins: every name, number and list of the wire, typed a second time. A red pin means that the contract changed; change
// it here only together with a version, a migration note, or the knowledge that the old value was never released.

import { expect, test } from "vitest";
import * as protocol from "./index.ts";

test("header names are these, in this casing", () => {
  expect(Object.values(protocol.HEADERS)).toEqual([
    "CG-Project-Id",
    "CG-Channel-Id",
    "CG-Agent-Id",
    "CG-Turn-Id",
    "CG-Turn-Epoch",
    "CG-Step-Id",
    "CG-Tool-Call-Id",
    "CG-Parent-Agent-Id",
    "CG-Parent-Turn-Id",
    "CG-Parent-Step-Id",
    "CG-Parent-Traceparent",
    "CG-Recursion-Depth",
    "CG-L0-Ack-Reply",
    "CG-Call-Ticket",
    "CG-Report-Capability",
    "CG-Store-Id",
    "CG-Timestamp",
    "CG-Version",
    "CG-Msg-Type",
    "CG-Sender",
    "traceparent",
    "tracestate",
  ]);
  expect(protocol.SECRET_HEADERS).toEqual(["CG-Call-Ticket", "CG-Report-Capability"]);
});

test("subjects have this form and these families", () => {
  expect(protocol.SUBJECT_VERSION).toBe("v1r4");
  expect(protocol.SUBJECT_VERSIONS).toEqual(["v1r3", "v1r4"]);
  expect(protocol.SUBJECT_CATEGORIES).toEqual(["cmd", "evt", "str"]);
  expect(protocol.SUBJECT_COMPONENTS).toEqual(["agent", "sys", "user", "tool"]);
  const of = { project_id: "p1", channel_id: "c1", category: "cmd" } as const;
  const subject = (component: protocol.SubjectComponent, target: string, suffix: string) =>
    protocol.formatSubject({ ...of, component, target, suffix });
  expect(subject("tool", "search", "query")).toBe("cg.v1r4.p1.c1.cmd.tool.search.query");
  expect(subject("agent", "worker_generic", "wakeup")).toBe("cg.v1r4.p1.c1.cmd.agent.worker_generic.wakeup");
  expect(subject("sys", "pmo", "internal.fork_join")).toBe("cg.v1r4.p1.c1.cmd.sys.pmo.internal.fork_join");
  expect(protocol.targetSubjectFor("search", "query")).toBe("cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.query");
  const families = Object.entries(protocol.SUBJECT_FAMILIES).map(([family, pattern]) => `${family} ${pattern}`);
  expect(`\n${families.join("\n")}\n`).toBe(`
agent_wakeup cg.*.*.*.cmd.agent.*.wakeup
tool_command cg.*.*.*.cmd.tool.*.*
pmo_command cg.*.*.*.cmd.sys.pmo.internal.*
ui_action cg.*.*.*.cmd.sys.ui.action
agent_step cg.*.*.*.evt.agent.*.step
agent_task cg.*.*.*.evt.agent.*.task
agent_state cg.*.*.*.evt.agent.*.state
agent_inbox_progress cg.*.*.*.evt.agent.*.inbox_progress
ui_action_ack cg.*.*.*.evt.sys.ui.action_ack
ui_marker cg.*.*.*.evt.sys.ui.marker
agent_chunk cg.*.*.*.str.agent.*.chunk
`);
});

test("streams and durables have these names", () => {
  expect(protocol.streamsOf()).toEqual([
    { name: "cg_cmd_v1r4", filter: "cg.v1r4.*.*.cmd.>", max_age_ms: 86_400_000 },
    { name: "cg_evt_v1r4", filter: "cg.v1r4.*.*.evt.>", max_age_ms: 604_800_000 },
  ]);
  expect(protocol.workerDurable("worker_generic")).toBe("agent_worker_worker_generic_wakeup_v1r4");
  expect(protocol.toolDurable("search")).toBe("tool_search_cmd_v1r4");
  expect(protocol.pmoDurable()).toBe("pmo_service_cmd_v1r4");
  expect(protocol.batchDurable()).toBe("pmo_batch_evt_task_v1r4");
});

test("control fields and payload fields are these", () => {
  expect(protocol.CONTROL_FIELDS).toEqual([
    ...["project_id", "channel_id", "channel", "agent_id", "agent_turn_id", "turn_epoch", "step_id", "tool_call_id"],
    ...["trace_id", "traceparent", "tracestate"],
    ...["parent_agent_id", "parent_agent_turn_id", "parent_step_id", "parent_traceparent", "recursion_depth"],
  ]);
  expect(protocol.RESUME_CONTROL_FIELDS).toEqual([...protocol.CONTROL_FIELDS, "source_agent_id"]);
  expect(protocol.COMMAND_PAYLOAD_FIELDS).toEqual(["tool_call_card_id", "tool_name", "after_execution"]);
  expect(protocol.COMMAND_FORBIDDEN_FIELDS).toEqual(["args", "arguments", "result"]);
  expect(protocol.CALLBACK_PAYLOAD_FIELDS).toEqual(["after_execution", "status", "tool_result_card_id"]);
  expect(protocol.CG_CONTROL_KEY).toBe("__cg_control");
});

test("statuses and small lists are these", () => {
  expect(protocol.RESULT_STATUSES).toEqual(["success", "failed", "canceled", "timeout", "partial"]);
  expect(protocol.TURN_STATUSES.join(" ")).toBe(
    "queued dispatched running suspended success failed canceled timeout partial",
  );
  expect(protocol.OUTCOME_STATUSES).toEqual(["accepted", "duplicate", "busy", "rejected", "error"]);
  expect(protocol.AFTER_EXECUTIONS).toEqual(["suspend", "terminate"]);
  expect(protocol.AFTER_EXECUTION_DEFAULT).toBe("suspend");
  expect(protocol.STEP_PHASES).toEqual(["started", "planning", "executing", "completed", "failed"]);
  expect(protocol.CHUNK_TYPES).toEqual(["start", "content", "reasoning", "tool_call", "end"]);
  expect(protocol.INBOX_MESSAGE_TYPES.join(" ")).toBe("turn tool_result timeout stop ui_action command_anchor answer");
  expect(protocol.TOOL_EFFECTS).toEqual(["read", "idempotent", "once"]);
  expect(protocol.TOOL_EFFECT_DEFAULT).toBe("once");
  expect(protocol.TOOL_PLACEMENTS).toEqual(["inline", "isolated", "service", "edge"]);
});

test("states and moves are these", () => {
  expect(protocol.HEAD_STATES).toEqual(["idle", "dispatched", "running", "suspended"]);
  expect(protocol.HEAD_MOVES).toEqual({
    dispatch: { from: ["idle"], to: "dispatched" },
    start: { from: ["dispatched"], to: "running" },
    suspend: { from: ["running"], to: "suspended" },
    resume: { from: ["suspended"], to: "running" },
    finish: { from: ["running"], to: "idle" },
    stop: { from: ["dispatched", "running", "suspended"], to: "idle" },
    recover: { from: ["running"], to: "dispatched" },
    defer: { from: ["running"], to: "dispatched" },
    exhaust: { from: ["dispatched", "running", "suspended"], to: "idle" },
  });
  expect(protocol.INBOX_STATES.join(" ")).toBe("queued pending processing deferred consumed error skipped");
  expect(protocol.INBOX_MOVES).toEqual({
    dispatch: { from: ["queued"], to: "pending" },
    claim: { from: ["pending", "deferred"], to: "processing" },
    consume: { from: ["pending", "processing", "deferred"], to: "consumed" },
    recover: { from: ["processing"], to: "pending" },
    defer: { from: ["processing"], to: "deferred" },
    fail: { from: ["queued", "pending", "processing", "deferred"], to: "error" },
    cancel: { from: ["queued"], to: "skipped" },
  });
  expect(protocol.WAIT_STATES).toEqual(["waiting", "received", "applied", "dropped"]);
  expect(protocol.WAIT_MOVES).toEqual({
    settle: { from: ["waiting"], to: "received" },
    apply: { from: ["received"], to: "applied" },
    drop: { from: ["waiting", "received"], to: "dropped" },
  });
  expect(protocol.CLAIM_STATES).toEqual(["unclaimed", "claimed"]);
  expect(protocol.CLAIM_MOVES).toEqual({
    open: { from: ["unclaimed"], to: "claimed" },
    renew: { from: ["claimed"], to: "claimed" },
    repeat: { from: ["claimed"], to: "claimed" },
    release: { from: ["claimed"], to: "unclaimed" },
  });
  expect(protocol.BATCH_STATES).toEqual(["running", "success", "failed", "timeout", "partial"]);
  expect(protocol.BATCH_MOVES).toEqual({
    succeed: { from: ["running"], to: "success" },
    fail: { from: ["running"], to: "failed" },
    time_out: { from: ["running"], to: "timeout" },
    finish_partially: { from: ["running"], to: "partial" },
  });
  expect(protocol.BATCH_TASK_STATES.join(" ")).toBe("pending dispatched success failed canceled timeout partial");
  expect(protocol.BATCH_TASK_MOVES).toEqual({
    dispatch: { from: ["pending"], to: "dispatched" },
    requeue: { from: ["dispatched"], to: "pending" },
    settle_success: { from: ["dispatched"], to: "success" },
    settle_failed: { from: ["pending", "dispatched"], to: "failed" },
    settle_canceled: { from: ["pending", "dispatched"], to: "canceled" },
    settle_timeout: { from: ["pending", "dispatched"], to: "timeout" },
    settle_partial: { from: ["dispatched"], to: "partial" },
  });
  expect(protocol.DEFER_DELAYS_MS).toEqual({
    state_not_found: 2000,
    turn_running_not_suspended: 1000,
    tool_result_card_not_found: 1500,
    agent_thought_not_found: 1500,
    resume_cas_failed_running: 1000,
    resume_cas_failed_terminate: 1000,
  });
});

test("limits are these", () => {
  const limits = Object.fromEntries(
    Object.entries(protocol).filter(([name]) => /^[A-Z0-9_]+_(?:MAX|MS|EXTRA)$|_MAX_DEFAULT$|_PATTERN$/.test(name)),
  );
  expect(limits).toEqual({
    JSON_DEPTH_MAX: 64,
    SESSION_ALIAS_CHARS_MAX: 256,
    ENVELOPE_DEPTH_EXTRA: 8,
    JSON_KEYS_MAX: 65536,
    ARGUMENTS_BYTES_MAX: 262144,
    CARD_CONTENT_BYTES_MAX: 1048576,
    CARD_METADATA_BYTES_MAX: 65536,
    HTTP_BODY_BYTES_MAX: 1310720,
    HTTP_HEADERS_BYTES_MAX: 16384,
    MESSAGE_BYTES_MAX: 1048576,
    TRACESTATE_CHARS_MAX: 512,
    SUBJECT_CHARS_MAX: 512,
    SUBJECT_TOKENS_MAX: 11,
    DURABLE_CHARS_MAX: 64,
    DESCRIPTION_BYTES_MAX: 4096,
    ERROR_MESSAGE_CHARS_MAX: 1000,
    STACK_CHARS_MAX: 8192,
    TOOL_SCHEMA_BYTES_MAX: 65536,
    TOOL_SCHEMA_DEPTH_MAX: 32,
    UPLOAD_YAML_BYTES_MAX: 262144,
    UPLOAD_YAML_ALIASES_MAX: 0,
    BUNDLE_FILE_BYTES_MAX: 1048576,
    BUNDLE_DOCUMENTS_MAX: 100,
    BUNDLE_ALIASES_MAX: 100,
    YAML_DEPTH_MAX: 64,
    ID_CHARS_MAX: 64,
    ID_PATTERN: /^[A-Za-z0-9_-]{1,64}$/,
    ACTOR_ID_PATTERN: /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/,
    ACTOR_ID_CHARS_MAX: 128,
    INSTANCE_KEY_PATTERN: /^[A-Za-z0-9_:.@-]{1,128}$/,
    TOOL_NAME_PATTERN: /^[A-Za-z0-9_-]{1,64}$/,
    CARD_TYPE_CHARS_MAX: 64,
    LEASE_MS: 15000,
    HEARTBEAT_MS: 5000,
    SWEEP_INTERVAL_MS: 1000,
    RING_FIRST_MS: 5000,
    RING_MAX_MS: 60000,
    LONG_POLL_MS_MAX: 30000,
    TOOL_TIMEOUT_MS: 600000,
    CALL_DEADLINE_MARGIN_MS: 30000,
    CALL_TIMEOUT_MS: 30000,
    CALLS_PER_STEP_MAX: 64,
    FAN_OUT_MAX: 50,
    RECURSION_DEPTH_MAX: 20,
    STEPS_PER_TURN_MAX: 32,
    TURNS_PER_TRACE_MAX: 1000,
    INBOX_PER_AGENT_MAX: 10000,
    ATTEMPTS_MAX_DEFAULT: 3,
    CRASHES_MAX: 3,
    HANGS_MAX: 2,
    DEFERRALS_MAX: 3,
    BATCH_BYTES_MAX: 4194304,
    BATCH_ITEMS_MAX: 64,
    FUNCTION_ITEMS_MAX: 256,
    INBOX_ROWS_PER_CLAIM_MAX: 20,
    FORK_JOIN_DEADLINE_MS: 900000,
    BATCH_DISPATCH_ATTEMPTS_MAX: 5,
    BATCH_DISPATCH_DELAY_FIRST_MS: 2000,
    BATCH_DISPATCH_DELAY_MAX_MS: 30000,
    AGENT_REQUEST_TIMEOUT_MS: 60000,
    DEFER_DELAYS_MS: protocol.DEFER_DELAYS_MS,
  });
});

test("card types have these roles and contents", () => {
  const types = Object.entries(protocol.CARD_TYPES).map(([type, { role, content }]) => `${type} ${role} ${content}`);
  expect(`\n${types.join("\n")}\n`).toBe(`
task.instruction user text
task.result_fields user fields_schema
task.deliverable assistant text,json
agent.thought assistant text
agent.answer user json
agent.reset system json
agent.calls assistant json
agent.error system json
tool.call assistant tool_call
tool.result tool tool_result
sys.profile system json
sys.rendered_prompt system text
sys.tools system json
sys.must_end_with_required system text
sys.judge_feedback system text
sys.message_event system json
meta.parent_pointer system json
`);
});

// code class http retry
const CODES = `
bad_request BadRequest 400 never
not_found NotFound 404 never
conflict Conflict 409 never
duplicate Conflict 409 never
forbidden PolicyDenied 403 never
auth_failed PolicyDenied 403 never
unauthenticated PolicyDenied 401 never
canceled Conflict 409 never
timeout ToolTimeout 504 never
not_implemented BadRequest 501 never
internal_error Internal 500 never
stop_incomplete Internal 500 never
unknown_error Internal 500 never
upstream_unavailable UpstreamUnavailable 503 later
model_failed UpstreamUnavailable 503 later
invalid_json BadRequest 400 never
invalid_payload BadRequest 400 never
invalid_encoding BadRequest 400 never
too_deep BadRequest 400 never
forbidden_key BadRequest 400 never
schema_invalid BadRequest 400 never
payload_too_large BadRequest 413 never
invalid_id BadRequest 400 never
protocol_violation ProtocolViolation 400 never
invalid_subject ProtocolViolation 400 never
unsupported_version ProtocolViolation 400 never
tenant_mismatch PolicyDenied 403 never
invalid_context ProtocolViolation 400 never
invalid_source_actor PolicyDenied 403 never
recursion_depth_exceeded BadRequest 400 never
card_not_found NotFound 404 never
card_fetch_failed UpstreamUnavailable 503 same-call
invalid_card BadRequest 400 never
invalid_card_type BadRequest 400 never
deliverable_invalid BadRequest 400 never
missing_card_id BadRequest 400 never
tool_call_id_mismatch ProtocolViolation 400 never
invalid_status BadRequest 400 never
invalid_after_execution BadRequest 400 never
after_execution_mismatch Conflict 409 never
result_not_serializable BadRequest 400 never
error_not_serializable BadRequest 400 never
missing_tool_call_id ProtocolViolation 400 never
missing_tool_result_card ProtocolViolation 400 never
invalid_tool_result_type ProtocolViolation 400 never
tool_result_not_found NotFound 404 never
invalid_args BadRequest 400 never
unknown_call NotFound 404 never
already_settled Conflict 409 never
already_claimed Conflict 409 never
stale_attempt Conflict 409 never
stale_epoch Conflict 409 never
stale_turn Conflict 409 never
lease_lost Conflict 409 never
worker_lapsed Conflict 409 never
no_executor ToolTimeout 504 later
outcome_unknown Internal 500 never
tool_crashed Internal 500 never
tool_timeout ToolTimeout 504 never
tool_not_in_catalog NotFound 404 never
tool_definition_missing NotFound 404 never
stale_tool_definition NotFound 404 never
too_many_calls BadRequest 400 never
agent_not_found NotFound 404 never
agent_busy Conflict 409 later
backlog_full UpstreamUnavailable 429 later
trace_budget_exceeded PolicyDenied 429 never
fan_out_exceeded BadRequest 400 never
crash_loop Internal 500 never
process_hung Internal 500 never
max_steps_reached BadRequest 400 never
resume_retry_exhausted Internal 500 never
resume_failed Internal 500 never
judge_fail_fast PolicyDenied 403 never
missing_step_id ProtocolViolation 400 never
missing_agent_thought ProtocolViolation 400 never
missing_tool_calls ProtocolViolation 400 never
missing_agent_turn_id ProtocolViolation 400 never
missing_agent_id BadRequest 400 never
missing_required_fields BadRequest 400 never
invalid_payload_json BadRequest 400 never
invalid_payload_type BadRequest 400 never
invalid_metadata BadRequest 400 never
inbox_not_empty Conflict 409 later
dispatch_failed Internal 500 never
invalid_worker_target BadRequest 400 never
ui_not_allowed PolicyDenied 403 never
idempotency_inflight Conflict 409 later
l0_error Internal 500 never
unsupported_pmo_route NotFound 404 never
delegation_denied PolicyDenied 403 never
invalid_action BadRequest 400 never
invalid_tags BadRequest 400 never
missing_derived_from BadRequest 400 never
missing_profile_name BadRequest 400 never
missing_derived_profile_name BadRequest 400 never
profile_not_found NotFound 404 never
profile_box_missing NotFound 404 never
profile_mismatch Conflict 409 never
derived_agent_conflict Conflict 409 never
worker_target_missing BadRequest 400 never
existing_agent_profile_mutation_forbidden Conflict 409 never
existing_agent_owner_mutation_forbidden Conflict 409 never
existing_agent_worker_target_mutation_forbidden Conflict 409 never
existing_agent_tags_mutation_forbidden Conflict 409 never
batch_failed Internal 500 never
dispatch_retry_exhausted UpstreamUnavailable 503 later
downstream_unavailable UpstreamUnavailable 503 later
root_must_be_mapping BadRequest 400 never
aliases_not_allowed BadRequest 400 never
tag_not_allowed BadRequest 400 never
invalid_target_subject BadRequest 400 never
reserved_name BadRequest 400 never
invalid_name BadRequest 400 never
env_not_allowed PolicyDenied 400 never
conflicting_arg BadRequest 400 never
unknown_template_var BadRequest 400 never
invalid_path BadRequest 400 never
path_outside_workdir PolicyDenied 403 never
url_not_allowed PolicyDenied 403 never
storage_error UpstreamUnavailable 503 same-call
storage_busy UpstreamUnavailable 503 same-call
storage_full UpstreamUnavailable 507 later
store_in_use Conflict 409 never
shutting_down UpstreamUnavailable 503 later
rate_limited UpstreamUnavailable 429 later
method_not_allowed BadRequest 405 never
unsupported_media_type BadRequest 415 never
precondition_failed Conflict 412 never
origin_not_allowed PolicyDenied 403 never
E_TOOL Internal 500 never
E_TOOL_INVALID_ARGS BadRequest 400 never
E_TOOL_NOT_FOUND NotFound 404 never
E_TOOL_NOT_IN_CATALOG NotFound 404 never
E_EXT_LOAD BadRequest 400 never
E_MESSAGE_TARGET_NOT_FOUND NotFound 404 never
extension_failed Internal 500 never
E_CONFIG_UNSUPPORTED_API_VERSION BadRequest 400 never
E_CONFIG_UNKNOWN_KIND BadRequest 400 never
E_CONFIG_INVALID_NAME BadRequest 400 never
E_CONFIG_DUPLICATE_NAME BadRequest 400 never
E_CONFIG_INVALID_REF BadRequest 400 never
E_CONFIG_REF_NOT_FOUND BadRequest 400 never
E_CONFIG_SCHEMA_INVALID BadRequest 400 never
E_CONFIG_PACKAGE_DOC_DUPLICATED BadRequest 400 never
E_CONFIG_PACKAGE_DOC_POSITION BadRequest 400 never
E_CONFIG_PARSE_ERROR BadRequest 400 never
E_CONFIG_FILE_TOO_LARGE BadRequest 413 never
E_CONFIG_TOO_MANY_DOCUMENTS BadRequest 400 never
E_CONFIG_ENTRY_NOT_FOUND BadRequest 400 never
E_CONFIG_PACKAGE_LOCK_MISSING BadRequest 400 never
E_CONFIG_PACKAGE_NOT_INSTALLED BadRequest 400 never
E_CONFIG_PACKAGE_MANIFEST_MISSING BadRequest 400 never
`;

test("error codes have these classes, statuses and retries", () => {
  const lines = Object.entries(protocol.ERROR_CATALOGUE).map(
    ([code, entry]) => `${code} ${entry.class} ${entry.http} ${entry.retry}`,
  );
  expect(lines).toEqual(CODES.trim().split("\n"));
});

test("names of schema documents are these", () => {
  expect(Object.keys(protocol.WIRE_SCHEMAS)).toEqual([
    "command-payload",
    "tool-command-headers",
    "callback-payload",
    "card",
    "tool-call-content",
    "tool-result-content",
    "fields-schema-content",
    "json-content",
    "text-content",
    "error-object",
    "error-codes",
    "wakeup-payload",
    "step-event",
    "task-event",
    "state-event",
    "chunk",
  ]);
  expect(protocol.WIRE_SCHEMAS.card.$id).toBe("urn:tessera:v1r4:card");
});
