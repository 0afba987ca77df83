// Items and outcomes of the l0 functions, field for field as in sql/functions. The header of each .sql file is the manual.

import type { AfterExecution, ErrorCode, ResultStatus, ToolEffect } from "@tessera/protocol";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };
export type JsonObject = { readonly [key: string]: Json | undefined };

export interface Rejected {
  readonly outcome: "rejected";
  readonly code: ErrorCode;
}

/** Who is to be woken after the commit. */
export interface Wake {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
  readonly trace_id: string;
  readonly worker_target: string;
  readonly inbox_id?: string;
  readonly reason?: string;
}

/** Everything a command message is made of. */
export interface Command {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
  readonly step_id: string;
  readonly tool_call_id: string;
  readonly tool_call_card_id: string;
  readonly tool_name: string;
  readonly after_execution: AfterExecution;
  readonly target_subject: string;
  readonly recursion_depth: number;
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_step_id: string | null;
  readonly parent_agent_id: string | null;
  readonly parent_agent_turn_id: string | null;
  readonly ticket: string;
}

export interface CardDraft {
  readonly card_id: string;
  readonly type: string;
  readonly content: JsonObject;
  readonly author_id?: string;
  readonly step_id?: string;
  readonly tool_calls?: Json;
  readonly metadata?: JsonObject;
}

export interface TurnRequest {
  readonly project_id: string;
  readonly agent_id: string;
  readonly agent_turn_id?: string;
  readonly correlation_id?: string;
  readonly message_type?: "turn" | "ui_action";
  readonly channel_id?: string;
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly tracestate?: string;
  readonly parent_traceparent?: string;
  readonly depth_policy?: "descend" | "peer" | "root";
  readonly parent_agent_turn_id?: string;
  readonly parent_step_id?: string;
  readonly profile_box_id?: string;
  readonly context_box_id?: string;
  readonly context_cards?: readonly CardDraft[];
  readonly output_box_id?: string;
  readonly display_name?: string;
  readonly metadata?: JsonObject;
  readonly runtime_config?: JsonObject;
  readonly source_agent_id?: string;
}

export type EnqueueOutcome =
  | Rejected
  | {
      readonly outcome: "accepted" | "duplicate";
      readonly agent_turn_id: string;
      readonly inbox_id: string;
      readonly correlation_id: string;
      readonly trace_id: string;
      readonly channel_id: string;
      readonly recursion_depth: number;
      readonly context_box_id?: string;
      readonly output_box_id?: string;
      readonly turn_epoch?: number;
      readonly wake?: Wake | null;
    };

/** What fences a worker's write (design D6). */
export interface TurnHold {
  readonly project_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
}

export interface AppliedResult {
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly call_index: number;
  readonly tool_result_card_id: string;
  readonly status: ResultStatus;
  readonly after_execution: AfterExecution;
  readonly content: JsonObject;
}

/** A local call that lost its worker and is to be run again by this one. */
export interface LocalCall {
  readonly tool_call_id: string;
  readonly tool_call_card_id: string;
  readonly tool_name: string;
  readonly tool_digest: string | null;
  readonly call_index: number;
  readonly effect: Effect;
  readonly after_execution: AfterExecution;
  readonly attempt: number;
  readonly mode: "run" | "reconcile";
  readonly deadline_at: string;
  readonly arguments: JsonObject;
}

export type ResumeOutcome =
  | Rejected
  | {
      readonly outcome: "nothing";
      readonly why: "idle" | "held" | "waiting" | "deferred";
      readonly agent_turn_id: string | null;
      readonly turn_epoch: number;
      readonly local_calls: readonly LocalCall[] | null;
      /** For the local calls above, when they are reported one by one. */
      readonly capability: string;
    }
  | ({
      readonly outcome: "accepted";
      readonly state: "started" | "resumed";
      readonly channel_id: string;
      readonly recursion_depth: number;
      readonly trace_id: string;
      readonly span_id: string;
      readonly tracestate: string | null;
      readonly parent_step_id: string | null;
      readonly parent_agent_id: string | null;
      readonly parent_agent_turn_id: string | null;
      readonly profile_box_id: string | null;
      readonly context_box_id: string | null;
      readonly output_box_id: string;
      readonly box_start: number;
      readonly box_length: number;
      readonly crash_count: number;
      readonly step_id: string | null;
      readonly display_name: string | null;
      readonly metadata: JsonObject | null;
      readonly runtime_config: JsonObject | null;
      readonly after_execution: AfterExecution;
      readonly results: readonly AppliedResult[] | null;
      readonly local_calls: readonly LocalCall[] | null;
      readonly capability: string;
    } & TurnHold);

