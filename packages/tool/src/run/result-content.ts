// The contents of result cards, for every way a run can end. All placements build them here and nowhere else, so the same
// end gives the same bytes wherever the tool ran.
//
//   C1. Never throws, and the kernel accepts what comes out (`validateToolResultContent`).
//   C2. A run that may have taken effect and may not be repeated (`once`) ends `outcome_unknown`, never as a plain failure
//       that would be tried again (docs/design.md#effects).
//   C3. The result of a failure is its error once more, in the flat form that models read; a refused output leaves null.

import {
  type AfterExecution,
  buildToolResultContent,
  type ErrorCode,
  type ErrorObject,
  errorResultBody,
  isJsonObject,
  normalizeError,
  type ResultStatus,
  type ToolEffect,
  type ToolResultContent,
} from "@tessera/protocol";
import type { JsonObject, ToolCallResult, ToolCallResultError } from "../api.ts";
import { TOOL_ERROR_CODE_DEFAULT } from "../tool-error.ts";
import { type ExecutedCall, OUTCOME_UNKNOWN_MESSAGE } from "./execute-handler.ts";

export interface ContentOptions {
  readonly afterExecution: AfterExecution;
  readonly errorMessageLimit: number;
}

const SOURCE = "tool";

/** A handler's end. `__cg_control` of its output counts; an output that is not an object is wrapped as `{value}`. */
export function toResultContent(result: ToolCallResult, options: ContentOptions): ToolResultContent {
  if (result.status !== "ok") return failureOf(result, options);
  const output = result.output ?? null;
  return buildToolResultContent({
    status: "success",
    result: isJsonObject(output) ? output : { value: output },
    definition_after_execution: options.afterExecution,
    source: SOURCE,
    messageLimit: options.errorMessageLimit,
  });
}

export interface TimeoutOptions extends ContentOptions {
  readonly timeoutMs: number;
}

/** The host ended the run because its time was up. */
export function timeoutContent(effect: ToolEffect, options: TimeoutOptions): ToolResultContent {
  const message = `the tool gave no result within ${options.timeoutMs} ms`;
  if (effect !== "once") return built("timeout", errorOf("tool_timeout", message, options), options);
  const unknown = `${message}; whether it took effect is not known`;
  return built("timeout", errorOf("outcome_unknown", unknown, options, { reason: "tool_timeout" }), options); // C2
}

export interface CrashOptions extends ContentOptions {
  /** What is known of the end: an exit code, a signal, the limit that was passed. Never output of the tool. */
  readonly detail?: JsonObject;
}

/** The process that ran the tool is gone without an answer. */
export function crashContent(effect: ToolEffect, options: CrashOptions): ToolResultContent {
  const message = "the tool's process ended before it gave a result";
  if (effect !== "once") {
    const error = { ...errorOf("tool_crashed", message, options, options.detail), retryable: true };
    return built("failed", error, options);
  }
  const unknown = `${message}; whether it took effect is not known`;
  const detail = { ...options.detail, reason: "tool_crashed" };
  return built("failed", errorOf("outcome_unknown", unknown, options, detail), options); // C2
}

/** The call was canceled and the tool has stopped. */
export function canceledContent(options: ContentOptions): ToolResultContent {
  return built("canceled", errorOf("canceled", "the call was canceled", options), options);
}

export interface UnknownOutcomeOptions extends ContentOptions {
  /** Why the outcome is unknown, in one word: `reconcile_unknown`, `executor_lost`. */
  readonly reason: string;
  readonly message?: string;
}

/** An earlier run may have taken effect; whether it did is unknown. */
export function unknownOutcomeContent(options: UnknownOutcomeOptions): ToolResultContent {
  const message = options.message ?? OUTCOME_UNKNOWN_MESSAGE;
  return built("failed", errorOf("outcome_unknown", message, options, { reason: options.reason }), options);
}

function failureOf(result: ExecutedCall, options: ContentOptions): ToolResultContent {
  const said = result.error ?? { message: "the tool failed and gave no reason" };
  const error = asBadRequest(errorObjectOf(said, result.wire ?? {}, options));
  return result.wire?.code === undefined ? built("failed", error, options) : built("failed", error, options, null);
}

/** The protocol maps thrown errors to codes of the wire; so the result's error is shown to it as one. */
function errorObjectOf(
  said: ToolCallResultError,
  wire: NonNullable<ExecutedCall["wire"]>,
  options: ContentOptions,
): ErrorObject {
  const { name = "Error", message, suggestion, helpUrl, retryable } = said;
  const code = wire.code ?? said.code ?? TOOL_ERROR_CODE_DEFAULT;
  const thrown = Object.assign(new Error(message), { name, code, suggestion, helpUrl });
  const error = normalizeError(thrown, {
    defaultCode: "internal_error",
    source: SOURCE,
    messageLimit: options.errorMessageLimit,
  });
  const detail = { ...wire.detail, ...(isJsonObject(error.detail) ? error.detail : {}) };
  return {
    ...error,
    ...(Object.keys(detail).length === 0 ? {} : { detail }),
    ...(retryable === undefined ? {} : { retryable }),
  };
}

/** In a tool's result a broken contract is a bad request, marked as what it is. */
function asBadRequest(error: ErrorObject): ErrorObject {
  if (error.code !== "protocol_violation") return error;
  const detail = isJsonObject(error.detail) ? error.detail : {};
  return { ...error, code: "bad_request", detail: { ...detail, kind: "protocol_violation" } };
}

function errorOf(code: ErrorCode, message: string, options: ContentOptions, detail?: JsonObject): ErrorObject {
  return normalizeError(
    { code, message, ...(detail === undefined ? {} : { detail }) },
    { source: SOURCE, messageLimit: options.errorMessageLimit },
  );
}

function built(
  status: ResultStatus,
  error: ErrorObject,
  options: ContentOptions,
  result: JsonObject | null = errorResultBody(error),
): ToolResultContent {
  return buildToolResultContent({
    status,
    result,
    error,
    definition_after_execution: options.afterExecution,
    source: SOURCE,
    messageLimit: options.errorMessageLimit,
  });
}
