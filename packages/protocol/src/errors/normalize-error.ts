// The error object of results, and how any thrown or reported thing becomes one.
//
//   O1. What goes in may be anything a tool can throw; what comes out is JSON with a code and a message, and building it
//       never throws.
//   O2. A message is cut to its limit including the marker, holds no NUL or lone surrogate, and never a stack.
//   O3. Codes are an open set: a foreign code is kept.

import { gateJson } from "../json/json-gate.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { CARD_METADATA_BYTES_MAX, ERROR_MESSAGE_CHARS_MAX } from "../limits.ts";
import { ERROR_CATALOGUE, type ErrorCode, isErrorCode } from "./error-catalogue.ts";
import { TesseraError } from "./errors.ts";

export type ErrorObject = {
  readonly code: string;
  readonly message: string;
  readonly source: string;
  readonly detail?: JsonValue;
  readonly retryable?: boolean;
  readonly http_status?: number;
};

export interface NormalizeErrorOptions {
  readonly defaultCode?: ErrorCode;
  readonly source?: string;
  readonly messageLimit?: number;
}

export interface ErrorResult {
  readonly status: "failed";
  readonly result: JsonObject;
  readonly error: ErrorObject;
}

export const ERROR_SOURCE_DEFAULT = "unknown";
export const TRUNCATION_MARKER = "... (truncated)";

/** Goondan's tool codes in the words of the wire. */
const CODE_OF_TOOL_ERROR: Readonly<Record<string, ErrorCode>> = {
  E_TOOL_INVALID_ARGS: "bad_request",
  E_TOOL_NOT_FOUND: "not_found",
  E_TOOL_NOT_IN_CATALOG: "not_found",
  E_TOOL: "internal_error",
};

const CODE_CHARS_MAX = 128;

/** Turns anything into an error object (O1). */
export function normalizeError(value: unknown, options: NormalizeErrorOptions = {}): ErrorObject {
  const defaultCode = options.defaultCode ?? "unknown_error";
  const shape = describe(value, defaultCode);
  const limit = options.messageLimit ?? ERROR_MESSAGE_CHARS_MAX;
  const detail = cleanDetail(shape.detail);
  return {
    code: cleanText(shape.code, CODE_CHARS_MAX) || defaultCode,
    message: cutMessage(cleanText(shape.message, limit + 1), limit),
    source: cleanText(shape.source ?? options.source, CODE_CHARS_MAX) || ERROR_SOURCE_DEFAULT,
    ...(detail === undefined ? {} : { detail }),
    ...(shape.retryable === undefined ? {} : { retryable: shape.retryable }),
    ...(shape.http_status === undefined ? {} : { http_status: shape.http_status }),
  };
}

/** The failed result of a tool that threw. A protocol violation is a `bad_request` there, marked in its detail. */
export function buildErrorResultFromException(
  error: unknown,
  options: { readonly source?: string; readonly messageLimit?: number } = {},
): ErrorResult {
  const normalized = normalizeError(error, { defaultCode: "internal_error", source: "tool", ...options });
  const object = normalized.code === "protocol_violation" ? asBadRequest(normalized) : normalized;
  return { status: "failed", result: errorResultBody(object), error: object };
}

/** The `result` of a failed call: the same error, flat for models and nested for programs. */
export function errorResultBody(error: ErrorObject): JsonObject {
  return {
    error_code: error.code,
    error_message: error.message,
    error,
    ...(error.detail === undefined ? {} : { error_detail: error.detail }),
  };
}

/** Cuts to `limit` characters including the marker, without splitting a character in two. */
export function cutMessage(message: string, limit: number = ERROR_MESSAGE_CHARS_MAX): string {
  if (message.length <= limit) return message;
  const hasRoom = limit > TRUNCATION_MARKER.length;
  let end = Math.max(0, hasRoom ? limit - TRUNCATION_MARKER.length : limit);
  const last = message.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end--;
  return message.slice(0, end) + (hasRoom ? TRUNCATION_MARKER : "");
}

interface ErrorShape {
  readonly code: string;
  readonly message: string;
  readonly source?: string | undefined;
  readonly detail?: unknown;
  readonly retryable?: boolean | undefined;
  readonly http_status?: number | undefined;
}