export type Effect = ToolEffect;

export interface CallDraft {
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly arguments: JsonObject;
  /** The rendered subject: no placeholders are left. */
  readonly target_subject: string;
  /** The actor that will sign the result, e.g. `tool.search`. */
  readonly author_id: string;
  readonly card_id?: string;
  readonly span_id?: string;
  readonly tool_digest?: string;
  readonly effect?: Effect;
  readonly after_execution?: AfterExecution;
  /** The tool's own limit; the call's deadline is this plus two leases. */
  readonly timeout_ms?: number;
  readonly attempts_max?: number;
  readonly backoff_ms?: number;
  readonly can_reconcile?: boolean;
  readonly local?: boolean;
  readonly metadata?: JsonObject;
}

export interface StepRequest extends TurnHold {
  readonly step_id: string;
  readonly thought: { readonly card_id?: string; readonly content: JsonObject; readonly metadata?: JsonObject };
  readonly calls: readonly CallDraft[];
  readonly parent_agent_id?: string | null;
  readonly parent_agent_turn_id?: string | null;
}

export type SuspendOutcome =
  | Rejected
  | {
      readonly outcome: "accepted" | "duplicate";
      readonly channel_id: string;
      readonly trace_id: string;
      readonly parent_step_id: string | null;
      readonly recursion_depth: number;
      /** When the step was committed; a repeated request is not told. */
      readonly committed_at?: string;
      readonly calls: readonly {
        readonly tool_call_id: string;
        readonly ticket: string | null;
        /** Of a local call, for its report in a mixed step. */
        readonly capability?: string;
      }[];
    };

export interface OpenRequest {
  readonly project_id: string;
  readonly tool_call_id: string;
  readonly tool_call_card_id?: string;
  readonly ticket?: string;
  /** Only for a caller whose right to this target was checked outside (an executor key). */
  readonly target?: string;
  readonly executor: string;
  readonly claim_id?: string;
  readonly lease_ms?: number;
  readonly known_digest?: string;
  readonly principal?: string;
}

export interface OpenedCall {
  readonly outcome: "accepted";
  readonly tool_call_id: string;
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
  readonly step_id: string;
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_step_id: string | null;
  readonly recursion_depth: number;
  readonly tool_call_card_id: string;
  readonly tool_name: string;
  readonly tool_digest: string | null;
  readonly author_id: string;
  readonly target_subject: string;
  readonly effect: Effect;
  readonly after_execution: AfterExecution;
  readonly arguments: JsonObject;
  readonly call_metadata: JsonObject | null;
  readonly message: {
    readonly card_id: string;
    readonly content: JsonObject;
    readonly tool_calls: Json;
    readonly created_at?: string;
  };
  readonly definition: JsonObject | null;
  readonly attempt: number;
  readonly mode: "run" | "reconcile";
  readonly idempotency_key: string;
  readonly capability: string;
  readonly lease_expires_at: string;
  readonly deadline_at: string;
}
export type OpenOutcome = Rejected | OpenedCall;

/** A request for any work of a target. */
export interface ClaimRequest {
  readonly project_id: string;
  readonly target: string;
  readonly executor: string;
  readonly principal?: string;
  /** At most BATCH_ITEMS_MAX; one when absent. */
  readonly max?: number;
  readonly lease_ms?: number;
}

/** What fences an executor's write: the capability of the attempt. */
export interface CallHold {
  readonly project_id: string;
  readonly tool_call_id: string;
  readonly capability: string;
  readonly principal?: string;
}

export type RenewOutcome =
  | (Rejected & { readonly cancel: true })
  | { readonly outcome: "accepted"; readonly lease_expires_at: string; readonly cancel: false };

export interface ResultContent {
  readonly status: string;
  readonly after_execution?: string;
  readonly result?: unknown;
  readonly error?: unknown;
}

export interface ResultCardRequest extends CallHold {
  readonly content: ResultContent;
  readonly card_id?: string;
  readonly author_id?: string;
  readonly function_name?: string;
  readonly traceparent?: string;
}
export type ResultCardOutcome = Rejected | { readonly outcome: "accepted"; readonly tool_result_card_id: string };

