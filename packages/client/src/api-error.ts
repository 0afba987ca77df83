// What every method of the client throws when it did not work out.
//
//   E1. `code` is one of the error catalogue of this version. A code that a newer server may have is told by the code of its
//       status, and kept in `details.error_code`.
//   E2. `status` 0 says that no answer of the API came: wrong address, no server there, too late. Whether the request was carried
//       out is then unknown.
//   E3. No message holds the key.

import { type ErrorCode, type ErrorDetails, isErrorCode, TesseraError } from "@tessera/protocol/errors";

/** What an {@link ApiError} is made of, besides its message. */
export interface ApiErrorFields {
  /** HTTP status of the answer, or 0 where none came. */
  readonly status: number;
  /** One of the error catalogue. */
  readonly code: ErrorCode;
  /** What the server added: the field at fault, the mistakes of a document. */
  readonly details?: ErrorDetails;
  /** Names the request in the logs of the server. */
  readonly requestId?: string | null;
  /** How long the server asks to wait before the next try. */
  readonly retryAfterMs?: number | null;
  /** What was thrown on the way: a failure of the connection, an answer that is no JSON. */
  readonly cause?: unknown;
}

const brand = Symbol.for("tessera.api-error");

/**
 * What a method of the client throws: a {@link TesseraError} that also knows the answer of the server. `code` says what
 * happened, as everywhere in Tessera; `status` 0 says that no answer came, and whether the request was carried out is unknown.
 *
 * ```ts
 * import { ApiError, createClient } from "@tessera/client";
 *
 * const client = createClient({ url: "http://127.0.0.1:8099" });
 * try {
 *   await client.getTurn({ project: "default", turn: "turn_1" });
 * } catch (error) {
 *   if (!ApiError.is(error) || error.code !== "not_found") throw error;
 *   console.error(`there is no such turn (request ${error.requestId})`);
 * }
 * ```
 */
export class ApiError extends TesseraError {
  readonly [brand] = true;
  override readonly name = "ApiError";
  /** HTTP status of the answer, or 0 where none came: wrong address, no server there, too late. */
  readonly status: number;
  /** Names the request in the logs of the server; null where no answer of Tessera came. */
  readonly requestId: string | null;
  /** How long the server asks to wait before the next try; null where it does not. */
  readonly retryAfterMs: number | null;

  constructor(message: string, fields: ApiErrorFields) {
    super(fields.code, message, fields);
    this.status = fields.status;
    this.requestId = fields.requestId ?? null;
    this.retryAfterMs = fields.retryAfterMs ?? null;
  }

  /** Whether something that was thrown is an error of a client, also of another installed copy. Never throws itself. */
  static override is(error: unknown): error is ApiError {
    return TesseraError.is(error) && brand in error;
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
  const codeOfStatus = CODE_OF_STATUS[status] ?? (status >= 500 ? "internal_error" : "bad_request");
  if (problem !== null && typeof problem.error_code === "string") {
    const { error_code } = problem;
    const message = textOr(problem.error_message, textOr(problem.detail, error_code)) as string;
    const details = detailsOf(problem.error_detail);
    if (isErrorCode(error_code)) return new ApiError(message, { ...common, code: error_code, details });
    return new ApiError(message, { ...common, code: codeOfStatus, details: { ...details, error_code } }); // E1
  }
  const hint = problem === null ? "; is this the address of a Tessera API?" : "";
  const message = `${asked} was answered with status ${status}${hint}`;
  return new ApiError(message, { ...common, code: codeOfStatus, details: problem ?? {} });
}

function detailsOf(detail: unknown): ErrorDetails {
  if (detail === undefined || detail === null) return {};
  return typeof detail === "object" && !Array.isArray(detail) ? (detail as ErrorDetails) : { detail };
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
