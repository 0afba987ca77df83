// The payload of a tool command: a pointer to the `tool.call` card, and two hints.
//
//   P1. Three classes of keys. Control fields, and `args`, `arguments`, `result`: refused, because a reader might obey
//       them instead of headers and card. The three fields below: validated. Anything else: dropped and named, so that a
//       newer sender does not break an older reader.
//   P2. A refusal names the key.

import { AFTER_EXECUTIONS, type AfterExecution, isAfterExecution } from "../cards/after-execution.ts";
import { BadRequest, ProtocolViolation } from "../errors/errors.ts";
import { isId } from "../ids.ts";
import type { JsonObject } from "../json/json-value.ts";
import { refuseControlFields } from "./control-fields.ts";

export const COMMAND_PAYLOAD_FIELDS = ["tool_call_card_id", "tool_name", "after_execution"] as const;
export type CommandPayloadField = (typeof COMMAND_PAYLOAD_FIELDS)[number];

/** Parameters live in the card and results in cards; neither is ever sent inline. */
export const COMMAND_FORBIDDEN_FIELDS = ["args", "arguments", "result"] as const;

export interface ToolCommandPayload {
  readonly tool_call_card_id: string;
  /** Null: take it from the card. */
  readonly tool_name: string | null;
  /** Null: take it from the definition, else `suspend`. */
  readonly after_execution: AfterExecution | null;
}

export interface ParsedCommandPayload {
  readonly command: ToolCommandPayload;
  /** Unknown keys that were left out, for the log. */
  readonly dropped: readonly string[];
}

export function parseCommandPayload(
  payload: Readonly<JsonObject>,
  options: { readonly required?: readonly CommandPayloadField[] } = {},
): ParsedCommandPayload {
  refuseControlFields(payload, "cmd ingress");
  refuseInlineFields(payload, COMMAND_FORBIDDEN_FIELDS);
  const tool_call_card_id = textField(payload, "tool_call_card_id");
  const tool_name = textField(payload, "tool_name");
  const after_execution = textField(payload, "after_execution");
  const values = { tool_call_card_id, tool_name, after_execution };
  const required = new Set<CommandPayloadField>(["tool_call_card_id", ...(options.required ?? [])]);
  const missing = [...required].filter((field) => values[field] === null);
  if (missing.length > 0 || tool_call_card_id === null) {
    throw new BadRequest(`missing required fields: ${missing.join(", ")}`, { details: { fields: missing } });
  }
  if (!isId(tool_call_card_id)) {
    throw new BadRequest("tool_call_card_id is not a legal id", { details: { field: "tool_call_card_id" } });
  }
  if (after_execution !== null && !isAfterExecution(after_execution)) {
    throw new BadRequest(`after_execution must be one of ${AFTER_EXECUTIONS.join(", ")}`, {
      details: { field: "after_execution" },
    });
  }
  return {
    command: { tool_call_card_id, tool_name, after_execution },
    dropped: unknownKeys(payload, COMMAND_PAYLOAD_FIELDS),
  };
}

/** The payload as it is sent: fields that say nothing are left out. */
export function buildCommandPayload(command: ToolCommandPayload): JsonObject {
  return {
    tool_call_card_id: command.tool_call_card_id,
    ...(command.tool_name === null ? {} : { tool_name: command.tool_name }),
    ...(command.after_execution === null ? {} : { after_execution: command.after_execution }),
  };
}

/** Refuses keys that would carry inline what belongs in a card (P1). */
export function refuseInlineFields(payload: Readonly<JsonObject>, fields: readonly string[]): void {
  const found = fields.filter((field) => Object.hasOwn(payload, field));
  if (found.length === 0) return;
  throw new ProtocolViolation(`not allowed in the payload: ${found.join(", ")}; such data lives in cards`, {
    details: { fields: found },
  });
}

/** A string field; absent, null and "" are null. */
export function textField(payload: Readonly<JsonObject>, field: string): string | null {
  const value = Object.hasOwn(payload, field) ? payload[field] : null;
  if (value === null || value === "") return null;
  if (typeof value === "string") return value;
  throw new BadRequest(`${field} must be a string`, { details: { field } });
}

export function unknownKeys(payload: Readonly<JsonObject>, known: readonly string[]): string[] {
  return Object.keys(payload).filter((key) => !known.includes(key));
}
