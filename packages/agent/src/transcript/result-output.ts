// A tool's result as the model reads it.
//
//   O1. Typed, not prose: a failure is `error-json`, which providers mark as an error where they can, with one field for each
//       line of Goondan's text form (ERROR message, CODE code, SUGGESTION suggestion, HELP help_url, ACTION action). Fields
//       keep their types, and a path such as `detail.limit` can be read by a program.
//   O2. Nothing that steers Tessera reaches the model: `__cg_control` is taken out.
//   O3. A call without a result still has an output, which says what is known about it.
//   O4. A result that an extension failed to let through (`extension_failed`) stays in its card and is not shown.

import {
  cutMessage,
  isJsonObject,
  isResultStatus,
  type JsonObject,
  type JsonValue,
  stripCgControl,
} from "@tessera/protocol";
import type { ToolResultPart } from "ai";

export type ResultOutput = ToolResultPart["output"];

/** Characters of `stdout` and of `stderr` that a result shows (docs/protocol/turns.md#what-a-turn-is-made-of). */
export const CAPTURED_OUTPUT_CHARS_MAX = 4_000;

/** Of a `tool.result` card. */
export function resultOutput(content: { readonly [key: string]: unknown }): ResultOutput {
  const result = shownResult(content.result);
  if (content.status === "success") return { type: "json", value: result };
  const error = shownError(content.error);
  if (content.status === "partial") return { type: "json", value: partialValue(result, error) };
  const status = isResultStatus(content.status) ? content.status : "failed";
  const rest = isWithheld(content) ? null : withoutRepeatedError(result);
  return { type: "error-json", value: { status, ...error, ...(rest === null ? {} : { result: rest }) } };
}

/** O4 */
export function isWithheld(content: { readonly [key: string]: unknown }): boolean {
  return isJsonObject(content.error) && content.error.code === "extension_failed";
}

/** O3 */
export const OUTPUT_WAITING: ResultOutput = {
  type: "json",
  value: { status: "waiting", message: "The call is under way; its result is not in yet." },
};
export const OUTPUT_NOT_HANDED_OVER: ResultOutput = {
  type: "json",
  value: { status: "waiting", message: "The call had no result when this context was handed over." },
};
export const OUTPUT_TURN_ENDED: ResultOutput = {
  type: "error-json",
  value: { status: "canceled", code: "canceled", message: "The turn ended before this call was answered." },
};

function shownResult(result: unknown): JsonValue {
  const value = stripCgControl((result ?? null) as JsonValue); // O2
  if (!isJsonObject(value)) return value;
  const cut: JsonObject = {};
  for (const stream of ["stdout", "stderr"]) {
    const text = value[stream];
    if (typeof text === "string" && text.length > CAPTURED_OUTPUT_CHARS_MAX) {
      cut[stream] = cutMessage(text, CAPTURED_OUTPUT_CHARS_MAX);
    }
  }
  return Object.keys(cut).length === 0 ? value : { ...value, ...cut };
}

/** The result stays where a success would have it, so that a reader of a path in it finds it; the error stands beside it. */
function partialValue(result: JsonValue, error: JsonObject): JsonValue {
  const hasRoom = isJsonObject(result) && !Object.hasOwn(result, "error");
  return hasRoom ? { status: "partial", ...result, error } : { status: "partial", value: result, error };
}

/** O1 */
function shownError(error: unknown): JsonObject {
  if (!isJsonObject(error)) return { code: "unknown_error", message: "The tool gave no reason." };
  const { suggestion, helpUrl, ...detail } = isJsonObject(error.detail) ? error.detail : {};
  const plainDetail = isJsonObject(error.detail) ? detail : (error.detail ?? {});
  const action = actionFor(error);
  return {
    code: error.code ?? "unknown_error",
    message: error.message ?? "",
    ...(suggestion === undefined ? {} : { suggestion }),
    ...(helpUrl === undefined ? {} : { help_url: helpUrl }),
    ...(action === null ? {} : { action }),
    ...(typeof error.retryable === "boolean" ? { retryable: error.retryable } : {}),
    ...(isJsonObject(plainDetail) && Object.keys(plainDetail).length === 0 ? {} : { detail: plainDetail }),
  };
}

/** Only where the code alone says what is right. */
function actionFor(error: JsonObject): string | null {
  if (error.code === "outcome_unknown") return "Find out whether it took effect before you call it again.";
  return error.retryable === true ? "The same call may be tried again." : null;
}

/** A failed result mostly repeats its error (`errorResultBody` of the protocol); only what is more than that is shown. */
function withoutRepeatedError(result: JsonValue): JsonValue {
  if (!isJsonObject(result) || typeof result.error_code !== "string") return result;
  const { error_code: _code, error_message: _message, error: _error, error_detail: _detail, ...rest } = result;
  return Object.keys(rest).length === 0 ? null : rest;
}
