// One run of one tool, seen from the host: what comes in, and who runs it. The same in every placement, so that the same
// handler gives the same card wherever it runs.
//
//   R1. A runner never throws for what a tool did: it answers with the content of the result card.
//   R2. It answers only when the tool has really stopped, or can no longer do anything (its process is gone).

import type { AfterExecution, CallerFacts, ToolEffect, ToolResultContent } from "@tessera/protocol";
import type { AgentToolRuntime, JsonObject, ToolProgress } from "./api.ts";
import type { ToolDefinition } from "./definition.ts";

/** What the kernel's `open_call` answers holds all of this. */
export interface ToolInvocation extends CallerFacts {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
  readonly step_id: string;
  readonly parent_step_id: string | null;
  readonly trace_id: string;
  readonly span_id: string;
  readonly recursion_depth: number;
  readonly tool_call_id: string;
  readonly tool_name: string;
  /** What the handler gets, after defaults, fixed values and variables. */
  readonly arguments: JsonObject;
  /** What a crash in the middle means. */
  readonly effect: ToolEffect;
  readonly after_execution: AfterExecution;
  /** 1 for the first run. */
  readonly attempt: number;
  /** `reconcile`: an earlier run may have acted; find out what became of it first. */
  readonly mode: "run" | "reconcile";
  readonly idempotency_key: string;
  /** The `agent.thought` card that holds the call. */
  readonly message: {
    readonly card_id: string;
    readonly content: unknown;
    readonly tool_calls: unknown;
    readonly created_at?: string;
  };
  /** The pinned definition, where the host does not bring its own. */
  readonly definition: ToolDefinition | null;
}

/** A line that a handler printed. */
export interface ToolLogEntry {
  /** How grave it is. */
  readonly level: "debug" | "info" | "warn" | "error";
  /** What was printed, as text. */
  readonly message: string;
  readonly project_id: string;
  readonly tool_call_id: string;
  readonly tool_name: string;
  /** The run in which it was printed, from 1. */
  readonly attempt: number;
}

/** Why a run failed, for operators: no part of its card, and never for a model. */
export interface RunFailure {
  /** Masked, of bounded size, the author's own frames first. */
  readonly stack: string;
}

/** What a runner is given besides the call. */
export interface RunOptions {
  /** Aborted when the call is canceled, timed out or lost. */
  readonly signal: AbortSignal;
  /** Reaches other agents in the name of the call; absent: it may not. */
  readonly runtime?: AgentToolRuntime | undefined;
  /** Takes what the handler prints. */
  readonly onLog?: ((entry: ToolLogEntry) => void) | undefined;
  /** Takes what the handler says about how far it is. */
  readonly onProgress?: ((update: ToolProgress) => void) | undefined;
  /** Told once at most, before the run is answered. It is in the log already. */
  readonly onFailure?: ((failure: RunFailure) => void) | undefined;
}

/** Runs calls of tools somewhere: in this process, or in another one. */
export interface ToolRunner {
  /** Runs one call to its end and answers the content of its result; never throws for what the tool did. */
  run(invocation: ToolInvocation, options: RunOptions): Promise<ToolResultContent>;
  /** Ends what still runs and gives everything back. */
  close(): Promise<void>;
}
