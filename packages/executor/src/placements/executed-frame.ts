// Reads what a child says about an executed call. The child's code is not the host's: every field is checked.

import { isErrorCode, isJsonObject, type JsonObject } from "@tessera/protocol";
import type { ToolCallResultError } from "@tessera/tool";
import type { ExecutedCall } from "@tessera/tool/run";

/** The call as the child reported it, or null when that is no executed call. Values have passed the JSON gate. */
export function readExecuted(value: unknown): ExecutedCall | null {
  if (!isJsonObject(value)) return null;
  const { toolCallId, toolName, status, output, error, wire } = value;
  if (typeof toolCallId !== "string" || typeof toolName !== "string") return null;
  if (status === "ok") return { toolCallId, toolName, status, output: output ?? null };
  if (status !== "error" || !isJsonObject(error) || typeof error.message !== "string") return null;
  return {
    toolCallId,
    toolName,
    status,
    error: readError(error, error.message),
    ...(isJsonObject(wire) ? { wire: readWire(wire) } : {}),
  };
}

function readError(error: JsonObject, message: string): ToolCallResultError {
  const { name, code, suggestion, helpUrl, retryable } = error;
  return {
    message,
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof code === "string" ? { code } : {}),
    ...(typeof suggestion === "string" ? { suggestion } : {}),
    ...(typeof helpUrl === "string" ? { helpUrl } : {}),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
  };
}

function readWire({ code, detail }: JsonObject): NonNullable<ExecutedCall["wire"]> {
  return { ...(isErrorCode(code) ? { code } : {}), ...(isJsonObject(detail) ? { detail } : {}) };
}
