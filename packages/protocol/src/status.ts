// Statuses that travel on the wire: of a tool result, of a turn, and of an answer by the kernel.
//
//   S1. A result has one of five statuses; nothing else is ever stored. The result builder coerces, the kernel refuses.
//   S2. Matching is exact: `SUCCESS` and `ok` are not statuses.

export const RESULT_STATUSES = ["success", "failed", "canceled", "timeout", "partial"] as const;
export type ResultStatus = (typeof RESULT_STATUSES)[number];

/** A turn on its way, then one of the terminal statuses, which are those of a result. */
export const TURN_STATUSES = ["queued", "dispatched", "running", "suspended", ...RESULT_STATUSES] as const;
export type TurnStatus = (typeof TURN_STATUSES)[number];

/** What `l0` answers per item. `busy` and `rejected` carry a code; `error` means that the kernel itself failed. */
export const OUTCOME_STATUSES = ["accepted", "duplicate", "busy", "rejected", "error"] as const;
export type OutcomeStatus = (typeof OUTCOME_STATUSES)[number];

export const STEP_PHASES = ["started", "planning", "executing", "completed", "failed"] as const;
export type StepPhase = (typeof STEP_PHASES)[number];

export const CHUNK_TYPES = ["start", "content", "reasoning", "tool_call", "end"] as const;
export type ChunkType = (typeof CHUNK_TYPES)[number];

export const INBOX_MESSAGE_TYPES = [
  "turn",
  "tool_result",
  "timeout",
  "stop",
  "ui_action",
  "command_anchor",
  "answer",
] as const;
export type InboxMessageType = (typeof INBOX_MESSAGE_TYPES)[number];

/** What a crash means for a tool (docs/design.md#effects). `once` is the default: a side effect is never blindly repeated. */
export const TOOL_EFFECTS = ["read", "idempotent", "once"] as const;
export type ToolEffect = (typeof TOOL_EFFECTS)[number];
export const TOOL_EFFECT_DEFAULT: ToolEffect = "once";

/** Where a tool runs (docs/design.md#placements). Configuration, never code. */
export const TOOL_PLACEMENTS = ["inline", "isolated", "service", "edge"] as const;
export type ToolPlacement = (typeof TOOL_PLACEMENTS)[number];

/** Why a wakeup was sent. Observers read it; no decision depends on it. */
export const WAKEUP_REASONS = [
  "dispatch_next",
  "agent_idle",
  "tool_result",
  "stop",
  "deferred_wakeup",
  "watchdog_due_deferred",
  "watchdog_retransmit",
  "watchdog_forced_idle",
  "watchdog_pending_inbox",
  "answer",
  "batch_reconcile_ack_pending_window_exceeded",
] as const;
export type WakeupReason = (typeof WAKEUP_REASONS)[number];

export function isResultStatus(value: unknown): value is ResultStatus {
  return typeof value === "string" && (RESULT_STATUSES as readonly string[]).includes(value);
}

export function isTerminalTurnStatus(status: TurnStatus): status is ResultStatus {
  return isResultStatus(status);
}
