// A command that cannot be run but shows its call's ticket: the call is told so, instead of waiting for its deadline.
//
//   F1. Only the ticket lets a refusal settle a call; without it nothing is touched (faults §6).
//   F2. A subject of another project than the call's settles nothing either: the kernel answers tenant_mismatch.

import type { BusMessage } from "@tessera/kernel";
import { buildErrorResultFromException, CGError, getHeader, HEADERS, isId, parseSubject } from "@tessera/protocol";
import type { ToolServiceOptions } from "./tool-service.ts";

/** What is known of the call, for the dead letter. Never throws. */
export async function settleRefused(
  message: BusMessage,
  error: CGError,
  { kernel, executor, principal, onWarning }: ToolServiceOptions,
): Promise<{ project_id?: string; tool_call_id?: string }> {
  const project_id = parseSubject(message.subject)?.project_id;
  const tool_call_id = idHeader(message, HEADERS.tool_call_id);
  const ticket = safeHeader(message, HEADERS.call_ticket);
  const named = { ...(project_id ? { project_id } : {}), ...(tool_call_id ? { tool_call_id } : {}) };
  if (project_id === undefined || tool_call_id === null || ticket === null) return named; // F1
  try {
    const as = principal === undefined ? {} : { principal };
    const opened = await kernel.openCall({ project_id, tool_call_id, ticket, executor, ...as });
    if (opened.outcome === "rejected") return named;
    const { capability } = opened;
    const content = { ...buildErrorResultFromException(error), after_execution: opened.after_execution };
    await kernel.report({ project_id, tool_call_id, capability, content, ...as });
  } catch (cause) {
    onWarning?.(`a refused command of ${tool_call_id} could not be settled: ${String(cause)}`);
  }
  return named;
}

function idHeader(message: BusMessage, name: typeof HEADERS.tool_call_id): string | null {
  const value = safeHeader(message, name);
  return isId(value) ? value : null;
}

/** A header that came twice with two values is no value. */
function safeHeader(message: BusMessage, name: (typeof HEADERS)[keyof typeof HEADERS]): string | null {
  try {
    return getHeader(message.headers, name);
  } catch (error) {
    if (CGError.is(error)) return null;
    throw error;
  }
}
