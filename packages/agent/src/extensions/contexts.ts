// The contexts of layers, made from the turn that they wrap.
//
//   C1. All layers of one onion share what may be changed (args, toolCatalog) and the metadata.
//   C2. What a layer asks of other agents is named by turn, place, extension and order, so that a step or stretch that is
//       run again starts nothing twice.

import { shownTime } from "@tessera/kernel";
import type { JsonObject, JsonValue } from "@tessera/protocol";
import type { AgentEvent, AgentToolRuntime } from "@tessera/tool";
import { ownApi } from "@tessera/tool/run";
import type { InstanceMetadata } from "../instance.ts";
import type { TurnSession } from "../loop/turn-session.ts";
import { AWAITED } from "../runtime/awaited-turn.ts";
import type { AgentsApi, RuntimeInfo } from "./api.ts";

/** What all layers of a stretch are told of the turn. `parent`: who asked for it, if an agent did. */
export function runtimeOf(session: TurnSession, bundleRoot: string, parent: InstanceMetadata | null): RuntimeInfo {
  const { agentName, instanceKey, turn, profile } = session;
  const swarmName = profile.swarm?.name ?? "";
  const agents = profile.swarm?.agents ?? [agentName];
  const available = [...agents].toSorted();
  const { id, type, createdAt, source, metadata } = inputEventOf(session, parent);
  return {
    agent: { name: agentName, instanceKey, bundleRoot, prompt: { system: profile.system_prompt } },
    swarm: {
      ...{ name: swarmName, agents, swarmName },
      entryAgent: profile.swarm?.entry_agent ?? agentName,
      selfAgent: agentName,
      availableAgents: available,
      callableAgents: available.filter((name) => name !== agentName),
    },
    inbound: {
      ...{ eventId: id, eventType: type, sourceKind: source.kind, sourceName: source.name, instanceKey },
      createdAt: createdAt.toISOString(),
      ...(metadata === undefined ? {} : { eventMetadata: metadata }),
    },
    ...(parent === null ? {} : { call: callOf(turn, parent) }),
  };
}

function callOf(
  { parent_agent_turn_id, metadata }: TurnSession["turn"],
  parent: InstanceMetadata,
): NonNullable<RuntimeInfo["call"]> {
  const { agent_name: callerAgent, instance_key: callerInstanceKey } = parent;
  const correlationId = metadata?.tool_call_id;
  const isAwaited = metadata?.[AWAITED] !== false && typeof correlationId === "string";
  return {
    ...{ callerAgent, callerInstanceKey, callerTurnId: parent_agent_turn_id ?? "", callSource: "agent" },
    callStack: [`${callerAgent}@${callerInstanceKey}`],
    ...(isAwaited ? { replyTo: { target: callerAgent, correlationId } } : {}),
  };
}

export function identityOf({ agentName, instanceKey, turn }: TurnSession, runtime: RuntimeInfo) {
  return { agentName, instanceKey, turnId: turn.agent_turn_id, traceId: turn.trace_id, runtime };
}

/** What the turn was asked to do. */
export function inputEventOf({ context, turn, instanceKey }: TurnSession, parent: InstanceMetadata | null): AgentEvent {
  const card = context.findLast((each) => each.type === "task.instruction" || each.type === "agent.answer");
  const { event_id, event_type, event } = card?.metadata ?? {};
  const isAgent = turn.parent_agent_id !== null;
  return {
    id: typeof event_id === "string" ? event_id : (card?.card_id ?? turn.agent_turn_id),
    type: typeof event_type === "string" ? event_type : "input",
    createdAt: new Date(card?.created_at ?? 0),
    source: {
      kind: isAgent ? "agent" : "connector",
      name: parent?.agent_name ?? turn.parent_agent_id ?? card?.author_id ?? "",
    },
    traceId: turn.trace_id,
    instanceKey,
    ...(typeof card?.content.text === "string" ? { input: card.content.text } : {}),
    ...(typeof event === "object" && event !== null && !Array.isArray(event) ? { metadata: event as JsonObject } : {}),
  };
}

/** `place`: the turn, or a step of it. */
export function agentsOf(session: TurnSession, place: string, extension: string): AgentsApi {
  const { worker, turn, signal } = session;
  const { project_id, channel_id, agent_id, agent_turn_id, trace_id } = turn;
  const step_id = turn.step_id ?? agent_turn_id;
  const operation = `${agent_turn_id}/${place}/${extension}`; // C2
  const caller = { project_id, channel_id, agent_id, agent_turn_id, step_id, trace_id, tool_call_id: operation };
  let runtime: AgentToolRuntime | null = null;
  let count = 0;
  const opened = () => {
    runtime ??= worker.runtimeFor(caller, signal);
    return runtime;
  };
  const eventOf = (said: { input?: string; instanceKey?: string; metadata?: JsonObject }): AgentEvent => {
    count += 1;
    const { input, instanceKey, metadata } = said;
    return {
      id: `${operation}/${count}`,
      type: "extension",
      createdAt: shownTime(worker.clock),
      source: { kind: "agent", name: session.agentName },
      traceId: trace_id,
      ...(input === undefined ? {} : { input }),
      ...(instanceKey === undefined ? {} : { instanceKey }),
      ...(metadata === undefined ? {} : { metadata }),
    };
  };
  return ownApi({
    async request({ target, timeoutMs, async: isAsync, ...said }) {
      const {
        eventId: _,
        response,
        ...answer
      } = await opened().request(target, eventOf(said), {
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        ...(isAsync === undefined ? {} : { async: isAsync }),
      });
      if (response === undefined) return { ...answer, response: "" };
      return { ...answer, response: typeof response === "string" ? response : JSON.stringify(response) };
    },
    async send({ target, ...said }) {
      const { accepted } = await opened().send(target, eventOf(said));
      return { accepted };
    },
  } satisfies AgentsApi);
}

export function newMetadata(from: unknown = {}): Record<string, JsonValue> {
  return { ...(from as Record<string, JsonValue>) };
}
