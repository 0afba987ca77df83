// @tessera/kernel: L0, the only writer of durable state.
//
// Every durable transition is one function in the database schema `l0` (sql/functions): one round trip, one
// transaction, one outcome per item. This package is the typed client of these functions, the migrations that make
// them, the sweeper that looks after what waits, and the ports it needs from the world.
//
//   openKernel     the client: turns, executors, registry, batches, reads
//   startSweeper   deadlines, leases, rings, crash recovery (any number, no leader)
//   migrate        brings a store to this build's schema
//   verifyStore    the invariants, as queries that must find nothing

export type { Announcer } from "./announcer.ts";
export {
  API_KEY_ROLES,
  type ApiKeyIdentity,
  type ApiKeyPort,
  type ApiKeyRequest,
  type ApiKeyRole,
  type CreatedApiKey,
} from "./api-key-port.ts";
export { askPatiently } from "./ask-patiently.ts";
export type {
  BatchDispatch,
  BatchDispatchOutcome,
  BatchOutcome,
  BatchPort,
  DueBatch,
  DueTask,
} from "./batch-port.ts";
export { type CallLease, holdLease } from "./call-lease.ts";
export {
  createDoctorReads,
  type DoctorReads,
  type LivingKey,
  type RoleRights,
  type ServerFacts,
  type UnclaimedCalls,
} from "./doctor-reads.ts";
export type { ExecutorPort } from "./executor-port.ts";
export { FUNCTIONS_LEVEL, functionsAge, type InstalledFunctions } from "./functions-level.ts";
export { type AtWork, type HangNote, noteHang, unwatched, type WhileAtWork } from "./hangs.ts";
export { type Kernel, type KernelOptions, openKernel } from "./kernel.ts";
export { commandMessage, taskEventMessage, traceparent, wakeMessage } from "./messages.ts";
export {
  checkSchema,
  MIGRATED_COPY,
  MIGRATIONS,
  type MigrateOptions,
  type MigrateResult,
  migrate,
  outdatedBy,
  prepareCopies,
  SCHEMA_DIGEST,
  SCHEMA_VERSION,
  storeIdOf,
  unusableFunctions,
} from "./migrate.ts";
export type * from "./outcomes.ts";
export { pause } from "./pause.ts";
export * from "./ports.ts";
export type { ProfileExpectation, ProfilePort, ProfileRecord } from "./profile-port.ts";
export type { AuditNote, DeleteOutcome, ProjectOutcome, ProjectPort, ProjectRecord } from "./project-port.ts";
export type { AgentFilter, CardDocument, EventRow, FailureRow, ProfileRow, Reads, TurnPlace } from "./reads.ts";
export { LATE_CODES } from "./refused-commands.ts";
export {
  type AgentRecord,
  type RegistryPort,
  type ToolDefinition,
  type ToolExpectation,
  toolDigest,
} from "./registry-port.ts";
export { type Repetition, repeatEvery } from "./repeat-every.ts";
export { type PatientReport, reportPatiently } from "./report-patiently.ts";
export { type ClaimedCall, type CommandService, type ServeCommandsOptions, serveCommands } from "./serve-commands.ts";
export { shownTime } from "./shown-time.ts";
export type {
  ActivityReport,
  EdgePlace,
  ExecutionEdgeFilter,
  ExecutionEdgeRow,
  HeadRow,
  IdentityEdgeFilter,
  IdentityEdgeRow,
  ProjectRow,
  StateReads,
  StepFilter,
  StepPage,
  StepRow,
  TimelineRow,
} from "./state-reads.ts";
export { isStorageError, type StorageCode, storageCodeOf } from "./storage-code.ts";
export { isReadOnly, probeWrite } from "./store-writes.ts";
export { NO_WATCHDOG, type Sweep, type Sweeper, type SweepSummary, startSweeper } from "./sweeper.ts";
export { type TurnBell, turnBell } from "./turn-bell.ts";
export type { TurnPort } from "./turn-port.ts";
export { type TurnWatch, watchTurn } from "./turn-watch.ts";
export { INVARIANTS, type Invariant, type VerifyReport, type Violation, verifyStore } from "./verify.ts";
export { type CallEnd, type CallPort, type WorkedCall, type WorkOnCallOptions, workOnCall } from "./work-on-call.ts";
export { WorkSlots } from "./work-slots.ts";
export { listenForWork, type WorkRole, type WorkSourceOptions } from "./work-source.ts";
export { keepWorkerAlive, type WorkerLease } from "./worker-lease.ts";
