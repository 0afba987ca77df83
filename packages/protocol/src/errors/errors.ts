// TesseraError: the one error type that crosses a boundary of Tessera.
//
//   E1. The code comes from ERROR_CATALOGUE, which alone knows class, HTTP status and retry.
//   E2. `message` states what was tried, on what and what was found. It may be shown to users; it holds no secret.
//   E3. Branded by a registered symbol, so that two installed copies of this package recognise each other's errors. It loads
//       nothing that a browser has not: the client is made of it.
//   E4. Expected outcomes (duplicate, lost lease, already settled) are return values; these classes are for the rest.

import { ERROR_CATALOGUE, type ErrorClass, type ErrorCode, type Retry } from "./error-catalogue.ts";

export { type ErrorCode, isErrorCode } from "./error-catalogue.ts";

const brand = Symbol.for("tessera.error");

/** What an error says for programs, by name: the field at fault, a pointer into a document, what was found. Plain JSON. */
export type ErrorDetails = Readonly<Record<string, unknown>>;

/** What a {@link TesseraError} holds besides its code and its message. */
export interface TesseraErrorOptions {
  /** For programs: the field at fault, the mistakes of a document. */
  readonly details?: ErrorDetails;
  /** The error that this one follows from. */
  readonly cause?: unknown;
}

/** Subclasses may carry any code of their class; without one they carry the class's own. */
export interface TesseraErrorSubclassOptions extends TesseraErrorOptions {
  readonly code?: ErrorCode;
}

/**
 * Every error that Tessera throws on purpose. Decide by `code`, which is one of the error catalogue and never changes its
 * meaning; show people the message. What a tool or a turn ends with is no exception: it is in the answer of the call.
 *
 * ```ts
 * import { createTessera, TesseraError } from "@tessera/tessera";
 *
 * const tessera = await createTessera();
 * try {
 *   await tessera.run({ agent: "planner", input: "Porto" });
 * } catch (error) {
 *   if (!TesseraError.is(error)) throw error;
 *   if (error.code === "agent_not_found") console.error(error.message);
 *   else if (error.retry !== "never") console.error(`not now: ${error.message}`);
 *   else throw error;
 * }
 * ```
 */
export class TesseraError extends Error {
  readonly [brand] = true;
  override readonly name: string = "TesseraError";
  /** What happened: one of the error catalogue (`ERROR_CATALOGUE`, docs/reference/errors.md). */
  readonly code: ErrorCode;
  /** For programs, by name. Which names there are depends on the code; `{}` where there is nothing to add. */
  readonly details: ErrorDetails;

  /** @param message what was tried, on what, and what was found; no secret */
  constructor(code: ErrorCode, message: string, options: TesseraErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }

  /** What a caller may do: `never`, `same-call` (repeat the identical request at once) or `later` (wait, then
   *  repeat). */
  get retry(): Retry {
    return ERROR_CATALOGUE[this.code].retry;
  }

  /** The HTTP status with which the API answers this error. */
  get http(): number {
    return ERROR_CATALOGUE[this.code].http;
  }

  /** Whether something that was thrown is an error of Tessera, also one of another installed copy. Never throws itself. */
  static is(error: unknown): error is TesseraError {
    try {
      return typeof error === "object" && error !== null && brand in error;
    } catch {
      return false; // a proxy that was revoked, or whose trap throws: anything can be thrown
    }
  }

  /** `instanceof TesseraError` says what `TesseraError.is` says (E3); subclasses are told apart as usual. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit this method, and `this` is then one of them
    return this === TesseraError ? TesseraError.is(error) : isOrdinaryInstance.call(this, error);
  }
}

const isOrdinaryInstance = Function.prototype[Symbol.hasInstance] as (this: unknown, value: unknown) => boolean;

type Subclass = new (message: string, options?: TesseraErrorSubclassOptions) => TesseraError;

/** The class of all codes of an {@link ErrorClass}; without a code an error carries the one given here. */
function subclass(name: ErrorClass, defaultCode: ErrorCode): Subclass {
  return class extends TesseraError {
    static override readonly name = name;
    override readonly name = name;
    constructor(message: string, options: TesseraErrorSubclassOptions = {}) {
      super(options.code ?? defaultCode, message, options);
    }
  };
}

const CLASSES = {
  BadRequest: subclass("BadRequest", "bad_request"),
  NotFound: subclass("NotFound", "not_found"),
  Conflict: subclass("Conflict", "conflict"),
  PolicyDenied: subclass("PolicyDenied", "auth_failed"),
  /** The message breaks the contract. Kernel outcomes say `protocol_violation`; a tool result says `bad_request` with
   *  `detail.kind = "protocol_violation"` (buildErrorResultFromException does that translation). */
  ProtocolViolation: subclass("ProtocolViolation", "protocol_violation"),
  UpstreamUnavailable: subclass("UpstreamUnavailable", "upstream_unavailable"),
  ToolTimeout: subclass("ToolTimeout", "tool_timeout"),
  Internal: subclass("Internal", "internal_error"),
} satisfies Record<ErrorClass, Subclass>;

export const { BadRequest, NotFound, Conflict, PolicyDenied, ProtocolViolation, UpstreamUnavailable } = CLASSES;
export type BadRequest = TesseraError;
export type NotFound = TesseraError;
export type PolicyDenied = TesseraError;
export type ProtocolViolation = TesseraError;
/** The error of a code, in the class that the catalogue names: for codes that arrive as data. */
export function errorOf(code: ErrorCode, message: string, options: TesseraErrorOptions = {}): TesseraError {
  return new CLASSES[ERROR_CATALOGUE[code].class](message, { ...options, code });
}

const QUOTED_CHARS_MAX = 200;

/** A text for a message: escaped first and cut then, because a character may take six when it is escaped. */
export function quoted(text: string): string {
  const whole = JSON.stringify(text);
  return whole.length <= QUOTED_CHARS_MAX ? whole : `${whole.slice(0, QUOTED_CHARS_MAX).toWellFormed()}…`;
}
