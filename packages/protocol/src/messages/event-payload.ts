// Payloads of wakeups, events and stream chunks, as they are sent.
//
//   E1. A wakeup says only that a worker should look; the inbox decides what there is to do.
//   E2. Events report to observers what was committed. They may be lost: an observer that needs all of them reads by cursor.
//   E3. Chunks are the lossy live view of a step. They never change state.

import type { ErrorObject } from "../errors/normalize-error.ts";
import type { JsonObject } from "../json/json-value.ts";
import type { HeadState } from "../states.ts";
import type { ChunkType, ResultStatus, StepPhase } from "../status.ts";

export interface WakeupPayload {
  readonly inbox_id?: string;
  readonly reason?: string;
  readonly metadata?: JsonObject;
}

export interface StepEventPayload {
  readonly agent_turn_id: string;
  readonly step_id: string;
  readonly phase: StepPhase;
  readonly metadata?: JsonObject;
  readonly new_card_ids?: readonly string[];
}

export interface TaskEventPayload {
  readonly agent_turn_id: string;
  readonly status: ResultStatus;
  readonly output_box_id?: string | null;
  readonly deliverable_card_id?: string | null;
  readonly tool_result_card_id?: string | null;
  readonly output_box?: JsonObject | null;
  readonly error?: ErrorObject | string | null;
  readonly error_code?: string | null;
  readonly stats?: JsonObject;
}

export const STATE_ACTIVITIES = [
  "thinking",
  "executing_tool",
  "awaiting_tool_result",
  "waiting_for_inbox_drain",
] as const;
export type StateActivity = (typeof STATE_ACTIVITIES)[number];

export interface StateEventMetadata {
  readonly activity?: StateActivity;
  readonly current_tool?: string;
  readonly waiting_tool_count?: number;
  readonly waiting_tool_call_ids?: readonly string[];
  readonly resume_deadline?: string | null;
  readonly error?: string;
}

export interface StateEventPayload {
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly status: HeadState;
  readonly turn_epoch: number;
  /** ISO 8601. */
  readonly updated_at: string;
  readonly output_box_id?: string | null;
  readonly metadata?: StateEventMetadata;
}

export interface ChunkPayload {
  readonly agent_turn_id: string;
  readonly step_id: string;
  readonly chunk_type: ChunkType;
  readonly content?: string;
  readonly index?: number;
  readonly metadata?: JsonObject;
  readonly usage?: JsonObject;
  readonly response_cost?: number;
}

/** A chunk as it is sent: what equals its default is left out, because there are thousands. */
export function buildChunkPayload(chunk: ChunkPayload): ChunkPayload {
  const { content = "", index = 0, metadata = {}, ...rest } = chunk;
  return {
    ...rest,
    ...(content === "" ? {} : { content }),
    ...(index === 0 ? {} : { index }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}
