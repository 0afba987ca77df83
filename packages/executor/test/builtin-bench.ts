// For tests: calls a built-in as a host does, with the argument check before it and the JSON gate behind it.

import {
  createTestContext,
  type JsonObject,
  type RegisteredTool,
  type TestContextOptions,
  type ToolCallResult,
} from "@tessera/tool";
import { compileParameters } from "@tessera/tool/catalog";
import { type BuiltinOptions, builtinTools } from "../src/builtins/index.ts";

export interface Bench extends AsyncDisposable {
  readonly workdir: string;
  readonly tools: readonly RegisteredTool[];
  abort(): void;
  call(name: string, input?: JsonObject): Promise<ToolCallResult>;
  /** The output of a call that must succeed. */
  output(name: string, input?: JsonObject): Promise<JsonObject>;
  /** The error code of a call that must fail. */
  code(name: string, input?: JsonObject): Promise<string | undefined>;
}

export function startBench(options: BuiltinOptions & { readonly context?: TestContextOptions }): Bench {
  const tools = builtinTools(options);
  const context = createTestContext(options.context);
  const call = async (name: string, input: JsonObject = {}): Promise<ToolCallResult> => {
    const tool = tools.find(({ definition }) => definition.tool_name === name);
    if (tool === undefined) throw new Error(`there is no built-in ${name}`);
    const { parameters } = tool.definition;
    const [issue] = compileParameters(parameters).issues(input);
    if (issue !== undefined) {
      return {
        toolCallId: "call",
        toolName: name,
        status: "error",
        error: { code: "E_TOOL_INVALID_ARGS", message: issue },
      };
    }
    return await context.call(tool, { ...defaultsOf(parameters), ...input });
  };
  return {
    workdir: context.ctx.workdir,
    tools,
    abort: () => context.abort(),
    call,
    async output(name, input) {
      const result = await call(name, input);
      if (result.status === "error") throw new Error(`${name} failed: ${result.error?.code} ${result.error?.message}`);
      return result.output as JsonObject;
    },
    async code(name, input) {
      const result = await call(name, input);
      if (result.status === "ok") throw new Error(`${name} succeeded: ${JSON.stringify(result.output)?.slice(0, 500)}`);
      return result.error?.code;
    },
    [Symbol.asyncDispose]: () => context[Symbol.asyncDispose](),
  };
}

function defaultsOf(parameters: JsonObject): JsonObject {
  const properties = Object.entries((parameters.properties ?? {}) as Record<string, JsonObject>);
  return Object.fromEntries(
    properties.flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]])),
  );
}
