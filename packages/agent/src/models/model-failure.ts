// What went wrong when a provider was asked: sorted by whether asking again may help, and reported without secrets.
//
//   F1. Retryable: 408, 429, 5xx, networks, silence, streams that break off. Other answers of a server are not.
//   F2. The text is ours. Of what the provider sent it holds the status and identifiers such as `model_not_found`, never
//       its sentences: those quote prompts and keys, and the error becomes part of cards and events.
//   F3. The provider's own sentence goes to the operator's warnings, without the key, and not at all where the key was
//       the trouble, since such sentences quote it in disguise.
//   F4. Nothing is kept as `cause`: the clients' errors hold request bodies and headers.

import { isJsonObject } from "@tessera/protocol";

export interface ModelFailure {
  readonly text: string;
  readonly status?: number;
  readonly retryable: boolean;
  readonly retryAfterMs?: number | undefined;
  /** For the operator alone (F3). */
  readonly said?: string | undefined;
}

/** Thrown inside one attempt by our own checks. */
export class AttemptFailed extends Error {
  readonly failure: ModelFailure;
  constructor(failure: ModelFailure) {
    super(failure.text);
    this.failure = failure;
  }
}

const SAID_CHARS_MAX = 300;
const IDENTIFIER = /^[A-Za-z][\w.:-]{1,63}$/;
/** Names of the system, of the HTTP client and of TLS; other ERR_ names are about arguments. */
const ERRNO =
  /^(?:E(?!RR_)[A-Z_]{2,30}|UND_ERR_[A-Z_]{2,40}|ERR_(?:TLS|SSL|STREAM)_[A-Z_0-9]{2,60}|[A-Z_]{0,40}CERT[A-Z_]{0,40}|UNABLE_TO_[A-Z_]{2,60})$/;
const CAUSES_DEPTH_MAX = 5;
/** What a provider says inside a stream when the same request would fail again. */
const LASTING =
  /invalid|auth|permission|forbidden|not_found|quota|billing|policy|content_filter|context_length|too_large/i;
/** Errors of the clients about a broken answer; their other errors are about the request. */
const BROKEN_ANSWER = new Set([
  "AI_EmptyResponseBodyError",
  "AI_InvalidResponseDataError",
  "AI_JSONParseError",
  "AI_TypeValidationError",
  "AI_NoContentGeneratedError",
]);

/** `phase`: before the first byte of a good answer, or while its stream is read. */
export function readFailure(error: unknown, phase: "request" | "stream", key: string | undefined): ModelFailure {
  if (error instanceof AttemptFailed) return error.failure;
  const record = isJsonObject(error) ? (error as Record<string, unknown>) : {};
  const status = statusOf(record);
  if (status !== undefined && status >= 300) return answered(record, status, key);
  const errno = error instanceof Error ? errnoOf(error) : undefined;
  if (errno !== undefined) {
    return { text: `cannot be reached, or the connection broke (${errno})`, retryable: true };
  }
  const name = typeof record.name === "string" ? record.name : "";
  if (phase === "stream") return brokenStream(record, name, key);
  // A status here is one of success, with a body that made no sense.
  if (status !== undefined || record.isRetryable === true || BROKEN_ANSWER.has(name)) {
    return { text: "cannot be reached, or did not answer as expected", retryable: true };
  }
  // The client refused the request: a prompt or an option that this provider does not take.
  const kind = /^AI_[A-Za-z]{1,60}$/.test(name) ? ` (${name.slice(3)})` : "";
  return { text: `could not be asked with this request${kind}`, retryable: false };
}

function answered(record: Record<string, unknown>, status: number, key: string | undefined): ModelFailure {
  const retryable = status === 408 || status === 429 || status >= 500; // F1
  // An error inside a stream is its own body.
  const data = record.data ?? (record instanceof Error ? undefined : record);
  const names = identifiersOf(data, key);
  const retryAfterMs = retryAfter(record.responseHeaders);
  // Without a body that the client could read, its sentence only repeats the status.
  const isUnsaid = status === 401 || status === 403 || data === undefined;
  const said = isUnsaid ? undefined : sentenceOf(record, key); // F3
  return {
    text: `answered ${status}${names === "" ? "" : ` (${names})`}${adviceFor(status)}`,
    status,
    retryable,
    retryAfterMs,
    said,
  };
}

function brokenStream(record: Record<string, unknown>, name: string, key: string | undefined): ModelFailure {
  if (name.startsWith("AI_") || record instanceof Error) {
    const lasts = name.startsWith("AI_") && !BROKEN_ANSWER.has(name) && record.isRetryable !== true;
    return { text: "broke off in the middle of its answer", retryable: !lasts };
  }
  const names = identifiersOf(record, key);
  const said = sentenceOf(record, key);
  const given = record.isRetryable;
  return {
    text: `reported an error in its stream${names === "" ? "" : ` (${names})`}`,
    retryable: typeof given === "boolean" ? given : !LASTING.test(names),
    said,
  };
}

function statusOf(record: Record<string, unknown>): number | undefined {
  for (const name of ["statusCode", "status", "code"]) {
    const value = record[name];
    if (typeof value === "number" && Number.isInteger(value) && value >= 200 && value <= 599) return value;
  }
  return undefined;
}

/** Identifiers in an error body: {error: {type, code, param, status}} or the inner object itself (F2). */
function identifiersOf(data: unknown, key: string | undefined): string {
  const outer = isJsonObject(data) ? data : {};
  const inner = isJsonObject(outer.error) ? outer.error : outer;
  const names = ["type", "code", "status", "param"]
    .map((field) => inner[field])
    .filter((value): value is string => typeof value === "string" && IDENTIFIER.test(value))
    .filter((value) => key === undefined || !(value.includes(key) || key.includes(value)));
  return [...new Set(names)].join(", ");
}

function sentenceOf(record: Record<string, unknown>, key: string | undefined): string | undefined {
  const message = record.message;
  if (typeof message !== "string" || message.trim() === "") return undefined;
  const clean = key === undefined ? message : message.replaceAll(key, "[key]");
  // The cut comes after the key is out: half a key would not be found.
  return clean.replace(/\p{Cc}+/gu, " ").slice(0, SAID_CHARS_MAX);
}

function adviceFor(status: number): string {
  if (status < 400) return ": it redirects, and keys are not sent elsewhere; name the address itself as `endpoint`";
  if (status === 401 || status === 403) return ": check its key";
  if (status === 404) return ": check `model` and `endpoint` (the address usually ends in /v1)";
  return "";
}

/** Milliseconds from `retry-after-ms` or `retry-after`; a date counts from the server's own `date`. */
function retryAfter(headers: unknown): number | undefined {
  if (!isJsonObject(headers)) return undefined;
  const text = (name: string): string => (typeof headers[name] === "string" ? headers[name].trim() : "");
  if (/^\d{1,9}(?:\.\d+)?$/.test(text("retry-after-ms"))) return Number(text("retry-after-ms"));
  const after = text("retry-after");
  if (/^\d{1,9}(?:\.\d+)?$/.test(after)) return Number(after) * 1_000;
  const ms = Date.parse(after) - Date.parse(text("date"));
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** The system's name for a network failure, wherever in the chain it hides. */
function errnoOf(error: unknown): string | undefined {
  let at: unknown = error;
  for (let depth = 0; depth < CAUSES_DEPTH_MAX && typeof at === "object" && at !== null; depth++) {
    const { code, cause, errors } = at as { code?: unknown; cause?: unknown; errors?: unknown };
    if (typeof code === "string" && ERRNO.test(code)) return code;
    at = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return undefined;
}
