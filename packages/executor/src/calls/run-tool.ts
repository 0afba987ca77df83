// Runs the tool of an opened call; whose lease it is, and that the result is reported, its caller sees to (the kernel's
// workOnCall). The same for a command from the bus and a claim over HTTP.

import type { OpenedCall, WorkedCall } from "@tessera/kernel";
import { buildErrorResultFromException, isJsonObject, readCallerFacts, TesseraError } from "@tessera/protocol";
import type { RunFailure, RunOptions, ToolInvocation, ToolRunner } from "@tessera/tool";
import { stackOf } from "@tessera/tool/run";

export interface RunToolOptions extends Omit<RunOptions, "signal" | "onFailure"> {
  readonly runner: Pick<ToolRunner, "run">;
  readonly onWarning: (warning: string) => void;
}

export async function runTool(call: OpenedCall, signal: AbortSignal, options: RunToolOptions): Promise<WorkedCall> {
  if (call.tool_name === "" || !isJsonObject(call.arguments)) {
    const invalid = new TesseraError("invalid_card", "the tool.call card holds no tool name, or no arguments object");
    return { content: { ...buildErrorResultFromException(invalid), after_execution: call.after_execution } };
  }
  try {
    const invocation = { ...call, ...readCallerFacts(call.call_metadata) } as ToolInvocation;
    let failure: RunFailure | undefined;
    const onFailure = (told: RunFailure) => {
      failure = told;
    };
    const content = await options.runner.run(invocation, { ...options, signal, onFailure });
    return { content, stack: failure?.stack };
  } catch (error) {
    // A runner answers for everything a tool can do; this is a fault of the host itself.
    const stack = stackOf(error);
    options.onWarning(`running ${call.tool_name} failed: ${stack}`);
    const internal = new TesseraError("internal_error", "the executor failed while it ran the tool");
    const content = { ...buildErrorResultFromException(internal), after_execution: call.after_execution };
    return { content, stack };
  }
}
