// Items and outcomes of the turn port: a turn from its queue to its end, and the workers that hold it.

import type { AfterExecution, ReadonlyJsonObject, ResultStatus } from "@tessera/protocol";
import type { Wake } from "../messages/announcements.ts";
import type { CardDocument } from "../reads/reads.ts";
import type { ResultContent } from "./call-outcomes.ts";
import type { CardDraft, Effect, Rejected } from "./outcome-parts.ts";

export interface TurnRequest {
  readonly project_id: string;
  readonly agent_id: string;
  readonly agent_turn_id?: string | undefined;
  readonly correlation_id?: string;
  readonly message_type?: "turn" | "ui_action";
  readonly channel_id?: string | undefined;
  readonly trace_id?: string | undefined;
  readonly span_id?: string | undefined;
  readonly tracestate?: string | undefined;
  readonly parent_traceparent?: string;
  readonly depth_policy?: "descend" | "peer" | "root";
  readonly parent_agent_turn_id?: string;
  readonly parent_step_id?: string;
  readonly profile_box_id?: string | undefined;
  readonly context_box_id?: string;
  readonly context_cards?: readonly CardDraft[];
  readonly output_box_id?: string;
  readonly display_name?: string;
  readonly metadata?: ReadonlyJsonObject;
  readonly runtime_config?: ReadonlyJsonObject;
  readonly source_agent_id?: string;
  /** Begins the agent's conversation anew: neither this turn nor a later one remembers what was before it. */
  readonly is_fresh?: boolean;
  /** The parent does not wait: how this turn ended is reported to its agent, as a message of its conversation. */
  readonly answers_parent?: boolean;
}

export type EnqueueOutcome =
  | (Rejected & {
      /** With `conflict`: the project takes no turns because it is this. */
      readonly project_status?: "inactive" | "archived";
    })
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

/** What fences a worker's write (docs/design.md#writes-are-fenced). */
export interface TurnHold {
  readonly project_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
}

interface AppliedResult {
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly call_index: number;
  readonly tool_result_card_id: string;
  readonly status: ResultStatus;
  readonly after_execution: AfterExecution;
  readonly content: ReadonlyJsonObject;
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
  readonly arguments: ReadonlyJsonObject;
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
      readonly metadata: ReadonlyJsonObject | null;
      readonly runtime_config: ReadonlyJsonObject | null;
      /** Its place among the turns of its agent, from 1. */
      readonly turn_number: number;
      /** The number of the first turn that it may remember, fixed when it was dispatched. */
      readonly conversation_from: number;
      /** Answers that came for its agent and are not in its conversation yet. */
      readonly answers_waiting: number;
      readonly after_execution: AfterExecution;
      readonly results: readonly AppliedResult[] | null;
      readonly local_calls: readonly LocalCall[] | null;
      readonly capability: string;
    } & TurnHold);

export interface CallDraft {
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly arguments: ReadonlyJsonObject;
  /** The rendered subject: no placeholders are left. */
  readonly target_subject: string;
  /** The actor that will sign the result, e.g. `tool.search`. */
  readonly author_id: string;
  readonly card_id?: string;
  readonly span_id?: string;
  readonly tool_digest?: string | undefined;
  readonly effect?: Effect;
  readonly after_execution?: AfterExecution;
  /** The tool's own limit; the call's deadline is this plus two leases. */
  readonly timeout_ms?: number;
  /** How long it may wait for an executor, each time it becomes free; the tool's own limit then counts from its claim. */
  readonly queue_timeout_ms?: number;
  readonly attempts_max?: number;
  readonly backoff_ms?: number;
  readonly can_reconcile?: boolean;
  readonly local?: boolean;
  readonly metadata?: ReadonlyJsonObject;
}

export interface StepRequest extends TurnHold {
  readonly step_id: string;
  readonly thought: {
    readonly card_id?: string;
    readonly content: ReadonlyJsonObject;
    readonly metadata?: ReadonlyJsonObject;
  };
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
      /** When the step was committed; absent in the answer to a repeated request. */
      readonly committed_at?: string;
      readonly calls: readonly {
        readonly tool_call_id: string;
        readonly ticket: string | null;
        /** Of a local call, for its report in a mixed step. */
        readonly capability?: string;
      }[];
    };

export interface ApplyRequest extends TurnHold {
  readonly step_id: string;
  readonly results: readonly {
    readonly tool_call_id: string;
    readonly content: ResultContent;
    /** As of a report. */
    readonly stack?: string;
  }[];
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

export interface FinishRequest extends TurnHold {
  readonly status: ResultStatus;
  readonly cards?: readonly CardDraft[] | undefined;
  readonly deliverable?: Omit<CardDraft, "type"> | undefined;
  readonly error_code?: string | undefined;
  readonly error_message?: string | undefined;
  /** Why its worker could not run the turn, for operators. */
  readonly stack?: string | undefined;
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
      /** Of the agent that asked for this turn and did not wait for it. */
      readonly answer_wake?: Wake;
    };

export type AnswersOutcome = Rejected | { readonly outcome: "accepted"; readonly cards: readonly CardDocument[] };

export interface ResetRequest {
  readonly project_id: string;
  readonly agent_id: string;
  /** Names the reset: asked again under the same id it is the same one. */
  readonly card_id?: string | undefined;
  /** Who resets. */
  readonly author_id: string;
  readonly reason?: string | undefined;
}

export type ResetOutcome =
  | Rejected
  | {
      readonly outcome: "accepted" | "duplicate";
      readonly card_id: string;
      /** The number of the first turn that belongs to the conversation from now on. */
      readonly conversation_from: number;
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
  readonly reason?: string | undefined;
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

export interface RepeatRequest {
  readonly project_id: string;
  readonly tool_call_id: string;
  readonly worker_id: string;
  /** The one that is to begin. */
  readonly attempt: number;
  /** Where the one before it failed, for operators. */
  readonly stack?: string;
}

/** A duplicate was asked for before, by the same worker. */
export type RepeatOutcome = Rejected | { readonly outcome: "accepted" | "duplicate" };

export interface WorkerRequest {
  readonly worker_id: string;
  readonly worker_target: string;
  readonly lease_ms?: number;
  readonly info?: ReadonlyJsonObject;
}

export type WorkerOutcome = Rejected | { readonly outcome: "accepted"; readonly lease_expires_at: string };
