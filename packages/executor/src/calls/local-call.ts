// A call that runs where its turn is worked on: no command, no claim of its own. The worker's lease stands for the call's.
//
//   L1. The invocation is what `open_call` would have handed out, idempotency key included, so that the handler cannot tell
//       the placements apart.
//   L2. A retryable failure is repeated here, with the same back-off as the kernel's, because nobody else will.

import { createHash } from "node:crypto";
import type { Clock, LocalCall, TurnHold } from "@tessera/kernel";
import type { ToolResultContent } from "@tessera/protocol";
import type { JsonObject, RunOptions, ToolDefinition, ToolInvocation, ToolRunner } from "@tessera/tool";

export interface LocalCallContext extends TurnHold {
  readonly channel_id: string;
  readonly step_id: string;
  readonly parent_step_id: string | null;
  readonly trace_id: string;
  readonly span_id: string;
  readonly recursion_depth: number;
  readonly message: ToolInvocation["message"];
  readonly agent_name?: string;
  readonly instance_key?: string;
}

export function localInvocation(
  call: Pick<LocalCall, "tool_call_id" | "tool_name" | "effect" | "after_execution" | "attempt" | "mode" | "arguments">,
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
    readonly clock: Clock;
    readonly attemptsMax: number;
    readonly backoffMs: number;
  },
): Promise<ToolResultContent> {
  const { runner, clock, attemptsMax, backoffMs, ...run } = options;
  for (let attempt = invocation.attempt; ; attempt += 1) {
    const content = await runner.run({ ...invocation, attempt }, run);
    const mayRetry = content.status === "failed" && content.error?.retryable === true && attempt < attemptsMax;
    if (!mayRetry || run.signal.aborted) return content;
    await new Promise<void>((resolve) => clock.after(backoffMs * 2 ** (attempt - 1), resolve)); // L2
  }
}

/** The formula of l0.open_call (reference §5.7). */
function idempotencyKey(projectId: string, toolName: string, toolCallId: string): string {
  return `tool.${projectId}.${toolName}.${createHash("sha256").update(toolCallId).digest("hex")}`;
}
