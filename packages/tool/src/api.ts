// The Tool API: what a handler is given and what it may return. Names and shapes are those of Goondan's Tool API v0.0.3,
// so that a tool written for it runs unchanged; `@goondan/types` in a tool module resolves to this package.
//
//   A1. A handler sees the context below and nothing else: no store, no bus, no key. What it may ask of other agents is
//       `runtime`, and only where the host provides it.
//   A2. The fields from `signal` on are Tessera's additions. They never replace a field of the published API.

import type { JsonObject, JsonScalar, JsonValue } from "@tessera/protocol";

export type { JsonObject, JsonValue };
export type JsonPrimitive = JsonScalar;
export type JsonArray = JsonValue[];

export type ToolHandler = (ctx: ToolContext, input: JsonObject) => Promise<JsonValue> | JsonValue;

/** Decides about a run that was cut off: it may have had its effect or not (docs/design.md#effects). */
export type ToolReconcile = (ctx: ToolContext, call: ReconcileCall) => Promise<ReconcileVerdict> | ReconcileVerdict;

export interface ReconcileCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly idempotencyKey: string;
  readonly input: JsonObject;
}

/** `done`: the effect happened, and this is what the handler would have returned. `not_done`: run it now. `unknown`: nobody can tell. */
export type ReconcileVerdict =
  | { readonly outcome: "done"; readonly output: JsonValue }
  | { readonly outcome: "not_done" }
  | { readonly outcome: "unknown" };

export interface ExecutionContext {
  readonly agentName: string;
  readonly instanceKey: string;
  readonly turnId: string;
  readonly traceId: string;
}

export interface ToolContext extends ExecutionContext {
  readonly toolCallId: string;
  /** The assistant message that holds this call. */
  readonly message: Message;
  /** The instance's workspace; the default directory of everything that touches files. */
  readonly workdir: string;
  readonly logger: Console;
  readonly runtime?: AgentToolRuntime;
  /** Aborted when the call is canceled, timed out or lost. A handler that ignores it loses its result, not its slot. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this call: hand it to whatever you call, so that it can tell a repeat. */
  readonly idempotencyKey: string;
  /** 1 for the first run. */
  readonly attempt: number;
  /** Says how far the work is, to whoever watches. Best effort; never part of the result. */
  progress(update: ToolProgress): void;
}

export interface ToolProgress {
  readonly message?: string;
  /** 0 to 1. */
  readonly fraction?: number;
  readonly data?: JsonValue;
}

export interface AgentToolRuntime {
  request(target: string, event: AgentEvent, options?: AgentRuntimeRequestOptions): Promise<AgentRuntimeRequestResult>;
  send(target: string, event: AgentEvent): Promise<AgentRuntimeSendResult>;
  spawn(target: string, options?: AgentRuntimeSpawnOptions): Promise<AgentRuntimeSpawnResult>;
  list(options?: AgentRuntimeListOptions): Promise<AgentRuntimeListResult>;
  catalog(): Promise<AgentRuntimeCatalogResult>;
}

export interface AgentEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: Date;
  readonly source: { readonly kind: "agent" | "connector"; readonly name: string; readonly [key: string]: JsonValue };
  readonly traceId?: string;
  readonly input?: string;
  readonly instanceKey?: string;
  readonly metadata?: JsonObject;
  readonly auth?: JsonObject;
  readonly replyTo?: { readonly target: string; readonly correlationId: string };
}

export interface AgentRuntimeRequestOptions {
  readonly timeoutMs?: number;
  /** Answer at once; the response reaches the caller as a later message. */
  readonly async?: boolean;
}
export interface AgentRuntimeRequestResult {
  eventId: string;
  target: string;
  response?: JsonValue;
  correlationId: string;
  accepted?: boolean;
  async?: boolean;
}
export interface AgentRuntimeSendResult {
  eventId: string;
  target: string;
  accepted: boolean;
}
export interface AgentRuntimeSpawnOptions {
  readonly instanceKey?: string;
  readonly cwd?: string;
}
export interface AgentRuntimeSpawnResult {
  target: string;
  instanceKey: string;
  spawned: boolean;
  cwd?: string;
}
export interface AgentRuntimeListOptions {
  readonly includeAll?: boolean;
}
export interface AgentRuntimeListResult {
  agents: SpawnedAgentInfo[];
}
export interface SpawnedAgentInfo {
  target: string;
  instanceKey: string;
  ownerAgent: string;
  ownerInstanceKey: string;
  createdAt: string;
  cwd?: string;
}
export interface AgentRuntimeCatalogResult {
  swarmName: string;
  entryAgent: string;
  selfAgent: string;
  availableAgents: string[];
  callableAgents: string[];
}

export interface ToolCallResult {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output?: JsonValue;
  readonly status: "ok" | "error";
  readonly error?: ToolCallResultError;
}

export interface ToolCallResultError {
  readonly name?: string;
  readonly message: string;
  readonly code?: string;
  readonly suggestion?: string;
  readonly helpUrl?: string;
  /** The same call may work later; the kernel tries again where the tool's effect and retry policy allow it. */
  readonly retryable?: boolean;
}

export interface ToolExportSpec {
  /** `{resource}__{name}` is what the model calls. */
  name: string;
  description?: string;
  parameters?: JsonSchemaObject;
}

export interface JsonSchemaObject {
  type: "object";
  properties?: Record<string, JsonSchemaProperty>;
  required?: string[];
  additionalProperties?: boolean;
}
export interface JsonSchemaProperty {
  type: "string" | "number" | "boolean" | "array" | "object";
  description?: string;
  enum?: (string | number)[];
  items?: JsonSchemaProperty;
  default?: JsonValue;
}

export interface CoreMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: unknown;
  readonly [key: string]: unknown;
}

export interface Message {
  readonly id: string;
  readonly data: CoreMessage;
  metadata: Record<string, JsonValue>;
  readonly createdAt: Date;
  readonly source: MessageSource;
}

export type MessageSource =
  | { type: "user" }
  | { type: "assistant"; stepId: string }
  | { type: "tool"; toolCallId: string; toolName: string }
  | { type: "system" }
  | { type: "extension"; extensionName: string };
