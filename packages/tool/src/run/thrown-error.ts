// What a handler threw, as the error of a ToolCallResult. A handler may throw anything, and everything it throws may be
// a trap: a getter that throws, a proxy that answers nothing, a message that is no text.
//
//   H1. Reading never throws, and what comes out is plain data that JSON and PostgreSQL can hold.
//   H2. The message is within the tool's limit, marker included, and never a stack.
//   H3. An error without a code is `E_TOOL`; a code that was given is kept as it is.

import { cutMessage, ERROR_CATALOGUE, gateJson, isErrorCode, isJsonObject, TesseraError } from "@tessera/protocol";
import type { JsonObject, ToolCallResultError } from "../api.ts";
import { TOOL_ERROR_CODE_DEFAULT } from "../tool-error.ts";

export interface ThrownError {
  readonly error: ToolCallResultError;
  /** What a TesseraError carries beside its message. */
  readonly detail?: JsonObject;
}

const UNKNOWN_ERROR_MESSAGE = "Unknown tool execution error";

const NAME_CHARS_MAX = 128;
const CODE_CHARS_MAX = 128;
const SUGGESTION_CHARS_MAX = 2_000;
const HELP_URL_CHARS_MAX = 2_000;
const TEXT_BYTES_MAX = 64 * 1024;
const DETAIL_BYTES_MAX = 32 * 1024;
const DETAIL_DEPTH_MAX = 16;

export function describeThrown(thrown: unknown, messageLimit: number): ThrownError {
  const name = textOf(thrown, "name", NAME_CHARS_MAX);
  const code = textOf(thrown, "code", CODE_CHARS_MAX);
  const suggestion = textOf(thrown, "suggestion", SUGGESTION_CHARS_MAX);
  const helpUrl = read(thrown, "helpUrl");
  const retryable = retryableOf(thrown, code);
  const detail = detailOf(thrown);
  return {
    error: {
      ...(name === undefined ? {} : { name }),
      message: storable(messageOf(thrown, name), messageLimit),
      code: code ?? TOOL_ERROR_CODE_DEFAULT,
      ...(suggestion === undefined ? {} : { suggestion }),
      // Half a link leads nowhere, so a longer one is left out.
      ...(typeof helpUrl === "string" && isLinkLength(helpUrl)
        ? { helpUrl: storable(helpUrl, HELP_URL_CHARS_MAX) }
        : {}),
      ...(retryable === undefined ? {} : { retryable }),
    },
    ...(detail === undefined ? {} : { detail }),
  };
}

/** Text that jsonb can hold, cut to `limit` including the marker. */
export function storable(text: string, limit: number): string {
  return cutMessage(
    text
      .slice(0, limit + 1)
      .toWellFormed()
      .replaceAll("\0", "\ufffd"),
    limit,
  );
}

function messageOf(thrown: unknown, name: string | undefined): string {
  const message = read(thrown, "message");
  if (typeof message === "string") return message || name || UNKNOWN_ERROR_MESSAGE;
  const text = safeText(isContainer(thrown) && message !== undefined ? message : thrown);
  return text === "" ? UNKNOWN_ERROR_MESSAGE : `${UNKNOWN_ERROR_MESSAGE}: ${text}`;
}

/** A value in words. JSON rather than `inspect`, which would print the stacks of errors inside (H2). */
export function safeText(value: unknown): string {
  try {
    if (typeof value === "function") return "a function";
    if (!isContainer(value)) return String(value);
    return JSON.stringify(gateJson(value, { bytesMax: TEXT_BYTES_MAX, depthMax: DETAIL_DEPTH_MAX }));
  } catch {
    return "a value that cannot be shown as JSON";
  }
}

function retryableOf(thrown: unknown, code: string | undefined): boolean | undefined {
  const said = read(thrown, "retryable");
  if (typeof said === "boolean") return said;
  return isTesseraError(thrown) && isErrorCode(code) ? ERROR_CATALOGUE[code].retry !== "never" : undefined;
}

function detailOf(thrown: unknown): JsonObject | undefined {
  if (!isTesseraError(thrown)) return undefined;
  try {
    const detail = gateJson(read(thrown, "details"), { bytesMax: DETAIL_BYTES_MAX, depthMax: DETAIL_DEPTH_MAX });
    return isJsonObject(detail) && Object.keys(detail).length > 0 ? detail : undefined;
  } catch {
    return undefined; // the code and the message say enough
  }
}

function textOf(thrown: unknown, key: string, limit: number): string | undefined {
  const value = read(thrown, key);
  return typeof value === "string" && value !== "" ? storable(value, limit) : undefined;
}

/** A property of whatever this is, or undefined (H1). */
export function read(thrown: unknown, key: string): unknown {
  if (!isContainer(thrown)) return undefined;
  try {
    return (thrown as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function isContainer(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

export function isTesseraError(thrown: unknown): boolean {
  try {
    return TesseraError.is(thrown);
  } catch {
    return false;
  }
}

function isLinkLength(url: string): boolean {
  return url !== "" && url.length <= HELP_URL_CHARS_MAX;
}
