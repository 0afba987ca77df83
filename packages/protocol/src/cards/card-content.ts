// Content shapes of cards, and their checks.
//
//   S1. Shapes are closed: an unknown key is refused, because a card is kept for ever and a key that is not checked
//       would be trusted by some reader.
//   S2. Checks refuse; they never repair. The result builder (tool-result.ts) is the only place that coerces.

import type { ErrorCode } from "../errors/error-catalogue.ts";
import { BadRequest } from "../errors/errors.ts";
import type { ErrorObject } from "../errors/normalize-error.ts";
import { isToolName } from "../ids.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { isResultStatus, RESULT_STATUSES, type ResultStatus } from "../status.ts";
import { AFTER_EXECUTIONS, type AfterExecution, isAfterExecution, readCgControl } from "./after-execution.ts";

export type ToolCallContent = {
  readonly tool_name: string;
  readonly arguments: JsonObject;
  readonly status: "called";
  readonly target_subject: string;
};

export type ToolResultContent = {
  readonly status: ResultStatus;
  readonly after_execution: AfterExecution;
  readonly result: JsonValue;
  readonly error: ErrorObject | null;
};

/** A field that a deliverable must have. */
export type FieldSchema = {
  readonly name: string;
  /** Tells the model what belongs into it. */
  readonly description: string;
};

export type FieldsSchemaContent = {
  readonly fields: readonly FieldSchema[];
  /** JSON Schema of the fields as one object, where more is asked for than that they are there. */
  readonly schema?: JsonObject;
};

export type JsonContent = {
  readonly data: JsonObject | JsonValue[];
};

export type TextContent = {
  readonly text: string;
};

export type CardContent = ToolCallContent | ToolResultContent | FieldsSchemaContent | JsonContent | TextContent;

/** Which shapes a card type may hold. */
export const CONTENT_KINDS = ["tool_call", "tool_result", "fields_schema", "json", "text"] as const;
export type ContentKind = (typeof CONTENT_KINDS)[number];

export function validateToolCallContent(content: unknown): ToolCallContent {
  const object = closed(content, ["tool_name", "arguments", "status", "target_subject"], "invalid_card");
  if (!isToolName(object.tool_name)) throw invalid("invalid_card", "/tool_name", "is not a legal tool name");
  if (!isJsonObject(object.arguments)) throw invalid("invalid_card", "/arguments", "must be an object");
  if (object.status !== "called") throw invalid("invalid_card", "/status", 'must be "called"');
  requireText(object, "target_subject", "invalid_card");
  return content as ToolCallContent;
}

/** What the kernel accepts as a result. Success has no error; anything else has one with a code. */
export function validateToolResultContent(content: unknown): ToolResultContent {
  const code = "schema_invalid";
  const object = closed(content, ["status", "after_execution", "result", "error"], code);
  if (!isResultStatus(object.status)) throw invalid(code, "/status", `must be one of ${RESULT_STATUSES.join(", ")}`);
  if (!isAfterExecution(object.after_execution)) {
    throw invalid(code, "/after_execution", `must be one of ${AFTER_EXECUTIONS.join(", ")}`);
  }
  if (!Object.hasOwn(object, "result")) throw invalid(code, "/result", "is required; use null for none");
  if (readCgControl(object.result).kind === "invalid") {
    throw invalid(code, "/result/__cg_control", `must set after_execution to one of ${AFTER_EXECUTIONS.join(", ")}`);
  }
  const error: unknown = object.error ?? null;
  if (object.status === "success" && error !== null) throw invalid(code, "/error", "must be null on success");
  if (object.status !== "success") validateErrorObject(error);
  return { ...(content as ToolResultContent), error: error as ErrorObject | null };
}

