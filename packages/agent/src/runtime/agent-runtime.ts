// ctx.runtime: what a tool may ask of other agents (docs/protocol/tool-api.md#ctxruntime). Each operation is durable and safe to
// repeat.
//
//   R1. An operation is named by (tool call, ordinal): a tool that runs again after a crash and does the same things in the
//       same order starts nothing twice, and finds the answers of what it had started.
//   R2. A request waits for the child's turn and not for its process; how long is the tool's own limit.
//   R3. A blocking request that would come back to an agent that waits for it would wait for ever, so it is refused. Who was
//       sent a message is not waited for: it may ask its sender, who gets to it when its own turn is over.
//   R4. Depth, trace and turn budget are the kernel's to check; a refusal is an error that the tool can read.
//   R5. An operation that was done for another agent is refused before an instance is made for it: a mistake leaves nothing.
//   R6. What a policy denies is refused here, where every placement passes: before an instance is made, and before it is told
//       whether an agent of that name exists. It is a row of the audit log, once for a call; over HTTP the server writes it.
//   R7. Code from outside (an executor key's) reaches instances of its caller's own key and those that its caller made: with any
//       other key it could read along in another caller's conversation. `list` and `catalog` return nothing else to it.
//   R8. The answer of a request with `async: true` comes into the conversation of the agent that asked, once: before the next step
//       of its running turn, or with a turn of its own (kernel's 34_conversations.sql). A call that a program asked for and an action of a user
//       interface have no conversation: their answer is the deliverable of the turn that was asked for.
//   R9. The caller's own name for a request (`replyTo.correlationId`) is kept with the turn and is the answer's. Of an operation
//       that is done again the first name counts: it is what the other agent was sent.
//   R10. A spawned instance may be given a directory inside its caller's workdir, and keeps it for its tools wherever they run. Here
//       it is names only, none of them upwards; the host of the calling tool has resolved links, and the host of the instance's
//       tools follows none (executor's workspaces, W4).

import { createHash } from "node:crypto";
import type { Clock, Kernel, Row } from "@tessera/kernel";
import {
  AGENT_REQUEST_TIMEOUT_MS,
  type DelegatedOperation,
  isJsonObject,
  isToolDelegationAllowed,
  readToolDelegationPolicy,
  type SharedWorkdir,
  type ToolDelegation,
} from "@tessera/protocol";
import {
  type AgentEvent,
  type AgentRuntimeRequestOptions,
  type AgentToolRuntime,
  type SpawnedAgentInfo,
  ToolError,
} from "@tessera/tool";
import { agentIdOf } from "../instance.ts";
import { type AgentProfile, profileOfCard, TOOL_CALLER_TARGET, UI_WORKER_TARGET } from "../profile.ts";
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
  /** Where the code is from, and the policies that came with it; absent: the bundle's, with none. */
  readonly from?: ToolDelegation;
  /** Where a program outside names its operations itself; absent: in the order they are asked for (R1). */
  readonly ordinal?: number;
  readonly signal?: AbortSignal;
  /** Lets go of the host's place for running turns while a request waits: the child needs one, too. */
  readonly whileWaiting?: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Of the agent's name in a key that is made up: the whole is at most 128 characters. */
