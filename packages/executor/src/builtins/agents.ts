// agents: what an agent may ask of other agents, through `ctx.runtime`.
//
//   A1. The event's id, and the name that a request is answered under, follow from the call's idempotency key, and its time is
//       that of the message that holds the call: a repeated run sends the very same event, which the runtime takes once. That
//       is why `request` and `send` are `idempotent`.
//   A2. A spawned instance without a key gets one that is derived from the call, for the same reason.
//   A3. A spawned agent's directory is inside the caller's workdir: otherwise spawning would be the way out of it.
//   A4. A host without a runtime (a tool service, say) answers `forbidden` and says so.

import { createHash } from "node:crypto";
import {
  type AgentEvent,
  type AgentToolRuntime,
  defineTool,
  type JsonObject,
  type RegisteredTool,
  type ToolContext,
  ToolError,
} from "@tessera/tool";
import { resolveInside } from "./workdir-path.ts";

const ERROR_MESSAGE_LIMIT = 1_500;
/** Of a request the argument decides; the call's own limit stands behind it. */
const TIMEOUT_MS = { default: 60_000, max: 600_000, call: 610_000, short: 30_000 };
const DERIVED_DIGITS = 12;

const target = { type: "string", minLength: 1, maxLength: 128, description: "The agent's name" } as const;
const instanceKey = { type: "string", pattern: "^[A-Za-z0-9_:.@-]{1,128}$" } as const;
const event = {
  target,
  input: { type: "string" },
  instanceKey: { ...instanceKey, description: "The caller's own if absent" },
  metadata: { type: "object" },
} as const;
const eventType = { type: "string", minLength: 1, maxLength: 128 } as const;
const common = { errorMessageLimit: ERROR_MESSAGE_LIMIT, placement: "inline" } as const;

const request = defineTool({
  ...common,
  name: "agents__request",
  description:
    "Sends a message to another agent and waits for its answer, or with async lets it come later as a message.",
  effect: "idempotent", // A1
  timeoutMs: TIMEOUT_MS.call,
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["target", "input"],
    properties: {
      ...event,
      eventType: { ...eventType, default: "agent.request" },
      timeoutMs: { type: "integer", minimum: 1, maximum: TIMEOUT_MS.max, default: TIMEOUT_MS.default },
      async: { type: "boolean", default: false },
    },
  },
  handler: async (ctx, input) => {
    const options = { timeoutMs: input.timeoutMs, async: input.async };
    const replyTo = { target: ctx.agentName, correlationId: `corr_${derivedFrom(ctx)}` }; // A1
    const result = await runtimeOf(ctx).request(input.target, { ...eventOf(ctx, input), replyTo }, options);
    return {
      target: result.target,
      eventId: result.eventId,
      correlationId: result.correlationId,
      accepted: result.accepted ?? true,
      async: result.async ?? input.async,
      response: result.response ?? null,
    };
  },
});

const send = defineTool({
  ...common,
  name: "agents__send",
  description: "Sends a message to another agent and does not wait for an answer.",
  effect: "idempotent", // A1
  timeoutMs: TIMEOUT_MS.short,
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["target", "input"],
    properties: { ...event, eventType: { ...eventType, default: "agent.send" } },
  },
  handler: async (ctx, input) => {
    const result = await runtimeOf(ctx).send(input.target, eventOf(ctx, input));
    return { target: result.target, eventId: result.eventId, accepted: result.accepted };
  },
});

const spawn = defineTool({
  ...common,
  name: "agents__spawn",
  description: "Makes an instance of another agent that then can be sent messages.",
  effect: "idempotent", // A2
  timeoutMs: TIMEOUT_MS.short,
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["target"],
    properties: {
      target,
      instanceKey: { ...instanceKey, description: "Made up if absent" },
      cwd: { type: "string", minLength: 1, description: "Its directory, relative to the working directory" },
    },
  },
  handler: async (ctx, input) => {
    const cwd = input.cwd === undefined ? {} : { cwd: (await resolveInside(ctx.workdir, input.cwd)).shown }; // A3
    const options = { instanceKey: input.instanceKey ?? derivedKey(ctx, input.target), ...cwd };
    const result = await runtimeOf(ctx).spawn(input.target, options);
    return {
      target: result.target,
      instanceKey: result.instanceKey,
      spawned: result.spawned,
      cwd: result.cwd ?? null,
    };
  },
});

const list = defineTool({
  ...common,
  name: "agents__list",
  description: "The agent instances that this one spawned; with includeAll those of others as well.",
  effect: "read",
  timeoutMs: TIMEOUT_MS.short,
  parameters: {
    type: "object",
    additionalProperties: false,
    properties: { includeAll: { type: "boolean", default: false } },
  },
  handler: async (ctx, input) => {
    const { agents } = await runtimeOf(ctx).list({ includeAll: input.includeAll });
    return { count: agents.length, agents: agents.map((agent) => ({ ...agent, cwd: agent.cwd ?? null })) };
  },
});

const catalog = defineTool({
  ...common,
  name: "agents__catalog",
  description: "The agents that exist here, and those that this one may call.",
  effect: "read",
  timeoutMs: TIMEOUT_MS.short,
  parameters: { type: "object", additionalProperties: false, properties: {} },
  handler: async (ctx) => {
    const found = await runtimeOf(ctx).catalog();
    const counts = { availableCount: found.availableAgents.length, callableCount: found.callableAgents.length };
    return { ...found, ...counts };
  },
});

export const agentsTools: readonly RegisteredTool[] = [request, send, spawn, list, catalog];

interface EventInput {
  readonly input: string;
  readonly eventType: string;
  readonly instanceKey?: string;
  readonly metadata?: JsonObject;
}

/** A1. */
function eventOf(ctx: ToolContext, input: EventInput): AgentEvent {
  return {
    id: ctx.idempotencyKey,
    type: input.eventType,
    createdAt: ctx.message.createdAt,
    source: { kind: "agent", name: ctx.agentName, instanceKey: ctx.instanceKey },
    traceId: ctx.traceId,
    input: input.input,
    instanceKey: input.instanceKey ?? ctx.instanceKey,
    ...(input.metadata === undefined ? {} : { metadata: input.metadata }),
  };
}

/** A2. */
function derivedKey(ctx: ToolContext, agent: string): string {
  return `${agent.slice(0, 100)}-instance-${derivedFrom(ctx)}`;
}

function derivedFrom(ctx: ToolContext): string {
  return createHash("sha256").update(ctx.idempotencyKey).digest("hex").slice(0, DERIVED_DIGITS);
}

/** A4. */
function runtimeOf(ctx: ToolContext): AgentToolRuntime {
  if (ctx.runtime !== undefined) return ctx.runtime;
  throw new ToolError("other agents cannot be reached from here: this host gives its tools no agent runtime", {
    code: "forbidden",
    suggestion: "Run the agents tools inline, where the agents are.",
  });
}
