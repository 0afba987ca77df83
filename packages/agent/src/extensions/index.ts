// Extensions: layers around turns, steps and tool calls, and tools of their own.

export type {
  AgentsApi,
  ExtensionApi,
  ExtensionLogEntry,
  ExtensionModule,
  ExtensionTool,
  LayeredResult,
  LayerOptions,
  LayerType,
  MessageAppended,
  OnError,
  RuntimeInfo,
  StepContext,
  StepResult,
  ToolCallContext,
  ToolCatalogItem,
  TurnContext,
  TurnResult,
} from "./api.ts";
export { createExtensionHost, type ExtensionHostOptions } from "./create-extension-host.ts";
export type { ExtensionHost } from "./extension-host.ts";
