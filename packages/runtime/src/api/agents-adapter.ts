// The adapter of the server's port `Agents`: turns of agents and `ctx.runtime`, as the agent package has them.

import { createAgentRuntime, enqueueAgentTurn, traceEnqueue } from "@tessera/agent";
import type { Agents } from "@tessera/server";
import type { AgentEvent, AgentToolRuntime } from "@tessera/tool";
import type { Node } from "../process/open-node.ts";

export function agentsAdapter({ kernel, clock, ids }: Pick<Node, "kernel" | "clock" | "ids">): Agents {
  return {
    async enqueue(order) {
      const agent_name = order.agent ?? order.agent_id ?? "";
      const { trace_id, span_id } = order;
      const turn = await traceEnqueue({ agent_name, trace_id, span_id }, (trace) =>
        enqueueAgentTurn(kernel, ids, { ...order, ...trace }),
      );
      return { agent_turn_id: turn.agent_turn_id, agent_id: turn.agent_id, isNew: turn.outcome === "accepted" };
    },
    runtime(caller, operation, { ordinal, target = "", event = {}, options = {} }, signal) {
      const { is_foreign, key_policy, ...call } = caller;
      const from = { isForeign: is_foreign, policies: key_policy === null ? [] : [key_policy] };
      const runtime = createAgentRuntime({ kernel, clock, caller: call, from, ordinal, signal });
      return callRuntime(runtime, operation, target, eventOf(event, caller.tool_call_id, ordinal), options);
    },
  };
}

function callRuntime(
  runtime: AgentToolRuntime,
  operation: Parameters<Agents["runtime"]>[1],
  target: string,
  event: AgentEvent,
  options: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  switch (operation) {
    case "request":
      return runtime.request(target, event, options);
    case "send":
      return runtime.send(target, event);
    case "spawn":
      return runtime.spawn(target, options);
    case "list":
      return runtime.list(options);
    case "catalog":
      return runtime.catalog();
  }
}

/** An event as an executor writes it in JSON, completed: its id follows from the operation, so that a repeat is the same. */
function eventOf(given: Readonly<Record<string, unknown>>, toolCallId: string, ordinal: number): AgentEvent {
  const { id = `${toolCallId}:${ordinal}`, type = "agent.request", createdAt } = given;
  const source = { kind: "agent", name: toolCallId, ...(given.source as object | undefined) };
  const at = typeof createdAt === "string" ? new Date(createdAt) : new Date(0);
  return { ...given, id, type, source, createdAt: at } as AgentEvent;
}
