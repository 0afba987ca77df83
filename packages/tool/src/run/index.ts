// @tessera/tool/run: what a host needs to run one call. Light on purpose: an isolated tool's process loads this and little
// else.
//
//   A context    buildToolContext from an invocation, createCallLogger for its log
//   A run        executeHandler: the handler with all error rules of the Tool API
//   A local one  localInvocation and runLocalCall, for a worker that runs a call itself
//   Whose code   runForeign, and runOwn for what it calls of ours
//   Its fault    failureStack, stackOf and placeOf of what was thrown, for operators
//   Its card     toResultContent; timeoutContent, crashContent, canceledContent, unknownOutcomeContent for runs without one

export { createCallLogger, type LogLimits } from "./call-logger.ts";
export {
  type ExecutedCall,
  executeHandler,
  type HandlerRun,
  type ToolFunctions,
} from "./execute-handler.ts";
export { type FailureStack, failureOf, failureStack, placeOf, stackOf, type ThrownFailure } from "./failure-stack.ts";
export { type ForeignCode, foreignCode, ownApi, runForeign, runOwn } from "./foreign-code.ts";
export { type LocalCallContext, type LocalCallOrder, localInvocation, runLocalCall } from "./local-call.ts";
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
export type { SourcePlace } from "./source-place.ts";
export { describeThrown, type ThrownError } from "./thrown-error.ts";
export { buildToolContext, type ToolContextParts } from "./tool-context.ts";
