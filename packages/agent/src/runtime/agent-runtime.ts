// ctx.runtime: what a tool may ask of other agents (seed 004). Each operation is durable and safe to repeat.
//
//   R1. An operation is named by (tool call, ordinal): a tool that runs again after a crash and does the same things in the
//       same order starts nothing twice, and finds the answers of what it had started.
//   R2. A request waits for the child's turn and not for its process; how long is the tool's own limit.
//   R3. A blocking request that would come back to an agent that waits for it would wait for ever, so it is refused. Who was
//       sent a message is not waited for: it may ask its sender, who gets to it when its own turn is over.
//   R4. Depth, trace and turn budget are the kernel's to check; a refusal is an error that the tool can read.
//   R5. An operation that was done for another agent is refused before an instance is made for it: a mistake leaves nothing.

import { createHash } from "node:crypto";
import type { Clock, Kernel, Row } from "@tessera/kernel";
import { AGENT_REQUEST_TIMEOUT_MS, isJsonObject } from "@tessera/protocol";
import {
  type AgentEvent,
  type AgentRuntimeRequestOptions,
  type AgentToolRuntime,
  type SpawnedAgentInfo,
  ToolError,
} from "@tessera/tool";
import { agentIdOf } from "../instance.ts";
import type { AgentProfile } from "../profile.ts";
import { activeSpanId } from "../telemetry/telemetry.ts";
import { AWAITED, awaitTurn, isWaitingFor, responseOf } from "./awaited-turn.ts";
import { ensureInstance, type Instance, type InstanceRequest, instanceOf } from "./instances.ts";

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

/** Of the agent's name in a key that is made up: the whole is at most 128 characters. */
const KEY_NAME_CHARS_MAX = 100;
const PAGE = 1_000;

export function createAgentRuntime(options: AgentRuntimeOptions): AgentToolRuntime {
  const { kernel, caller } = options;
  let next = options.ordinal ?? 0;
  const take = () => {
    next += 1;
    return next - 1;
  };
  // Read when first needed: most tools ask nothing of other agents.
  let known: Promise<Self> | null = null;
  const self = () => {
    known ??= selfOf(kernel, caller);
    return known;
  };

  return {
    async request(target, event, given = {}) {
      const ordinal = take();
      const instance = await targetOf(options, await self(), { target, event, ordinal });
      if (instance === null) throw unknownAgent(target);
      if (given.async !== true && (await isWaitingFor(kernel, caller, instance.agent_id))) {
        throw new ToolError(`${target} waits for this call: the request would wait for ever`, {
          code: "CIRCULAR_CALL_DETECTED",
          suggestion: "Use send, or ask another agent.",
        }); // R3
      }
      const turn = await enqueue(options, { instance, event, ordinal, isAwaited: given.async !== true });
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
      const instance = await targetOf(options, await self(), { target, event, ordinal });
      if (instance === null) return { eventId: event.id, target, accepted: false };
      await enqueue(options, { instance, event, ordinal, isAwaited: false });
      return { eventId: event.id, target, accepted: true };
    },

    async spawn(target, given = {}) {
      const ordinal = take();
      const operation = operationId(caller, ordinal);
      const made = `${target.slice(0, KEY_NAME_CHARS_MAX)}-instance-${operation.slice(-12)}`;
      const instance_key = given.instanceKey?.trim() || made;
      const instance = await memberInstance(options, await self(), target, {
        ...{ instance_key, operation },
        ...(given.cwd === undefined ? {} : { cwd: given.cwd }),
      });
      if (instance === null) throw unknownAgent(target);
      const cwd = instance.cwd === undefined ? {} : { cwd: instance.cwd };
      return { target, instanceKey: instance_key, spawned: instance.isNew, ...cwd };
    },

    async list({ includeAll = false } = {}) {
      const filter = includeAll ? {} : { owner_agent_id: caller.agent_id };
      const rows = await allAgents(kernel, caller.project_id, filter);
      return { agents: rows.flatMap(spawnedAgent).toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1)) };
    },

    async catalog() {
      const { agentName, profile } = await self();
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
  options: AgentRuntimeOptions,
  self: Self,
  { target, event, ordinal }: { readonly target: string; readonly event: AgentEvent; readonly ordinal: number },
): Promise<Instance | null> {
  const { kernel, caller } = options;
  const instance_key = event.instanceKey?.trim() || self.instanceKey;
  const done = await kernel.reads.turn(caller.project_id, turnIdOf(caller, ordinal));
  if (done !== null && done.agent_id !== agentIdOf(caller.project_id, target, instance_key)) {
    throw notTaken(target, "conflict"); // R5
  }
  return await memberInstance(options, self, target, { instance_key });
}

/** An instance of a defined agent of the caller's swarm, made where there is none. Null: there is no such agent. */
async function memberInstance(
  { kernel, caller: { project_id, agent_id } }: AgentRuntimeOptions,
  self: Self,
  target: string,
  wanted: Pick<InstanceRequest, "instance_key" | "cwd" | "operation">,
): Promise<Instance | null> {
  const members = self.profile.swarm?.agents;
  if (members !== undefined && !members.includes(target)) return null;
  if ((await kernel.reads.profile(project_id, target)) === null) return null;
  return await ensureInstance(kernel, {
    ...wanted,
    project_id,
    agent_name: target,
    owner_agent_id: agent_id,
    owner: { agent_name: self.agentName, instance_key: self.instanceKey },
  });
}

async function allAgents(kernel: Kernel, projectId: string, filter: { owner_agent_id?: string }): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after = ""; ; after = String(rows.at(-1)?.agent_id)) {
    const page = await kernel.reads.agents(projectId, { ...filter, after, limit: PAGE });
    rows.push(...page);
    if (page.length < PAGE) return rows;
  }
}

async function enqueue(
  { kernel, caller }: AgentRuntimeOptions,
  order: {
    readonly instance: Instance;
    readonly event: AgentEvent;
    readonly ordinal: number;
    /** Whether the caller waits for the turn (R3). */
    readonly isAwaited: boolean;
  },
) {
  const { instance, event, ordinal, isAwaited } = order;
  const id = operationId(caller, ordinal);
  const span_id = activeSpanId();
  const outcome = await kernel.enqueueTurn({
    project_id: caller.project_id,
    agent_id: instance.agent_id,
    channel_id: caller.channel_id,
    agent_turn_id: turnIdOf(caller, ordinal),
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
        // Never blank: a model that is asked nothing has nothing to answer.
        content: { text: event.input?.trim() ? event.input : `[${event.type}]` },
        metadata: { event_id: event.id, event_type: event.type, ...(event.metadata ? { event: event.metadata } : {}) },
      },
    ],
    display_name: instance.agent_name,
    metadata: { tool_call_id: caller.tool_call_id, [AWAITED]: isAwaited },
  });
  if (outcome.outcome !== "rejected") return outcome; // a duplicate is the same operation again (R1)
  throw notTaken(instance.agent_name, outcome.code); // R4
}

function notTaken(agentName: string, code: string): ToolError {
  return new ToolError(`${agentName} did not take the request: ${code}`, { code });
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
function turnIdOf(caller: RuntimeCaller, ordinal: number): string {
  return `turn_${operationId(caller, ordinal)}`;
}

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