/** A stored error object: code, message and source are there, and nothing else but the three optional fields. */
export function validateErrorObject(error: unknown): ErrorObject {
  const code = "schema_invalid";
  const fields = ["code", "message", "source", "detail", "retryable", "http_status"];
  const object = closed(error, fields, code, "/error");
  for (const field of ["code", "source"]) requireText(object, field, code, "/error");
  if (typeof object.message !== "string") throw invalid(code, "/error/message", "must be a string");
  if (object.retryable !== undefined && typeof object.retryable !== "boolean") {
    throw invalid(code, "/error/retryable", "must be true or false");
  }
  if (object.http_status !== undefined && !Number.isInteger(object.http_status)) {
    throw invalid(code, "/error/http_status", "must be a whole number");
  }
  return error as ErrorObject;
}

/** Names are unique, because a deliverable must fill each exactly once. */
export function validateFieldsSchemaContent(content: unknown): FieldsSchemaContent {
  const { fields, schema } = closed(content, ["fields", "schema"], "invalid_card");
  if (schema !== undefined && !isJsonObject(schema)) throw invalid("invalid_card", "/schema", "must be an object");
  if (!Array.isArray(fields)) throw invalid("invalid_card", "/fields", "must be a list");
  const names = new Set<string>();
  for (const [index, field] of fields.entries()) {
    const at = `/fields/${index}`;
    const object = closed(field, ["name", "description"], "invalid_card", at);
    const name = requireText(object, "name", "invalid_card", at);
    if (typeof object.description !== "string") throw invalid("invalid_card", `${at}/description`, "must be a string");
    if (names.has(name)) throw invalid("invalid_card", `${at}/name`, "appears twice");
    names.add(name);
  }
  return content as FieldsSchemaContent;
}

export function validateJsonContent(content: unknown): JsonContent {
  const { data } = closed(content, ["data"], "invalid_card");
  if (!isJsonObject(data) && !Array.isArray(data)) {
    throw invalid("invalid_card", "/data", "must be an object or a list");
  }
  return content as JsonContent;
}

export function validateTextContent(content: unknown): TextContent {
  const { text } = closed(content, ["text"], "invalid_card");
  if (typeof text !== "string") throw invalid("invalid_card", "/text", "must be a string");
  return content as TextContent;
}

const VALIDATORS: Record<ContentKind, (content: unknown) => CardContent> = {
  tool_call: validateToolCallContent,
  tool_result: validateToolResultContent,
  fields_schema: validateFieldsSchemaContent,
  json: validateJsonContent,
  text: validateTextContent,
};

/** Checks content against the shapes its card type may hold. The first shape that has its keys decides the message. */
export function validateContent(content: unknown, kinds: readonly ContentKind[]): CardContent {
  if (!isJsonObject(content)) throw invalid("invalid_card", "", "must be an object");
  const kind = kinds.find((candidate) => Object.hasOwn(content, KEY_OF[candidate])) ?? kinds[0];
  if (kind === undefined) throw invalid("invalid_card", "", "has no known shape");
  return VALIDATORS[kind](content);
}

/** A key that only this shape has. */
const KEY_OF: Record<ContentKind, string> = {
  tool_call: "tool_name",
  tool_result: "after_execution",
  fields_schema: "fields",
  json: "data",
  text: "text",
};

function closed(value: unknown, keys: readonly string[], code: ErrorCode, at = ""): JsonObject {
  if (!isJsonObject(value)) throw invalid(code, at, "must be an object");
  const unknown = Object.keys(value).find((key) => !keys.includes(key));
  if (unknown !== undefined) throw invalid(code, `${at}/${unknown}`, "is not a known key");
  return value;
}

function requireText(object: JsonObject, field: string, code: ErrorCode, at = ""): string {
  const value = object[field];
  if (typeof value !== "string" || value === "") throw invalid(code, `${at}/${field}`, "must be a non-empty string");
  return value;
}

function invalid(code: ErrorCode, pointer: string, why: string): BadRequest {
  const place = pointer === "" ? "content" : `content${pointer.slice(0, 200)}`;
  return new BadRequest(`${place} ${why}`, { code, details: { pointer: pointer.slice(0, 200) } });
}
