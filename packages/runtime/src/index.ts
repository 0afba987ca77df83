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
export { API_HOST, API_PORT } from "./api-address.ts";
export type { AskedTurn, TurnAnswer, TurnError, WaitOptions } from "./await-turn.ts";
export { awaitToolCall, type CallError, callTool, type ToolCallAnswer } from "./call-tool.ts";
export { connectExecutor, type ExecutorLink } from "./connect-executor.ts";
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
export { findHolder, type Holder, reachHolder } from "./holder.ts";
export { type AgentResources, type Agents, type AgentsOptions, openAgents } from "./open-agents.ts";
export { type Api, type ApiOptions, openApi, openSelfApi } from "./open-api.ts";
export { type BusConfiguration, openBus } from "./open-bus.ts";
export { type Log, openLog } from "./open-log.ts";
export { type Node, type NodeOptions, openNode } from "./open-node.ts";
export { openProcess, type Process, type ProcessOptions, type StopOptions } from "./open-process.ts";
export { type MigrateMode, openStore, type Store, type StoreOptions } from "./open-store.ts";
export { quietRepeats } from "./quiet-repeats.ts";
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
export type { StorePlace } from "./store-place.ts";
export { type StoredTool, storeTools } from "./store-tools.ts";
export { type FailingProcess, reportStrayFailures } from "./stray-failures.ts";
export { BUILTIN_RESOURCES, OPENAPI_TARGETS, openToolHost, type ToolHost, type ToolHostOptions } from "./tool-host.ts";
export { type BundleReport, type ValidateOptions, validateBundle } from "./validate-bundle.ts";
export type { Finding, Severity } from "./validate-finding.ts";
export { type MigrateResult, type VerifyReport, type Violation, verifyStore } from "./verify-store.ts";
