// Items and outcomes of the executor port: a call from its claim to its report.

import type { AfterExecution, ErrorCode, ReadonlyJson, ReadonlyJsonObject } from "@tessera/protocol";
import type { TurnPlace, Wake } from "../messages/announcements.ts";
import type { Effect, Rejected } from "./outcome-parts.ts";

export interface OpenRequest {
  readonly project_id: string;
  readonly tool_call_id: string;
  readonly tool_call_card_id?: string | undefined;
  readonly ticket?: string | undefined;
  /** Only for a caller whose right to this target was checked outside (an executor key). */
  readonly target?: string | undefined;
  readonly executor: string;
  readonly claim_id?: string | undefined;
  readonly lease_ms?: number | undefined;
  readonly known_digest?: string | undefined;
  readonly principal?: string | undefined;
}

export interface OpenedCall extends TurnPlace {
  readonly outcome: "accepted";
  readonly tool_call_id: string;
  readonly step_id: string;
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
  readonly arguments: ReadonlyJsonObject;
  readonly call_metadata: ReadonlyJsonObject | null;
  readonly message: {
    readonly card_id: string;
    readonly content: ReadonlyJsonObject;
    readonly tool_calls: ReadonlyJson;
    readonly created_at?: string;
  };
  readonly definition: ReadonlyJsonObject | null;
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
  /** Asking again with the same one after a lost answer gives the same calls, with new capabilities. */
  readonly claim_id?: string | undefined;
  /** At most BATCH_ITEMS_MAX; one when absent. */
  readonly max?: number;
  readonly lease_ms?: number;
}

/** What fences an executor's write: the capability of the attempt. */
export interface CallHold {
  readonly project_id: string;
  readonly tool_call_id: string;
  readonly capability: string;
  readonly principal?: string | undefined;
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
  readonly author_id?: string | undefined;
  readonly function_name?: string | undefined;
  readonly traceparent?: string | undefined;
}

/** What was reported contradicts itself and counts as failed: the strict answer. */
export interface ResultWarning {
  readonly code: ErrorCode;
  readonly message: string;
}

export type ResultCardOutcome =
  | Rejected
  | { readonly outcome: "accepted"; readonly tool_result_card_id: string; readonly warning?: ResultWarning };

export interface ReportRequest extends CallHold {
  /** The result itself, or … */
  readonly content?: ResultContent | undefined;
  /** … a pointer to a card saved before, with the callback payload's other two fields. */
  readonly tool_result_card_id?: string;
  readonly status?: string | undefined;
  readonly after_execution?: string | undefined;
  readonly message_type?: string | undefined;
  readonly agent_id?: string;
  readonly agent_turn_id?: string;
  readonly turn_epoch?: number;
  readonly recursion_depth?: number;
  readonly author_id?: string | undefined;
  readonly function_name?: string | undefined;
  readonly traceparent?: string | undefined;
  /** Where the tool failed, for operators; kept with a report that is no success, cut after STACK_CHARS_MAX. */
  readonly stack?: string | undefined;
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
      readonly warning?: ResultWarning;
    };
