// ToolError: how a handler fails on purpose. Everything on it reaches the model, so that it can do better next time.
//
//   E1. Branded by a registered symbol: a tool module may bring its own copy of this package.
//   E2. `retryable` is a promise that the same call may simply be run again; without it the kernel does not.

const brand = Symbol.for("tessera.tool-error");

/** What a {@link ToolError} says besides its message. */
export interface ToolErrorOptions {
  /** For programs; `E_TOOL` when there is nothing more exact to say. */
  readonly code?: string;
  /** What the model should try instead. */
  readonly suggestion?: string;
  /** A page that says more. */
  readonly helpUrl?: string;
  /** True: the same call may simply be run again. */
  readonly retryable?: boolean;
  /** The error that this one follows from; for the log only. */
  readonly cause?: unknown;
}

/** The code of a {@link ToolError} that has none of its own. */
export const TOOL_ERROR_CODE_DEFAULT = "E_TOOL";

/**
 * What a handler throws to fail on purpose. Message, code and suggestion reach the model, so that it can do better next time.
 *
 * ```ts
 * import { defineTool, ToolError } from "@tessera/tool";
 *
 * export const find = defineTool({
 *   name: "shelf__find",
 *   parameters: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
 *   handler: (_ctx, { title }) => {
 *     if (title === "") throw new ToolError("no title was given", { code: "E_NO_TITLE", suggestion: "Ask the user." });
 *     return { title };
 *   },
 * });
 * ```
 */
export class ToolError extends Error {
  readonly [brand] = true;
  override readonly name: string = "ToolError";
  /** For programs: a code of the tool's own, or `E_TOOL`. */
  readonly code: string;
  /** What the model should try instead. */
  readonly suggestion: string | undefined;
  /** A page that says more. */
  readonly helpUrl: string | undefined;
  /** True: the same call may simply be run again, and is, where the tool's effect and retry policy allow it. */
  readonly retryable: boolean | undefined;

  constructor(message: string, options: ToolErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code ?? TOOL_ERROR_CODE_DEFAULT;
    this.suggestion = options.suggestion;
    this.helpUrl = options.helpUrl;
    this.retryable = options.retryable;
  }

  /** Whether something that was thrown is a ToolError, also of another installed copy. Never throws, whatever was thrown. */
  static is(error: unknown): error is ToolError {
    try {
      return typeof error === "object" && error !== null && brand in error;
    } catch {
      return false; // a proxy that answers nothing
    }
  }
}
