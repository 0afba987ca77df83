// What is to be published after a commit: wakes, commands and the ends of turns.

import type { AfterExecution, ResultStatus } from "@tessera/protocol";

/** Which turn it is, and whose. */
export interface TurnPlace {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
  readonly trace_id: string;
}

/** Who is to be woken after the commit. */
export interface Wake extends TurnPlace {
  readonly worker_target: string;
  readonly inbox_id?: string;
  readonly reason?: string;
}

/** Everything a command message is made of. */
export interface Command extends TurnPlace {
  readonly step_id: string;
  readonly tool_call_id: string;
  readonly tool_call_card_id: string;
  readonly tool_name: string;
  readonly after_execution: AfterExecution;
  readonly target_subject: string;
  readonly recursion_depth: number;
  readonly span_id: string;
  readonly parent_step_id: string | null;
  readonly parent_agent_id: string | null;
  readonly parent_agent_turn_id: string | null;
  readonly ticket: string;
}

export interface SweepAnswer {
  readonly commands?: readonly Command[];
  readonly wakes: readonly Wake[];
  readonly ended?: readonly EndedTurn[];
  readonly settled?: number;
  readonly recovered?: number;
  /** Due, and locked by another session; `seconds` is the age of the oldest. */
  readonly skipped?: { readonly rows: number; readonly seconds: number } | null;
  readonly more: boolean;
}

/** A turn that ended, as its terminal event says it. */
export interface EndedTurn extends TurnPlace {
  readonly status: ResultStatus;
  readonly deliverable_card_id?: string;
  readonly output_box_id?: string;
  readonly error_code?: string | undefined;
  readonly error?: string;
}
