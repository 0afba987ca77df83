// Turns that are one tool call: what `tessera tools call` and a form in a console ask for. An agent without a model.
//
//   T1. The request is a turn like any other and goes through the same loop: it survives whoever asked and whoever works on
//       it, and its call is planned by the same gate as a model's and runs in the tool's own placement.
//   T2. A caller whose process has the tools of one project takes the turns of that one only: another project's tool of the
//       same name is other code.
//   T3. The deliverable is the result, word for word; the turn's status is the result's.

import { createHash } from "node:crypto";
import type { JsonObject } from "@tessera/kernel";
import { type ErrorCode, errorOf, gateJson, isJsonObject } from "@tessera/protocol";
import { startAgentWorker } from "../loop/agent-worker.ts";
import type { AgentWorkerOptions, Mind, Turn } from "../loop/world.ts";

export const TOOL_CALLER_TARGET = "tool_caller";

export type ToolCallerOptions = Omit<AgentWorkerOptions, "models" | "mind" | "workerTargets" | "extensions">;

export interface ToolCallRequest {
  readonly project_id: string;
  readonly tool_name: string;
  readonly arguments: unknown;
  readonly channel_id?: string;
  /** Whose workspace and name the call has; a new one when absent. */
  readonly agent_id?: string;
}

export interface ToolCaller {
  /** What came of its wakeups: `accepted`, or why there was nothing to do. */
  readonly counts: ReadonlyMap<string, number>;
  /** Commits the request; answers with the id of its turn. */
  request(call: ToolCallRequest): Promise<{ readonly agent_turn_id: string; readonly agent_id: string }>;
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

export async function startToolCaller(options: ToolCallerOptions): Promise<ToolCaller> {
  const { kernel, ids } = options;
  const models = { call: () => Promise.reject(new Error("a tool caller has no model")) };
  const worker = await startAgentWorker({ ...options, models, mind: ONE_CALL, workerTargets: [TOOL_CALLER_TARGET] });
  return {
    counts: worker.counts,
    stop: (given) => worker.stop(given),
    async request({ project_id, tool_name, arguments: given, channel_id, agent_id = ids.mint("call") }) {
      // Only what a store can hold; whether they are the tool's arguments is for the gate to say, in the turn's result (T1).
      const tool_call = { name: gateJson(tool_name), arguments: gateJson(given ?? {}) } as unknown as JsonObject;
      const profile_box_id = profileBoxOf(project_id);
      const box = await kernel.putBox({ project_id, box_id: profile_box_id });
      if (box.outcome === "rejected") throw refusal("profile", box.code);
      const agent = await kernel.putAgent({ project_id, agent_id, worker_target: TOOL_CALLER_TARGET, profile_box_id });
      if (agent.outcome === "rejected") throw refusal("agent", agent.code);
      const outcome = await kernel.enqueueTurn({
        project_id,
        agent_id,
        ...(channel_id === undefined ? {} : { channel_id }),
        source_agent_id: "sys.tool_caller",
        runtime_config: { tool_call },
      });
      if (outcome.outcome === "rejected") throw refusal("turn", outcome.code);
      return { agent_turn_id: outcome.agent_turn_id, agent_id };
    },
  };
}

const ONE_CALL: Mind = {
  profile: {
    schema_version: 1,
    name: TOOL_CALLER_TARGET,
    description: "",
    worker_target: TOOL_CALLER_TARGET,
    tags: [],
    model: { provider: "none", model: "none" },
    system_prompt: "",
    allowed_tools: null,
    allowed_internal_tools: [],
    must_end_with: [],
    required_tools: [],
    delegation_policy: null,
    max_steps: 1,
    extensions: [],
    swarm: null,
  },
  think(turn: Turn) {
    const wanted = isJsonObject(turn.runtime_config) ? turn.runtime_config.tool_call : null;
    const { name, arguments: given } = isJsonObject(wanted) ? wanted : { name: "", arguments: {} };
    const tool_calls = [{ name: String(name), arguments: given }];
    return { text: "", tool_calls, finish_reason: "tool_calls", provider: "none", model: "none" };
  },
  endOf({ results }) {
    const content = results[0]?.content;
    if (content === undefined) return null;
    const { status, result, error } = content;
    return { status, content: { data: { status, result, error } } as unknown as JsonObject, error }; // T3
  },
};

/** Every agent has a profile; these share an empty one. Box ids are unique in the world, so the project is in it. */
function profileBoxOf(projectId: string): string {
  return `box_tool_caller_${createHash("sha256").update(projectId).digest("hex").slice(0, 32)}`;
}

function refusal(what: string, code: ErrorCode) {
  return errorOf(code, `the ${what} of the tool call was refused`);
}
