// @tessera/server: the HTTP API. Parse, authorize, call the kernel, render; no SQL, and no rule of its own about calls.
//
//   POST   /projects/{p}/executors/{target}/claim        long poll for calls of a target
//   POST   /projects/{p}/calls/{tool_call_id}/open       take one call, by its ticket or by the key's target
//   POST   …/heartbeat · …/result-card · …/report        keep it, save its result, report it
//   POST   /projects/{p}/tools                           upload definitions (YAML, or a form with `file`)
//   GET    /projects/{p}/tools · …/{tool_name}           list, read (`?digest=` for an earlier version)
//   DELETE /projects/{p}/tools/{tool_name}
//   POST   /projects/{p}/turns · GET …/turns · …/{id}    ask for a turn, list, look at one with what it waits for
//   POST   …/turns/{id}/stop
//   POST   …/calls/{id}/runtime/{operation}              what a tool behind the edge may ask of other agents
//   GET    /health
//
// Keys: `Authorization: Bearer tsk_…`, made by `kernel.createApiKey`. Errors: problem JSON (RFC 9457) with `error_code`.

export type { AgentPorts, RuntimeOperation, RuntimeRequest, TurnOrder } from "./agent-ports.ts";
export { openServer, type Server, type ServerKernel, type ServerOptions } from "./open-server.ts";
export type { RouteSpec } from "./route-spec.ts";
export { type Rate, SERVER_LIMITS, type ServerLimits } from "./server-limits.ts";
export type { ParsedToolDocument, ToolDocuments } from "./tool-documents.ts";
