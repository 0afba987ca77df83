// One exchange with the API: from a prepared request to an answer, or an ApiError that says what was tried.
//
//   C1. The key goes to the API and nowhere else: a redirect is not followed, and no message shows it.
//   C2. A call that is aborted rejects with the signal's own reason, not with an error of ours.

import { ApiError } from "./api-error.ts";
import type { PreparedRequest } from "./request.ts";

export interface Connection {
  /** Of readBaseUrl. */
  readonly url: string;
  readonly apiKey: string | null;
  readonly fetch: typeof globalThis.fetch;
}

/** Why there was no connection, by the codes of Node. A browser does not tell. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there; is the server running?",
  ENOTFOUND: "the name of the host is not known",
  EAI_AGAIN: "the name of the host could not be looked up",
  ECONNRESET: "the connection was cut",
  UND_ERR_SOCKET: "the connection was cut",
  ETIMEDOUT: "the host did not answer",
  UND_ERR_CONNECT_TIMEOUT: "the host did not answer",
  EHOSTUNREACH: "there is no way to the host",
  ENETUNREACH: "there is no way to the host",
};
const CERTIFICATE = /CERT|SELF_SIGNED|ERR_TLS|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/;
const NOT_TLS = /ERR_SSL|EPROTO|WRONG_VERSION_NUMBER|^HTTPParserError$/;

/** Resolves with whatever status was answered, other than a redirect. */
export async function exchange(
  connection: Connection,
  request: PreparedRequest,
  signal: AbortSignal,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { url, apiKey, fetch } = connection;
  const headers = { ...request.headers, ...more, ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }) };
  let response: Response;
  try {
    response = await fetch(url + request.target, {
      method: request.method,
      headers,
      body: request.body,
      redirect: "manual", // C1
      signal,
    });
  } catch (error) {
    throw unreachable(connection, request, error, signal);
  }
  const isRedirect = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400);
  if (!isRedirect) return response;
  await response.body?.cancel();
  const message = `${describe(connection, request)} was answered with a redirect; use the address that it leads to`;
  throw new ApiError(message, { status: response.status, code: "protocol_violation" });
}

/** The whole text of an answer; a connection that is cut in the middle is told as one that could not be made. */
export async function readText(
  connection: Connection,
  request: PreparedRequest,
  response: Response,
  signal: AbortSignal,
): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw unreachable(connection, request, error, signal);
  }
}

export function unreachable(
  connection: Connection,
  request: PreparedRequest,
  error: unknown,
  signal: AbortSignal,
): unknown {
  if (signal.aborted) return signal.reason; // C2
  const code = codeOf(error);
  const message = `cannot reach ${connection.url} (${request.method} ${pathOf(request)}): ${reasonOf(code)}`;
  return new ApiError(message, { status: 0, code: "upstream_unavailable", cause: error });
}

/** What was asked, for messages: without the query, which may be long. */
export function describe({ url }: Connection, request: PreparedRequest): string {
  return `${request.method} ${url}${pathOf(request)}`;
}

function pathOf({ target }: PreparedRequest): string {
  return target.split("?")[0] ?? target;
}

function reasonOf(code: string | null): string {
  if (code === null) return "there was no connection";
  const known = REASONS[code];
  if (known !== undefined) return `${known} (${code})`;
  if (CERTIFICATE.test(code)) return `its certificate is not trusted here (${code})`;
  if (NOT_TLS.test(code))
    return `it does not speak this protocol; try http instead of https, or the other way round (${code})`;
  return code;
}

/** fetch wraps what happened, and several addresses of one name fail together. */
function codeOf(error: unknown): string | null {
  for (let at: unknown = error, depth = 0; typeof at === "object" && at !== null && depth < 5; depth++) {
    const { name, code, errors, cause } = at as { name?: string; code?: unknown; errors?: unknown; cause?: unknown };
    if (name === "HTTPParserError") return name;
    if (typeof code === "string" && code !== "") return code;
    at = Array.isArray(errors) && errors.length > 0 ? errors[0] : cause;
  }
  return null;
}
