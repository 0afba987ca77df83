// @tessera/executor: runs tools.
//
//   loadBundleTools     tools of a bundle: YAML resources and code-first ones, with their code found and checked
//   createToolRunner    runs a call whose code is here, inline or in a child process
//   startToolService    the commands of a target, from the bus
//   startEdgeExecutor   the calls of a target, over HTTP
//   builtinTools        bash, file-system, http-fetch, json-query, text-transform, agents, wait
//   createOpenApiHost   runs the operations of OpenAPI documents, and Jina's tools
//
// `@tessera/executor/wire` is the low-level API of CommonGround, which people import as `@tessera/tessera/wire`.

export {
  builtinTools,
  probeShell,
  type ShellOptions,
} from "./builtins/index.ts";
export { connectEdge, type EdgeClient } from "./edge/edge-client.ts";
export { type EdgeExecutor, type EdgeExecutorOptions, startEdgeExecutor } from "./edge/edge-executor.ts";
export { readBundleFiles } from "./loader/bundle-files.ts";
export { type BundleLoadOptions, type LoadedBundle, loadBundleTools } from "./loader/bundle-tools.ts";
export { readConfigSettings } from "./loader/config-tools.ts";
export { findEntry } from "./loader/entry-path.ts";
export { forgetLoaded, loadedFiles } from "./loader/reloading-jiti.ts";
export { exportOf, importEntry, keptTransformed } from "./loader/tool-module.ts";
export type { Outgoing } from "./net/http-call.ts";
export { createLazyAgent } from "./net/lazy-agent.ts";
export {
  createOpenApiHost,
  credentialVariables,
  grantsFor,
  isRequestDefinition,
  type OpenApiHost,
} from "./openapi/index.ts";
export { compileCache } from "./placements/compile-cache.ts";
export {
  createIsolatedHost,
  type IsolatedHost,
  type ModuleVersion,
} from "./placements/isolated/isolated-host.ts";
export { createToolRunner, type HostToolRunner } from "./placements/tool-runner.ts";
export { startToolService } from "./service/tool-service.ts";
export { openWorkspaces } from "./workspace/workspaces.ts";
