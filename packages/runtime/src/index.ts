// @tessera/runtime: the composition root. Configuration becomes adapters, adapters become parts, started and stopped in
// order. Of the product the only importer of `@tessera/engines`: the other packages see ports.
//
//   createTessera  all of it in a user's own program
//   openStore      a database: a PGlite directory, PostgreSQL, or PGlite in memory
//   openNode       a store with a bus, the kernel and a running sweeper
//   openProcess    a process with its roles: a node with tools, agents, delegation and the API, drained and stopped in order
//   reachHolder    the running process behind a directory; openSelfApi  the API for a command that holds the store itself
//   openToolHost   the tools of a node: loaded, registered, served
//   openAgents     the agents of a node: deployed, worked on, delegating
//   openApi        the HTTP API of a node
//   callTool       one durable tool call, awaited
//   connectExecutor  what an executor outside of any node needs
//   resolveSettings  flags, environment and the bundle's file as settings; describeSettings, settingsPage  what is shown of them
//   reportStrayFailures  failures that tools and extensions leave behind are told and do not end the process
//   verifyStore    the invariants of a store, as a report
//
// Every failure to open or use a store is a TesseraError (store-error.ts); drivers' own errors do not leave this package.

import "./node-version.ts";

export {
  agentIdOf,
  defineAgent,
  defineModel,
  defineSwarm,
  startToolCaller,
  type ToolCaller,
} from "@tessera/agent";
export { systemClock } from "@tessera/engines/system";
export { API_KEY_ROLES, type ApiKeyRole } from "@tessera/kernel";
export type { Health, HealthCheck } from "@tessera/server";
export { defineTool } from "@tessera/tool";
export type { InferDeliverable } from "@tessera/tool/catalog";
export { parseToolUpload } from "@tessera/tool/resources";
export type { AskedTurn, TurnAnswer, TurnError, WaitOptions } from "./agents/await-turn.ts";
export { type AgentResources, type Agents, type AgentsOptions, openAgents } from "./agents/open-agents.ts";
export { API_HOST, API_PORT } from "./api/api-address.ts";
export { type Api, type ApiOptions, openApi, openSelfApi } from "./api/open-api.ts";
export {
  type CallOptions,
  createTessera,
  type Deliver,
  type ResetRequest,
  type RunRequest,
  type Tessera,
  type TesseraOptions,
} from "./create-tessera.ts";
export type { Check, CheckArea } from "./doctor/check.ts";
export { type DoctorOptions, runDoctor } from "./doctor/run-doctor.ts";
export { EXIT_HUNG } from "./hangs/shared.ts";
export { type BusConfiguration, openBus } from "./process/open-bus.ts";
export { type Log, openLog } from "./process/open-log.ts";
export { type Node, type NodeOptions, openNode } from "./process/open-node.ts";
export { openProcess, type Process, type ProcessOptions, type StopOptions } from "./process/open-process.ts";
export { quietRepeats } from "./process/quiet-repeats.ts";
export { type FailingProcess, reportStrayFailures } from "./process/stray-failures.ts";
export type { Changes } from "./reload/bundle-changes.ts";
export { type BundleReload, isBundleFile, type Reloaded } from "./reload/reload-bundle.ts";
export { type FileWatch, watchFiles } from "./reload/watch-files.ts";
export { ROLES, type Role } from "./roles.ts";
export {
  type DescribedSetting,
  describeSettings,
  processSettings,
  type ResolvedSetting,
  type ResolvedSettings,
  readSettingsFile,
  resolveSettings,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  type SettingProblem,
  type SettingSource,
  type SettingSources,
  type SettingSpec,
  type Settings,
  type SettingsFile,
  settingsPage,
} from "./settings/index.ts";
export { findHolder, type Holder, reachHolder } from "./store/holder.ts";
export { type MigrateMode, openStore, type Store, type StoreOptions } from "./store/open-store.ts";
export type { StorePlace } from "./store/store-place.ts";
export { type StoredTool, storeTools } from "./store/store-tools.ts";
export { type MigrateResult, type VerifyReport, type Violation, verifyStore } from "./store/verify-store.ts";
export { awaitToolCall, type CallError, callTool, type ToolCallAnswer } from "./tools/call-tool.ts";
export { connectExecutor, type ExecutorLink } from "./tools/connect-executor.ts";
export {
  BUILTIN_RESOURCES,
  OPENAPI_TARGETS,
  openToolHost,
  type ToolHost,
  type ToolHostOptions,
} from "./tools/tool-host.ts";
export { type BundleReport, type ValidateOptions, validateBundle } from "./validate/validate-bundle.ts";
export type { Finding, Severity } from "./validate/validate-finding.ts";
