// The Extension API: what `register(api, config)` is given and what its layers see (docs/protocol/tool-api.md#extensions).
//
//   A1. A layer wraps what is inside it: code before `next()`, the inside, code after it. `next()` may be called once.
//   A2. To keep a tool from running, a toolCall layer returns a result without calling `next()`. A layer that throws, answers
//       wrongly or takes too long keeps it from running as well (`onError: fail`), unless `onError: skip` says that it only
//       observes.
//   A3. A turn that waits for others lets go of its worker, so a `turn` layer wraps each stretch of it: `isResumed` tells
//       the later ones. What must outlast a stretch belongs in `api.state`.
//   A4. A call that runs elsewhere (service, edge, PMO) is wrapped before it is sent: `next()` answers `pending`, and its
//       result comes with a later step.
//   A5. A turn ends when its layers have returned: what they emit after `next()` is before its end.

import type {
  AgentEvent,
  AgentRuntimeCatalogResult,
  AgentRuntimeSendResult,
  CoreMessage,
  ExecutionContext,
  JsonObject,
  JsonValue,
  Message,
  ToolCallResult,
  ToolHandler,
} from "@tessera/tool";
import type { ModelMessage } from "ai";

/** What a layer is around: a whole turn, one step of it, or one call of a tool. */
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

/** An extension in code: its name and what it registers. */
export interface ExtensionModule {
  /** As agents list it. */
  readonly name: string;
  /** Called once per process and configuration, before the first turn: registers layers and tools. `config` is undefined where nothing
   *  configures it. */
  register(api: ExtensionApi, config?: JsonValue): void | Promise<void>;
  /** Where the profile gives none. */
  readonly config?: JsonValue;
  /** Of all its layers, and for an extension that cannot be registered; absent: each layer's own. */
  readonly onError?: OnError;
}

interface LayerContexts {
  readonly turn: TurnContext;
  readonly step: StepContext;
  readonly toolCall: ToolCallContext;
}

type LayerFunction<T extends LayerType> = (ctx: LayerContexts[T]) => unknown;

/** What an extension is given to register itself with. */
export interface ExtensionApi {
  /** Where layers around turns, steps and tool calls are registered. */
  readonly pipeline: {
    /** A layer that fails keeps what it wraps from running, unless `options.onError` is `skip`. */
    register<T extends LayerType>(type: T, layer: LayerFunction<T>, options?: LayerOptions): void;
  };
  /** Where tools of the extension are registered. */
  readonly tools: {
    /** A tool that runs in this process, offered by agents that list the extension. */
    register(item: ExtensionTool, handler: ToolHandler): void;
  };
  /** One value per extension and agent instance. Durable when `set` has resolved; only while a turn runs. */
  readonly state: {
    get(): Promise<JsonValue>;
    set(value: JsonValue): Promise<void>;
  };
  /** In this process only. `emit` waits for every handler; one that throws is reported and hides nothing. */
  readonly events: {
    on(name: string, handler: (...payload: unknown[]) => unknown): () => void;
    emit(name: string, ...payload: unknown[]): Promise<void>;
  };
  /** A whole Console. Its lines go to the log of the process, with the extension's name and its turn. */
  readonly logger: Console;
}

/** A line that an extension printed. */
export interface ExtensionLogEntry {
  /** The extension's name. */
  readonly extension: string;
  /** How grave it is. */
  readonly level: "debug" | "info" | "warn" | "error";
  /** What was printed, as text. */
  readonly message: string;
  /** Of the turn in which it was printed; absent outside of one. */
  readonly project_id?: string;
  readonly agent_turn_id?: string;
}

/** A tool that an extension offers. */
export interface ExtensionTool {
  /** What a model calls. */
  readonly name: string;
  /** Goondan's; who registered a tool is known. */
  readonly source?: JsonObject;
  /** Tells the model what the tool does and when to use it. */
  readonly description?: string;
  /** JSON Schema of its arguments; absent: any object. */
  readonly parameters?: JsonObject;
  /** What a crash in the middle of a call means; default `once`. */
  readonly effect?: "read" | "idempotent" | "once";
  /** How long one call may take. */
  readonly timeoutMs?: number;
}

