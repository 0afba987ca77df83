// Turns that make one durable call after another, driven straight through the kernel: what an agent's loop commits, without
// a model.

import { systemIds } from "@tessera/engines/system";
import type { Bus, Effect, Kernel } from "@tessera/kernel";

export const PROJECT = "bench";
const TARGET = "cg.v1r4.bench.public.cmd.tool.echo.run";
const WORKER_TARGET = "bench";
const IN_FLIGHT_MAX = 512;

export interface CallLane {
  readonly agent_id: string;
  readonly agent_turn_id: string;
  turn_epoch: number;
}

export interface CallLanes {
  readonly lanes: readonly CallLane[];
  /** One call from its commit to its application. */
  call(lane: CallLane): Promise<void>;
  /** The same where the tool runs in this process: two commits. */
  callInline(lane: CallLane): Promise<void>;
}

/** So many turns, each of an agent of its own, held by a worker of this process that hears its wakeups. */
export async function openCallLanes(
  { kernel, bus }: { readonly kernel: Kernel; readonly bus: Bus },
  count: number,
  effect: Effect,
): Promise<CallLanes> {
  const woken = new Map<string, () => void>();
  await bus.subscribe(
    { pattern: `cg.v1r4.*.*.cmd.agent.${WORKER_TARGET}.wakeup`, durable: "bench_worker", inFlightMax: IN_FLIGHT_MAX },
    (delivery) => {
      const agent = delivery.headers["CG-Agent-Id"] ?? "";
      woken.get(agent)?.();
      woken.delete(agent);
    },
  );
  const worker_id = systemIds.mint("worker");
  await kernel.renewWorker({ worker_id, worker_target: WORKER_TARGET, lease_ms: 600_000 });
  await kernel.putProject({ project_id: PROJECT });
  const lanes = await Promise.all(Array.from({ length: count }, () => startLane(kernel, worker_id)));

  async function commitCall(lane: CallLane, local: boolean) {
    const step_id = systemIds.mint("step");
    const tool_call_id = systemIds.mint("tc");
    const committed = await kernel.suspendOnCalls({
      project_id: PROJECT,
      ...lane,
      step_id,
      thought: { content: { text: "I will call echo" } },
      calls: [
        {
          tool_call_id,
          tool_name: "echo__run",
          arguments: { text: "hello world" },
          target_subject: TARGET,
          author_id: "tool.echo",
          effect,
          local,
        },
      ],
    });
    if (committed.outcome === "rejected") throw new Error(`suspend_on_calls: ${committed.code}`);
    return { step_id, tool_call_id };
  }

  return {
    lanes,
    async call(lane) {
      const wakeup = new Promise<void>((resolve) => woken.set(lane.agent_id, resolve));
      await commitCall(lane, false);
      await wakeup;
      const resumed = await kernel.resume({ project_id: PROJECT, agent_id: lane.agent_id, worker_id });
      if (resumed.outcome !== "accepted" || resumed.results?.[0]?.status !== "success")
        throw new Error(`resume: ${JSON.stringify(resumed)}`);
      lane.turn_epoch = resumed.turn_epoch;
    },
    async callInline(lane) {
      const { step_id, tool_call_id } = await commitCall(lane, true);
      const content = { status: "success" as const, result: { text: "hello world" } };
      const results = [{ tool_call_id, content }];
      const applied = await kernel.applyResults({ project_id: PROJECT, ...lane, step_id, results });
      if (applied.outcome !== "accepted") throw new Error(`apply_results: ${JSON.stringify(applied)}`);
    },
  };
}

async function startLane(kernel: Kernel, worker_id: string): Promise<CallLane> {
  const agent_id = systemIds.mint("agent");
  const box_id = systemIds.mint("box");
  await kernel.putBox({ project_id: PROJECT, box_id });
  await kernel.putAgent({ project_id: PROJECT, agent_id, worker_target: WORKER_TARGET, profile_box_id: box_id });
  await kernel.enqueueTurn({ project_id: PROJECT, agent_id });
  const started = await kernel.resume({ project_id: PROJECT, agent_id, worker_id });
  if (started.outcome !== "accepted") throw new Error(`cannot start ${agent_id}: ${JSON.stringify(started)}`);
  return { agent_id, agent_turn_id: started.agent_turn_id, turn_epoch: started.turn_epoch };
}

/** The tool: opens each call whose command it gets, and reports its arguments. */
export async function serveEcho({ kernel, bus }: { readonly kernel: Kernel; readonly bus: Bus }): Promise<void> {
  const principal = "tool.echo";
  await bus.subscribe(
    { pattern: "cg.v1r4.*.*.cmd.tool.echo.run", durable: "bench_echo", inFlightMax: IN_FLIGHT_MAX },
    async (delivery) => {
      const opened = await kernel.openCall({
        project_id: PROJECT,
        tool_call_id: delivery.headers["CG-Tool-Call-Id"] ?? "",
        ticket: delivery.headers["CG-Call-Ticket"] ?? "",
        executor: "bench-echo",
        principal,
      });
      delivery.ack();
      if (opened.outcome === "rejected") return;
      const { tool_call_id, capability } = opened;
      const content = { status: "success" as const, result: opened.arguments };
      await kernel.report({ project_id: PROJECT, tool_call_id, capability, principal, content });
    },
  );
}
