// The wire contract as JSON Schema 2020-12, for other languages.
//
// `scripts/generate.ts` writes each document to packages/protocol/schema/<name>.json; CI fails when a file is stale.
// Every document stands alone: shared pieces are written out, so that no reader has to resolve references.
//
//   W1. A schema refuses nothing that the code accepts from a well-behaved sender, and describes what we send.
//   W2. Lists and patterns are taken from the code that enforces them, never typed again.

import { ERROR_CODES } from "../errors/error-catalogue.ts";
import { SUBJECT_VERSION } from "../messages/subject.ts";
import { CARD_SCHEMA, CONTENT_SCHEMAS } from "./wire-schema-cards.ts";
import {
  CALLBACK_PAYLOAD_SCHEMA,
  CHUNK_SCHEMA,
  COMMAND_PAYLOAD_SCHEMA,
  STATE_EVENT_SCHEMA,
  STEP_EVENT_SCHEMA,
  TASK_EVENT_SCHEMA,
  TOOL_COMMAND_HEADERS_SCHEMA,
  WAKEUP_PAYLOAD_SCHEMA,
} from "./wire-schema-messages.ts";
import { ERROR_OBJECT, type JsonSchema } from "./wire-schema-parts.ts";

export interface WireSchemaDocument {
  readonly $schema: "https://json-schema.org/draft/2020-12/schema";
  readonly $id: string;
  readonly title: string;
  readonly description: string;
  readonly [keyword: string]: unknown;
}

/** File name (without `.json`) → document. */
export const WIRE_SCHEMAS = {
  "command-payload": document(
    "command-payload",
    "Payload of a tool command",
    "A pointer to the tool.call card.",
    COMMAND_PAYLOAD_SCHEMA,
  ),
  "tool-command-headers": document(
    "tool-command-headers",
    "Headers of a tool command",
    "Names are looked up in any casing.",
    TOOL_COMMAND_HEADERS_SCHEMA,
  ),
  "callback-payload": document(
    "callback-payload",
    "Payload of a callback",
    "A pointer to the tool.result card.",
    CALLBACK_PAYLOAD_SCHEMA,
  ),
  card: document("card", "Card", "An immutable record; its type decides the shape of its content.", CARD_SCHEMA),
  "tool-call-content": document(
    "tool-call-content",
    "ToolCallContent",
    "Content of a tool.call card.",
    CONTENT_SCHEMAS.tool_call,
  ),
  "tool-result-content": document(
    "tool-result-content",
    "ToolResultContent",
    "Content of a tool.result card.",
    CONTENT_SCHEMAS.tool_result,
  ),
  "fields-schema-content": document(
    "fields-schema-content",
    "FieldsSchemaContent",
    "The fields that a deliverable must fill.",
    CONTENT_SCHEMAS.fields_schema,
  ),
  "json-content": document("json-content", "JsonContent", "Structured content.", CONTENT_SCHEMAS.json),
  "text-content": document("text-content", "TextContent", "Text content.", CONTENT_SCHEMAS.text),
  "error-object": document("error-object", "Error object", "Why a call, turn or request failed.", ERROR_OBJECT),
  "error-codes": document("error-codes", "Error codes", "The codes of the catalogue. Readers treat the list as open.", {
    enum: ERROR_CODES,
  }),
  "wakeup-payload": document(
    "wakeup-payload",
    "Payload of a wakeup",
    "Asks a worker to look at the agent's inbox.",
    WAKEUP_PAYLOAD_SCHEMA,
  ),
  "step-event": document(
    "step-event",
    "Payload of evt.agent.*.step",
    "A step began, moved on or ended.",
    STEP_EVENT_SCHEMA,
  ),
  "task-event": document("task-event", "Payload of evt.agent.*.task", "A turn ended.", TASK_EVENT_SCHEMA),
  "state-event": document(
    "state-event",
    "Payload of evt.agent.*.state",
    "The head of an agent moved.",
    STATE_EVENT_SCHEMA,
  ),
  chunk: document("chunk", "Payload of str.agent.*.chunk", "A piece of a step, live and lossy.", CHUNK_SCHEMA),
} as const satisfies Record<string, WireSchemaDocument>;
export type WireSchemaName = keyof typeof WIRE_SCHEMAS;

function document(name: string, title: string, description: string, schema: JsonSchema): WireSchemaDocument {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `urn:tessera:${SUBJECT_VERSION}:${name}`,
    title,
    description,
    ...(schema as object),
  };
}
