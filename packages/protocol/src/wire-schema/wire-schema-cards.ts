// JSON Schemas of cards and their contents.

import { CARD_TYPES } from "../cards/card.ts";
import type { ContentKind } from "../cards/card-content.ts";
import { TOOL_NAME_PATTERN } from "../limits.ts";
import { RESULT_STATUSES } from "../status.ts";
import {
  ACTOR_ID,
  AFTER_EXECUTION,
  ERROR_OBJECT,
  ID,
  ISO_TIME,
  type JsonSchema,
  NON_EMPTY,
  OBJECT,
  RESULT_STATUS,
} from "./wire-schema-parts.ts";

const CG_CONTROL: JsonSchema = {
  type: "object",
  properties: { after_execution: AFTER_EXECUTION },
  description: "Set by the tool's own code, at the top level of its result; overrides the definition.",
};

export const CONTENT_SCHEMAS = {
  tool_call: {
    type: "object",
    properties: {
      tool_name: { type: "string", pattern: TOOL_NAME_PATTERN.source },
      arguments: OBJECT,
      status: { const: "called" },
      target_subject: NON_EMPTY,
    },
    required: ["tool_name", "arguments", "status", "target_subject"],
    additionalProperties: false,
  },
  tool_result: {
    type: "object",
    properties: {
      status: RESULT_STATUS,
      after_execution: AFTER_EXECUTION,
      result: { properties: { __cg_control: CG_CONTROL } }, // any JSON; this binds objects only
      error: { anyOf: [ERROR_OBJECT, { type: "null" }] },
    },
    required: ["status", "after_execution", "result"],
    additionalProperties: false,
    // Success has no error; every other status has one.
    oneOf: [
      { properties: { status: { const: "success" }, error: { type: "null" } } },
      {
        properties: { status: { enum: RESULT_STATUSES.filter((status) => status !== "success") }, error: OBJECT },
        required: ["error"],
      },
    ],
  },
  fields_schema: {
    type: "object",
    properties: {
      fields: {
        type: "array",
        items: {
          type: "object",
          properties: { name: NON_EMPTY, description: { type: "string" } },
          required: ["name", "description"],
          additionalProperties: false,
        },
      },
      schema: OBJECT,
    },
    required: ["fields"],
    additionalProperties: false,
  },
  json: {
    type: "object",
    properties: { data: { type: ["object", "array"] } },
    required: ["data"],
    additionalProperties: false,
  },
  text: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false,
  },
} as const satisfies Record<ContentKind, JsonSchema>;

export const CARD_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    card_id: ID,
    project_id: ID,
    type: { type: "string", enum: Object.keys(CARD_TYPES) },
    content: OBJECT,
    created_at: ISO_TIME,
    author_id: ACTOR_ID,
    metadata: OBJECT,
    tool_calls: {
      anyOf: [
        {
          type: "array",
          items: {
            type: "object",
            properties: { id: ID, name: { type: "string" } },
            required: ["id", "name"],
            additionalProperties: false,
          },
        },
        { type: "null" },
      ],
    },
    tool_call_id: { anyOf: [ID, { type: "null" }] },
    ttl_seconds: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] },
  },
  required: ["card_id", "project_id", "type", "content", "created_at", "author_id"],
  additionalProperties: false,
  // The type decides the shape of the content.
  oneOf: Object.entries(CARD_TYPES).map(([type, { content }]) => ({
    properties: {
      type: { const: type },
      content:
        content.length === 1 ? CONTENT_SCHEMAS[content[0]] : { oneOf: content.map((kind) => CONTENT_SCHEMAS[kind]) },
      ...(type === "tool.call" || type === "tool.result" ? { tool_call_id: ID } : {}),
    },
    ...(type === "tool.call" || type === "tool.result" ? { required: ["tool_call_id"] } : {}),
  })),
};
