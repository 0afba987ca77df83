// Items of the batch port.

import type { ReadonlyJson, ReadonlyJsonObject } from "@tessera/protocol";
import type { CallHold } from "./call-outcomes.ts";

export interface BatchRequest extends CallHold {
  readonly batch_id: string;
  readonly deadline_ms?: number;
  readonly fail_fast?: boolean;
  readonly metadata?: ReadonlyJsonObject;
  readonly tasks: readonly {
    readonly batch_task_id: string;
    readonly agent_id?: string;
    readonly profile_box_id?: string;
    readonly context_box_id?: string;
    readonly output_box_id?: string;
    readonly payload_hash?: string;
    readonly metadata?: ReadonlyJsonObject;
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
  readonly error_detail?: ReadonlyJsonObject;
  readonly metadata?: ReadonlyJsonObject;
}

export interface BatchEnd {
  readonly batch_id: string;
  readonly project_id: string;
  readonly status: string;
  readonly result: ReadonlyJson;
  readonly error?: ReadonlyJsonObject;
}
