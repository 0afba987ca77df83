// Reads what a child says about an executed call. The child's code is not the host's: every field is checked.

import { cutMessage, isErrorCode, isJsonObject, type JsonObject } from "@tessera/protocol";
import type { ToolCallResultError } from "@tessera/tool";
import type { ExecutedCall, FailureStack, ThrownFailure } from "@tessera/tool/run";

/** As much as a child makes of it (failure-stack.ts). */
const STACK_PIECES_MAX = 128;
const STACK_PIECE_CHARS_MAX = 4_000;

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

/** Why the call failed, or undefined when nothing that can be shown was said about it. */
export function readFailure(value: unknown): ThrownFailure | undefined {
  if (!isJsonObject(value)) return undefined;
  const stack = readStack(value.stack);
  return stack.length === 0 ? undefined : { stack, isMeant: value.isMeant === true };
}

export function readStack(value: unknown): FailureStack {
  if (!Array.isArray(value)) return [];
  const pieces = value.filter((piece) => typeof piece === "string").slice(0, STACK_PIECES_MAX);
  return pieces.map((piece) => cutMessage(piece, STACK_PIECE_CHARS_MAX));
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
