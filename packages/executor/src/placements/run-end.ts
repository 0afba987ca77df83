// How a run can end, in any placement, and the card that follows from it.
//
//   N1. The same end gives the same content, wherever the tool ran.
//   N2. Secrets are masked here, before the content is built, in the one place that every run passes.
//   N3. The stack of what went wrong is for operators, and no part of the content.

import {
  type AfterExecution,
  cutMessage,
  type ErrorCode,
  STACK_CHARS_MAX,
  type ToolResultContent,
} from "@tessera/protocol";
import type { JsonObject, ToolPolicy } from "@tessera/tool";
import {
  canceledContent,
  crashContent,
  type ExecutedCall,
  type FailureStack,
  type ThrownFailure,
  timeoutContent,
  toResultContent,
  unknownOutcomeContent,
} from "@tessera/tool/run";
import type { SecretMask } from "../secrets/secret-mask.ts";

export type RunEnd =
  | { readonly kind: "executed"; readonly executed: ExecutedCall; readonly failure?: ThrownFailure }
  | { readonly kind: "timeout" }
  | { readonly kind: "canceled" }
  /** The process ended while the handler ran; what ended it is in the log already, where it is known. */
  | { readonly kind: "crashed"; readonly detail: JsonObject; readonly stack?: FailureStack }
  /** It printed more than it may, and was ended while the handler ran. */
  | { readonly kind: "flooded"; readonly bytesMax: number }
  /** The handler was not called. */
  | {
      readonly kind: "refused";
      readonly code: ErrorCode;
      readonly message: string;
      readonly retryable: boolean;
      readonly stack?: FailureStack;
    };

export interface EndOptions {
  readonly policy: ToolPolicy;
  readonly effect: ToolPolicy["effect"];
  readonly afterExecution: AfterExecution;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly mask: SecretMask;
}

export function contentOfEnd(end: RunEnd, options: EndOptions): ToolResultContent {
  const { policy, effect, mask } = options;
  const content = { afterExecution: options.afterExecution, errorMessageLimit: policy.error_message_limit };
  switch (end.kind) {
    case "executed":
      return toResultContent(masked(end.executed, mask), content);
    case "timeout":
      return timeoutContent(effect, { ...content, timeoutMs: policy.timeout_ms });
    case "canceled":
      return canceledContent(content);
    case "crashed":
      return crashContent(effect, { ...content, detail: mask.value(end.detail) });
    case "flooded": {
      const message = `the tool printed more than ${end.bytesMax} bytes and was ended`;
      if (effect !== "once") return toResultContent(errorCall("payload_too_large", message, false, options), content);
      const unknown = `${message}; whether it took effect is not known`;
      return unknownOutcomeContent({ ...content, reason: "output_too_large", message: unknown });
    }
    case "refused":
      return toResultContent(errorCall(end.code, mask.text(end.message), end.retryable, options), content);
  }
}

export interface EndFailure {
  readonly stack: string;
  /** A mistake that the log does not have yet. */
  readonly isNew: boolean;
}

/** N2, N3. Null: nothing is known of the code that failed. */
export function failureOfEnd(end: RunEnd, mask: SecretMask): EndFailure | null {
  if (end.kind === "executed" && end.failure !== undefined) {
    const { stack, isMeant } = end.failure;
    return { stack: shownStack(stack, mask), isNew: !isMeant };
  }
  if (end.kind !== "crashed" && end.kind !== "refused") return null;
  if (end.stack === undefined) return null;
  return { stack: shownStack(end.stack, mask), isNew: end.kind === "refused" };
}

/** Each piece by itself, because it may have been cut in a secret, and all of them, because a secret may have several lines. */
function shownStack(stack: FailureStack, mask: SecretMask): string {
  return cutMessage(mask.text(stack.map((piece) => mask.text(piece)).join("\n")), STACK_CHARS_MAX);
}

function errorCall(code: ErrorCode, message: string, retryable: boolean, options: EndOptions): ExecutedCall {
  const { toolCallId, toolName } = options;
  return { toolCallId, toolName, status: "error", error: { message, code, retryable } };
}

/** N2. A code of ours is no secret, and masking it would change what the kernel does. */
function masked(executed: ExecutedCall, mask: SecretMask): ExecutedCall {
  if (mask.isEmpty) return executed;
  const { output, error, wire } = executed;
  return {
    ...executed,
    ...(output === undefined ? {} : { output: mask.value(output) }),
    ...(error === undefined ? {} : { error: maskedFields(error, mask) }),
    ...(wire?.detail === undefined ? {} : { wire: { ...wire, detail: mask.value(wire.detail) } }),
  };
}

function maskedFields<T extends object>(fields: T, mask: SecretMask): T {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, typeof value === "string" ? mask.text(value) : value]),
  ) as T;
}