export interface ReportRequest extends CallHold {
  /** The result itself, or … */
  readonly content?: ResultContent;
  /** … a pointer to a card saved before, with the callback payload's other two fields. */
  readonly tool_result_card_id?: string;
  readonly status?: string;
  readonly after_execution?: string;
  readonly message_type?: string;
  readonly agent_id?: string;
  readonly agent_turn_id?: string;
  readonly turn_epoch?: number;
  readonly recursion_depth?: number;
  readonly author_id?: string;
  readonly function_name?: string;
  readonly traceparent?: string;
}
export type ReportOutcome =
  | Rejected
  | { readonly outcome: "duplicate"; readonly tool_result_card_id: string }
  | { readonly outcome: "accepted"; readonly retry_at: string }
  | {
      readonly outcome: "accepted";
      readonly tool_result_card_id: string;
      readonly inbox_id: string;
      readonly correlation_id: string;
      readonly trace_id: string;
      readonly wake?: Wake;
    };

export interface ApplyRequest extends TurnHold {
  readonly step_id: string;
  readonly results: readonly { readonly tool_call_id: string; readonly content: ResultContent }[];
}
export type ApplyOutcome =
  | Rejected
  | { readonly outcome: "duplicate" }
  | {
      readonly outcome: "accepted";
      readonly after_execution: AfterExecution;
      readonly results: readonly Pick<
        AppliedResult,
        "tool_call_id" | "tool_result_card_id" | "status" | "after_execution"
      >[];
    };

export type WriteOutcome = Rejected | { readonly outcome: "accepted" | "duplicate" };

export interface FinishRequest extends TurnHold {
  readonly status: ResultStatus;
  readonly cards?: readonly CardDraft[];
  readonly deliverable?: Omit<CardDraft, "type">;
  readonly error_code?: string;
  readonly error_message?: string;
}
export type FinishOutcome =
  | Rejected
  | { readonly outcome: "duplicate"; readonly deliverable_card_id: string }
  | {
      readonly outcome: "accepted";
      readonly deliverable_card_id: string;
      readonly output_box_id: string;
      readonly channel_id: string;
      readonly trace_id: string;
      readonly wake: Wake | null;
    };

export interface DeferRequest extends TurnHold {
  readonly reason: string;
  readonly delay_ms: number;
  readonly deferrals_max: number;
}
export type DeferOutcome =
  | (Rejected & { readonly wake?: Wake })
  | { readonly outcome: "accepted"; readonly retry_count: number };

export interface StopRequest {
  readonly project_id: string;
  readonly agent_turn_id: string;
  readonly reason?: string;
}
export type StopOutcome =
  | (Rejected & { readonly status?: string })
  | {
      readonly outcome: "accepted";
      readonly agent_id: string;
      readonly was: string;
      readonly channel_id: string;
      readonly trace_id: string;
      readonly turn_epoch: number;
      readonly wake?: Wake | null;
    };

export interface WorkerRequest {
  readonly worker_id: string;
  readonly worker_target: string;
  readonly lease_ms?: number;
  readonly info?: JsonObject;
}
export type WorkerOutcome = Rejected | { readonly outcome: "accepted"; readonly lease_expires_at: string };

export interface SweepAnswer {
  readonly commands?: readonly Command[];
  readonly wakes: readonly Wake[];
  readonly ended?: readonly EndedTurn[];
  readonly settled?: number;
  readonly recovered?: number;
  readonly more: boolean;
}

/** A turn that ended, as its terminal event says it. */
export interface EndedTurn {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
  readonly trace_id: string;
  readonly status: ResultStatus;
  readonly deliverable_card_id?: string;
  readonly output_box_id?: string;
  readonly error_code?: string;
  readonly error?: string;
}

export interface BatchRequest extends CallHold {
  readonly batch_id: string;
  readonly deadline_ms?: number;
  readonly fail_fast?: boolean;
  readonly metadata?: JsonObject;
  readonly tasks: readonly {
    readonly batch_task_id: string;
    readonly agent_id?: string;
    readonly profile_box_id?: string;
    readonly context_box_id?: string;
    readonly output_box_id?: string;
    readonly payload_hash?: string;
    readonly metadata?: JsonObject;
  }[];
}
export interface BatchTaskMove {
  readonly batch_task_id: string;
  readonly project_id: string;
  readonly move: "dispatch" | "requeue" | "settle";
  readonly status?: string;
  readonly agent_turn_id?: string;
  readonly agent_id?: string;
  readonly turn_epoch?: number;
  readonly delay_ms?: number;
  readonly error_detail?: JsonObject;
  readonly metadata?: JsonObject;
}
export interface BatchEnd {
  readonly batch_id: string;
  readonly project_id: string;
  readonly status: string;
  readonly result: Json;
  readonly error?: JsonObject;
}
