// @tessera/server: the HTTP API. Parse, authorize, call the kernel, render; no SQL, and no rule of its own about calls.
//
//   openServer        serves the whole API: the executor edge, turns, tools, events, and the management of projects
//   describeRoutes    the table of routes without a server
//
// `@tessera/server/openapi` makes an OpenAPI document from that table.
//
// Keys: `Authorization: Bearer tsk_…`, made by `kernel.createApiKey`. Errors: problem JSON (RFC 9457) with `error_code`.

export { type Rate, SERVER_LIMITS, type ServerLimits } from "./http/server-limits.ts";
export { openServer, type Server, type ServerOptions } from "./open-server.ts";
export type {
  Agents,
  ExpectedProfile,
  Health,
  HealthCheck,
  ParsedToolDocument,
  ProfileDocuments,
  RuntimeOperation,
  RuntimeRequest,
  ServerPorts,
  ToolCalls,
  ToolDocuments,
} from "./ports.ts";
export type { RouteSpec } from "./routing/route-spec.ts";
export { describeRoutes } from "./routing/route-table.ts";