const KEY_NAME_CHARS_MAX = 100;
/** Of what a caller names its requests by. */
const REPLY_CHARS_MAX = 256;
const PATH_CHARS_MAX = 4_096;
const PAGE = 1_000;
/** Targets of workers whose agents think with no model. */
const WITHOUT_MODEL: ReadonlySet<string> = new Set([TOOL_CALLER_TARGET, UI_WORKER_TARGET]);

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
    known ??= selfOf(options);
    return known;
  };

  return {
    async request(target, event, given = {}) {
      const ordinal = take();
      const instance = await targetOf(options, await self(), { target, event, ordinal, operation: "request" });
      if (instance === null) throw unknownAgent(target);
      if (given.async !== true && (await isWaitingFor(kernel, caller, instance.agent_id))) {
        throw new ToolError(`${target} waits for this call: the request would wait for ever`, {
          code: "CIRCULAR_CALL_DETECTED",
          suggestion: "Use send, or ask another agent.",
        }); // R3
      }
      const isAwaited = given.async !== true;
      const isAnswered = !isAwaited && (await self()).hasConversation;
      const turn = await enqueue(options, { instance, event, ordinal, isAwaited, isAnswered });
      const correlationId = await correlationOf(options, turn, event);
      if (!isAwaited) return { eventId: event.id, target, correlationId, accepted: true, async: true };
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
        correlationId,
      };
    },

    async send(target, event) {
      const ordinal = take();
      const instance = await targetOf(options, await self(), { target, event, ordinal, operation: "send" });
      if (instance === null) return { eventId: event.id, target, accepted: false };
      await enqueue(options, { instance, event, ordinal, isAwaited: false, isAnswered: false });
      return { eventId: event.id, target, accepted: true };
    },

    async spawn(target, given = {}) {
      const ordinal = take();
      const operation = operationId(caller, ordinal);
      const made = `${target.slice(0, KEY_NAME_CHARS_MAX)}-instance-${operation.slice(-12)}`;
      const instance_key = given.instanceKey?.trim() || made;
      const instance = await memberInstance(options, await self(), ["spawn", target], {
        ...{ instance_key, operation },
        ...(given.cwd === undefined ? {} : directoryIn((await self()).workdir, given.cwd)), // R10
      });
      if (instance === null) throw unknownAgent(target);
      const cwd = instance.cwd === undefined ? {} : { cwd: instance.cwd };
      return { target, instanceKey: instance_key, spawned: instance.isNew, ...cwd };
    },

    async list({ includeAll = false } = {}) {
      const isAll = includeAll && !(await self()).delegation.isForeign; // R7
      const filter = isAll ? {} : { owner_agent_id: caller.agent_id };
      const rows = await allAgents(kernel, caller.project_id, filter);
      return { agents: rows.flatMap(spawnedAgent).toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1)) };
    },

    async catalog() {
      const { agentName, profile, delegation } = await self();
      const rows = await kernel.reads.profiles(caller.project_id);
      const members = profile?.swarm?.agents ?? rows.map((row) => row.name);
      const isReachable = (name: string) => {
        const row = rows.find((each) => each.name === name) ?? { name, tags: [] };
        return name === agentName || isToolDelegationAllowed(delegation, null, row);
      };
      const available = members.filter(isReachable).toSorted(); // R7
      return {
        swarmName: profile?.swarm?.name ?? "",
        entryAgent: profile?.swarm?.entry_agent ?? agentName,
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
  readonly profile: AgentProfile | null;
  readonly workdir: SharedWorkdir;
  readonly delegation: ToolDelegation;
  /** Whether there is a model that can be given an answer (R8). */
  readonly hasConversation: boolean;
  isDenialNoted: boolean;
}

async function selfOf({ kernel, caller, from }: AgentRuntimeOptions): Promise<Self> {
  const row = await kernel.reads.agent(caller.project_id, caller.agent_id);
  const instance = row === null ? null : instanceOf(row);
  const [card] = await kernel.reads.boxCards(caller.project_id, String(row?.profile_box_id ?? ""), { limit: 1 });
  const profile = profileOfCard(card?.content);
  return {
    agentName: instance?.agent_name ?? caller.agent_id,
    instanceKey: instance?.instance_key ?? caller.agent_id,
    profile,
    hasConversation: !WITHOUT_MODEL.has(String(row?.worker_target)),
    workdir: instance?.workdir ?? { agent_id: caller.agent_id, path: "" },
    delegation: {
      isForeign: from?.isForeign ?? false,
      policies: [
        ...(from?.policies ?? []),
        await toolPolicyOf(kernel, caller),
        readToolDelegationPolicy(profile?.tool_delegation_policy),
      ].filter((policy) => policy !== null),
    },
    isDenialNoted: false,
  };
}

/** The caller's own instance key where the event names none. */
async function targetOf(
  options: AgentRuntimeOptions,
  self: Self,
  order: {
    readonly target: string;
    readonly event: AgentEvent;
    readonly ordinal: number;
    readonly operation: DelegatedOperation;
  },
): Promise<Instance | null> {
  const { kernel, caller } = options;
  const { target, event, ordinal, operation } = order;
  const instance_key = event.instanceKey?.trim() || self.instanceKey;
  const done = await kernel.reads.turn(caller.project_id, turnIdOf(caller, ordinal));
  if (done !== null && done.agent_id !== agentIdOf(caller.project_id, target, instance_key)) {
    throw notTaken(target, "conflict"); // R5
  }
  return await memberInstance(options, self, [operation, target], { instance_key });
}

/** An instance of a defined agent of the caller's swarm, made where there is none. Null: there is no such agent. */
async function memberInstance(
  options: AgentRuntimeOptions,
  self: Self,
  [operation, target]: readonly [DelegatedOperation, string],
  wanted: Pick<InstanceRequest, "instance_key" | "cwd" | "workdir" | "operation">,
): Promise<Instance | null> {
  const { kernel, caller } = options;
  const { project_id, agent_id } = caller;
  if (!isToolDelegationAllowed(self.delegation, operation)) throw await denied(options, self, operation, target); // R6
  const members = self.profile?.swarm?.agents;
  if (members !== undefined && !members.includes(target)) return null;
  const profile = await kernel.reads.profile(project_id, target);
  if (profile === null) return null;
  const isAllowed = isToolDelegationAllowed(self.delegation, operation, profile);
  if (!isAllowed || !(await mayUse(options, self, agentIdOf(project_id, target, wanted.instance_key), wanted))) {
    throw await denied(options, self, operation, target); // R6, R7
  }
  return await ensureInstance(kernel, {
    ...wanted,
    project_id,
    agent_name: target,
    owner_agent_id: agent_id,
    owner: { agent_name: self.agentName, instance_key: self.instanceKey },
  });
}

/** R7 */
async function mayUse(
  { kernel, caller }: AgentRuntimeOptions,
  { delegation, instanceKey }: Self,
  agentId: string,
  { instance_key }: Pick<InstanceRequest, "instance_key">,
): Promise<boolean> {
  if (!delegation.isForeign || instance_key === instanceKey) return true;
  const row = await kernel.reads.agent(caller.project_id, agentId);
  return row === null || row.owner_agent_id === caller.agent_id;
}

/** R6 */
async function denied(
  { kernel, caller }: AgentRuntimeOptions,
  self: Self,
  operation: DelegatedOperation,
  target: string,
): Promise<ToolError> {
  if (!self.delegation.isForeign && !self.isDenialNoted) {
    self.isDenialNoted = true;
    await kernel.putAudit({
      ...{ project_id: caller.project_id, kind: "runtime", code: "delegation_denied", principal: caller.agent_id },
      ...{ agent_turn_id: caller.agent_turn_id, tool_call_id: caller.tool_call_id },
      detail: { operation, target: target.slice(0, KEY_NAME_CHARS_MAX) },
    });
  }
  return new ToolError(`no delegation policy lets this tool ${operation} ${JSON.stringify(target.slice(0, 100))}`, {
    code: "delegation_denied",
    suggestion: "Allow the operation and the agent in the policy of the tool, the agent or the executor's key.",
  });
}

/** The definition that the call was made with; a built-in tool or one of an extension has none in the registry. */
async function toolPolicyOf(kernel: Kernel, { project_id, tool_call_id }: RuntimeCaller) {
  const call = await kernel.reads.call(project_id, tool_call_id);
  if (typeof call?.tool_digest !== "string") return null;
  const version = await kernel.reads.toolByDigest(project_id, String(call.tool_name), call.tool_digest);
  return readToolDelegationPolicy(isJsonObject(version?.options) ? version.options.delegation_policy : undefined);
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
    /** Whether its end comes into the caller's conversation (R8). */
    readonly isAnswered: boolean;
  },
) {
  const { instance, event, ordinal, isAwaited, isAnswered } = order;
  const id = operationId(caller, ordinal);
  const span_id = activeSpanId();
  const replyTo = replyToOf(event);
  const outcome = await kernel.enqueueTurn({
    project_id: caller.project_id,
    agent_id: instance.agent_id,
    channel_id: caller.channel_id,
    agent_turn_id: turnIdOf(caller, ordinal),
    correlation_id: `rt_${id}`,
    trace_id: caller.trace_id,
    span_id,
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
        metadata: {
          ...{ event_id: event.id, event_type: event.type, ...replyTo },
          ...(event.metadata ? { event: event.metadata } : {}),
        },
      },
    ],
    display_name: instance.agent_name,
    metadata: { tool_call_id: caller.tool_call_id, [AWAITED]: isAwaited, ...replyTo },
    answers_parent: isAnswered,
  });
  if (outcome.outcome !== "rejected") return outcome; // a duplicate is the same operation again (R1)
  throw notTaken(instance.agent_name, outcome.code); // R4
}

