// What every method of the client throws when it did not work out.
//
//   E1. `code` is one of the error catalogue (docs/reference/errors.md); the list is open.
//   E2. `status` 0 says that no answer of the API came: wrong address, nobody there, too late. Whether the request was carried
//       out is then unknown.
//   E3. No message holds the key.

import type { ErrorCode } from "@tessera/protocol/error-catalogue";

export interface ApiErrorFields {
  /** Of the answer, or 0 (E2). */
  readonly status: number;
  readonly code: ErrorCode | (string & {});
  /** What the server added: the field at fault, the mistakes of a document. */
  readonly detail?: unknown;
  /** For the logs of the server. */
  readonly requestId?: string | null;
  /** How long the server asks to wait before the next try. */
  readonly retryAfterMs?: number | null;
  readonly cause?: unknown;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: ErrorCode | (string & {});
  readonly detail: unknown;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  constructor(message: string, fields: ApiErrorFields) {
    super(message, fields.cause === undefined ? {} : { cause: fields.cause });
    this.status = fields.status;
    this.code = fields.code;
    this.detail = fields.detail ?? null;
    this.requestId = fields.requestId ?? null;
    this.retryAfterMs = fields.retryAfterMs ?? null;
  }
}

/** For answers that are no problem document: of a proxy, or of something that is not Tessera. */
const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "bad_request",
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  409: "conflict",
  412: "precondition_failed",
  413: "payload_too_large",
  415: "unsupported_media_type",
  429: "rate_limited",
  501: "not_implemented",
  502: "upstream_unavailable",
  503: "upstream_unavailable",
  504: "upstream_unavailable",
};
const RETRY_AFTER_S_MAX = 86_400;

/** The error of an answer with status 400 or more, whose body is `text`. */
export function errorOfAnswer(response: Response, text: string, asked: string): ApiError {
  const { status } = response;
  const problem = parsed(text);
  const common = {
    status,
    requestId: textOr(problem?.request_id, response.headers.get("x-request-id")),
    retryAfterMs: retryAfterOf(response),
  };
  if (problem !== null && typeof problem.error_code === "string") {
    const message = textOr(problem.error_message, textOr(problem.detail, problem.error_code)) as string;
    return new ApiError(message, { ...common, code: problem.error_code, detail: problem.error_detail });
  }
  const code = CODE_OF_STATUS[status] ?? (status >= 500 ? "internal_error" : "bad_request");
  const hint = problem === null ? "; is this the address of a Tessera API?" : "";
  return new ApiError(`${asked} was answered with status ${status}${hint}`, { ...common, code, detail: problem });
}

/** Seconds; the other form, a date, would need the server's clock and is left out. */
function retryAfterOf(response: Response): number | null {
  const text = response.headers.get("retry-after") ?? "";
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  return seconds <= RETRY_AFTER_S_MAX ? seconds * 1_000 : null;
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // not JSON: said in the message
  }
}

function textOr(value: unknown, other: string | null): string | null {
  return typeof value === "string" && value !== "" ? value : other;
}
