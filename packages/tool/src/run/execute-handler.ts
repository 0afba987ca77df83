// One run of a handler: input in, ToolCallResult out. The same function in every placement.
//
//   X1. Never throws. What the handler throws or returns wrongly is a result with status `error` (Tool API, error rules).
//   X2. Output passes the JSON gate here, inside the process that made it, so that only plain JSON crosses a border. It is
//       never turned into text to make it fit: `undefined` is null, anything else that is not JSON is an error.
//   X3. A run that was cut off is not repeated unless `reconcile` says that it had no effect.
//   X4. A handler that does not answer with a promise is answered for at once: its host then needs neither a deadline nor
//       an ear for cancels, which cost more than such a handler does.

import { CARD_CONTENT_BYTES_MAX, type ErrorCode, gateJson, JSON_DEPTH_MAX, TesseraError } from "@tessera/protocol";
import type { JsonObject, JsonValue, ToolCallResult, ToolCallResultError, ToolContext } from "../api.ts";
import type { ToolCode } from "../definition.ts";
import { TOOL_ERROR_CODE_DEFAULT } from "../tool-error.ts";
import { describeThrown, storable } from "./thrown-error.ts";

export type ToolFunctions = Omit<Extract<ToolCode, { kind: "function" }>, "kind">;

export interface HandlerRun {
  readonly code: ToolFunctions;
  readonly ctx: ToolContext;
  readonly input: JsonObject;
  readonly toolName: string;
  readonly errorMessageLimit: number;
  readonly mode: "run" | "reconcile";
  readonly idempotencyKey: string;
  /** Takes what the handler threw, whose stack is no part of the result; must not throw. */
  readonly onThrown?: (thrown: unknown) => void;
}

/** A ToolCallResult and what its card needs beyond the published shape. Plain data: it may cross a process border. */
export interface ExecutedCall extends ToolCallResult {
  readonly wire?: WireError | undefined;
}

interface WireError {
  /** The error's code on the card, where it is not the one of the ToolCallResult. */
  readonly code?: ErrorCode;
  readonly detail?: JsonObject;
}

/** Why it is unknown whether a run that was cut off took effect. */
type UnknownOutcomeReason = "no_reconcile" | "reconcile_unknown" | "reconcile_failed";

export const OUTCOME_UNKNOWN_MESSAGE = "an earlier run was cut off; whether it took effect is not known";

/** A card's content without what stands around the result; the protocol's result builder leaves the same room. */
const OUTPUT_BYTES_MAX = CARD_CONTENT_BYTES_MAX - 97 * 1024;
/** One level is kept for the object around an output that is not one. */
const OUTPUT_DEPTH_MAX = JSON_DEPTH_MAX - 1;
const OUTPUT_LIMITS = { bytesMax: OUTPUT_BYTES_MAX, depthMax: OUTPUT_DEPTH_MAX };

export function executeHandler(run: HandlerRun): ExecutedCall | Promise<ExecutedCall> {
  if (run.mode === "reconcile") return reconcile(run);
  const { code, ctx, input } = run;
  if (code.parse !== undefined) return awaited(run, parseAndHandle(run, code.parse));
  try {
    const output: unknown = code.handler(ctx, input);
    return isThenable(output) ? awaited(run, output) : finished(run, output); // X4
  } catch (thrown) {
    return thrownBy(run, thrown);
  }
}

async function parseAndHandle({ code, ctx, input }: HandlerRun, parse: NonNullable<ToolFunctions["parse"]>) {
  return await code.handler(ctx, (await parse(input)) as JsonObject);
}

async function awaited(run: HandlerRun, output: PromiseLike<unknown>): Promise<ExecutedCall> {
  try {
    return finished(run, await output);
  } catch (thrown) {
    return thrownBy(run, thrown);
  }
}

function isThenable(output: unknown): output is PromiseLike<unknown> {
  const mayBe = (typeof output === "object" && output !== null) || typeof output === "function";
  return mayBe && typeof (output as { readonly then?: unknown }).then === "function";
}

function thrownBy(run: HandlerRun, thrown: unknown): ExecutedCall {
  const { error, detail } = describeThrown(thrown, run.errorMessageLimit);
  run.onThrown?.(thrown);
  return failed(run, error, detail === undefined ? undefined : { detail });
}

async function reconcile(run: HandlerRun): Promise<ExecutedCall> {
  const { code, ctx, input, toolName, idempotencyKey } = run;
  if (code.reconcile === undefined) return unknownOutcome(run, "no_reconcile");
  let outcome: unknown;
  let output: unknown;
  try {
    const call = { toolCallId: ctx.toolCallId, toolName, idempotencyKey, input };
    const verdict: { outcome?: unknown; output?: unknown } | undefined = await code.reconcile(ctx, call);
    outcome = verdict?.outcome;
    output = verdict?.output;
  } catch (thrown) {
    run.onThrown?.(thrown);
    return unknownOutcome(run, "reconcile_failed", describeThrown(thrown, run.errorMessageLimit).error.message);
  }
  if (outcome === "done") return finished(run, output);
  if (outcome === "not_done") return executeHandler({ ...run, mode: "run" }); // X3
  return unknownOutcome(run, "reconcile_unknown"); // also for an answer that is none of the three
}

function finished(run: HandlerRun, output: unknown): ExecutedCall {
  try {
    const value: JsonValue = output === undefined ? null : gateJson(output, OUTPUT_LIMITS);
    return { toolCallId: run.ctx.toolCallId, toolName: run.toolName, status: "ok", output: value };
  } catch (refusal) {
    return refusedOutput(run, refusal, output);
  }
}

/** The model sees `E_TOOL`; the card keeps the code that says what to do about it (size, depth, or not JSON at all). */
function refusedOutput(run: HandlerRun, refusal: unknown, output: unknown): ExecutedCall {
  const { code, message, details } = TesseraError.is(refusal)
    ? refusal
    : { code: null, message: "the output is not JSON", details: {} as Readonly<Record<string, unknown>> };
  const keeps = code === "payload_too_large" || code === "too_deep";
  return failed(
    run,
    {
      message: storable(`the tool's output cannot be used: ${message}`, run.errorMessageLimit),
      code: TOOL_ERROR_CODE_DEFAULT,
    },
    {
      code: keeps ? code : "result_not_serializable",
      detail: {
        type: typeof details.type === "string" ? storable(details.type, 64) : typeNameOf(output),
        pointer: typeof details.pointer === "string" ? storable(details.pointer, 256) : "",
      },
    },
  );
}

function typeNameOf(output: unknown): string {
  try {
    return Array.isArray(output) ? "array" : typeof output;
  } catch {
    return "object"; // a revoked proxy
  }
}

function unknownOutcome(run: HandlerRun, reason: UnknownOutcomeReason, why?: string): ExecutedCall {
  const error = { message: storable(OUTCOME_UNKNOWN_MESSAGE, run.errorMessageLimit), code: "outcome_unknown" };
  return failed(run, error, { detail: { reason, ...(why === undefined ? {} : { why }) } });
}

function failed(run: HandlerRun, error: ToolCallResultError, wire: WireError | undefined): ExecutedCall {
  const { ctx, toolName } = run;
  return { toolCallId: ctx.toolCallId, toolName, status: "error", error, wire };
}
