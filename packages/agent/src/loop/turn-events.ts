// What a worker tells observers while a turn runs: steps, states, chunks. Best effort; nobody decides by them
// (docs/design.md#messages-are-hints).
//
//   E1. Order within a step: step started, state running, chunks, then what the commit made true
//       (docs/protocol/turns.md#one-step-in-order).
//   E2. Chunks are gathered for a moment: a model writes faster than anybody reads.

import { type BusMessage, shownTime, type Timer } from "@tessera/kernel";
import {
  buildChunkPayload,
  type ChunkPayload,
  formatSubject,
  type StateEventMetadata,
  type StepPhase,
  traceparentOf,
  turnHeaders,
} from "@tessera/protocol";
import type { ModelChunk } from "../model-port.ts";
import type { Turn, WorkerContext } from "./worker-context.ts";

const CHUNK_EVERY_MS = 40;
const encoder = new TextEncoder();

export function stepMessage(
  turn: Turn,
  ids: WorkerContext["ids"],
  step_id: string,
  phase: StepPhase,
  metadata = {},
): BusMessage {
  return eventMessage(turn, ids, "step", "AgentStepPayload", {
    agent_turn_id: turn.agent_turn_id,
    step_id,
    phase,
    metadata,
  });
}

export function stateMessage(
  turn: Turn,
  worker: WorkerContext,
  status: "running" | "suspended" | "idle",
  metadata: StateEventMetadata,
): BusMessage {
  return eventMessage(turn, worker.ids, "state", "AgentStatePayload", {
    agent_id: turn.agent_id,
    agent_turn_id: turn.agent_turn_id,
    status,
    turn_epoch: turn.turn_epoch,
    updated_at: shownTime(worker.clock).toISOString(),
    output_box_id: turn.output_box_id,
    metadata,
  });
}

export function tell(worker: WorkerContext, messages: readonly BusMessage[]): void {
  void worker.bus.publish(messages).catch(() => undefined); // lost events cost nobody anything
}

/** E2. The stream of one model answer. */
export function chunkStream(worker: WorkerContext, turn: Turn, step_id: string) {
  let gathered: { type: ModelChunk["type"]; text: string } | null = null;
  let timer: Timer | null = null;
  let index = 0;
  function send(chunk: Omit<ChunkPayload, "agent_turn_id" | "step_id" | "index">): void {
    const payload = buildChunkPayload({ agent_turn_id: turn.agent_turn_id, step_id, index, ...chunk });
    index += 1;
    const subject = subjectOf(turn, "str", "chunk");
    tell(worker, [{ subject, headers: {}, data: encoder.encode(JSON.stringify(payload)) }]);
  }
  function flush(): void {
    timer?.cancel();
    timer = null;
    if (gathered !== null) send({ chunk_type: gathered.type, content: gathered.text });
    gathered = null;
  }
  send({ chunk_type: "start" });
  return {
    push(chunk: ModelChunk): void {
      if (gathered !== null && gathered.type !== chunk.type) flush();
      gathered = { type: chunk.type, text: (gathered?.text ?? "") + chunk.text };
      timer ??= worker.clock.after(CHUNK_EVERY_MS, flush);
    },
    end(facts: Pick<ChunkPayload, "usage" | "response_cost">): void {
      flush();
      send({ chunk_type: "end", ...facts });
    },
  };
}

function eventMessage(turn: Turn, ids: WorkerContext["ids"], kind: string, type: string, payload: object): BusMessage {
  return {
    subject: subjectOf(turn, "evt", kind),
    headers: turnHeaders(turn, { traceparent: traceparentOf(turn.trace_id, ids.spanId()), msg_type: type }),
    data: encoder.encode(JSON.stringify(payload)),
  };
}

function subjectOf(turn: Turn, category: "evt" | "str", suffix: string): string {
  const { project_id, channel_id, agent_id } = turn;
  return formatSubject({ project_id, channel_id, category, component: "agent", target: agent_id, suffix });
}
