// Building a tool's result: whatever an executor hands over becomes content that the kernel accepts.
//
//   B1. Never throws, and what it returns always passes `validateToolResultContent`: a tool that misbehaves gets a
//       failed result, not a call that can never be settled.
//   B2. Coercion happens here and nowhere else, and only towards failure.

import type { ErrorCode } from "../errors/error-catalogue.ts";
import { TesseraError } from "../errors/errors.ts";
import { type ErrorObject, normalizeError } from "../errors/normalize-error.ts";
import { gateJson } from "../json/json-gate.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { CARD_CONTENT_BYTES_MAX, JSON_DEPTH_MAX } from "../limits.ts";
import { isResultStatus, type ResultStatus } from "../status.ts";
import {
  AFTER_EXECUTION_DEFAULT,
  CG_CONTROL_KEY,
  effectiveAfterExecution,
  isAfterExecution,
  readCgControl,
} from "./after-execution.ts";
import type { ToolResultContent } from "./card-content.ts";

export interface ToolResultInput {
  /** Absent: success, or failed when an error is given. */
  readonly status?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  /** What the executor's code asked for. */
  readonly after_execution?: unknown;
  readonly definition_after_execution?: unknown;
  readonly command_after_execution?: unknown;
  readonly source?: string;
  readonly messageLimit?: number;
  readonly bytesMax?: number;
}

/** Room in a card for status, after_execution and error beside the result. */
const ENVELOPE_BYTES = 96 * 1024;

export function buildToolResultContent(input: ToolResultInput): ToolResultContent {
  const cleaned = cleanResult(input.result, input.bytesMax ?? CARD_CONTENT_BYTES_MAX - ENVELOPE_BYTES);
  const control = readCgControl(cleaned.result);
  const isRequestInvalid = isGiven(input.after_execution) && !isAfterExecution(input.after_execution);
  const result = control.kind === "invalid" ? withoutControl(cleaned.result) : cleaned.result;
  const isSteeringInvalid = isRequestInvalid || control.kind === "invalid";
  const { status, error } = settle(input, cleaned, isSteeringInvalid);
  return {
    status,
    after_execution: isSteeringInvalid
      ? AFTER_EXECUTION_DEFAULT
      : effectiveAfterExecution({
          result,
          explicit: input.after_execution,
          definition: input.definition_after_execution,
          command: input.command_after_execution,
        }),
    // An executor that asked for something invalid must not steer by the control key either.
    result: isSteeringInvalid ? withoutControl(result) : result,
    error,
  };
}

/** Status and error together: success without an error, or anything else with one. */
function settle(
  input: ToolResultInput,
  cleaned: CleanResult,
  isSteeringInvalid: boolean,
): { readonly status: ResultStatus; readonly error: ErrorObject | null } {
  const options = {
    source: input.source ?? "tool",
    ...(input.messageLimit ? { messageLimit: input.messageLimit } : {}),
  };
  const failed = (code: ErrorCode, message: string, detail?: JsonValue) => ({
    status: "failed" as const,
    error: normalizeError({ code, message, ...(detail === undefined ? {} : { detail }) }, options),
  });
  const given = isGiven(input.error) ? cleanError(input.error, options) : null;
  if (cleaned.failure !== null) {
    const original = given === null ? {} : { original_error: given };
    return failed(cleaned.failure.code, cleaned.failure.message, { ...cleaned.failure.detail, ...original });
  }
  if (isSteeringInvalid) return failed("invalid_after_execution", "after_execution must be suspend or terminate");
  const status = input.status ?? (given === null ? "success" : "failed");
  if (!isResultStatus(status)) {
    return failed("invalid_status", `the tool gave ${statusText(status)} as its status`);
  }
  if (given !== null) return { status: status === "success" ? "failed" : status, error: given };
  if (status === "success") return { status, error: null };
  return { status, error: derivedError(cleaned.result, status, options) };
}

interface CleanResult {
  readonly result: JsonValue;
  readonly failure: { readonly code: ErrorCode; readonly message: string; readonly detail: JsonObject } | null;
}

/** Size and depth keep their own codes, so that the model learns what to do about them. */
function cleanResult(result: unknown, bytesMax: number): CleanResult {
  if (result === undefined) return { result: null, failure: null };
  try {
    return { result: gateJson(result, { bytesMax, depthMax: JSON_DEPTH_MAX }), failure: null };
  } catch (error) {
    const refusal = TesseraError.is(error) ? error : null;
    const keeps = refusal?.code === "payload_too_large" || refusal?.code === "too_deep";
    const code = keeps ? (refusal as TesseraError).code : "result_not_serializable";
    const type = typeof refusal?.details.type === "string" ? refusal.details.type : typeName(result);
    const pointer = typeof refusal?.details.pointer === "string" ? refusal.details.pointer : "";
    return {
      result: null,
      failure: { code, message: refusal?.message ?? "the result is not JSON", detail: { type, pointer } },
    };
  }
}

function cleanError(error: unknown, options: { readonly source: string; readonly messageLimit?: number }): ErrorObject {
  if (typeof error === "object" && !isThrown(error)) {
    try {
      gateJson(error, { bytesMax: CARD_CONTENT_BYTES_MAX });
    } catch {
      return normalizeError(
        { code: "error_not_serializable", message: "the tool's error is not JSON", detail: { type: typeName(error) } },
        options,
      );
    }
  }
  return normalizeError(error, options);
}

function isThrown(error: unknown): boolean {
  try {
    return TesseraError.is(error) || error instanceof Error;
  } catch {
    return false; // a revoked proxy has no prototype to look at
  }
}

/** A failed status without an error: the result may say why. */
function derivedError(
  result: JsonValue,
  status: ResultStatus,
  options: { readonly source: string; readonly messageLimit?: number },
): ErrorObject {
  const says =
    isJsonObject(result) && (typeof result.error_code === "string" || typeof result.error_message === "string");
  return normalizeError(
    says ? result : { code: "unknown_error", message: `the tool ended ${status} and gave no reason` },
    {
      defaultCode: "unknown_error",
      ...options,
    },
  );
}

function withoutControl(result: JsonValue): JsonValue {
  if (!isJsonObject(result)) return result;
  const { [CG_CONTROL_KEY]: _, ...rest } = result;
  return rest;
}

function statusText(status: unknown): string {
  return typeof status === "string" ? JSON.stringify(status.slice(0, 64)) : `a value of type ${typeof status}`;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function typeName(value: unknown): string {
  if (typeof value !== "object" || value === null) return typeof value;
  try {
    return Array.isArray(value) ? "array" : "object";
  } catch {
    return "object"; // a revoked proxy
  }
}
