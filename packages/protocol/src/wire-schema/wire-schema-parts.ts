// Pieces that several wire schemas share. Patterns and lists come from the code that enforces them.

import { AFTER_EXECUTIONS } from "../cards/after-execution.ts";
import { ACTOR_ID_CHARS_MAX, ACTOR_ID_PATTERN, ERROR_MESSAGE_CHARS_MAX, ID_PATTERN } from "../limits.ts";
import { RESULT_STATUSES } from "../status.ts";

/** A JSON Schema (2020-12): an object of keywords, or true and false. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

export const ID: JsonSchema = { type: "string", pattern: ID_PATTERN.source };
export const ACTOR_ID: JsonSchema = {
  type: "string",
  pattern: ACTOR_ID_PATTERN.source,
  minLength: 1,
  maxLength: ACTOR_ID_CHARS_MAX,
};
export const NON_EMPTY = { type: "string", minLength: 1 } as const satisfies JsonSchema;
export const OBJECT: JsonSchema = { type: "object" };
export const WHOLE_NUMBER = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER } satisfies JsonSchema;
export const ISO_TIME: JsonSchema = { type: "string", format: "date-time" };
export const RESULT_STATUS: JsonSchema = { type: "string", enum: RESULT_STATUSES };
export const AFTER_EXECUTION: JsonSchema = { type: "string", enum: AFTER_EXECUTIONS };

/** A header with a whole number in plain digits. */
export const INTEGER_TEXT: JsonSchema = { type: "string", pattern: "^(?:0|[1-9][0-9]{0,15})$" };
export const TRACEPARENT_TEXT: JsonSchema = {
  type: "string",
  pattern: "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$",
};

export const ERROR_OBJECT = {
  type: "object",
  properties: {
    code: { ...NON_EMPTY, description: "A code of the catalogue, or a foreign one: readers treat the list as open." },
    message: { type: "string", maxLength: ERROR_MESSAGE_CHARS_MAX },
    source: NON_EMPTY,
    detail: { description: "Any JSON." },
    retryable: { type: "boolean" },
    http_status: { type: "integer", minimum: 100, maximum: 599 },
  },
  required: ["code", "message", "source"],
  additionalProperties: false,
} satisfies JsonSchema;

export function orNull(schema: { readonly [keyword: string]: unknown }): JsonSchema {
  return { anyOf: [schema, { type: "null" }] };
}
