// ToolError: how a handler fails on purpose. Everything on it reaches the model, so that it can do better next time.
//
//   E1. Branded by a registered symbol: a tool module may bring its own copy of this package.
//   E2. `retryable` is a promise that the same call may simply be run again; without it the kernel does not.

const brand = Symbol.for("tessera.tool-error");

export interface ToolErrorOptions {
  /** For programs; `E_TOOL` when there is nothing more exact to say. */
  readonly code?: string;
  /** What the model should try instead. */
  readonly suggestion?: string;
  readonly helpUrl?: string;
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

export const TOOL_ERROR_CODE_DEFAULT = "E_TOOL";

export class ToolError extends Error {
  readonly [brand] = true;
  override readonly name: string = "ToolError";
  readonly code: string;
  readonly suggestion: string | undefined;
  readonly helpUrl: string | undefined;
  readonly retryable: boolean | undefined;

  constructor(message: string, options: ToolErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code ?? TOOL_ERROR_CODE_DEFAULT;
    this.suggestion = options.suggestion;
    this.helpUrl = options.helpUrl;
    this.retryable = options.retryable;
  }

  /** Also for an instance of another copy of this package (E1). Never throws, whatever was thrown. */
  static is(error: unknown): error is ToolError {
    try {
      return typeof error === "object" && error !== null && brand in error;
    } catch {
      return false; // a proxy that answers nothing
    }
  }
}
