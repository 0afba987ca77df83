// The callback payload: what is stored with a reported result. Exactly after_execution, status, tool_result_card_id.
//
//   B1. Built here it always has all three fields. Read here, `after_execution` may be missing: the call's own counts.
//   B2. Keys fall into the same three classes as a command's (command-payload.ts).

import { BadRequest } from "../errors/errors.ts";
import { isId } from "../ids.ts";
import type { JsonObject } from "../json/json-value.ts";
import { COMMAND_FORBIDDEN_FIELDS, refuseInlineFields, textField, unknownKeys } from "../messages/command-payload.ts";
import { refuseControlFields } from "../messages/control-fields.ts";
import { isResultStatus, RESULT_STATUSES, type ResultStatus } from "../status.ts";
import { AFTER_EXECUTIONS, type AfterExecution, isAfterExecution } from "./after-execution.ts";

export const CALLBACK_PAYLOAD_FIELDS = ["after_execution", "status", "tool_result_card_id"] as const;

export interface CallbackPayload {
  readonly after_execution: AfterExecution;
  readonly status: ResultStatus;
  readonly tool_result_card_id: string;
}

export interface ParsedCallbackPayload {
  readonly callback: Omit<CallbackPayload, "after_execution"> & { readonly after_execution: AfterExecution | null };
  readonly dropped: readonly string[];
}

export function parseCallbackPayload(payload: Readonly<JsonObject>): ParsedCallbackPayload {
  const tool_result_card_id = parseCallbackPointer(payload);
  const status = textField(payload, "status");
  if (!isResultStatus(status)) {
    throw schemaInvalid("status", `status must be one of ${RESULT_STATUSES.join(", ")}`);
  }
  const after_execution = textField(payload, "after_execution");
  if (after_execution !== null && !isAfterExecution(after_execution)) {
    throw schemaInvalid("after_execution", `after_execution must be one of ${AFTER_EXECUTIONS.join(", ")}`);
  }
  return {
    callback: { after_execution, status, tool_result_card_id },
    dropped: unknownKeys(payload, CALLBACK_PAYLOAD_FIELDS),
  };
}

/** Which card the payload points to. What it says besides is for the kernel to judge. */
export function parseCallbackPointer(payload: Readonly<JsonObject>): string {
  refuseControlFields(payload, "inbox replay");
  refuseInlineFields(payload, [...COMMAND_FORBIDDEN_FIELDS, "error", "content"]);
  const tool_result_card_id = textField(payload, "tool_result_card_id");
  if (tool_result_card_id === null) {
    throw new BadRequest("tool_result_card_id is required", {
      code: "missing_tool_result_card",
      details: { field: "tool_result_card_id" },
    });
  }
  if (!isId(tool_result_card_id)) throw schemaInvalid("tool_result_card_id", "tool_result_card_id is not a legal id");
  return tool_result_card_id;
}

export function buildCallbackPayload(callback: CallbackPayload): JsonObject {
  const { after_execution, status, tool_result_card_id } = callback;
  return { after_execution, status, tool_result_card_id };
}

function schemaInvalid(field: string, message: string): BadRequest {
  return new BadRequest(message, { code: "schema_invalid", details: { field } });
}
