// The v1r3 edge: commands of the older protocol carry identity in the payload.
//
//   V1. An identity field is lifted into its header only where the header is absent or equal, then removed. Two different
//       values are a protocol violation.
//   V2. Nothing of this runs for v1r4 subjects, where such fields are refused.
//   V3. A command that we send to such a peer says the same in its headers and in its payload.

import { ProtocolViolation } from "../errors/errors.ts";
import { emptyJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type ControlField, isControlField } from "./control-fields.ts";
import { getHeader, HEADERS, type HeaderName, normalizeHeaders } from "./headers.ts";
import { normalizeTraceId, parseTraceparent } from "./trace-context.ts";

const HEADER_OF: Record<Exclude<ControlField, "trace_id">, HeaderName> = {
  project_id: HEADERS.project_id,
  channel_id: HEADERS.channel_id,
  channel: HEADERS.channel_id,
  agent_id: HEADERS.agent_id,
  agent_turn_id: HEADERS.agent_turn_id,
  turn_epoch: HEADERS.turn_epoch,
  step_id: HEADERS.step_id,
  tool_call_id: HEADERS.tool_call_id,
  traceparent: HEADERS.traceparent,
  tracestate: HEADERS.tracestate,
  parent_agent_id: HEADERS.parent_agent_id,
  parent_agent_turn_id: HEADERS.parent_agent_turn_id,
  parent_step_id: HEADERS.parent_step_id,
  parent_traceparent: HEADERS.parent_traceparent,
  recursion_depth: HEADERS.recursion_depth,
};

/** The ids that a v1r3 command carries in its payload. */
export type V1r3Identity = Readonly<{
  tool_call_id: string;
  agent_turn_id: string;
  turn_epoch: number;
  agent_id: string;
  step_id: string;
}>;

/** What a command to a v1r3 peer holds besides its own three fields (V3). */
export function v1r3PayloadIdentity(call: V1r3Identity): JsonObject {
  const { tool_call_id, agent_turn_id, turn_epoch, agent_id, step_id } = call;
  return { tool_call_id, agent_turn_id, turn_epoch, agent_id, step_id };
}

export function liftPayloadIdentity(
  rawHeaders: Readonly<Record<string, unknown>>,
  payload: Readonly<JsonObject>,
): { readonly headers: Record<string, string>; readonly payload: JsonObject } {
  const headers = normalizeHeaders(rawHeaders);
  const rest = emptyJsonObject();
  let trace_id: string | null = null;
  for (const [key, value] of Object.entries(payload)) {
    if (!isControlField(key)) rest[key] = value;
    else if (key === "trace_id") trace_id = identityText(key, value);
    else lift(headers, key, HEADER_OF[key], identityText(key, value));
  }
  // A bare trace id has no header of its own: it can only agree with the traceparent, wherever that came from.
  const trace = parseTraceparent(getHeader(headers, HEADERS.traceparent));
  if (trace_id !== null && trace !== null && normalizeTraceId(trace_id) !== trace.trace_id) throw mismatch("trace_id");
  return { headers, payload: rest };
}

function lift(headers: Record<string, string>, field: string, name: HeaderName, value: string | null): void {
  if (value === null) return;
  const present = getHeader(headers, name);
  if (present !== null && present !== value) throw mismatch(field);
  headers[name] = value;
}

/** Strings and numbers as header text; null and "" say nothing. */
function identityText(field: string, value: JsonValue): string | null {
  if (value === null || value === "") return null;
  if (typeof value === "string") return value.trim();
  if (typeof value === "number") return String(value);
  throw new ProtocolViolation(`${field} in the payload is not a string or number`, { details: { fields: [field] } });
}

function mismatch(field: string): ProtocolViolation {
  return new ProtocolViolation(`${field} in the payload differs from its header`, {
    details: { fields: [field] },
  });
}
