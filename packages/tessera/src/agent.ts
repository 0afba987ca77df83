// @tessera/tessera/agent: agents, models, swarms and extensions, written in code.

export type {
  AgentResponse,
  AgentsApi,
  ExtensionApi,
  ExtensionLogEntry,
  ExtensionModule,
  ExtensionTool,
  LayeredResult,
  LayerOptions,
  LayerType,
  MessageDraft,
  OnError,
  RuntimeInfo,
  StepContext,
  StepResult,
  ToolCallContext,
  ToolCatalogItem,
  TurnContext,
  TurnResult,
} from "@tessera/agent/extensions";
export {
  type AgentDraft,
  type DefinedAgent,
  type DefinedModel,
  type DefinedSwarm,
  defineAgent,
  defineModel,
  defineSwarm,
  type ModelDraft,
  readProfileYaml,
  type SwarmDraft,
} from "@tessera/agent/resources";
