// The contexts of layers, made from the turn that they wrap.
//
//   C1. All layers of one onion share what may be changed (args, toolCatalog) and the metadata.
//   C2. What a layer asks of other agents is named by turn, place, extension and order, so that a step or stretch that is
//       run again starts nothing twice.

import { shownTime } from "@tessera/kernel";
import { isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import type { AgentEvent, AgentToolRuntime } from "@tessera/tool";
import { ownApi } from "@tessera/tool/run";
import type { InstanceMetadata } from "../instance.ts";
import type { TurnSession } from "../loop/turn-session.ts";
import { AWAITED } from "../runtime/awaited-turn.ts";
import type { AgentsApi, RuntimeInfo } from "./api.ts";

/** What all layers of a stretch see of the turn. `callers`: the agents behind it, who asked for it last. */
export function runtimeOf(
  session: TurnSession,
  bundleRoot: string,
  inputEvent: AgentEvent,
  callers: readonly InstanceMetadata[],
): RuntimeInfo {
  const { agentName, instanceKey, turn, profile } = session;
  const swarmName = profile.swarm?.name ?? "";
  const agents = profile.swarm?.agents ?? [agentName];
  const available = [...agents].toSorted();
  const { id, type, createdAt, source, metadata } = inputEvent;
  const call = isForAnswer(session) ? null : callOf(turn, callers);
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
    ...(call === null ? {} : { call }),
  };
}

function callOf(
  turn: TurnSession["turn"],
  callers: readonly InstanceMetadata[],
): NonNullable<RuntimeInfo["call"]> | null {
  const caller = callers.at(-1);
  if (caller === undefined) return null;
  const { agent_name: callerAgent, instance_key: callerInstanceKey } = caller;
  const replyTo = replyToOf(turn) ?? awaitedBy(turn, callerAgent);
  return {
    ...{ callerAgent, callerInstanceKey, callerTurnId: turn.parent_agent_turn_id ?? "", callSource: "agent" },
    callStack: [...new Set(callers.map(({ agent_name, instance_key }) => `${agent_name}@${instance_key}`))],
    ...(replyTo === null ? {} : { replyTo }),
  };
}

type ReplyTo = NonNullable<AgentEvent["replyTo"]>;

/** As the caller named its request (agent-runtime.ts, R9). */
function replyToOf({ metadata }: TurnSession["turn"]): ReplyTo | null {
  const { reply_target: target, reply_correlation_id: correlationId } = metadata ?? {};
  return typeof target === "string" && typeof correlationId === "string" ? { target, correlationId } : null;
}

function awaitedBy({ metadata }: TurnSession["turn"], target: string): ReplyTo | null {
  const correlationId = metadata?.tool_call_id;
  const isAwaited = metadata?.[AWAITED] !== false && typeof correlationId === "string";
  return isAwaited ? { target, correlationId } : null;
}

export function identityOf({ agentName, instanceKey, turn }: TurnSession, runtime: RuntimeInfo) {
  return { agentName, instanceKey, turnId: turn.agent_turn_id, traceId: turn.trace_id, runtime };
}

/** What the turn was asked to do. An answer that was not waited for is from the agent that gives it, not from the one that asked. */
export function inputEventOf(session: TurnSession, callers: readonly InstanceMetadata[]): AgentEvent {
  const { turn, instanceKey } = session;
  const card = inputCardOf(session);
  const { event_id, event_type, event, agent_name } = card?.metadata ?? {};
  const isAgent = turn.parent_agent_id !== null;
  const answering = isForAnswer(session) && typeof agent_name === "string" ? agent_name : null;
  const said = answering === null ? card?.content : card?.content.data;
  const replyTo = replyToOf(turn);
  return {
    id: typeof event_id === "string" ? event_id : (card?.card_id ?? turn.agent_turn_id),
    type: typeof event_type === "string" ? event_type : "input",
    createdAt: new Date(card?.created_at ?? 0),
    source: {
      kind: isAgent ? "agent" : "connector",
      name: answering ?? callers.at(-1)?.agent_name ?? turn.parent_agent_id ?? card?.author_id ?? "",
    },
    traceId: turn.trace_id,
    instanceKey,
    ...(isJsonObject(said) && typeof said.text === "string" ? { input: said.text } : {}),
    ...(isJsonObject(event) ? { metadata: event } : {}),
    ...(replyTo === null ? {} : { replyTo }),
  };
}

function inputCardOf({ context }: TurnSession) {
  return context.findLast(({ type }) => type === "task.instruction" || type === "agent.answer");
}

function isForAnswer(session: TurnSession): boolean {
  return inputCardOf(session)?.type === "agent.answer";
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