function describe(value: unknown, defaultCode: ErrorCode): ErrorShape {
  try {
    if (value === null || value === undefined) return { code: defaultCode, message: "unknown error" };
    if (TesseraError.is(value)) return describeTesseraError(value);
    if (value instanceof Error) return describeThrown(value, defaultCode);
    if (isJsonObject(value)) return describeObject(value, defaultCode);
    return { code: defaultCode, message: safeText(value) };
  } catch {
    // A getter or proxy of the value threw. There is nothing to say about it that would be safe to read.
    return { code: defaultCode, message: "unknown error" };
  }
}

function describeTesseraError(error: TesseraError): ErrorShape {
  // A copy of this package of another version may know codes that this one does not.
  const entry = isErrorCode(error.code) ? ERROR_CATALOGUE[error.code] : undefined;
  const hasDetails = Object.keys(error.details).length > 0;
  return {
    code: error.code,
    message: error.message,
    detail: hasDetails ? error.details : undefined,
    retryable: entry && entry.retry !== "never",
    http_status: entry?.http,
  };
}

/** An Error of other code: codes of the catalogue and of Goondan count, others are kept in the detail. */
function describeThrown(error: Error, defaultCode: ErrorCode): ErrorShape {
  const { code, suggestion, helpUrl } = error as { code?: unknown; suggestion?: unknown; helpUrl?: unknown };
  const detail: Record<string, unknown> = {};
  if (typeof suggestion === "string") detail.suggestion = suggestion;
  if (typeof helpUrl === "string") detail.helpUrl = helpUrl;
  if (error.name !== "Error") detail.name = error.name;
  let mapped: string = error.name === "TimeoutError" ? "tool_timeout" : defaultCode;
  if (typeof code === "string") {
    const known = Object.hasOwn(CODE_OF_TOOL_ERROR, code) ? CODE_OF_TOOL_ERROR[code] : undefined;
    if (known !== undefined) mapped = known;
    else if (isErrorCode(code)) mapped = code;
    if (code !== mapped) detail.code = code;
  }
  return {
    code: mapped,
    message: error.message === "" ? error.name : error.message,
    detail: Object.keys(detail).length > 0 ? detail : undefined,
  };
}

function describeObject(value: JsonObject, defaultCode: ErrorCode): ErrorShape {
  const { code, message, source, error_code, error_message } = value;
  const rest = {
    source: typeof source === "string" && source !== "" ? source : undefined,
    retryable: typeof value.retryable === "boolean" ? value.retryable : undefined,
    http_status: isHttpStatus(value.http_status) ? value.http_status : undefined,
  };
  if (typeof code === "string" && code !== "" && typeof message === "string") {
    return { code, message, detail: value.detail, ...rest };
  }
  if (typeof error_code === "string" || typeof error_message === "string") {
    const text = typeof error_message === "string" ? error_message : "unknown error";
    return { code: nonEmpty(error_code) ?? defaultCode, message: text, detail: value.error_detail, ...rest };
  }
  return { code: defaultCode, message: nonEmpty(message) ?? safeText(value) };
}

function asBadRequest(error: ErrorObject): ErrorObject {
  const detail = isJsonObject(error.detail) ? error.detail : {};
  return { ...error, code: "bad_request", detail: { ...detail, kind: "protocol_violation" } };
}

/** A detail that is not JSON says only what it was; it never stops the error from being reported. */
function cleanDetail(detail: unknown): JsonValue | undefined {
  if (detail === undefined || detail === null) return undefined;
  try {
    return gateJson(detail, { bytesMax: CARD_METADATA_BYTES_MAX, depthMax: 32 });
  } catch {
    return { omitted: typeof detail };
  }
}

function safeText(value: unknown): string {
  if (typeof value === "object" && value !== null) return JSON.stringify(value) ?? "unknown error";
  return String(value);
}

/** At most `limit` characters that jsonb can store: it refuses NUL and half surrogate pairs, and an error that cannot be
 *  stored would be retried for ever. Foreign errors may hold anything where text belongs. */
function cleanText(text: unknown, limit: number): string {
  if (typeof text !== "string") return "";
  return text.slice(0, limit).toWellFormed().replaceAll("\0", "\ufffd");
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isHttpStatus(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 100 && value <= 599;
}
