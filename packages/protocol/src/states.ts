// States and legal moves of everything durable, as data.
//
// SQL guards, docs/reference/states.md and tests derive from these tables or are checked against them.
//
//   M1. A state changes only by a move that is named here, and only from a state in the move's `from`.
//   M2. Every move is a compare-and-set: where the row is not in `from`, zero rows change and the mover stops.
//   M3. Only `finish`, `stop` and `exhaust` make a head idle, so every ended turn has passed one of three places.

export interface Move<S extends string> {
  readonly from: readonly S[];
  readonly to: S;
}

export const HEAD_STATES = ["idle", "dispatched", "running", "suspended"] as const;
export type HeadState = (typeof HEAD_STATES)[number];

export const HEAD_MOVES = {
  dispatch: { from: ["idle"], to: "dispatched" }, // a queued turn gets the agent; the epoch grows
  start: { from: ["dispatched"], to: "running" }, // a worker took the turn
  suspend: { from: ["running"], to: "suspended" }, // calls are out and none of them runs in this worker
  resume: { from: ["suspended"], to: "running" }, // every wait of the step is settled; the epoch grows
  finish: { from: ["running"], to: "idle" }, // deliverable written
  stop: { from: ["dispatched", "running", "suspended"], to: "idle" }, // the epoch grows, so late writes are stale
  recover: { from: ["running"], to: "dispatched" }, // the worker's lease lapsed; the epoch grows
  defer: { from: ["running"], to: "dispatched" }, // the holder gives its turn back for later
  exhaust: { from: ["dispatched", "running", "suspended"], to: "idle" }, // crashes, hangs or deferrals used up: the kernel ends the turn
} as const satisfies Record<string, Move<HeadState>>;

export const INBOX_STATES = ["queued", "pending", "processing", "deferred", "consumed", "error", "skipped"] as const;
export type InboxState = (typeof INBOX_STATES)[number];

export const INBOX_MOVES = {
  dispatch: { from: ["queued"], to: "pending" }, // together with the head's `dispatch`
  claim: { from: ["pending", "deferred"], to: "processing" },
  consume: { from: ["pending", "processing", "deferred"], to: "consumed" }, // applied, or found stale
  recover: { from: ["processing"], to: "pending" }, // its worker's lease lapsed
  defer: { from: ["processing"], to: "deferred" }, // not yet possible: see DEFER_DELAYS_MS
  fail: { from: ["queued", "pending", "processing", "deferred"], to: "error" },
  cancel: { from: ["queued"], to: "skipped" },
} as const satisfies Record<string, Move<InboxState>>;

// The reference also knows `expired`. Settlement is one compare-and-set for report, deadline, cancel and unknown outcome
// (docs/design.md#authority-is-in-the-database), so a deadline settles a wait as `received` with a result of status `timeout`.
export const WAIT_STATES = ["waiting", "received", "applied", "dropped"] as const;
export type WaitState = (typeof WAIT_STATES)[number];

export const WAIT_MOVES = {
  settle: { from: ["waiting"], to: "received" }, // exactly one settler wins
  apply: { from: ["received"], to: "applied" }, // the result is in the output box
  drop: { from: ["waiting", "received"], to: "dropped" }, // the turn ended first
} as const satisfies Record<string, Move<WaitState>>;

/** The executor's side of a waiting call. */
export const CLAIM_STATES = ["unclaimed", "claimed"] as const;
export type ClaimState = (typeof CLAIM_STATES)[number];

export const CLAIM_MOVES = {
  open: { from: ["unclaimed"], to: "claimed" }, // the attempt grows here and in repeat
  renew: { from: ["claimed"], to: "claimed" }, // heartbeat
  repeat: { from: ["claimed"], to: "claimed" }, // a local call is tried again where it runs
  release: { from: ["claimed"], to: "unclaimed" }, // lapsed or given back, and the tool's effect allows another attempt
} as const satisfies Record<string, Move<ClaimState>>;

export const BATCH_STATES = ["running", "success", "failed", "timeout", "partial"] as const;
export type BatchState = (typeof BATCH_STATES)[number];

export const BATCH_MOVES = {
  succeed: { from: ["running"], to: "success" }, // every task succeeded
  fail: { from: ["running"], to: "failed" },
  time_out: { from: ["running"], to: "timeout" }, // the deadline passed
  finish_partially: { from: ["running"], to: "partial" }, // some succeeded, some did not
} as const satisfies Record<string, Move<BatchState>>;

export const BATCH_TASK_STATES = [
  "pending",
  "dispatched",
  "success",
  "failed",
  "canceled",
  "timeout",
  "partial",
] as const;
export type BatchTaskState = (typeof BATCH_TASK_STATES)[number];

// A task that was never dispatched can fail, be canceled or time out; it cannot have produced anything.
export const BATCH_TASK_MOVES = {
  dispatch: { from: ["pending"], to: "dispatched" },
  requeue: { from: ["dispatched"], to: "pending" }, // the target was busy: try again later
  settle_success: { from: ["dispatched"], to: "success" },
  settle_failed: { from: ["pending", "dispatched"], to: "failed" },
  settle_canceled: { from: ["pending", "dispatched"], to: "canceled" },
  settle_timeout: { from: ["pending", "dispatched"], to: "timeout" },
  settle_partial: { from: ["dispatched"], to: "partial" },
} as const satisfies Record<string, Move<BatchTaskState>>;

/** Why a holder gave a row back, and how long it rests. After DEFERRALS_MAX deferrals the turn ends. */
export const DEFER_DELAYS_MS = {
  state_not_found: 2_000,
  turn_running_not_suspended: 1_000,
  tool_result_card_not_found: 1_500,
  agent_thought_not_found: 1_500,
  resume_cas_failed_running: 1_000,
  resume_cas_failed_terminate: 1_000,
} as const;
export type DeferReason = keyof typeof DEFER_DELAYS_MS;

export interface StateMachine {
  readonly noun: string;
  readonly title: string;
  readonly initial: string;
  readonly states: readonly string[];
  readonly moves: Readonly<Record<string, Move<string>>>;
}

/** All machines, for the generated page and for tests that walk every (state, move) pair. */
export const STATE_MACHINES: readonly StateMachine[] = [
  { noun: "head", title: "Head of an agent", initial: "idle", states: HEAD_STATES, moves: HEAD_MOVES },
  { noun: "inbox", title: "Inbox row", initial: "queued", states: INBOX_STATES, moves: INBOX_MOVES },
  { noun: "wait", title: "Wait for a call", initial: "waiting", states: WAIT_STATES, moves: WAIT_MOVES },
  { noun: "claim", title: "Claim on a call", initial: "unclaimed", states: CLAIM_STATES, moves: CLAIM_MOVES },
  { noun: "batch", title: "Batch of child turns", initial: "running", states: BATCH_STATES, moves: BATCH_MOVES },
  {
    noun: "batch_task",
    title: "Task of a batch",
    initial: "pending",
    states: BATCH_TASK_STATES,
    moves: BATCH_TASK_MOVES,
  },
];

/** Whether `move` may be made from `state` (M1). */
export function isLegalMove<S extends string>(move: Move<S>, state: S): boolean {
  return move.from.includes(state);
}

/** States that no move leaves. */
export function terminalStates(machine: StateMachine): string[] {
  const left = new Set(Object.values(machine.moves).flatMap((move) => move.from));
  return machine.states.filter((state) => !left.has(state));
}
