// The Tool API: what a handler is given and what it may return. Names and shapes are those of Goondan's Tool API v0.0.3,
// so that a tool written for it runs unchanged; `@goondan/types` in a tool module resolves to this package.
//
//   A1. A handler sees the context below and nothing else: no store, no bus, no key. What it may ask of other agents is
//       `runtime`, and only where the host provides it.
//   A2. The fields from `signal` on are Tessera's additions. They never replace a field of the published API.

import type { JsonObject, JsonScalar, JsonValue } from "@tessera/protocol";

export type { JsonObject, JsonValue };
/** A JSON value without parts. */
export type JsonPrimitive = JsonScalar;
/** A JSON list. */
export type JsonArray = JsonValue[];

/** Does the work of a tool: gets its context and arguments, returns the result. */
export type ToolHandler = (ctx: ToolContext, input: JsonObject) => Promise<JsonValue> | JsonValue;

/** Decides about a run that was cut off: it may have had its effect or not. */
export type ToolReconcile = (ctx: ToolContext, call: ReconcileCall) => Promise<ReconcileVerdict> | ReconcileVerdict;

/** The call whose run was cut off. */
export interface ReconcileCall {
  /** Names the call. */
  readonly toolCallId: string;
  /** The tool that was called. */
  readonly toolName: string;
  /** What the run that was cut off handed to others. */
  readonly idempotencyKey: string;
  /** The arguments of the call. */
  readonly input: JsonObject;
}

/** `done`: the effect happened, and this is what the handler would have returned. `not_done`: run it now. `unknown`: it cannot be found out. */
export type ReconcileVerdict =
  | { readonly outcome: "done"; readonly output: JsonValue }
  | { readonly outcome: "not_done" }
  | { readonly outcome: "unknown" };

/** Who calls, and in which turn. */
export interface ExecutionContext {
  /** The agent that calls. */
  readonly agentName: string;
  /** Which instance of the agent: whose conversation and workspace. */
  readonly instanceKey: string;
  /** The turn that the call belongs to. */
  readonly turnId: string;
  /** The trace that the turn belongs to, in W3C's form. */
  readonly traceId: string;
}

/** What a handler is given besides its arguments. */
export interface ToolContext extends ExecutionContext {
  /** Names this call; the same for every attempt. */
  readonly toolCallId: string;
  /** The assistant message that holds this call. */
  readonly message: Message;
  /** The instance's workspace; the default directory of everything that touches files. */
  readonly workdir: string;
  /** Prints to the log of the host, with the call's name. */
  readonly logger: Console;
  /** Reaches other agents in the name of this call; absent where the host does not provide it. */
  readonly runtime?: AgentToolRuntime;
  /** Aborted when the call is canceled, timed out or lost. A handler that ignores it loses its result, not its slot. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this call: hand it to whatever you call, so that it can recognise a repeat. */
  readonly idempotencyKey: string;
  /** 1 for the first run. */
  readonly attempt: number;
  /** Says how far the work is, to observers. Best effort; never part of the result. */
  progress(update: ToolProgress): void;
}

/** How far a call is. */
export interface ToolProgress {
  /** For people who watch. */
  readonly message?: string;
  /** 0 to 1. */
  readonly fraction?: number;
  /** For programs that watch. */
  readonly data?: JsonValue;
}

/** Reaches other agents, in the name of a call. */
export interface AgentToolRuntime {
  /** Asks an agent for a turn, and waits for its answer unless `async` says otherwise. */
  request(target: string, event: AgentEvent, options?: AgentRuntimeRequestOptions): Promise<AgentRuntimeRequestResult>;
  /** Tells an agent something and waits for nothing. */
  send(target: string, event: AgentEvent): Promise<AgentRuntimeSendResult>;
  /** Makes sure that there is an instance of an agent. */
  spawn(target: string, options?: AgentRuntimeSpawnOptions): Promise<AgentRuntimeSpawnResult>;
  /** The instances that this agent spawned. */
  list(options?: AgentRuntimeListOptions): Promise<AgentRuntimeListResult>;
  /** Which agents there are, and which this one may ask. */
  catalog(): Promise<AgentRuntimeCatalogResult>;
}

/** What is sent to an agent. */
export interface AgentEvent {
  /** Names the event; the same id is the same event. */
  readonly id: string;
  /** What kind of event it is, in the sender's words. */
  readonly type: string;
  /** When it was made. */
  readonly createdAt: Date;
  /** Who sends it. */
  readonly source: { readonly kind: "agent" | "connector"; readonly name: string; readonly [key: string]: JsonValue };
  /** The trace that it belongs to. */
  readonly traceId?: string;
  /** The task, in words. */
  readonly input?: string;
  /** Which instance of the agent. */
  readonly instanceKey?: string;
  /** Whatever the sender adds. */
  readonly metadata?: JsonObject;
  /** Who it is on behalf of, as the sender says. */
  readonly auth?: JsonObject;
  /** Where an answer goes. */
  readonly replyTo?: { readonly target: string; readonly correlationId: string };
}

