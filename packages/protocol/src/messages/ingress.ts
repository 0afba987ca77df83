// Ingress: from a message to a context and a clean payload.
//
//   N1. Project and channel come from the subject; a header copy may only agree.
//   N2. The steps run in the order below, because the first refusal is the answer the sender sees.
//   N3. What comes out holds no control field, so that identity is never read from a payload.

import { ProtocolViolation } from "../errors/errors.ts";
import { emptyJsonObject, isJsonObject, type JsonObject } from "../json/json-value.ts";
import { CGContext } from "./context.ts";
import { refuseControlFields, withoutControlFields } from "./control-fields.ts";
import { getHeader, getIntegerHeader, HEADERS, type HeaderName, normalizeHeaders } from "./headers.ts";
import type { SubjectParts } from "./subject.ts";
import type { TraceIds } from "./trace-context.ts";
import { normalizeTransport } from "./transport.ts";

export interface Ingress {
  readonly ctx: CGContext;
  readonly payload: JsonObject;
  /** A traceparent came but could not be used: count it. */
  readonly trace_restarted: boolean;
}

/** The context and the payload of a message, from its headers, its body and its parsed subject. Throws `protocol_violation` where they
 *  contradict one another. */
export function buildNatsIngressContext(
  rawHeaders: Readonly<Record<string, unknown>> | null | undefined,
  rawPayload: unknown,
  subjectParts: SubjectParts | null,
  { ids }: { readonly ids: TraceIds },
): Ingress {
  const payload = isJsonObject(rawPayload) ? rawPayload : emptyJsonObject();
  if (subjectParts === null) throw new ProtocolViolation("the subject does not follow the grammar");
  if (subjectParts.category === "cmd") refuseControlFields(payload, "cmd ingress");
  const headers = normalizeHeaders(rawHeaders);
  const transport = normalizeTransport({ headers }, ids);
  requireEqual(headers, HEADERS.project_id, subjectParts.project_id);
  requireEqual(headers, HEADERS.channel_id, subjectParts.channel_id);
  const ctx = new CGContext({
    project_id: subjectParts.project_id,
    channel_id: subjectParts.channel_id,
    agent_id: agentOf(headers, subjectParts),
    agent_turn_id: headers[HEADERS.agent_turn_id],
    turn_epoch: getIntegerHeader(headers, HEADERS.turn_epoch) ?? 0,
    step_id: headers[HEADERS.step_id],
    tool_call_id: headers[HEADERS.tool_call_id],
    parent_agent_id: headers[HEADERS.parent_agent_id],
    parent_agent_turn_id: headers[HEADERS.parent_agent_turn_id],
    parent_step_id: headers[HEADERS.parent_step_id],
    headers: transport.headers,
    trace_id: transport.trace_id,
    recursion_depth: transport.recursion_depth,
  });
  return { ctx, payload: withoutControlFields(payload), trace_restarted: transport.trace_restarted };
}

/** An agent's own subject names it; a wakeup's target is a worker group, and every other subject a service. */
function agentOf(headers: Readonly<Record<string, string>>, subject: SubjectParts): string {
  if (subject.component === "agent" && subject.suffix !== "wakeup") {
    requireEqual(headers, HEADERS.agent_id, subject.target);
    return subject.target;
  }
  const agent_id = getHeader(headers, HEADERS.agent_id);
  if (agent_id !== null) return agent_id;
  throw new ProtocolViolation(`header ${HEADERS.agent_id} is required`, { details: { header: HEADERS.agent_id } });
}

function requireEqual(headers: Readonly<Record<string, string>>, name: HeaderName, expected: string): void {
  const value = getHeader(headers, name);
  if (value !== null && value !== expected) {
    throw new ProtocolViolation(`${name} mismatch`, { details: { header: name } });
  }
}
