// ctx.runtime: what a tool may ask of other agents (seed 004). Each operation is durable and safe to repeat.
//
//   R1. An operation is named by (tool call, ordinal): a tool that runs again after a crash and does the same things in the
//       same order starts nothing twice, and finds the answers of what it had started.
//   R2. A request waits for the child's turn and not for its process; how long is the tool's own limit.
//   R3. A blocking request that would come back to an agent that waits for it would wait for ever, so it is refused.
//   R4. Depth, trace and turn budget are the kernel's to check; a refusal is an error that the tool can read.

import { createHash } from "node:crypto";
import type { Clock, Kernel, Row } from "@tessera/kernel";
import { AGENT_REQUEST_TIMEOUT_MS, isJsonObject } from "@tessera/protocol";
import {
  type AgentEvent,
  type AgentRuntimeRequestOptions,
  type AgentToolRuntime,
  type JsonValue,
  type SpawnedAgentInfo,
  ToolError,
} from "@tessera/tool";
import type { AgentProfile } from "../profile.ts";
import { activeSpanId } from "../telemetry/telemetry.ts";
import { ensureInstance, type Instance, instanceOf } from "./instances.ts";

/** The call on whose behalf the runtime acts. */
export interface RuntimeCaller {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly step_id: string;
  readonly tool_call_id: string;
  readonly trace_id: string;
}

export interface AgentRuntimeOptions {
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly caller: RuntimeCaller;
  /** Where a program outside names its operations itself; absent: in the order they are asked for (R1). */
  readonly ordinal?: number;
  readonly signal?: AbortSignal;
  /** Lets go of the host's place for running turns while a request waits: the child needs one, too. */
  readonly whileWaiting?: <T>(work: () => Promise<T>) => Promise<T>;
}

const LOOK_FIRST_MS = 20;
const LOOK_MAX_MS = 500;
/** Deeper chains are refused by the kernel anyway. */
const CHAIN_MAX = 32;

export function createAgentRuntime(options: AgentRuntimeOptions): AgentToolRuntime {
  const { kernel, caller } = options;
  let next = options.ordinal ?? 0;
  const take = () => {
    next += 1;
    return next - 1;
  };
  const self = selfOf(kernel, caller);

  return {
    async request(target, event, given = {}) {
      const ordinal = take();
      const instance = await targetOf(options, await self, target, event);
      if (instance === null) throw unknownAgent(target);
      if (given.async !== true && (await isWaitingFor(kernel, caller, instance.agent_id))) {
        throw new ToolError(`${target} waits for this call: the request would wait for ever`, {
          code: "CIRCULAR_CALL_DETECTED",
          suggestion: "Use send, or ask another agent.",
        }); // R3
      }
      const turn = await enqueue(options, instance, event, ordinal);
      if (given.async === true) {
        return { eventId: event.id, target, correlationId: turn.correlation_id, accepted: true, async: true };
      }
      const { whileWaiting = (work) => work() } = options;
      const ended = await whileWaiting(() => awaitTurn(options, turn.agent_turn_id, timeoutOf(given)));
      if (ended === null) {
        throw new ToolError(`${target} did not answer within ${timeoutOf(given)} ms`, {
          code: "AGENT_REQUEST_TIMEOUT",
        });
      }
      return {
        eventId: String(ended.deliverable_card_id),
        target,
        response: await responseOf(options, target, ended),
        correlationId: turn.correlation_id,
      };
    },

    async send(target, event) {
      const ordinal = take();
      const instance = await targetOf(options, await self, target, event);
      if (instance === null) return { eventId: event.id, target, accepted: false };
      await enqueue(options, instance, event, ordinal);
      return { eventId: event.id, target, accepted: true };
    },

    async spawn(target, given = {}) {
      const ordinal = take();
      const { agentName, instanceKey } = await self;
      const key = given.instanceKey?.trim() || `${target}-instance-${operationId(caller, ordinal).slice(-12)}`;
      const instance = await ensureInstance(kernel, {
        project_id: caller.project_id,
        agent_name: target,
        instance_key: key,
        owner_agent_id: caller.agent_id,
        owner: { agent_name: agentName, instance_key: instanceKey },
        ...(given.cwd === undefined ? {} : { cwd: given.cwd }),
      });
      if (instance === null) throw unknownAgent(target);
      const cwd = given.cwd === undefined ? {} : { cwd: given.cwd };
      return { target, instanceKey: key, spawned: instance.isNew, ...cwd };
    },

    async list({ includeAll = false } = {}) {
      const filter = includeAll ? {} : { owner_agent_id: caller.agent_id };
      const rows = await kernel.reads.agents(caller.project_id, filter);
      return { agents: rows.flatMap(spawnedAgent).toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1)) };
    },

    async catalog() {
      const { agentName, profile } = await self;
      const names = (await kernel.reads.profiles(caller.project_id)).map((row) => row.name);
      const available = [...(profile.swarm?.agents ?? names)].toSorted();
      return {
        swarmName: profile.swarm?.name ?? "",
        entryAgent: profile.swarm?.entry_agent ?? agentName,
        selfAgent: agentName,
        availableAgents: available,
        callableAgents: available.filter((name) => name !== agentName),
      };
    },
  };
}

interface Self {
  readonly agentName: string;
  readonly instanceKey: string;
  readonly profile: AgentProfile;
}

async function selfOf(kernel: Kernel, caller: RuntimeCaller): Promise<Self> {
  const row = await kernel.reads.agent(caller.project_id, caller.agent_id);
  const instance = row === null ? null : instanceOf(row);
  const [card] = await kernel.reads.boxCards(caller.project_id, String(row?.profile_box_id ?? ""), { limit: 1 });
  const data = isJsonObject(card?.content) ? card.content.data : null;
  const profile = (isJsonObject(data) ? data : { swarm: null }) as unknown as AgentProfile;
  return {
    agentName: instance?.agent_name ?? caller.agent_id,
    instanceKey: instance?.instance_key ?? caller.agent_id,
    profile,
  };
}

