// What the kernel publishes after a commit: commands, wakeups, terminal events. All of it is a doorbell
// (docs/design.md#messages-are-hints).

import { HEADERS, v1r3PayloadIdentity } from "@tessera/protocol";
import type { Command, EndedTurn, Wake } from "../moves/outcomes.ts";
import type { BusHeaders, BusMessage } from "../ports.ts";

const VERSION = "v1r4";
const SENDER = "tessera";
const encoder = new TextEncoder();

export function commandMessage(command: Command): BusMessage {
  const version = command.target_subject.startsWith("cg.v1r3.") ? "v1r3" : VERSION;
  return {
    subject: command.target_subject,
    headers: dropEmpty({
      [HEADERS.project_id]: command.project_id,
      [HEADERS.channel_id]: command.channel_id,
      [HEADERS.agent_id]: command.agent_id,
      [HEADERS.agent_turn_id]: command.agent_turn_id,
      [HEADERS.turn_epoch]: String(command.turn_epoch),
      [HEADERS.step_id]: command.step_id,
      [HEADERS.tool_call_id]: command.tool_call_id,
      [HEADERS.parent_agent_id]: command.parent_agent_id,
      [HEADERS.parent_agent_turn_id]: command.parent_agent_turn_id,
      [HEADERS.parent_step_id]: command.parent_step_id,
      [HEADERS.recursion_depth]: String(command.recursion_depth),
      [HEADERS.call_ticket]: command.ticket,
      [HEADERS.traceparent]: traceparent(command.trace_id, command.span_id),
      [HEADERS.version]: version,
      [HEADERS.msg_type]: "ToolCommandPayload",
      [HEADERS.sender]: SENDER,
    }),
    data: encode({
      tool_call_card_id: command.tool_call_card_id,
      tool_name: command.tool_name,
      after_execution: command.after_execution,
      // A peer of the older protocol reads identity from the payload (docs/protocol/headers.md#v1r3-and-v1r4).
      ...(version === "v1r3" ? v1r3PayloadIdentity(command) : {}),
    }),
  };
}

export function wakeMessage(wake: Wake, spanId: string): BusMessage {
  return {
    subject: `cg.${VERSION}.${wake.project_id}.${wake.channel_id}.cmd.agent.${wake.worker_target}.wakeup`,
    headers: {
      [HEADERS.project_id]: wake.project_id,
      [HEADERS.channel_id]: wake.channel_id,
      [HEADERS.agent_id]: wake.agent_id,
      [HEADERS.agent_turn_id]: wake.agent_turn_id,
      [HEADERS.turn_epoch]: String(wake.turn_epoch),
      [HEADERS.traceparent]: traceparent(wake.trace_id, spanId),
      [HEADERS.version]: VERSION,
      [HEADERS.msg_type]: "WakeupPayload",
      [HEADERS.sender]: SENDER,
    },
    data: encode({ inbox_id: wake.inbox_id, reason: wake.reason }),
  };
}

export function taskEventMessage(turn: EndedTurn, spanId: string): BusMessage {
  return {
    subject: `cg.${VERSION}.${turn.project_id}.${turn.channel_id}.evt.agent.${turn.agent_id}.task`,
    headers: {
      [HEADERS.project_id]: turn.project_id,
      [HEADERS.channel_id]: turn.channel_id,
      [HEADERS.agent_id]: turn.agent_id,
      [HEADERS.agent_turn_id]: turn.agent_turn_id,
      [HEADERS.turn_epoch]: String(turn.turn_epoch),
      [HEADERS.traceparent]: traceparent(turn.trace_id, spanId),
      [HEADERS.version]: VERSION,
      [HEADERS.msg_type]: "AgentTaskPayload",
      [HEADERS.sender]: SENDER,
    },
    data: encode({
      agent_turn_id: turn.agent_turn_id,
      status: turn.status,
      output_box_id: turn.output_box_id,
      deliverable_card_id: turn.deliverable_card_id,
      error_code: turn.error_code,
      error: turn.error,
    }),
  };
}

export function traceparent(traceId: string, spanId: string): string {
  return `00-${traceId}-${spanId}-01`;
}

function encode(payload: Readonly<Record<string, unknown>>): Uint8Array {
  return encoder.encode(JSON.stringify(payload));
}

function dropEmpty(headers: Readonly<Record<string, string | null>>): BusHeaders {
  const kept: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== null && value !== undefined) kept[name] = value;
  }
  return kept;
}
