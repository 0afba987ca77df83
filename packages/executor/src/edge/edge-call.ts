// A call as the edge hands it out, made into what a runner takes: identity comes from its `headers`, as on the bus.

import type { OpenedCall } from "@tessera/kernel";
import { getIntegerHeader, HEADERS, isJsonObject, type JsonObject, parseTraceparent } from "@tessera/protocol";

export function openedCallOf(projectId: string, call: JsonObject): OpenedCall {
  const headers = textEntries(call.headers);
  const trace = parseTraceparent(headers[HEADERS.traceparent] ?? null);
  const message = isJsonObject(call.message) ? call.message : {};
  return {
    outcome: "accepted",
    project_id: projectId,
    channel_id: headers[HEADERS.channel_id] ?? "public",
    agent_id: headers[HEADERS.agent_id] ?? "",
    agent_turn_id: headers[HEADERS.agent_turn_id] ?? "",
    turn_epoch: getIntegerHeader(headers, HEADERS.turn_epoch) ?? 0,
    step_id: headers[HEADERS.step_id] ?? "",
    parent_step_id: headers[HEADERS.parent_step_id] ?? null,
    trace_id: trace?.trace_id ?? "",
    span_id: trace?.span_id ?? "",
    recursion_depth: getIntegerHeader(headers, HEADERS.recursion_depth) ?? 0,
    tool_call_id: text(call.tool_call_id),
    tool_call_card_id: text(call.tool_call_card_id),
    tool_name: text(call.tool_name),
    tool_digest: typeof call.tool_digest === "string" ? call.tool_digest : null,
    author_id: text(call.author_id),
    target_subject: text(call.target_subject),
    effect: call.effect === "read" || call.effect === "idempotent" ? call.effect : "once",
    after_execution: call.after_execution === "terminate" ? "terminate" : "suspend",
    arguments: call.arguments as OpenedCall["arguments"],
    call_metadata: isJsonObject(call.caller) ? call.caller : null,
    message: {
      card_id: text(message.card_id),
      content: isJsonObject(message.content) ? message.content : {},
      tool_calls: (message.tool_calls ?? []) as OpenedCall["message"]["tool_calls"],
      ...(typeof message.created_at === "string" ? { created_at: message.created_at } : {}),
    },
    definition: isJsonObject(call.definition) ? call.definition : null,
    attempt: typeof call.attempt === "number" ? call.attempt : 1,
    mode: call.mode === "reconcile" ? "reconcile" : "run",
    idempotency_key: text(call.idempotency_key),
    capability: text(call.capability),
    lease_expires_at: text(call.lease_expires_at),
    deadline_at: text(call.deadline_at),
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textEntries(value: unknown): Record<string, string> {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => text(entry[1]) !== ""));
}
