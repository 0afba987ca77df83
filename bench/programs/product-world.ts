// A node with one tool, one agent and a worker whose model is a function: for what needs the product's own loop and a model
// that takes no time.

import { type AgentProfile, type AgentWorker, deployProfiles, type ModelPort, startAgentWorker } from "@tessera/agent";
import type { Kernel } from "@tessera/kernel";
import { type Node, openNode, openToolHost } from "@tessera/runtime";
import type { RegisteredTool } from "@tessera/tool";

export const PROJECT = "bench";
export const AGENT = "caller";

const PROFILE: AgentProfile = {
  schema_version: 1,
  name: AGENT,
  description: "",
  worker_target: "worker_generic",
  tags: [],
  model: { provider: "scripted", model: "bench" },
  system_prompt: "You call tools.",
  allowed_tools: null,
  allowed_internal_tools: [],
  must_end_with: [],
  required_tools: [],
  delegation_policy: null,
  max_steps: 1_000,
  extensions: [],
  swarm: null,
};

export interface ProductWorld {
  readonly node: Node;
  readonly worker: AgentWorker | null;
  close(): Promise<void>;
}

/** Without a model: the store and what is registered in it; no worker runs. */
export async function openProduct(options: {
  /** Absent: PGlite in memory. */
  readonly postgres: string | undefined;
  readonly nats: string | undefined;
  readonly tool: RegisteredTool;
  /** Also answers the calls of a tool that is a service; otherwise they wait. */
  readonly serve?: boolean;
  readonly model?: ModelPort["call"];
  /** Told of each turn that has ended. */
  readonly onFinished?: () => void;
}): Promise<ProductWorld> {
  const { postgres, nats, tool, model, onFinished = () => undefined } = options;
  const onWarning = (warning: string) => console.error(warning);
  const works = model !== undefined;
  const node = await openNode({ postgres, nats, migrate: "yes", sweep: works, onWarning, onFatal: console.error });
  await node.kernel.putProject({ project_id: PROJECT });
  await deployProfiles(node.kernel, PROJECT, [PROFILE]);
  const common = { node, project: PROJECT, env: {}, onWarning };
  const host = await openToolHost({
    ...common,
    tools: [tool],
    openApiTargets: [],
    executor: "bench",
    serve: works && options.serve === true,
  });
  const { runner, isHosted } = host;
  const kernel: Kernel = {
    ...node.kernel,
    finishTurn: (request, messages) => node.kernel.finishTurn(request, messages).finally(onFinished),
  };
  const parts = { ...node, kernel, project: PROJECT, runner, isHosted, concurrencyMax: 64, onWarning };
  const worker = model === undefined ? null : await startAgentWorker({ ...parts, models: { call: model } });
  return {
    node,
    worker,
    async close() {
      await worker?.stop({ graceMs: 0 });
      await host.close({ graceMs: 0 });
      await node.close();
    },
  };
}
