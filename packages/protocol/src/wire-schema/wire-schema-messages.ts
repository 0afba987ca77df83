// JSON Schemas of bus messages: headers, commands, callbacks, wakeups, events, chunks.

import { AFTER_EXECUTIONS } from "../cards/after-execution.ts";
import { CALLBACK_PAYLOAD_FIELDS } from "../cards/callback-payload.ts";
import { COMMAND_FORBIDDEN_FIELDS } from "../messages/command-payload.ts";
import { CONTROL_FIELDS } from "../messages/control-fields.ts";
import { STATE_ACTIVITIES } from "../messages/event-payload.ts";
import { HEADERS } from "../messages/headers.ts";
import { HEAD_STATES } from "../states.ts";
import { CHUNK_TYPES, STEP_PHASES } from "../status.ts";
import {
  ACTOR_ID,
  AFTER_EXECUTION,
  ERROR_OBJECT,
  ID,
  INTEGER_TEXT,
  ISO_TIME,
  type JsonSchema,
  NON_EMPTY,
  OBJECT,
  orNull,
  RESULT_STATUS,
  TRACEPARENT_TEXT,
  WHOLE_NUMBER,
} from "./wire-schema-parts.ts";

const ID_OR_NULL: JsonSchema = { anyOf: [ID, { type: "null" }] };

/** Identity and inline data are refused; other unknown keys are legal and dropped by the reader. */
const REFUSED_IN_COMMANDS = Object.fromEntries(
  [...CONTROL_FIELDS, ...COMMAND_FORBIDDEN_FIELDS].map((field) => [field, false]),
);

export const COMMAND_PAYLOAD_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    tool_call_card_id: ID,
    tool_name: { type: ["string", "null"] },
    after_execution: { enum: [...AFTER_EXECUTIONS, "", null] },
    ...REFUSED_IN_COMMANDS,
  },
  required: ["tool_call_card_id"],
  additionalProperties: true,
};

export const CALLBACK_PAYLOAD_SCHEMA: JsonSchema = {
  type: "object",
  properties: { after_execution: AFTER_EXECUTION, status: RESULT_STATUS, tool_result_card_id: ID },
  required: CALLBACK_PAYLOAD_FIELDS,
  additionalProperties: false,
};

export const TOOL_COMMAND_HEADERS_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    [HEADERS.project_id]: ID,
    [HEADERS.channel_id]: ID,
    [HEADERS.agent_id]: ACTOR_ID,
    [HEADERS.agent_turn_id]: ID,
    [HEADERS.turn_epoch]: INTEGER_TEXT,
    [HEADERS.step_id]: ID,
    [HEADERS.tool_call_id]: ID,
    [HEADERS.parent_agent_id]: ACTOR_ID,
    [HEADERS.parent_agent_turn_id]: ID,
    [HEADERS.parent_step_id]: ID,
    [HEADERS.parent_traceparent]: TRACEPARENT_TEXT,
    [HEADERS.recursion_depth]: INTEGER_TEXT,
    [HEADERS.l0_ack_reply]: NON_EMPTY,
    [HEADERS.call_ticket]: NON_EMPTY,
    [HEADERS.timestamp]: INTEGER_TEXT,
    [HEADERS.version]: NON_EMPTY,
    [HEADERS.msg_type]: NON_EMPTY,
    [HEADERS.sender]: NON_EMPTY,
    [HEADERS.traceparent]: { type: "string" },
    [HEADERS.tracestate]: { type: "string" },
  },
  required: [HEADERS.agent_id, HEADERS.agent_turn_id, HEADERS.tool_call_id, HEADERS.recursion_depth],
  additionalProperties: { type: "string" },
};

export const WAKEUP_PAYLOAD_SCHEMA: JsonSchema = {
  type: "object",
  properties: { inbox_id: ID_OR_NULL, reason: { type: ["string", "null"] }, metadata: { type: ["object", "null"] } },
};

export const STEP_EVENT_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    agent_turn_id: ID,
    step_id: ID,
    phase: { enum: STEP_PHASES },
    metadata: OBJECT,
    new_card_ids: { type: "array", items: ID },
  },
  required: ["agent_turn_id", "step_id", "phase"],
};

export const TASK_EVENT_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    agent_turn_id: ID,
    status: RESULT_STATUS,
    output_box_id: ID_OR_NULL,
    deliverable_card_id: ID_OR_NULL,
    tool_result_card_id: ID_OR_NULL,
    output_box: { type: ["object", "null"] },
    error: { anyOf: [ERROR_OBJECT, { type: ["string", "null"] }] },
    error_code: { type: ["string", "null"] },
    stats: OBJECT,
  },
  required: ["agent_turn_id", "status"],
};

export const STATE_EVENT_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    agent_id: ACTOR_ID,
    agent_turn_id: { anyOf: [ID, { const: "" }] },
    status: { enum: HEAD_STATES },
    turn_epoch: WHOLE_NUMBER,
    updated_at: ISO_TIME,
    output_box_id: ID_OR_NULL,
    metadata: {
      type: "object",
      properties: {
        activity: { enum: STATE_ACTIVITIES },
        current_tool: { type: "string" },
        waiting_tool_count: WHOLE_NUMBER,
        waiting_tool_call_ids: { type: "array", items: ID },
        resume_deadline: orNull({ type: "string", format: "date-time" }),
        error: { type: "string" },
      },
    },
  },
  required: ["agent_id", "agent_turn_id", "status", "turn_epoch", "updated_at"],
};

export const CHUNK_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    agent_turn_id: ID,
    step_id: ID,
    chunk_type: { enum: CHUNK_TYPES },
    content: { type: "string", default: "" },
    index: { ...WHOLE_NUMBER, default: 0 },
    metadata: OBJECT,
    usage: OBJECT,
    response_cost: { type: "number" },
  },
  required: ["agent_turn_id", "step_id", "chunk_type"],
};