/** Where a turn runs and what brought it about, in Goondan's words. */
export interface RuntimeInfo {
  /** The agent that takes the turn. */
  readonly agent: {
    readonly name: string;
    readonly instanceKey: string;
    /** The directory of the bundle; empty in a process without one. */
    readonly bundleRoot: string;
    readonly prompt: { readonly system: string };
  };
  /** An agent of no Swarm is alone: `name` and `swarmName` are empty then. */
  readonly swarm: AgentRuntimeCatalogResult & { readonly name: string; readonly agents: readonly string[] };
  /** The event that asked for the turn. */
  readonly inbound: {
    readonly eventId: string;
    readonly eventType: string;
    readonly sourceKind: "agent" | "connector";
    readonly sourceName: string;
    readonly createdAt: string;
    readonly instanceKey: string;
    readonly eventMetadata?: JsonObject;
  };
  /** Absent where no agent asked for the turn, as for one that an answer began. */
  readonly call?: {
    readonly callerAgent: string;
    readonly callerInstanceKey: string;
    readonly callerTurnId: string;
    readonly callSource: "agent";
    /** `agent@instance` of the callers, who asked for the turn last. */
    readonly callStack: readonly string[];
    /** What the caller named the request by; where it named none, the call that waits for the answer. */
    readonly replyTo?: { readonly target: string; readonly correlationId: string };
  };
}

/** Asks other agents, in the name of the agent that takes the turn. */
export interface AgentsApi {
  /** Asks another agent for a turn and waits for its answer. */
  request(request: {
    readonly target: string;
    readonly input?: string;
    readonly instanceKey?: string;
    readonly timeoutMs?: number;
    readonly async?: boolean;
    readonly metadata?: JsonObject;
  }): Promise<AgentResponse>;
  /** Tells another agent something and waits for nothing. */
  send(message: {
    readonly target: string;
    readonly input?: string;
    readonly instanceKey?: string;
    readonly metadata?: JsonObject;
  }): Promise<Pick<AgentRuntimeSendResult, "accepted">>;
}

/** The answer of another agent. */
export interface AgentResponse {
  /** Who answered. */
  readonly target: string;
  /** As text: JSON where the agent answered with data, empty where it was not waited for. */
  readonly response: string;
  /** Ties the answer to the request. */
  readonly correlationId: string;
  /** With `async`: whether the request was taken. */
  readonly accepted?: boolean;
  /** True: the answer was not waited for and comes into the conversation later. */
  readonly async?: boolean;
}

interface LayerContext extends ExecutionContext {
  /** Where the turn runs and what brought it about. */
  readonly runtime: RuntimeInfo;
  /** Shared by the layers around one turn, step or call; kept nowhere. */
  readonly metadata: Record<string, JsonValue>;
}

/** What an extension does to the conversation, as in Goondan. */
export type MessageEvent =
  | { readonly type: "append"; readonly message: MessageDraft }
  | { readonly type: "replace"; readonly targetId: string; readonly message: MessageDraft }
  | { readonly type: "remove"; readonly targetId: string }
  | { readonly type: "truncate" };

/** A message to write. Of Goondan's fields only `data` is needed; when and by whom it was written is known. */
export type MessageDraft = Pick<Message, "data"> & Partial<Message>;

export interface ConversationState {
  /** As this stretch of the turn found the conversation. */
  readonly baseMessages: Message[];
  /** What happened to it since: messages of the agent and its tools, and events of extensions. */
  readonly events: MessageEvent[];
  /** As it is now. Copies: only an event changes it. */
  readonly nextMessages: Message[];
  /** `data` of the messages as they are now. */
  toLlmMessages(): CoreMessage[];
  /** What the model would be sent now. */
  readonly messages: readonly ModelMessage[];
}

