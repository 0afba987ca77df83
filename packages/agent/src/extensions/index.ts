// Extensions: layers around turns, steps and tool calls, and tools of their own.

export type {
  AgentResponse,
  AgentsApi,
  ConversationState,
  ExtensionApi,
  ExtensionLogEntry,
  ExtensionModule,
  ExtensionTool,
  LayeredResult,
  LayerOptions,
  LayerType,
  MessageDraft,
  MessageEvent,
  OnError,
  RuntimeInfo,
  StepContext,
  StepResult,
  ToolCallContext,
  ToolCatalogItem,
  TurnContext,
  TurnResult,
} from "./api.ts";
