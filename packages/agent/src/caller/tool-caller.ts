// Works on turns that are one tool call: what `tessera tools call` and a form in a console ask for. An agent without a model.
//
//   T1. The turn goes through the same loop as any other: its call is planned by the same gate as a model's and runs in the
//       tool's own placement, and it survives its worker.
//   T2. A caller whose process has the tools of one project takes the turns of that one only: another project's tool of the
//       same name is other code.

import type { ToolCallOrder } from "@tessera/protocol";
import { startAgentWorker } from "../loop/agent-worker.ts";
import { NO_MODELS } from "../loop/turn-driver.ts";
import type { AgentWorkerOptions } from "../loop/worker-context.ts";
import { TOOL_CALLER_TARGET } from "../profile.ts";
import { ONE_CALL } from "./one-call.ts";
import { type RequestedCall, requestToolCall } from "./tool-call-request.ts";

export type ToolCallerOptions = Omit<
  AgentWorkerOptions,
  "models" | "driver" | "loadDriver" | "workerTargets" | "extensions"
>;

/** Works on calls that people and programs asked for. */
export interface ToolCaller {
  /** What came of its wakeups: `accepted`, or why there was nothing to do. */
  readonly counts: ReadonlyMap<string, number>;
  /** Commits a request, which this caller or another works on. */
  request(call: ToolCallOrder): Promise<RequestedCall>;
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Begins to work on turns that are one tool call each. */
export async function startToolCaller(options: ToolCallerOptions): Promise<ToolCaller> {
  const { kernel, ids } = options;
  const turns = { models: NO_MODELS, driver: ONE_CALL, workerTargets: [TOOL_CALLER_TARGET] };
  const worker = await startAgentWorker({ ...options, ...turns });
  return {
    counts: worker.counts,
    stop: (given) => worker.stop(given),
    request: (call) => requestToolCall(kernel, ids, call),
  };
}
