// Turns that are one tool call: what `tessera tools call` and a form in a console ask for. A worker without a model.
//
//   T1. The request is a turn like any other, so it survives whoever asked and whoever works on it: any process with this
//       role takes it forward from its last commit.
//   T2. The call is planned by the same gate as a model's, and runs in the tool's own placement.
//   T3. The deliverable is the result, word for word; the turn's status is the result's.

import { createHash } from "node:crypto";
import { type Bus, type Clock, type Ids, type Kernel, listenForWork, type Subscription } from "@tessera/kernel";
import { type ErrorCode, errorOf, getHeader, HEADERS, parseSubject, workerDurable } from "@tessera/protocol";
import type { AgentToolRuntime, ToolLogEntry, ToolProgress, ToolRunner } from "@tessera/tool";
import { workOnTurn } from "./call-turn.ts";
import { createProjectTools } from "./project-tools.ts";
import { keepWorkerAlive } from "./worker-lease.ts";

export const TOOL_CALLER_TARGET = "tool_caller";

export interface ToolCallerOptions {
  readonly bus: Bus;
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly runner: ToolRunner;
  /** Whether this process has the code of a tool that runs where its turn runs. */
  readonly isHosted: (toolName: string) => boolean;
  readonly workerId: string;
  readonly leaseMs?: number;
  readonly runtime?: AgentToolRuntime;
  readonly onLog?: (entry: ToolLogEntry) => void;
  readonly onProgress?: (toolCallId: string, update: ToolProgress) => void;
  readonly onWarning?: (warning: string) => void;
}

export interface ToolCallRequest {
  readonly project_id: string;
  readonly tool_name: string;
  readonly arguments: unknown;
  readonly channel_id?: string;
  /** Whose workspace and name the call has; a new one when absent. */
  readonly agent_id?: string;
}

export interface ToolCaller {
  /** Commits the request; answers with the id of its turn. */
  request(call: ToolCallRequest): Promise<{ readonly agent_turn_id: string; readonly agent_id: string }>;
  stop(): Promise<void>;
}

const IN_FLIGHT_MAX = 32;

export async function startToolCaller(options: ToolCallerOptions): Promise<ToolCaller> {
  const { bus, kernel, clock, ids, workerId, onWarning = () => undefined } = options;
  const stopping = new AbortController();
  const lease = await keepWorkerAlive({ ...options, workerTarget: TOOL_CALLER_TARGET, onWarning });
  const tools = createProjectTools(kernel, onWarning);
  const working = new Map<string, Promise<void>>();

  /** One agent at a time: a worker must not ask for an agent whose turn it is running. */
  function takeForward(project_id: string, agent_id: string): Promise<void> {
    const key = `${project_id}/${agent_id}`;
    const running = (working.get(key) ?? Promise.resolve())
      .then(() => workOnTurn({ ...options, tools, onWarning, signal: stopping.signal }, { project_id, agent_id }))
      .catch((error: unknown) => onWarning(`a tool call of ${agent_id} stopped: ${String(error)}`))
      .finally(() => {
        if (working.get(key) === running) working.delete(key);
      });
    working.set(key, running);
    return running;
  }

  const source: Subscription = await listenForWork({
    bus,
    kernel,
    clock,
    role: { worker_target: TOOL_CALLER_TARGET },
    subscribe: {
      pattern: `cg.v1r4.*.*.cmd.agent.${TOOL_CALLER_TARGET}.wakeup`,
      durable: workerDurable(TOOL_CALLER_TARGET),
      inFlightMax: IN_FLIGHT_MAX,
    },
    handler(delivery) {
      const project = parseSubject(delivery.subject)?.project_id;
      const agent = getHeader(delivery.headers, HEADERS.agent_id);
      delivery.ack(); // a wakeup is a doorbell; the inbox decides
      if (project !== undefined && agent !== null) void takeForward(project, agent);
    },
    onWarning,
  });

  return {
    async request({ project_id, tool_name, arguments: given, channel_id, agent_id = ids.mint("call") }) {
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
        runtime_config: { tool_call: { name: tool_name, arguments: given as never } },
      });
      if (outcome.outcome === "rejected") throw refusal("turn", outcome.code);
      return { agent_turn_id: outcome.agent_turn_id, agent_id };
    },
    async stop() {
      await source.stop();
      stopping.abort();
      await Promise.all(working.values());
      await lease.stop();
      await kernel.retireWorker(workerId);
    },
  };
}

/** Every agent has a profile; these share an empty one. Box ids are unique in the world, so the project is in it. */
function profileBoxOf(projectId: string): string {
  return `box_tool_caller_${createHash("sha256").update(projectId).digest("hex").slice(0, 32)}`;
}

function refusal(what: string, code: ErrorCode) {
  return errorOf(code, `the ${what} of the tool call was refused`);
}
