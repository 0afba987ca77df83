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
export type {
  AgentDraft,
  DefinedAgent,
  DefinedModel,
  DefinedSwarm,
  ModelDraft,
  SwarmDraft,
} from "@tessera/agent/resources";
export { defineAgent, defineModel, defineSwarm, readProfileYaml } from "@tessera/agent/resources";