interface ThinkingContext extends LayerContext {
  /** Asks other agents in this agent's name. */
  readonly agents: AgentsApi;
  /** The conversation as the turn found it, what happened since, and how it is now. */
  readonly conversationState: ConversationState;
  /** What the turn was asked. */
  readonly inputEvent: AgentEvent;
  /** Durable when it resolves; what is not waited for is written before the step goes on. Seen by `conversationState` at once. */
  emitMessageEvent(event: MessageEvent): Promise<void>;
}

/** What a layer around a turn is given. */
export interface TurnContext extends ThinkingContext {
  /** True: the turn goes on after it waited or after another process lost it; a layer sees one turn in many stretches. */
  readonly isResumed: boolean;
  /** Runs what the layer is around, and answers how it ended. */
  next(): Promise<TurnResult>;
}

/** How a stretch of a turn ended, for layers around it. */
export interface TurnResult {
  /** Names the turn. */
  readonly turnId: string;
  /** `suspended` while it waits for others; else how it will end. */
  readonly status: string;
  /** Why it ended here. */
  readonly finishReason: "text_response" | "max_steps" | "error" | "suspended";
  /** What the turn hands over. */
  readonly responseMessage?: Message;
  /** Why it did not succeed; absent where it did. */
  readonly error?: { readonly message: string; readonly code?: string };
}

/** What a layer around a step is given. */
export interface StepContext extends ThinkingContext {
  /** The turn that the step belongs to. */
  readonly turn: {
    readonly id: string;
    readonly agentName: string;
    readonly inputEvent: AgentEvent;
    readonly startedAt: Date;
    readonly messages: readonly Message[];
    readonly steps: readonly { readonly id: string; readonly index: number; readonly status: "completed" }[];
    readonly status: "running";
    readonly metadata: Record<string, JsonValue>;
  };
  /** From 0. */
  readonly stepIndex: number;
  /** What this step offers. Taking a tool away also refuses calls of it; a tool that is not offered cannot be added. */
  toolCatalog: ToolCatalogItem[];
  /** Runs what the layer is around, and answers how it ended. */
  next(): Promise<StepResult>;
}

/** A tool that a step offers. */
export interface ToolCatalogItem {
  /** What a model calls. */
  readonly name: string;
  /** What the model reads about it. */
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject;
  /** Where it comes from: the configuration, or an extension. */
  readonly source: { readonly type: "config" | "extension"; readonly name: string };
}

/** To change whether the turn goes on, return `{ ...result, shouldContinue }`. */
export interface StepResult {
  /** From 0. */
  readonly stepIndex: number;
  readonly status: "completed";
  /** `next`: the model thinks again. `waits`: others have the calls. `ended`: the turn is to end. */
  readonly outcome: "next" | "waits" | "ended";
  /** False of an answer without calls: with true the model thinks again, behind what was emitted. Of a step with calls: with false
   *  the turn ends with the text of the step. Where others have the calls it cannot be changed. */
  readonly shouldContinue: boolean;
  /** The calls that the model asked for. */
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly args: JsonObject }[];
  /** Of the step's calls, as far as they are there. Of an answer that would end the turn: of all calls of the turn, whichever
   *  process made them. */
  readonly toolResults: readonly ToolCallResult[];
  /** Shared by the layers around this step; kept nowhere. */
  readonly metadata: Record<string, JsonValue>;
}

/** What a layer around a tool call is given. */
export interface ToolCallContext extends LayerContext {
  /** The step that made the call, from 0. */
  readonly stepIndex: number;
  /** The tool that is called. */
  readonly toolName: string;
  /** Names the call. */
  readonly toolCallId: string;
  /** What is changed before `next()` passes the tool's argument gate again. */
  args: JsonObject;
  /** Runs what the layer is around, and answers the result. */
  next(): Promise<LayeredResult>;
}

/** A result as layers see it: frozen. To change it, return another one. */
export type LayeredResult = ToolCallResult | PendingResult;

interface PendingResult {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly status: "pending";
}
