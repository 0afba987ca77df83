// Control fields: names that carry identity and therefore travel in headers, never in payloads.
//
//   F1. A command (or a stored inbox row) that holds one is refused: a reader of the payload and a reader of the
//       headers would act for two different callers.
//   F2. Events keep them for observers; a consumer that goes through ingress gets them removed.

import { ProtocolViolation } from "../errors/errors.ts";
import { emptyJsonObject, type JsonObject } from "../json/json-value.ts";

export const CONTROL_FIELDS = [
  "project_id",
  "channel_id",
  "channel",
  "agent_id",
  "agent_turn_id",
  "turn_epoch",
  "step_id",
  "tool_call_id",
  "trace_id",
  "traceparent",
  "tracestate",
  "parent_agent_id",
  "parent_agent_turn_id",
  "parent_step_id",
  "parent_traceparent",
  "recursion_depth",
] as const;
export type ControlField = (typeof CONTROL_FIELDS)[number];

/** On resume the sender of a stored row is no business of its payload either. */
export const RESUME_CONTROL_FIELDS = [...CONTROL_FIELDS, "source_agent_id"] as const;

const BANNED: ReadonlySet<string> = new Set(CONTROL_FIELDS);
const BANNED_ON_RESUME: ReadonlySet<string> = new Set(RESUME_CONTROL_FIELDS);

export type ControlBoundary = "cmd ingress" | "inbox replay";

export function isControlField(key: string): key is ControlField {
  return BANNED.has(key);
}

export function refuseControlFields(payload: Readonly<JsonObject>, boundary: ControlBoundary): void {
  const banned = boundary === "inbox replay" ? BANNED_ON_RESUME : BANNED;
  const found = Object.keys(payload).filter((key) => banned.has(key));
  if (found.length === 0) return;
  throw new ProtocolViolation(
    `control fields in the payload at ${boundary}: ${found.join(", ")}; send them as headers`,
    {
      details: { boundary, fields: found },
    },
  );
}

export function withoutControlFields(payload: Readonly<JsonObject>): JsonObject {
  const rest = emptyJsonObject();
  for (const [key, value] of Object.entries(payload)) if (!BANNED.has(key)) rest[key] = value;
  return rest;
}
