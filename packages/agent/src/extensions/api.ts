// The Extension API: what `register(api, config)` is given and what its layers see (reference §15).
//
//   A1. A layer wraps what is inside it: code before `next()`, the inside, code after it. `next()` may be called once.
//   A2. To keep a tool from running, a toolCall layer returns a result without calling `next()`. A layer that throws, answers
//       wrongly or takes too long keeps it from running as well (`onError: fail`), unless `onError: skip` says that it only
//       observes.
//   A3. A turn that waits for others lets go of its worker, so a `turn` layer wraps each stretch of it: `isResumed` tells
//       the later ones. What must outlast a stretch belongs in `api.state`.
//   A4. A call that runs elsewhere (service, edge, PMO) is wrapped before it is sent: `next()` answers `pending`, and its
//       result comes with a later step.

import type {
  AgentEvent,
  AgentRuntimeRequestResult,
  AgentRuntimeSendResult,
  ExecutionContext,
  JsonObject,
  JsonValue,
  ToolCallResult,
  ToolHandler,
} from "@tessera/tool";
import type { ModelMessage } from "ai";

export type LayerType = "turn" | "step" | "toolCall";

/**
 * What a layer that throws, answers wrongly or takes too long means for what it wraps.
 * `fail` (default): it is not let through. A tool does not run and the model reads `extension_failed`; a step or a turn ends
 * the turn with this code. If a tool had run already, its effect stands and its result is kept in the card, but the model
 * reads that it ran and not the result, which the layer may have been there to change.
 * `skip`: as if the layer were not there. For layers that only observe.
 */
export type OnError = "fail" | "skip";

/** Of one layer. */
export interface LayerOptions {
  /** Lower is further out; equal ones in the order of their registration. Default 0. */
  readonly priority?: number;
  /** Default `fail`. The `onError` of the Extension resource, where it has one, counts instead. */
  readonly onError?: OnError;
  /** How long the layer itself may take, without what it wraps: for a toolCall 10 s, at most 15 s; else 2 min, at most 15 min. */
  readonly timeoutMs?: number;
}

export interface ExtensionModule {
  readonly name: string;
  register(api: ExtensionApi, config: JsonValue): void | Promise<void>;
  /** Where the profile gives none. */
  readonly config?: JsonValue;
  /** Of all its layers, and for an extension that cannot be registered; absent: each layer's own. */
  readonly onError?: OnError;
}

export interface LayerContexts {
  readonly turn: TurnContext;
  readonly step: StepContext;
  readonly toolCall: ToolCallContext;
}

export type LayerFunction<T extends LayerType> = (ctx: LayerContexts[T]) => unknown;

export interface ExtensionApi {
  readonly pipeline: {
    /** A layer that fails keeps what it wraps from running, unless `options.onError` is `skip`. */
    register<T extends LayerType>(type: T, layer: LayerFunction<T>, options?: LayerOptions): void;
  };
  readonly tools: {
    /** A tool that runs in this process, offered by agents that list the extension. */
    register(item: ExtensionTool, handler: ToolHandler): void;
  };
  /** One value per extension and agent instance. Durable when `set` has resolved; only while a turn runs. */
  readonly state: {
    get(): Promise<JsonValue>;
    set(value: JsonValue): Promise<void>;
  };
  /** In this process only. `emit` waits for every handler; one that throws is told and hides nothing. */
  readonly events: {
    on(name: string, handler: (payload: unknown) => unknown): () => void;
    emit(name: string, payload?: unknown): Promise<void>;
  };
  readonly logger: Readonly<Record<ExtensionLogEntry["level"], (...message: unknown[]) => void>>;
}

export interface ExtensionLogEntry {
  readonly extension: string;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
}

export interface ExtensionTool {
  readonly name: string;
  readonly description?: string;
  readonly parameters?: JsonObject;
  readonly effect?: "read" | "idempotent" | "once";
  readonly timeoutMs?: number;
}

/** The agent and its swarm, as its profile has them. */
export interface RuntimeInfo {
  readonly agent: { readonly name: string; readonly instanceKey: string };
  readonly swarm: { readonly name: string; readonly entryAgent: string; readonly agents: readonly string[] } | null;
}

export interface AgentsApi {
  request(request: {
    readonly target: string;
    readonly input?: string;
    readonly instanceKey?: string;
    readonly timeoutMs?: number;
    readonly async?: boolean;
    readonly metadata?: JsonObject;
  }): Promise<Omit<AgentRuntimeRequestResult, "eventId">>;
  send(message: {
    readonly target: string;
    readonly input?: string;
    readonly instanceKey?: string;
    readonly metadata?: JsonObject;
  }): Promise<Pick<AgentRuntimeSendResult, "accepted">>;
}

interface LayerContext extends ExecutionContext {
  readonly runtime: RuntimeInfo;
  /** Shared by the layers around one turn, step or call; kept nowhere. */
  readonly metadata: Record<string, JsonValue>;
}

interface ThinkingContext extends LayerContext {
  readonly agents: AgentsApi;
  /** What the model will see, as it is now. */
  readonly conversationState: { readonly messages: readonly ModelMessage[] };
}

export interface TurnContext extends ThinkingContext {
  readonly inputEvent: AgentEvent;
  readonly isResumed: boolean;
  next(): Promise<TurnResult>;
}

export interface TurnResult {
  readonly turnId: string;
  /** `suspended` while it waits for others; else how it ended. */
  readonly status: string;
}

export interface StepContext extends ThinkingContext {
  readonly turn: { readonly id: string; readonly inputEvent: AgentEvent };
  /** From 0. */
  readonly stepIndex: number;
  /** What this step offers. Taking a tool away also refuses calls of it; a tool that is not offered cannot be added. */
  toolCatalog: ToolCatalogItem[];
  /** Adds to what the model sees, for good. Before `next()` only. */
  emitMessageEvent(event: MessageAppended): Promise<void>;
  next(): Promise<StepResult>;
}

/** Goondan's `append` of a user's message; cards do not change, so there is no `replace` or `remove`. */
export interface MessageAppended {
  readonly type: "append";
  readonly message: { readonly data: { readonly role: "user"; readonly content: string } };
}

export interface ToolCatalogItem {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

export interface StepResult {
  readonly stepIndex: number;
  /** `next`: the model thinks again. `waits`: others have the calls. `ended`: the turn is over. */
  readonly outcome: "next" | "waits" | "ended";
}

export interface ToolCallContext extends LayerContext {
  readonly stepIndex: number;
  readonly toolName: string;
  readonly toolCallId: string;
  /** What is changed before `next()` passes the tool's argument gate again. */
  args: JsonObject;
  next(): Promise<LayeredResult>;
}

/** A result as layers see it: frozen. To change it, return another one. */
export type LayeredResult = ToolCallResult | PendingResult;

export interface PendingResult {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly status: "pending";
}
