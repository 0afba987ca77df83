// For tests: one invocation and one context, ways to run a handler in them, and hostile values.

import { validateToolResultContent } from "@tessera/protocol";
import type { ToolContext, ToolHandler } from "../src/api.ts";
import type { ToolInvocation } from "../src/invocation.ts";
import { type ExecutedCall, executeHandler, type HandlerRun, type ToolFunctions } from "../src/run/execute-handler.ts";
import { toResultContent } from "../src/run/result-content.ts";
import { buildToolContext } from "../src/run/tool-context.ts";

export function invocationForTest(more: Partial<ToolInvocation> = {}): ToolInvocation {
  return {
    project_id: "p1",
    channel_id: "public",
    agent_id: "agent_1",
    agent_turn_id: "turn_1",
    turn_epoch: 3,
    step_id: "step_1",
    parent_step_id: null,
    trace_id: "0af7651916cd43dd8448eb211c80319c",
    span_id: "b7ad6b7169203331",
    recursion_depth: 0,
    tool_call_id: "tc_1",
    tool_name: "demo__run",
    arguments: { text: "a" },
    effect: "once",
    after_execution: "suspend",
    attempt: 2,
    mode: "run",
    idempotency_key: "key_1",
    message: { card_id: "card_1", content: { text: "let me see" }, tool_calls: [{ id: "tc_1", name: "demo__run" }] },
    definition: null,
    ...more,
  };
}

function contextForTest(): ToolContext {
  return buildToolContext(invocationForTest(), {
    workdir: "/workspace",
    logger: console,
    signal: new AbortController().signal,
    progress: () => undefined,
  });
}

export async function runHandler(code: Partial<ToolFunctions>, more: Partial<HandlerRun> = {}): Promise<ExecutedCall> {
  return await executeHandler({
    code: { handler: () => null, ...code },
    ctx: contextForTest(),
    input: { text: "a" },
    toolName: "demo__run",
    errorMessageLimit: 100,
    mode: "run",
    idempotencyKey: "key_1",
    ...more,
  });
}

export const returning = (output: unknown) => runHandler({ handler: (() => output) as ToolHandler });
export const throwing = (thrown: unknown, errorMessageLimit = 100) =>
  runHandler(
    {
      handler: () => {
        throw thrown;
      },
    },
    { errorMessageLimit },
  );

export const contentOf = (result: ExecutedCall, errorMessageLimit = 100) =>
  validateToolResultContent(toResultContent(result, { afterExecution: "suspend", errorMessageLimit }));

export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

export function refusing(): object {
  const refuse = () => {
    throw new Error("trap");
  };
  return new Proxy(
    {},
    { get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse },
  );
}

export function cycle(): object {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}
