// A call that may not run, in the form in which it can still be committed and settled.
//
//   F1. The draft is legal whatever the model wrote: its name, arguments and subject are replaced where they are not.
//   F2. The card keeps what the model sent, so that it can see its own mistake, but never the place of a secret.
//   F3. The result speaks to the model: what was wrong, and what to do instead.

import {
  ARGUMENTS_BYTES_MAX,
  buildToolResultContent,
  ERROR_MESSAGE_CHARS_MAX,
  errorOf,
  errorResultBody,
  gateJson,
  isJsonObject,
  isToolName,
  type JsonObject,
  NotFound,
  normalizeError,
  parseJson,
  renderTargetSubject,
  TesseraError,
  targetSubjectFor,
} from "@tessera/protocol";
import type { ToolDefinition } from "../definition.ts";
import { toolPolicy } from "../policy.ts";
import { internalSubject, isInternalTool } from "./internal-tools.ts";
import type { CallRequest, PlanCallsOptions, PlannedCall } from "./plan-calls.ts";

const NAMES_LISTED_MAX = 50;
const TOOL_NAME_UNKNOWN = "unknown_tool";

/** A request that is answered by `error`. `definition` is the tool's, where the step offers one. */
export function refusedCall(
  tool_call_id: string,
  request: CallRequest,
  error: TesseraError,
  definition: ToolDefinition | null,
  options: PlanCallsOptions,
): PlannedCall {
  const { messageLimit, author_id, target_subject } = destination(definition, options);
  const object = normalizeError(
    { code: error.code, message: error.message, detail: error.details },
    { source: "tool", messageLimit },
  );
  return {
    draft: {
      tool_call_id,
      tool_name: isToolName(request.name) ? request.name : TOOL_NAME_UNKNOWN,
      arguments: error.code === "too_many_calls" ? {} : keptArguments(request.arguments, definition),
      target_subject,
      author_id,
      // Nothing runs, so nothing can be left half done.
      effect: "read",
      after_execution: "suspend",
      attempts_max: 1,
      local: true,
      metadata: {},
    },
    refusal: buildToolResultContent({
      status: "failed",
      result: errorResultBody(object),
      error: object,
      after_execution: "suspend",
      messageLimit,
    }),
  };
}

export function notInCatalog(name: unknown, offered: readonly string[]): TesseraError {
  // A model's client may hand over anything as a name, also what no text can be made of.
  const shown = JSON.stringify(typeof name === "string" ? name.slice(0, 64).toWellFormed() : typeof name);
  return errorOf("tool_not_in_catalog", `there is no tool ${shown} in this step`, {
    details: {
      code: "E_TOOL_NOT_IN_CATALOG",
      suggestion:
        offered.length === 0
          ? "This step offers no tools."
          : `Call one of: ${offered.slice(0, NAMES_LISTED_MAX).join(", ")}${offered.length > NAMES_LISTED_MAX ? ", …" : ""}.`,
    },
  });
}

export function notHosted(name: string): TesseraError {
  return new NotFound(`the tool ${name} has no handler here`, {
    details: { code: "E_TOOL_NOT_FOUND", suggestion: "Use another tool." },
  });
}

function destination(
  definition: ToolDefinition | null,
  { vars }: PlanCallsOptions,
): { readonly messageLimit: number; readonly author_id: string; readonly target_subject: string } {
  if (definition === null) {
    const target_subject = renderTargetSubject(targetSubjectFor("catalog", "refused"), vars);
    return { messageLimit: ERROR_MESSAGE_CHARS_MAX, author_id: "tool.catalog", target_subject };
  }
  if (isInternalTool(definition)) {
    const target_subject = internalSubject(definition.tool_name, vars);
    return { messageLimit: ERROR_MESSAGE_CHARS_MAX, author_id: "sys.pmo", target_subject };
  }
  const { author_id, error_message_limit } = toolPolicy(definition);
  const target_subject = renderTargetSubject(definition.target_subject, vars);
  return { messageLimit: error_message_limit, author_id, target_subject };
}

/** F2 */
function keptArguments(given: unknown, definition: ToolDefinition | null): JsonObject {
  if (given === undefined || (typeof given === "string" && given.trim() === "")) return {};
  try {
    const limit = { bytesMax: ARGUMENTS_BYTES_MAX };
    const value = typeof given === "string" ? parseJson(given, limit) : gateJson(given, limit);
    if (isJsonObject(value)) {
      for (const name of Object.keys(definition?.options.envs ?? {})) delete value[name];
      return value;
    }
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
  }
  return { _raw: cutToBytes(typeof given === "string" ? given : textOf(given)) };
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    return typeof value; // a cycle or a big integer: there is no text of it to keep
  }
}

/** The longest beginning whose JSON, with the key around it, is small enough; without what jsonb cannot store. */
function cutToBytes(text: string): string {
  const room = ARGUMENTS_BYTES_MAX - JSON.stringify({ _raw: "" }).length;
  let cut = text.slice(0, room).toWellFormed().replaceAll("\0", "\ufffd");
  for (let bytes = bytesOf(cut); bytes > room; bytes = bytesOf(cut)) {
    // Cutting in proportion comes close in one or two rounds, and one character less each time makes it end.
    cut = cut.slice(0, Math.min(cut.length - 1, Math.floor((cut.length * room) / bytes))).toWellFormed();
  }
  return cut;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
