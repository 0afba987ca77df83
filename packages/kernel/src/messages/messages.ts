// What the kernel publishes after a commit: commands, wakeups, terminal events. All of them are hints
// (docs/design.md#messages-are-hints).

import {
  buildCommandPayload,
  commandHeaders,
  SUBJECT_VERSION,
  traceparentOf,
  turnHeaders,
  v1r3PayloadIdentity,
} from "@tessera/protocol";
import type { Command, EndedTurn, Wake } from "../moves/outcomes.ts";
import type { BusMessage } from "../ports.ts";

const encoder = new TextEncoder();

export function commandMessage(command: Command): BusMessage {
  const version = command.target_subject.startsWith("cg.v1r3.") ? "v1r3" : SUBJECT_VERSION;
  const traceparent = traceparentOf(command.trace_id, command.span_id);
  return {
    subject: command.target_subject,
    headers: commandHeaders(command, { ticket: command.ticket, traceparent, version, msg_type: "ToolCommandPayload" }),
    data: encode({
      ...buildCommandPayload(command),
      // A peer of the older protocol reads identity from the payload (docs/protocol/headers.md#v1r3-and-v1r4).
      ...(version === "v1r3" ? v1r3PayloadIdentity(command) : {}),
    }),
  };
}

export function wakeMessage(wake: Wake, spanId: string): BusMessage {
  const { project_id, channel_id, worker_target, inbox_id, reason } = wake;
  return {
    subject: `cg.${SUBJECT_VERSION}.${project_id}.${channel_id}.cmd.agent.${worker_target}.wakeup`,
    headers: turnHeaders(wake, { traceparent: traceparentOf(wake.trace_id, spanId), msg_type: "WakeupPayload" }),
    data: encode({ inbox_id, reason }),
  };
}

export function taskEventMessage(turn: EndedTurn, spanId: string): BusMessage {
  const { project_id, channel_id, agent_id, agent_turn_id, status, output_box_id, deliverable_card_id } = turn;
  const { error_code, error } = turn;
  return {
    subject: `cg.${SUBJECT_VERSION}.${project_id}.${channel_id}.evt.agent.${agent_id}.task`,
    headers: turnHeaders(turn, { traceparent: traceparentOf(turn.trace_id, spanId), msg_type: "AgentTaskPayload" }),
    data: encode({ agent_turn_id, status, output_box_id, deliverable_card_id, error_code, error }),
  };
}

function encode(payload: Readonly<Record<string, unknown>>): Uint8Array {
  return encoder.encode(JSON.stringify(payload));
}