/** How an agent is asked. */
export interface AgentRuntimeRequestOptions {
  /** How long to wait for the answer. */
  readonly timeoutMs?: number;
  /** Answer at once; the response reaches the caller as a later message. */
  readonly async?: boolean;
}
/** What asking an agent led to. */
export interface AgentRuntimeRequestResult {
  /** The event that was sent. */
  eventId: string;
  /** Who was asked. */
  target: string;
  /** The answer; absent where it was not waited for. */
  response?: JsonValue;
  /** Ties the answer to the request. */
  correlationId: string;
  /** With `async`: whether the request was taken. */
  accepted?: boolean;
  /** True: the answer comes later, as a message. */
  async?: boolean;
}
/** The outcome of sending an event. */
export interface AgentRuntimeSendResult {
  /** The event that was sent. */
  eventId: string;
  /** Who got it. */
  target: string;
  /** Whether it was taken. */
  accepted: boolean;
}
/** Which instance is wanted. */
export interface AgentRuntimeSpawnOptions {
  /** Its key; absent: a new one. */
  readonly instanceKey?: string;
  /** A directory of this agent's workspace that its tools work in. */
  readonly cwd?: string;
}
/** The instance that there is now. */
export interface AgentRuntimeSpawnResult {
  /** The agent's name. */
  target: string;
  /** Which instance of it. */
  instanceKey: string;
  /** False: it was there before. */
  spawned: boolean;
  /** The directory that its tools work in. */
  cwd?: string;
}
/** Which instances are listed. */
export interface AgentRuntimeListOptions {
  /** True: also those that others spawned. */
  readonly includeAll?: boolean;
}
/** Instances of agents. */
export interface AgentRuntimeListResult {
  /** One by one. */
  agents: SpawnedAgentInfo[];
}
/** An instance that an agent spawned. */
export interface SpawnedAgentInfo {
  /** The agent's name. */
  target: string;
  /** Which instance of it. */
  instanceKey: string;
  /** Who spawned it. */
  ownerAgent: string;
  /** Which instance spawned it. */
  ownerInstanceKey: string;
  /** When, as ISO 8601. */
  createdAt: string;
  /** The directory that its tools work in. */
  cwd?: string;
}
/** Which agents there are around one. */
export interface AgentRuntimeCatalogResult {
  /** The swarm that it belongs to; empty without one. */
  swarmName: string;
  /** The agent that gets a task first. */
  entryAgent: string;
  /** The agent itself. */
  selfAgent: string;
  /** All agents of the swarm. */
  availableAgents: string[];
  /** Those that it may ask. */
  callableAgents: string[];
}

/** How a call of a tool ended. */
export interface ToolCallResult {
  /** Names the call. */
  readonly toolCallId: string;
  /** The tool that was called. */
  readonly toolName: string;
  /** What the handler returned; absent where it failed. */
  readonly output?: JsonValue;
  /** Whether it succeeded. */
  readonly status: "ok" | "error";
  /** Why it failed; absent where it succeeded. */
  readonly error?: ToolCallResultError;
}

/** Why a call of a tool failed. */
export interface ToolCallResultError {
  /** The class of the error. */
  readonly name?: string;
  /** What happened, for the model. */
  readonly message: string;
  /** For programs. */
  readonly code?: string;
  /** What the model should try instead. */
  readonly suggestion?: string;
  /** A page that says more. */
  readonly helpUrl?: string;
  /** The same call may work later; the kernel tries again where the tool's effect and retry policy allow it. */
  readonly retryable?: boolean;
}

/** One function of a tool, as a manifest describes it. */
export interface ToolExportSpec {
  /** `{resource}__{name}` is what the model calls. */
  name: string;
  /** What the model reads about it. */
  description?: string;
  /** JSON Schema of its arguments. */
  parameters?: JsonSchemaObject;
}

/** JSON Schema of an object, as far as manifests use it. */
export interface JsonSchemaObject {
  type: "object";
  /** Its fields. */
  properties?: Record<string, JsonSchemaProperty>;
  /** The fields that must be there. */
  required?: string[];
  /** Whether it may have others. */
  additionalProperties?: boolean;
}
/** JSON Schema of a field, as far as manifests use it. */
export interface JsonSchemaProperty {
  /** What kind of value it has. */
  type: "string" | "number" | "boolean" | "array" | "object";
  /** What the model reads about it. */
  description?: string;
  /** The values that it may have. */
  enum?: (string | number)[];
  /** Of a list: what is in it. */
  items?: JsonSchemaProperty;
  /** Is used where the field is left out. */
  default?: JsonValue;
}

/** A message as models are sent it. */
export interface CoreMessage {
  /** Who says it. */
  readonly role: "system" | "user" | "assistant" | "tool";
  /** What is said: text, or parts. */
  readonly content: unknown;
  readonly [key: string]: unknown;
}

/** A message of a conversation. */
export interface Message {
  /** Names it. */
  readonly id: string;
  /** What a model is sent. */
  readonly data: CoreMessage;
  /** Whatever is kept with it. */
  metadata: Record<string, JsonValue>;
  /** When it was written. */
  readonly createdAt: Date;
  /** Who wrote it. */
  readonly source: MessageSource;
}

/** Who wrote a message. */
export type MessageSource =
  | { type: "user" }
  | { type: "assistant"; stepId: string }
  | { type: "tool"; toolCallId: string; toolName: string }
  | { type: "system" }
  | { type: "extension"; extensionName: string };
