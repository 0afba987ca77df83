/// <reference lib="esnext.disposable" preserve="true" />

// createTestContext: everything a handler is given, without a server, for the unit tests of tool authors.
//
//   T1. The context is built by the same code as in production, so its keys are the same.
//   T2. Ids are constants: a test may compare them, and two runs of a test see the same values.
//   T3. What the handler logged and reported stands beside the context; the directory that was made is removed by
//       `dispose`, and one that was given is left alone.
//   T4. Objects of an answer are plain ones, as a test writes them: those of the JSON gate have no prototype, which strict
//       comparisons distinguish.

import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentToolRuntime, JsonObject, Message, ToolCallResult, ToolContext, ToolProgress } from "./api.ts";
import type { RegisteredTool } from "./definition.ts";
import type { ToolInvocation, ToolLogEntry } from "./invocation.ts";
import { toolPolicy } from "./policy.ts";
import { createCallLogger } from "./run/call-logger.ts";
import { executeHandler } from "./run/execute-handler.ts";
import { buildToolContext } from "./run/tool-context.ts";
import { ToolError } from "./tool-error.ts";

/** What {@link createTestContext} takes; what is absent is the same in every test. */
export interface TestContextOptions {
  /** `ctx.agentName` */
  readonly agentName?: string;
  /** `ctx.instanceKey` */
  readonly instanceKey?: string;
  /** `ctx.turnId` */
  readonly turnId?: string;
  /** `ctx.traceId` */
  readonly traceId?: string;
  /** `ctx.toolCallId` */
  readonly toolCallId?: string;
  /** The name that the call has. */
  readonly toolName?: string;
  /** `ctx.message`: the message of the model that holds the call. */
  readonly message?: Message;
  /** An existing directory. Absent: a fresh one, removed by `dispose`. */
  readonly workdir?: string;
  /** `ctx.idempotencyKey` */
  readonly idempotencyKey?: string;
  /** `ctx.attempt`; default 1. */
  readonly attempt?: number;
  /** A fake of what the tool asks of other agents; a method that is missing rejects and says so. */
  readonly runtime?: Partial<AgentToolRuntime>;
}

/** A handler's context in a unit test, and what the handler did with it. */
export interface TestContext extends AsyncDisposable {
  /** What the handler gets. */
  readonly ctx: ToolContext;
  /** What it wrote to `ctx.logger`, in order. */
  readonly logs: readonly Pick<ToolLogEntry, "level" | "message">[];
  /** What it gave to `ctx.progress`, in order. */
  readonly progress: readonly ToolProgress[];
  /** Aborts `ctx.signal`, as a cancel or a timeout would. */
  abort(reason?: unknown): void;
  /** Runs a tool as a host does: the schema's own check, the handler, and all rules about errors and output. The JSON
   *  Schema is checked by the argument gate, which is not part of this. */
  call(tool: RegisteredTool, input?: JsonObject): Promise<ToolCallResult>;
  /** Removes the directory that was made. */
  dispose(): Promise<void>;
}

const INVOCATION: ToolInvocation = {
  project_id: "test-project",
  channel_id: "public",
  agent_id: "test-agent",
  agent_turn_id: "turn_test",
  turn_epoch: 1,
  step_id: "step_test",
  parent_step_id: null,
  trace_id: "0123456789abcdef0123456789abcdef",
  span_id: "0123456789abcdef",
  recursion_depth: 0,
  tool_call_id: "tc_test",
  tool_name: "test_tool",
  arguments: {},
  effect: "once",
  after_execution: "suspend",
  attempt: 1,
  mode: "run",
  idempotency_key: "test-project.tc_test",
  message: { card_id: "card_test", content: { text: "" }, tool_calls: [] },
  definition: null,
};

/**
 * Everything that a handler is given, without a server, for the unit test of a tool.
 *
 * ```ts
 * import assert from "node:assert/strict";
 * import { test } from "node:test";
 * import { createTestContext, defineTool } from "@tessera/tool";
 *
 * const shout = defineTool({
 *   name: "shout",
 *   parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
 *   handler: (ctx, { text }) => {
 *     ctx.logger.info("shouting");
 *     return { text: text.toUpperCase() };
 *   },
 * });
 * test("shouts, and says so in the log", async (t) => {
 *   const context = createTestContext();
 *   t.after(() => context.dispose());
 *   const { status, output } = await context.call(shout, { text: "hi" });
 *   assert.deepEqual({ status, output }, { status: "ok", output: { text: "HI" } });
 *   assert.deepEqual(context.logs, [{ level: "info", message: "shouting" }]);
 * });
 * ```
 */
export function createTestContext(options: TestContextOptions = {}): TestContext {
  const logs: Pick<ToolLogEntry, "level" | "message">[] = [];
  const progress: ToolProgress[] = [];
  const controller = new AbortController();
  const workdir = options.workdir ?? mkdtempSync(join(tmpdir(), "tool-test-"));
  const invocation = invocationOf(options);
  const logger = createCallLogger(({ level, message }) => logs.push({ level, message }), {
    project_id: invocation.project_id,
    tool_call_id: invocation.tool_call_id,
    tool_name: invocation.tool_name,
    attempt: invocation.attempt,
  });
  const built = buildToolContext(invocation, {
    workdir,
    logger,
    signal: controller.signal,
    progress: (update) => progress.push(update),
    ...(options.runtime === undefined ? {} : { runtime: fakeRuntime(options.runtime) }),
  });
  const ctx = options.message === undefined ? built : { ...built, message: options.message };
  const dispose = async (): Promise<void> => {
    if (options.workdir === undefined) await rm(workdir, { recursive: true, force: true }); // T3
  };
  return {
    ctx,
    logs,
    progress,
    abort: (reason) => controller.abort(reason),
    call: (tool, input = {}) => callTool(ctx, tool, input),
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

function invocationOf(options: TestContextOptions): ToolInvocation {
  return {
    ...INVOCATION,
    agent_name: options.agentName ?? INVOCATION.agent_id,
    ...(options.instanceKey === undefined ? {} : { instance_key: options.instanceKey }),
    agent_turn_id: options.turnId ?? INVOCATION.agent_turn_id,
    trace_id: options.traceId ?? INVOCATION.trace_id,
    tool_call_id: options.toolCallId ?? INVOCATION.tool_call_id,
    tool_name: options.toolName ?? INVOCATION.tool_name,
    idempotency_key: options.idempotencyKey ?? INVOCATION.idempotency_key,
    attempt: options.attempt ?? INVOCATION.attempt,
  };
}

async function callTool(ctx: ToolContext, tool: RegisteredTool, input: JsonObject): Promise<ToolCallResult> {
  const { definition, code } = tool;
  if (code?.kind !== "function") {
    throw new ToolError(`${definition.tool_name} has no function to call: its code is in a module or elsewhere`);
  }
  const { wire: _, ...result } = await executeHandler({
    code,
    ctx,
    input,
    toolName: definition.tool_name,
    errorMessageLimit: toolPolicy(definition).error_message_limit,
    mode: "run",
    idempotencyKey: ctx.idempotencyKey,
  });
  return structuredClone(result); // T4
}

function fakeRuntime(given: Partial<AgentToolRuntime>): AgentToolRuntime {
  const missing = (method: string) => async (): Promise<never> => {
    throw new ToolError(`the test's runtime has no ${method}; give createTestContext({ runtime: { ${method} } })`);
  };
  return {
    request: given.request ?? missing("request"),
    send: given.send ?? missing("send"),
    spawn: given.spawn ?? missing("spawn"),
    list: given.list ?? missing("list"),
    catalog: given.catalog ?? missing("catalog"),
  };
}
