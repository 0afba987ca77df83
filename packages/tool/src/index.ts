// @tessera/tool: what a tool author imports. `@goondan/types` in a tool module resolves to this file.
//
//   Write a tool   defineTool, or a module with a `handlers` map of ToolHandler
//   Let it fail    throw a ToolError with a code and a suggestion for the model
//   Test it        createTestContext
//   Messages       createConversationState and the functions over message events, for modules that import `@goondan/types`
//   Read one       toolPolicy of its definition; sessionKey for what a tool keeps per session
//
// Light: neither a schema validator nor a YAML parser is loaded here (catalog and resources are entries of their own).

export {
  type ErrorCode,
  type ErrorDetails,
  SESSION_ALIAS_CHARS_MAX,
  type SessionOwner,
  sessionKey,
  TesseraError,
} from "@tessera/protocol";
export type {
  AgentEvent,
  AgentRuntimeCatalogResult,
  AgentRuntimeListOptions,
  AgentRuntimeListResult,
  AgentRuntimeRequestOptions,
  AgentRuntimeRequestResult,
  AgentRuntimeSendResult,
  AgentRuntimeSpawnOptions,
  AgentRuntimeSpawnResult,
  AgentToolRuntime,
  CoreMessage,
  ExecutionContext,
  JsonArray,
  JsonObject,
  JsonPrimitive,
  JsonSchemaObject,
  JsonSchemaProperty,
  JsonValue,
  Message,
  MessageSource,
  ReconcileCall,
  ReconcileVerdict,
  SpawnedAgentInfo,
  ToolCallResult,
  ToolCallResultError,
  ToolContext,
  ToolExportSpec,
  ToolHandler,
  ToolProgress,
  ToolReconcile,
} from "./api.ts";
export {
  applyMessageEvent,
  type ConversationState,
  createConversationState,
  foldMessageEvents,
  isJsonValue,
  isPlainObject,
  type MessageEvent,
} from "./conversation.ts";
export { type DefinedTool, defineTool, type ToolSpec } from "./define-tool.ts";
export type { RegisteredTool, ToolCode, ToolDefinition, ToolOptions, ToolPolicy } from "./definition.ts";
export type {
  InferToolArguments,
  InferToolInput,
  RawJsonSchema,
  ToolArguments,
  ToolParameters,
} from "./infer-input.ts";
export type { RunFailure, RunOptions, ToolInvocation, ToolLogEntry, ToolRunner } from "./invocation.ts";
export {
  ATTEMPTS_MAX_MAX,
  BACKOFF_MS_DEFAULT,
  BACKOFF_MS_MAX,
  ERROR_MESSAGE_LIMIT_MAX,
  TIMEOUT_MS_MAX,
  toolPolicy,
} from "./policy.ts";
export { isReservedToolName, RESERVED_TOOL_NAMES } from "./reserved-names.ts";
export { createTestContext, type TestContext, type TestContextOptions } from "./test-context.ts";
export { TOOL_ERROR_CODE_DEFAULT, ToolError, type ToolErrorOptions } from "./tool-error.ts";
