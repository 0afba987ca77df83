// @tessera/tool/run: what a host needs to run one call. Light on purpose: an isolated tool's process loads this and little
// else.
//
//   A context    buildToolContext from an invocation, createCallLogger for its log
//   A run        executeHandler: the handler with all error rules of the Tool API
//   Its card     toResultContent; timeoutContent, crashContent, canceledContent, unknownOutcomeContent for runs without one

export { assistantMessage, type MessagePart } from "./assistant-message.ts";
export {
  createCallLogger,
  LOG_BYTES_MAX,
  LOG_ENTRIES_MAX,
  LOG_MESSAGE_BYTES_MAX,
  type LogBase,
  type LogLevel,
  type LogSink,
} from "./call-logger.ts";
export {
  type ExecutedCall,
  executeHandler,
  type HandlerRun,
  OUTPUT_BYTES_MAX,
  OUTPUT_DEPTH_MAX,
  type ToolFunctions,
  type UnknownOutcomeReason,
  type WireError,
} from "./execute-handler.ts";
export { PROGRESS_UPDATES_MAX } from "./progress.ts";
export {
  type ContentOptions,
  type CrashOptions,
  canceledContent,
  crashContent,
  type TimeoutOptions,
  timeoutContent,
  toResultContent,
  type UnknownOutcomeOptions,
  unknownOutcomeContent,
} from "./result-content.ts";
export { describeThrown, type ThrownError } from "./thrown-error.ts";
export { buildToolContext, type ToolContextParts } from "./tool-context.ts";
