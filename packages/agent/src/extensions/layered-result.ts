// Results on their way through toolCall layers: the content of a card, seen as a ToolCallResult, and back.
//
//   R1. A result that no layer replaced stays as it is, byte for byte.
//   R2. What a layer returns passes the JSON gate like a tool's output; what does not pass is the layer's mistake.
//   R3. A call that a layer answered instead of the tool does not end the turn: the tool that would has not run.

import { CARD_CONTENT_BYTES_MAX, gateJson, isJsonObject, type ToolResultContent } from "@tessera/protocol";
import type { JsonObject, ToolCallResult, ToolCallResultError } from "@tessera/tool";
import { type ContentOptions, toResultContent } from "@tessera/tool/run";
import type { LayeredResult } from "./api.ts";

export interface CallIdentity {
  readonly tool_call_id: string;
  readonly tool_name: string;
}

/** The protocol's builder adds what stands around the result. */
const OUTPUT_BYTES_MAX = CARD_CONTENT_BYTES_MAX - 97 * 1024;
const ERROR_TEXTS = ["name", "code", "suggestion", "helpUrl"] as const;

export function layeredResult(
  { tool_call_id, tool_name }: CallIdentity,
  content: ToolResultContent | null,
): LayeredResult {
  const identity = { toolCallId: tool_call_id, toolName: tool_name };
  if (content === null) return Object.freeze({ ...identity, status: "pending" as const });
  if (content.status === "success") return freezeDeep({ ...identity, status: "ok", output: copy(content.result) });
  return freezeDeep({ ...identity, status: "error", error: errorOf(content) });
}

/** The content of a result that a layer made. Throws where it is none (R2). */
export function contentOfLayer(
  { tool_call_id, tool_name }: CallIdentity,
  returned: unknown,
  options: ContentOptions,
): ToolResultContent {
  if (typeof returned !== "object" || returned === null) throw mistake();
  const { status, output, error } = returned as Partial<ToolCallResult>;
  const identity = { toolCallId: tool_call_id, toolName: tool_name };
  if (status === "ok") {
    const value = output === undefined ? null : gateJson(output, { bytesMax: OUTPUT_BYTES_MAX });
    return toResultContent({ ...identity, status, output: value }, options);
  }
  if (status !== "error" || typeof error?.message !== "string") throw mistake();
  return toResultContent({ ...identity, status, error: plainError(error) }, options);
}

function plainError(error: ToolCallResultError): ToolCallResultError {
  const texts = ERROR_TEXTS.flatMap((key) => (typeof error[key] === "string" ? [[key, error[key]]] : []));
  const retryable = typeof error.retryable === "boolean" ? { retryable: error.retryable } : {};
  return { message: error.message, ...Object.fromEntries(texts), ...retryable };
}

function errorOf({ status, error }: ToolResultContent): ToolCallResultError {
  const detail: JsonObject = isJsonObject(error?.detail) ? error.detail : {};
  const code = typeof detail.code === "string" ? detail.code : (error?.code ?? status);
  return {
    message: error?.message ?? `the call ended ${status}`,
    code,
    ...(typeof detail.suggestion === "string" ? { suggestion: detail.suggestion } : {}),
    ...(typeof detail.helpUrl === "string" ? { helpUrl: detail.helpUrl } : {}),
    ...(error?.retryable === undefined ? {} : { retryable: error.retryable }),
  };
}

function mistake(): Error {
  return new Error("it returned no result: {status: ok, output} or {status: error, error: {message, …}} is one");
}

function copy<T>(value: T): T {
  return structuredClone(value);
}

function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) freezeDeep(member);
  return Object.freeze(value);
}
