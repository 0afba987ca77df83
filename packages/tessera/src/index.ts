// @tessera/tessera: durable turns and tool calls in a program of your own.
//
//   createTessera                         opens a store and everything that works on it
//   defineAgent, defineModel, defineSwarm, defineTool   what it is given
//
// Its subpaths: `/tool` for tools, `/agent` for agents and extensions, `/testing` for their tests, `/client` for the HTTP API,
// `/runtime` for programs that put a process together from its parts, `/wire` for tool services written for CommonGround.

export {
  type AskedTurn,
  agentIdOf,
  type CallError,
  type CallOptions,
  createTessera,
  type Deliver,
  defineAgent,
  defineModel,
  defineSwarm,
  defineTool,
  type Health,
  type InferDeliverable,
  type ResetRequest,
  ROLES,
  type Role,
  type RunRequest,
  type StopOptions,
  type Tessera,
  type TesseraOptions,
  type ToolCallAnswer,
  type TurnAnswer,
  type TurnError,
  type WaitOptions,
} from "@tessera/runtime";
export { type ErrorCode, type ErrorDetails, TesseraError, ToolError } from "@tessera/tool";
