// @tessera/runtime: the composition root. Configuration becomes adapters, adapters become parts, started and stopped in
// order. Of the product the only importer of `@tessera/engines`: the other packages see ports.
//
//   openStore      a database: a PGlite directory, PostgreSQL, or PGlite in memory
//   openNode       a store with a bus, the kernel and a running sweeper
//   openToolHost   the tools of a node: loaded, registered, served
//   openAgents     the agents of a node: deployed, worked on, delegating
//   openApi        the HTTP API of a node
//   callTool       one durable tool call, awaited
//   connectExecutor  what an executor outside of any node needs
//   verifyStore    the invariants of a store, as a report
//
// Every failure to open or use a store is a CGError (store-error.ts); drivers' own errors do not leave this package.

export { startToolCaller, type ToolCaller } from "@tessera/agent";
export { API_KEY_ROLES, type ApiKeyRole } from "@tessera/kernel";
export { parseToolUpload } from "@tessera/tool/resources";
export { agentPorts } from "./agent-ports.ts";
export { awaitToolCall, callTool, type ToolCallAnswer } from "./call-tool.ts";
export { connectExecutor, type ExecutorLink } from "./connect-executor.ts";
export { type Agents, type AgentsOptions, openAgents } from "./open-agents.ts";
export { API_PORT, type Api, type ApiOptions, openApi } from "./open-api.ts";
export { type BusConfiguration, openBus } from "./open-bus.ts";
export { type Log, openLog } from "./open-log.ts";
export { type Node, type NodeOptions, openNode } from "./open-node.ts";
export { type MigrateMode, openStore, type Store, type StoreOptions } from "./open-store.ts";
export { describePostgres, type StorePlace, storePlace } from "./store-place.ts";
export { type StoredTool, storeTools } from "./store-tools.ts";
export { BUILTIN_RESOURCES, OPENAPI_TARGETS, openToolHost, type ToolHost, type ToolHostOptions } from "./tool-host.ts";
export { type MigrateResult, type VerifyReport, type Violation, verifyStore } from "./verify-store.ts";