/** R10 */
function directoryIn(base: SharedWorkdir, cwd: string): { readonly cwd: string; readonly workdir: SharedWorkdir } {
  const names = cwd.split("/").filter((name) => name !== "" && name !== ".");
  const isInside = !cwd.startsWith("/") && !names.includes("..") && !cwd.includes("\0");
  const path = [base.path, ...names].filter((part) => part !== "").join("/");
  if (!isInside || path.length > PATH_CHARS_MAX) {
    throw new ToolError(`cwd ${JSON.stringify(cwd.slice(0, 100))} is not inside the working directory of the caller`, {
      code: "path_outside_workdir",
      suggestion: "Give a directory relative to the caller's working directory, without ..",
    });
  }
  return { cwd: names.length === 0 ? "." : names.join("/"), workdir: { agent_id: base.agent_id, path } };
}

/** R9. Kept under these names with the turn, and with the card of what was asked. */
function replyToOf({ replyTo }: AgentEvent): {
  readonly reply_target?: string;
  readonly reply_correlation_id?: string;
} {
  if (!isJsonObject(replyTo)) return {};
  const { target, correlationId } = replyTo;
  if (typeof target !== "string" || typeof correlationId !== "string" || correlationId === "") return {};
  if (Math.max(target.length, correlationId.length) > REPLY_CHARS_MAX) {
    throw new ToolError(`target and correlationId of replyTo have at most ${REPLY_CHARS_MAX} characters`, {
      code: "bad_request",
    });
  }
  return { reply_target: target, reply_correlation_id: correlationId };
}

/** R9 */
async function correlationOf(
  { kernel, caller }: AgentRuntimeOptions,
  turn: Awaited<ReturnType<typeof enqueue>>,
  event: AgentEvent,
): Promise<string> {
  const own = replyToOf(event).reply_correlation_id;
  if (turn.outcome === "accepted") return own ?? turn.correlation_id;
  const first = await kernel.reads.turn(caller.project_id, turn.agent_turn_id);
  const kept = isJsonObject(first?.metadata) ? first.metadata.reply_correlation_id : undefined;
  return typeof kept === "string" ? kept : turn.correlation_id;
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
