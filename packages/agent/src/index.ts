// @tessera/agent: agents that think with any model and call tools through the kernel.
//
//   startAgentWorker     takes turns forward: hydrate, think, commit, run or send calls, finish
//   requestToolCall      commits a turn that is one tool call; requestInternalCall in an agent's name
//   startToolCaller      works on such turns
//   createModels         openai, anthropic, google, any OpenAI-compatible endpoint, scripted
//   createTranscript     what a model sees, projected from cards
//   createAgentRuntime   ctx.runtime: request, send, spawn, list, catalog

export {
  type InternalCallRequest,
  type RequestedCall,
  requestInternalCall,
  requestToolCall,
} from "./caller/tool-call-request.ts";
export { startToolCaller, type ToolCaller, type ToolCallerOptions } from "./caller/tool-caller.ts";
export {
  type AgentTurn,
  type AgentTurnRequest,
  deployProfiles,
  enqueueAgentTurn,
  type InstanceReset,
  resetInstance,
  withdrawProfiles,
} from "./deploy/index.ts";
export type { ExtensionLogEntry, ExtensionModule } from "./extensions/api.ts";
export type { ExtensionHost } from "./extensions/extension-host.ts";
export { extensionsOnDemand } from "./extensions/extensions-on-demand.ts";
export { agentIdOf, INSTANCE_KEY_DEFAULT, type InstanceMetadata } from "./instance.ts";
export { type AgentWorker, type BundleParts, startAgentWorker } from "./loop/agent-worker.ts";
export type { AgentWorkerOptions } from "./loop/worker-context.ts";
export type {
  ModelAnswer,
  ModelCall,
  ModelChunk,
  ModelPort,
  ModelToolCall,
  ModelUsage,
  OfferedTool,
} from "./model-port.ts";
export { createModels } from "./models/index.ts";
export {
  type AgentProfile,
  type ModelSpec,
  type SwarmMembership,
  TOOL_CALLER_TARGET,
  UI_WORKER_TARGET,
  type ValueSource,
  WORKER_TARGET_DEFAULT,
} from "./profile.ts";
export type { ConfigModule, DefinedAgent, DefinedModel, DefinedSwarm, SwarmBundle } from "./resources/index.ts";
export {
  bundleFileReader,
  defineAgent,
  defineModel,
  defineSwarm,
  profilesOf,
  readProfileYaml,
  readSwarmBundle,
  readSwarmResources,
} from "./resources/index.ts";
export { type AgentRuntimeOptions, createAgentRuntime, type RuntimeCaller } from "./runtime/agent-runtime.ts";
export { ensureInstance, type Instance } from "./runtime/instances.ts";
export { traceEnqueue } from "./telemetry/telemetry.ts";
export { createTranscript, projectTranscript } from "./transcript/index.ts";
export { startUiWorker } from "./ui/ui-worker.ts";
