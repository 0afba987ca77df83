// @tessera/protocol: the wire contract of Tessera. No I/O, no clock; randomness only through arguments.
//
// Everything that two processes must agree on lives here, and every other package imports it.
//
//   A message arrives    parseToolCommand (commands), buildNatsIngressContext (the rest) → CGContext + clean payload
//   A message leaves     formatSubject, turnHeaders or commandHeaders, buildCommandPayload
//   JSON from outside    parseJson (text, bytes), gateJson (values); nothing else may look at it first
//   A tool has answered  buildToolResultContent (coerces), validateToolResultContent (refuses), buildCallbackPayload
//   Something failed     TesseraError and its classes by code; normalizeError and buildErrorResultFromException for all others
//   Something moves      HEAD_MOVES, INBOX_MOVES, WAIT_MOVES, CLAIM_MOVES, BATCH_MOVES, BATCH_TASK_MOVES
//   How much, how long   limits.ts
//
// Names on the wire, codes, limits and states are pinned by pins.test.ts: a red pin is a change of the contract.
// WIRE_SCHEMAS is published as JSON Schema files for other languages (schema/, written by scripts/generate.ts).

export {
  AFTER_EXECUTION_DEFAULT,
  AFTER_EXECUTIONS,
  type AfterExecution,
  type AfterExecutionSources,
  CG_CONTROL_KEY,
  type CgControl,
  effectiveAfterExecution,
  isAfterExecution,
  readCgControl,
  stripCgControl,
} from "./cards/after-execution.ts";
export {
  buildCallbackPayload,
  CALLBACK_PAYLOAD_FIELDS,
  type CallbackPayload,
  type ParsedCallbackPayload,
  parseCallbackPayload,
  parseCallbackPointer,
} from "./cards/callback-payload.ts";
export { type CallerFacts, readCallerFacts, readSharedWorkdir, type SharedWorkdir } from "./cards/caller-facts.ts";
export {
  CARD_FIELDS,
  CARD_METADATA_KEYS,
  CARD_TYPES,
  type Card,
  type CardRole,
  type CardType,
  type CardTypeSpec,
  isCardType,
  type ToolCallRef,
  validateCard,
  validateCardContent,
} from "./cards/card.ts";
export {
  type CardContent,
  CONTENT_KINDS,
  type ContentKind,
  type FieldSchema,
  type FieldsSchemaContent,
  type JsonContent,
  type TextContent,
  type ToolCallContent,
  type ToolResultContent,
  validateContent,
  validateErrorObject,
  validateFieldsSchemaContent,
  validateJsonContent,
  validateTextContent,
  validateToolCallContent,
  validateToolResultContent,
} from "./cards/card-content.ts";
export { buildToolResultContent, type ToolResultInput } from "./cards/tool-result.ts";
export {
  DELEGATED_OPERATIONS,
  type DelegatedOperation,
  type DelegationPolicy,
  isDelegationAllowed,
  isToolDelegationAllowed,
  type PolicyTarget,
  readDelegationPolicy,
  readToolDelegationPolicy,
  type ToolDelegation,
  type ToolDelegationPolicy,
  toolDelegationMistake,
} from "./delegation-policy.ts";
export {
  ERROR_CATALOGUE,
  ERROR_CLASSES,
  ERROR_CODES,
  type ErrorCatalogueEntry,
  type ErrorClass,
  type ErrorCode,
  isErrorCode,
  type Retry,
} from "./errors/error-catalogue.ts";
export {
  BadRequest,
  Conflict,
  type ErrorDetails,
  errorOf,
  NotFound,
  PolicyDenied,
  ProtocolViolation,
  TesseraError,
  type TesseraErrorOptions,
  type TesseraErrorSubclassOptions,
  UpstreamUnavailable,
} from "./errors/errors.ts";
export {
  buildErrorResultFromException,
  cutMessage,
  ERROR_SOURCE_DEFAULT,
  type ErrorObject,
  type ErrorResult,
  errorResultBody,
  type NormalizeErrorOptions,
  normalizeError,
  TRUNCATION_MARKER,
} from "./errors/normalize-error.ts";
export {
  type AgentId,
  type BatchId,
  type BatchTaskId,
  type BoxId,
  type CallId,
  type CardId,
  CHANNEL_DEFAULT,
  type ChannelId,
  ID_PREFIXES,
  type Id,
  type InboxId,
  isActorId,
  isId,
  isInstanceKey,
  isServiceActorId,
  isToolName,
  PROJECT_DEFAULT,
  type ProjectId,
  parseId,
  type StepId,
  type TurnId,
} from "./ids.ts";
export { decodeJsonMessage, gateJson, type JsonGateOptions, parseJson } from "./json/json-gate.ts";
export { type JsonRefusalKind, jsonPointer } from "./json/json-refusal.ts";
export {
  emptyJsonObject,
  isJsonObject,
  type JsonObject,
  type JsonScalar,
  type JsonValue,
  type ReadonlyJson,
  type ReadonlyJsonObject,
} from "./json/json-value.ts";
export {
  ACTOR_ID_CHARS_MAX,
  ACTOR_ID_PATTERN,
  AGENT_REQUEST_TIMEOUT_MS,
  ARGUMENTS_BYTES_MAX,
  ATTEMPTS_MAX_DEFAULT,
  BATCH_BYTES_MAX,
  BATCH_DISPATCH_ATTEMPTS_MAX,
  BATCH_DISPATCH_DELAY_FIRST_MS,
  BATCH_DISPATCH_DELAY_MAX_MS,
  BATCH_ITEMS_MAX,
  BUNDLE_ALIASES_MAX,
  BUNDLE_DOCUMENTS_MAX,
  BUNDLE_FILE_BYTES_MAX,
  CALL_DEADLINE_MARGIN_MS,
  CALL_TIMEOUT_MS,
  CALLS_PER_STEP_MAX,
  CARD_CONTENT_BYTES_MAX,
  CARD_METADATA_BYTES_MAX,
  CARD_TYPE_CHARS_MAX,
  CRASHES_MAX,
  DEFERRALS_MAX,
  DESCRIPTION_BYTES_MAX,
  DURABLE_CHARS_MAX,
  ENVELOPE_DEPTH_EXTRA,
  ERROR_MESSAGE_CHARS_MAX,
  FAN_OUT_MAX,
  FORK_JOIN_DEADLINE_MS,
  FUNCTION_ITEMS_MAX,
  HANGS_MAX,
  HEARTBEAT_MS,
  HTTP_BODY_BYTES_MAX,
  HTTP_HEADERS_BYTES_MAX,
  ID_CHARS_MAX,
  ID_PATTERN,
  INBOX_PER_AGENT_MAX,
  INBOX_ROWS_PER_CLAIM_MAX,
  INSTANCE_KEY_PATTERN,
  JSON_DEPTH_MAX,
  JSON_KEYS_MAX,
  LEASE_MS,
  LONG_POLL_MS_MAX,
  MESSAGE_BYTES_MAX,
  RECURSION_DEPTH_MAX,
  RING_FIRST_MS,
  RING_MAX_MS,
  STACK_CHARS_MAX,
  STEPS_PER_TURN_MAX,
  SUBJECT_CHARS_MAX,
  SUBJECT_TOKENS_MAX,
  SWEEP_INTERVAL_MS,
  TOOL_NAME_PATTERN,
  TOOL_SCHEMA_BYTES_MAX,
  TOOL_SCHEMA_DEPTH_MAX,
  TOOL_TIMEOUT_MS,
  TRACESTATE_CHARS_MAX,
  TURNS_PER_TRACE_MAX,
  UPLOAD_YAML_ALIASES_MAX,
  UPLOAD_YAML_BYTES_MAX,
  YAML_DEPTH_MAX,
} from "./limits.ts";
export {
  buildCommandPayload,
  COMMAND_FORBIDDEN_FIELDS,
  COMMAND_PAYLOAD_FIELDS,
  type CommandPayloadField,
  type ParsedCommandPayload,
  parseCommandPayload,
  type ToolCommandPayload,
} from "./messages/command-payload.ts";
export {
  CGContext,
  type CGContextInput,
} from "./messages/context.ts";
export {
  CONTROL_FIELDS,
  type ControlBoundary,
  type ControlField,
  isControlField,
  RESUME_CONTROL_FIELDS,
  refuseControlFields,
  withoutControlFields,
} from "./messages/control-fields.ts";
export {
  buildChunkPayload,
  type ChunkPayload,
  STATE_ACTIVITIES,
  type StateActivity,
  type StateEventMetadata,
  type StateEventPayload,
  type StepEventPayload,
  type TaskEventPayload,
  type WakeupPayload,
} from "./messages/event-payload.ts";
export {
  commandHeaders,
  getHeader,
  getIntegerHeader,
  HEADERS,
  type HeaderField,
  type HeaderName,
  type Headers,
  normalizeHeaders,
  parseCanonicalInteger,
  requireHeader,
  SECRET_HEADERS,
  type TurnIdentity,
  turnHeaders,
  withoutSecretHeaders,
} from "./messages/headers.ts";
export { buildNatsIngressContext, type Ingress } from "./messages/ingress.ts";
export {
  parseRecursionDepth,
  requireDepthAllowed,
} from "./messages/recursion-depth.ts";
export {
  batchDurable,
  durableOfProject,
  pmoDurable,
  type StreamSpec,
  streamsKept,
  streamsOf,
  toolDurable,
  workerDurable,
} from "./messages/streams.ts";
export {
  classifySubject,
  formatSubject,
  isToken,
  matchesPattern,
  parseSubject,
  SUBJECT_CATEGORIES,
  SUBJECT_COMPONENTS,
  SUBJECT_FAMILIES,
  SUBJECT_VERSION,
  SUBJECT_VERSIONS,
  type SubjectCategory,
  type SubjectComponent,
  type SubjectFamily,
  type SubjectParts,
  type SubjectVerdict,
  type SubjectVersion,
  safeLabel,
  subjectFamily,
} from "./messages/subject.ts";
export {
  parseTargetSubject,
  renderTargetSubject,
  TARGET_SUBJECT_PLACEHOLDERS,
  type TargetSubject,
  type TargetSubjectValues,
  targetSubjectFor,
} from "./messages/target-subject.ts";
export { parseToolCommand, type ToolCommand, type ToolCommandMessage } from "./messages/tool-command.ts";
export {
  childTraceparent,
  formatTraceparent,
  isTraceparent,
  normalizeTraceId,
  parseTraceparent,
  type ResolvedTrace,
  resolveTrace,
  type TraceContext,
  type TraceIds,
  traceparentOf,
} from "./messages/trace-context.ts";
export { normalizeTransport, type Transport, type TransportInput } from "./messages/transport.ts";
export {
  liftPayloadIdentity,
  type V1r3Identity,
  v1r3PayloadIdentity,
} from "./messages/v1r3.ts";
export type { OrderTrace, ToolCallOrder, TurnOrder } from "./orders.ts";
export { PACKAGES, SCHEMA_FILE, SCHEMA_FOLDER, SUBPATHS, VERSION } from "./product.ts";
export { SESSION_ALIAS_CHARS_MAX, type SessionOwner, sessionKey } from "./session-key.ts";
export {
  BATCH_MOVES,
  BATCH_STATES,
  BATCH_TASK_MOVES,
  BATCH_TASK_STATES,
  type BatchState,
  type BatchTaskState,
  CLAIM_MOVES,
  CLAIM_STATES,
  type ClaimState,
  DEFER_DELAYS_MS,
  type DeferReason,
  HEAD_MOVES,
  HEAD_STATES,
  type HeadState,
  INBOX_MOVES,
  INBOX_STATES,
  type InboxState,
  isLegalMove,
  type Move,
  STATE_MACHINES,
  type StateMachine,
  terminalStates,
  WAIT_MOVES,
  WAIT_STATES,
  type WaitState,
} from "./states.ts";
export {
  CHUNK_TYPES,
  type ChunkType,
  INBOX_MESSAGE_TYPES,
  type InboxMessageType,
  isResultStatus,
  isTerminalTurnStatus,
  OUTCOME_STATUSES,
  type OutcomeStatus,
  RESULT_STATUSES,
  type ResultStatus,
  STEP_PHASES,
  type StepPhase,
  TOOL_EFFECT_DEFAULT,
  TOOL_EFFECTS,
  TOOL_PLACEMENTS,
  type ToolEffect,
  type ToolPlacement,
  TURN_STATUSES,
  type TurnStatus,
  WAKEUP_REASONS,
  type WakeupReason,
} from "./status.ts";
export { nearestNames, nearName, unknownField } from "./text/nearest-names.ts";
export { visibleLine, visibleText } from "./text/visible-text.ts";
export type { ToolDefinition, ToolOptions } from "./tool-definition.ts";
export { WIRE_SCHEMAS, type WireSchemaDocument, type WireSchemaName } from "./wire-schema/wire-schema.ts";
export type { JsonSchema } from "./wire-schema/wire-schema-parts.ts";
