// A call that runs where its turn is worked on: no command, no claim of its own. The worker's lease stands for the call's.
//
//   L1. The invocation is what `open_call` would have handed out, idempotency key included, so that the handler cannot
//       distinguish the placements.
//   L2. A retryable failure is repeated here, with the same back-off and the same deadline as the kernel's, because nothing
//       else does; a run that is no longer wanted is not waited for.
//   L3. A further attempt begins only when the kernel has written it down: a worker that was given up without knowing it
//       begins none, and no two runs of a call have the same number.

import { createHash } from "node:crypto";
import type { AfterExecution, ToolEffect, ToolResultContent } from "@tessera/protocol";
import type { JsonObject } from "../api.ts";
import type { ToolDefinition } from "../definition.ts";
import type { RunFailure, RunOptions, ToolInvocation, ToolRunner } from "../invocation.ts";

/** The turn and step that a local call belongs to. */
export type LocalCallContext = Pick<
  ToolInvocation,
  | "project_id"
  | "channel_id"
  | "agent_id"
  | "agent_turn_id"
  | "turn_epoch"
  | "step_id"
  | "parent_step_id"
  | "trace_id"
  | "span_id"
  | "recursion_depth"
  | "message"
  | "agent_name"
  | "instance_key"
  | "workdir"
>;

export interface LocalCallOrder {
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly arguments: unknown;
  readonly effect: ToolEffect;
  readonly after_execution: AfterExecution;
  readonly attempt: number;
  readonly mode: "run" | "reconcile";
}

export function localInvocation(
  call: LocalCallOrder,
  context: LocalCallContext,
  definition: ToolDefinition | null,
): ToolInvocation {
  return {
    ...context,
    tool_call_id: call.tool_call_id,
    tool_name: call.tool_name,
    arguments: call.arguments as JsonObject,
    effect: call.effect,
    after_execution: call.after_execution,
    attempt: call.attempt,
    mode: call.mode,
    idempotency_key: idempotencyKey(context.project_id, call.tool_name, call.tool_call_id),
    definition,
  };
}

export async function runLocalCall(
  invocation: ToolInvocation,
  options: RunOptions & {
    readonly runner: ToolRunner;
    readonly clock: LocalClock;
    readonly attemptsMax: number;
    readonly backoffMs: number;
    /** From now to the call's deadline. */
    readonly deadlineMs: number;
    /** False: another worker has the call by now (L3). Told why the attempt before failed. */
    readonly mayRepeat: (attempt: number, failure?: RunFailure) => Promise<boolean>;
  },
): Promise<ToolResultContent> {
  const { runner, clock, attemptsMax, backoffMs, deadlineMs, mayRepeat, onFailure, ...run } = options;
  const until = clock.monotonicMs() + deadlineMs;
  for (let attempt = invocation.attempt; ; attempt += 1) {
    let failure: RunFailure | undefined;
    const hear = (told: RunFailure) => {
      failure = told;
    };
    const content = await runner.run({ ...invocation, attempt }, { ...run, onFailure: hear });
    const ended = () => {
      if (failure !== undefined) onFailure?.(failure); // of the attempt whose result counts
      return content;
    };
    const pauseMs = backoffMs * 2 ** Math.min(attempt - 1, DOUBLINGS_MAX);
    const isRetryable = content.status === "failed" && content.error?.retryable === true && attempt < attemptsMax;
    const isInTime = clock.monotonicMs() + pauseMs < until; // L2: as the kernel decides it for others
    if (!isRetryable || !isInTime || run.signal.aborted) return ended();
    await pause(clock, pauseMs, run.signal);
    if (run.signal.aborted || !(await mayRepeat(attempt + 1, failure))) return ended(); // L3
    if (clock.monotonicMs() >= until) return content; // asking may have taken long; the failure is noted with the question
  }
}

/** What of the kernel's Clock this needs. */
interface LocalClock {
  monotonicMs(): number;
  after(ms: number, task: () => void): { cancel(): void };
}

const DOUBLINGS_MAX = 20;

function pause(clock: LocalClock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.after(ms, done);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}

/** The formula of l0.open_call (docs/protocol/commands.md#idempotency-key). */
function idempotencyKey(projectId: string, toolName: string, toolCallId: string): string {
  return `tool.${projectId}.${toolName}.${createHash("sha256").update(toolCallId).digest("hex")}`;
}
