// What a client is told when something went wrong: RFC 9457 problem JSON, made in one place.
//
//   P1. The status and the title come from the error catalogue; the few places where HTTP knows better say so (HttpRefusal).
//   P2. What went wrong on our side is told by its code alone: no message of an error that we did not write for users, no
//       stack, no SQL, no address. The operator gets the message, under the same request id.
//   P3. A message has at most ERROR_MESSAGE_CHARS_MAX characters and no control characters.

import { DatabaseError, storageCodeOf } from "@tessera/kernel";
import {
  cutMessage,
  ERROR_CATALOGUE,
  ERROR_MESSAGE_CHARS_MAX,
  type ErrorCode,
  TesseraError,
  type TesseraErrorOptions,
} from "@tessera/protocol";
import { given } from "./query-values.ts";

export interface Problem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: {
    readonly type: string;
    readonly title: string;
    readonly status: number;
    readonly detail: string;
    readonly error_code: ErrorCode;
    readonly error_message: string;
    readonly error_detail?: unknown;
    readonly request_id: string;
  };
}

export const PROBLEM_TYPE = "application/problem+json; charset=utf-8";

/** A refusal whose status is not the catalogue's, that needs a header, or that tells the client something with a 5xx (P2). */
export class HttpRefusal extends TesseraError {
  override readonly name = "HttpRefusal";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    code: ErrorCode,
    message: string,
    options: TesseraErrorOptions & {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(code, message, options);
    this.status = options.status ?? ERROR_CATALOGUE[code].http;
    this.headers = options.headers ?? {};
  }
}

/** Something was committed before it went wrong. The client is told what went wrong (`cause`), the audit what was made. */
export class PartlyDone extends Error {
  override readonly name = "PartlyDone";
  readonly made: Readonly<Record<string, string>>;
  constructor(cause: unknown, made: Readonly<Record<string, string>>) {
    super("a part of it was done", { cause });
    this.made = made;
  }
}

const RETRY_AFTER_S = 1;
const DETAIL_CHARS_MAX = 4_096;
const DETAIL_ITEMS_MAX = 10;

/** Framework errors are told apart by their status; ours carry a code. */
const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: "bad_request",
  404: "not_found",
  413: "payload_too_large",
  415: "unsupported_media_type",
};

export function problemOf(error: unknown, requestId: string): Problem {
  const known = knownError(error);
  const { code } = known;
  const status = known instanceof HttpRefusal ? known.status : known.http;
  const isOurs = status >= 500 && !(known instanceof HttpRefusal); // P2
  const { meaning } = ERROR_CATALOGUE[code];
  const message = isOurs ? meaning : oneLine(known.message);
  const detail = isOurs ? undefined : tellableDetail(known.details);
  return {
    status,
    headers: {
      ...(status === 503 || status === 507 ? { "retry-after": String(RETRY_AFTER_S) } : {}),
      ...(known instanceof HttpRefusal ? known.headers : {}),
    },
    body: {
      type: `urn:tessera:error:${code}`,
      title: meaning,
      status,
      detail: message,
      error_code: code,
      error_message: message,
      ...given({ error_detail: detail }),
      request_id: requestId,
    },
  };
}

/** For the operator (P2). */
export function describeFault(error: unknown): string {
  if (error instanceof PartlyDone) return describeFault(error.cause);
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return cutMessage(text, ERROR_MESSAGE_CHARS_MAX);
}

function knownError(error: unknown): TesseraError {
  if (error instanceof PartlyDone) return knownError(error.cause);
  if (TesseraError.is(error)) return error;
  if (error instanceof DatabaseError) return databaseProblem(error);
  const status = statusOf(error);
  const code = status === null ? undefined : CODE_OF_STATUS[status];
  if (code === undefined) return new TesseraError("internal_error", ERROR_CATALOGUE.internal_error.meaning);
  return new TesseraError(code, ERROR_CATALOGUE[code].meaning);
}

function databaseProblem({ kind }: DatabaseError): TesseraError {
  const isOurs = kind === "statement" || kind === "forbidden";
  const code = isOurs ? "internal_error" : storageCodeOf(kind);
  return new TesseraError(code, ERROR_CATALOGUE[code].meaning);
}

function statusOf(error: unknown): number | null {
  if (typeof error !== "object" || error === null || !("statusCode" in error)) return null;
  return typeof error.statusCode === "number" ? error.statusCode : null;
}

function oneLine(message: string): string {
  return cutMessage(message.replace(/\p{Cc}+/gu, " "), ERROR_MESSAGE_CHARS_MAX); // P3
}

/** A document with a hundred mistakes is told the first ones. */
function tellableDetail(details: Readonly<Record<string, unknown>>): unknown {
  const told = Object.entries(details)
    .map(([name, value]) => [name, Array.isArray(value) ? value.slice(0, DETAIL_ITEMS_MAX) : value] as const)
    .filter(([, value]) => isTellable(value));
  return told.length === 0 ? undefined : Object.fromEntries(told);
}

function isTellable(value: unknown): boolean {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text !== undefined && text.length <= DETAIL_CHARS_MAX;
  } catch {
    return false; // not JSON: a cycle, a BigInt
  }
}