/** The caller's own instance key where the event names none (reference Part 3, row 48). */
async function targetOf(
  { kernel, caller }: AgentRuntimeOptions,
  self: Self,
  target: string,
  event: AgentEvent,
): Promise<Instance | null> {
  const members = self.profile.swarm?.agents;
  if (members !== undefined && !members.includes(target)) return null;
  const instance_key = event.instanceKey ?? self.instanceKey;
  return await ensureInstance(kernel, {
    project_id: caller.project_id,
    agent_name: target,
    instance_key,
    owner_agent_id: caller.agent_id,
    owner: { agent_name: self.agentName, instance_key: self.instanceKey },
  });
}

async function enqueue(
  { kernel, caller }: AgentRuntimeOptions,
  instance: Instance,
  event: AgentEvent,
  ordinal: number,
) {
  const id = operationId(caller, ordinal);
  const span_id = activeSpanId();
  const outcome = await kernel.enqueueTurn({
    project_id: caller.project_id,
    agent_id: instance.agent_id,
    channel_id: caller.channel_id,
    agent_turn_id: `turn_${id}`,
    correlation_id: `rt_${id}`,
    trace_id: caller.trace_id,
    ...(span_id === undefined ? {} : { span_id }),
    depth_policy: "descend",
    parent_agent_turn_id: caller.agent_turn_id,
    parent_step_id: caller.step_id,
    source_agent_id: caller.agent_id,
    context_cards: [
      {
        card_id: `card_${id}`,
        type: "task.instruction",
        author_id: caller.agent_id,
        content: { text: event.input ?? "" },
        metadata: { event_id: event.id, event_type: event.type, ...(event.metadata ? { event: event.metadata } : {}) },
      },
    ],
    display_name: instance.agent_name,
  });
  if (outcome.outcome !== "rejected") return outcome; // a duplicate is the same operation again (R1)
  throw new ToolError(`${instance.agent_name} did not take the request: ${outcome.code}`, { code: outcome.code }); // R4
}

/** R2. Null: not within the time. */
async function awaitTurn(
  { kernel, clock, caller, signal }: AgentRuntimeOptions,
  turnId: string,
  timeoutMs: number,
): Promise<Row | null> {
  const until = clock.monotonicMs() + timeoutMs;
  for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
    const turn = await kernel.reads.turn(caller.project_id, turnId);
    if (turn?.ended_at) return turn;
    if (signal?.aborted) throw new ToolError("the call was canceled", { code: "canceled" });
    if (clock.monotonicMs() >= until) return null;
    await new Promise<void>((resolve) => void clock.after(Math.min(pauseMs, until - clock.monotonicMs()), resolve));
  }
}

/** The deliverable's text where it is text, else its JSON. A turn that failed is an error with its code. */
async function responseOf({ kernel, caller }: AgentRuntimeOptions, target: string, turn: Row): Promise<JsonValue> {
  if (turn.status !== "success" && turn.status !== "partial") {
    const code = typeof turn.error_code === "string" ? turn.error_code : "AGENT_REQUEST_ERROR";
    throw new ToolError(`${target} ended ${turn.status}: ${turn.error_message ?? code}`, { code });
  }
  const [card] = await kernel.reads.cards(caller.project_id, [String(turn.deliverable_card_id)]);
  const content = card?.content;
  if (isJsonObject(content) && typeof content.text === "string") return content.text;
  return (isJsonObject(content) ? (content.data ?? null) : null) as JsonValue;
}

/** Whether the target waits, directly or through others, for the turn that asks (R3). */
async function isWaitingFor(kernel: Kernel, caller: RuntimeCaller, targetId: string): Promise<boolean> {
  if (targetId === caller.agent_id) return true;
  let turnId: string | null = caller.agent_turn_id;
  for (let n = 0; turnId !== null && n < CHAIN_MAX; n += 1) {
    const turn: Row | null = await kernel.reads.turn(caller.project_id, turnId);
    if (turn === null) return false;
    if (turn.parent_agent_id === targetId) return true;
    turnId = typeof turn.parent_agent_turn_id === "string" ? turn.parent_agent_turn_id : null;
  }
  return false;
}

function spawnedAgent(row: Row): SpawnedAgentInfo[] {
  const instance = instanceOf(row);
  if (instance?.owner_agent === undefined) return [];
  return [
    {
      target: instance.agent_name,
      instanceKey: instance.instance_key,
      ownerAgent: instance.owner_agent,
      ownerInstanceKey: instance.owner_instance_key ?? "",
      createdAt: new Date(String(row.created_at)).toISOString(),
      ...(instance.cwd === undefined ? {} : { cwd: instance.cwd }),
    },
  ];
}

/** R1 */
function operationId({ project_id, tool_call_id }: RuntimeCaller, ordinal: number): string {
  return createHash("sha256")
    .update(JSON.stringify([project_id, tool_call_id, ordinal]))
    .digest("hex")
    .slice(0, 32);
}

function timeoutOf({ timeoutMs }: AgentRuntimeRequestOptions): number {
  return Number.isInteger(timeoutMs) && Number(timeoutMs) > 0 ? Number(timeoutMs) : AGENT_REQUEST_TIMEOUT_MS;
}

function unknownAgent(target: string): ToolError {
  return new ToolError(`there is no agent ${JSON.stringify(target)} in this swarm`, { code: "AGENT_NOT_FOUND" });
}
