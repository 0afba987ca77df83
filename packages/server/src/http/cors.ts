// Pages of other origins: what their browser is told, so that it lets them send requests and read the answers.
//
//   C1. Only an Origin that the host guard has let pass is named, never `*`, and never with cookies: a page shows a key of its
//       own like everybody else. So a page gets no further than the guard and the key let it.
//   C2. A browser asks before it sends (preflight), and sends no key with that. The answer says what the path knows and nothing else.

import type { IncomingHttpHeaders } from "node:http";
import { API_REQUEST_HEADERS } from "./wire-guard.ts";

const SENT = API_REQUEST_HEADERS.join(", ");
const READ = "allow, etag, retry-after, www-authenticate, x-request-id";
const PREFLIGHT_SECONDS = "600";

/** C1. Of every answer to a request that names an origin, refusals included. */
export function corsHeaders({ origin }: IncomingHttpHeaders): Readonly<Record<string, string>> {
  if (origin === undefined) return {};
  return { "access-control-allow-origin": origin, "access-control-expose-headers": READ, vary: "origin" };
}

/** C2. Null for what is no preflight. */
export function preflightHeaders(
  method: string,
  headers: IncomingHttpHeaders,
  methods: readonly string[],
): Readonly<Record<string, string>> | null {
  const isPreflight =
    method === "OPTIONS" && headers.origin !== undefined && "access-control-request-method" in headers;
  if (!isPreflight || methods.length === 0) return null;
  return {
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": SENT,
    "access-control-max-age": PREFLIGHT_SECONDS,
  };
}
