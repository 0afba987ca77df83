// The agent's worker. No model here: its one step calls four tools, and when all have answered it delivers.
//
//   W1. A wakeup names only the agent; the kernel's answer to resume() says what there is to do.
//   W2. Nothing is kept in memory between two wakeups, so any process may go on where another one stopped.
//   W3. Its turns are held by its lease, which a heartbeat renews; a worker that was declared dead stops.

import { type CallDraft, listenForWork, type ResumeOutcome } from "@tessera/kernel";
import { HEARTBEAT_MS } from "@tessera/protocol";
import type { Node } from "@tessera/runtime";
import type { Tell } from "./story-event.ts";
import { AGENT, type DemoTool, PROJECT, TOOLS, WORKER_TARGET } from "./tools.ts";

export interface Worker {
  /** Resolves when the turn has ended. */
  readonly finished: Promise<void>;
  stop(): Promise<void>;
}

export async function startWorker(node: Node, tell: Tell): Promise<Worker> {
  const { kernel, bus, clock } = node;
  const worker_id = node.ids.mint("worker");
  const { promise: finished, resolve, reject } = Promise.withResolvers<void>();
  const renew = async () => {
    const lease = await kernel.renewWorker({ worker_id, worker_target: WORKER_TARGET });
    if (lease.outcome === "rejected") throw new Error(`the worker lost its lease: ${lease.code}`);
  };
  await renew();
  const heartbeat = setInterval(() => void renew().catch(reject), HEARTBEAT_MS); // W3
  const source = await listenForWork({
    bus,
    kernel,
    clock,
    role: { worker_target: WORKER_TARGET },
    subscribe: { pattern: `cg.v1r4.*.*.cmd.agent.${WORKER_TARGET}.wakeup`, durable: "workers" },
    handler: async () => {
      const outcome = await kernel.resume({ project_id: PROJECT, agent_id: AGENT, worker_id });
      if (outcome.outcome !== "accepted") return; // nothing to do yet, or another worker does it
      await (outcome.state === "started"
        ? callTools(node, outcome, tell)
        : deliver(node, outcome, tell).then(resolve)
      ).catch(reject);
    },
    onWarning: (warning) => tell({ event: "warning", says: warning }),
  });
  const stop = async () => {
    clearInterval(heartbeat);
    await source.stop();
  };
  return { finished, stop };
}

/** Asks for the one turn of the story. */
export async function enqueueTurn(node: Node, tell: Tell): Promise<void> {
  const { kernel, ids } = node;
  const profile_box_id = ids.mint("box");
  await kernel.putProject({ project_id: PROJECT });
  await kernel.putBox({ project_id: PROJECT, box_id: profile_box_id });
  await kernel.putAgent({ project_id: PROJECT, agent_id: AGENT, worker_target: WORKER_TARGET, profile_box_id });
  const instruction = { card_id: ids.mint("card"), type: "task.instruction", content: { text: "Prepare the trip." } };
  const turn = await kernel.enqueueTurn({ project_id: PROJECT, agent_id: AGENT, context_cards: [instruction] });
  if (turn.outcome === "rejected") throw new Error(`the turn was refused: ${turn.code}`);
  tell({ event: "turn.enqueued", says: "a turn is enqueued for the agent", agent_turn_id: turn.agent_turn_id });
}

type Taken = Extract<ResumeOutcome, { outcome: "accepted" }>;

async function callTools({ kernel, ids }: Node, turn: Taken, tell: Tell): Promise<void> {
  const calls = TOOLS.map((tool) => draftCall(tool, ids.mint("call")));
  const thought = { content: { text: "I need the rates, the weather, a seat and a mail." } };
  const outcome = await kernel.suspendOnCalls({ ...holdOf(turn), step_id: ids.mint("step"), thought, calls });
  if (outcome.outcome === "rejected") throw new Error(`the step was refused: ${outcome.code}`);
  tell({
    event: "turn.suspended",
    says: `commit point A: ${calls.length} calls are written down, the turn waits for them`,
  });
}

async function deliver({ kernel, ids }: Node, turn: Taken, tell: Tell): Promise<void> {
  const results = turn.results ?? [];
  const unknown = results.filter((result) => result.status !== "success").map((result) => result.tool_name);
  const says = `commit point D: ${results.length} results are applied, in call order; ${unknown.join(", ")} is outcome_unknown`;
  tell({ event: "turn.resumed", says, unknown });
  const text = results.map((result) => `${result.tool_name}: ${result.status}`).join(", ");
  const deliverable = { card_id: ids.mint("card"), content: { text } };
  const outcome = await kernel.finishTurn({ ...holdOf(turn), status: "success", deliverable });
  if (outcome.outcome === "rejected") throw new Error(`the end was refused: ${outcome.code}`);
  tell({ event: "turn.finished", says: "commit point E: the deliverable is written, the turn has ended" });
}

function holdOf({ project_id, agent_id, agent_turn_id, turn_epoch }: Taken) {
  return { project_id, agent_id, agent_turn_id, turn_epoch };
}

function draftCall(tool: DemoTool, tool_call_id: string): CallDraft {
  const [resource = "", action = ""] = tool.name.split("__");
  return {
    tool_call_id,
    tool_name: tool.name,
    arguments: { to: "Ostia" },
    target_subject: `cg.v1r4.${PROJECT}.public.cmd.tool.${resource}.${action}`,
    author_id: `tool.${resource}`,
    effect: tool.effect,
  };
}
