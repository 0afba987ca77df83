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

export { type Kernel, openKernel } from "./kernel.ts";
export { commandMessage } from "./messages/messages.ts";
export {
  API_KEY_ROLES,
  type ApiKeyIdentity,
  type ApiKeyRequest,
  type ApiKeyRole,
} from "./moves/api-key-port.ts";
export type {
  DueBatch,
  DueTask,
} from "./moves/batch-port.ts";
export type { ExecutorPort } from "./moves/executor-port.ts";
export type * from "./moves/outcomes.ts";
export type { ProfileRecord } from "./moves/profile-port.ts";
export {
  type AgentRecord,
  type ToolRecord,
  toolDigest,
} from "./moves/registry-port.ts";
export * from "./ports.ts";
export type { CardDocument, EventRow, FailureRow, ProfileRow, TurnPlace } from "./reads/reads.ts";
export type {
  ExecutionEdgeRow,
  HeadRow,
  IdentityEdgeRow,
  ProjectRow,
  StepRow,
  TimelineRow,
} from "./reads/state-reads.ts";
export { type AtWork, type HangNote, noteHang, unwatched, type WhileAtWork } from "./recovery/hangs.ts";
export { NO_WATCHDOG, type Sweeper, startSweeper } from "./recovery/sweeper.ts";
export { keepWorkerAlive } from "./recovery/worker-lease.ts";
export {
  createDoctorReads,
  type DoctorReads,
  type LivingKey,
  type ServerFacts,
  type UnclaimedCalls,
} from "./store/doctor-reads.ts";
export { FUNCTIONS_LEVEL, functionsAge } from "./store/functions-level.ts";
export {
  checkSchema,
  MIGRATED_COPY,
  MIGRATIONS,
  type MigrateResult,
  migrate,
  outdatedBy,
  prepareCopies,
  SCHEMA_DIGEST,
  SCHEMA_VERSION,
  storeIdOf,
  unusableFunctions,
} from "./store/migrate.ts";
export { isStorageError, storageCodeOf } from "./store/storage-code.ts";
export { isReadOnly, probeWrite } from "./store/store-writes.ts";
export { INVARIANTS, type Invariant, type VerifyReport, type Violation, verifyStore } from "./store/verify.ts";
export { awaitTurnEnd, hasTurnEnded } from "./waiting/await-turn-end.ts";
export { pause } from "./waiting/pause.ts";
export { type Repetition, repeatEvery } from "./waiting/repeat-every.ts";
export { shownTime } from "./waiting/shown-time.ts";
export { watchTurn } from "./waiting/turn-watch.ts";
export { askPatiently } from "./work/ask-patiently.ts";
export { type CallLease, holdLease } from "./work/call-lease.ts";
export { LATE_CODES } from "./work/refused-commands.ts";
export { reportPatiently } from "./work/report-patiently.ts";
export {
  type CommandService,
  type ServeCommandsOptions,
  serveCommands,
} from "./work/serve-commands.ts";
export {
  type CallEnd,
  type WorkedCall,
  workOnCall,
} from "./work/work-on-call.ts";
export { WorkSlots } from "./work/work-slots.ts";
export { listenForWork, type WorkSourceOptions } from "./work/work-source.ts";
