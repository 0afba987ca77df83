// One HTTP exchange on behalf of a tool: bounded in time, in bytes and in where it may go.
//
//   H1. `allow` is asked for the first URL and for every redirect, before anything is dialed. What a name resolves to is
//       checked by the dispatcher at connect time (guarded-agent.ts), since only there the answer cannot change again.
//   H2. The timeout covers the whole exchange, redirects and body included, and ends it: the socket is closed.
//   H3. Bytes are counted on the wire and after decompression. More than `bytesMax` is cut and said (`truncated`); a body
//       that unpacks to more than RATIO_MAX times its size is a bomb and is refused.
//   H4. To another origin only the headers of FOLLOWING_HEADERS are sent. A list of credential headers to drop would miss
//       the one that some API invented.
//   H5. Messages name headers, never their values, and URLs without query: both may hold secrets.
//   H6. A proxy from the environment is never used: the dispatcher is given.

import type { Clock } from "@tessera/kernel/ports";
import { errorOf, TesseraError } from "@tessera/protocol";
import type { Dispatcher } from "undici";
import { readBody } from "./http-body.ts";
import { checkRequestHeaders, FOLLOWING_HEADERS, flattenHeaders } from "./http-headers.ts";

/** Who dials: a dispatcher, or what makes one for the first request. The library behind it is loaded then, too. */
export type Outgoing = Dispatcher | (() => Promise<Dispatcher>);

export interface HttpCall {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly dispatcher: Outgoing;
  /** Throws TesseraError url_not_allowed; asked for the first URL and for every redirect. */
  readonly allow: (url: URL, method: string) => void;
  /** 0: a redirect is the answer. Otherwise one more than this is an error. */
  readonly redirectsMax: number;
  /** A request was answered, if only by a redirect: it has arrived, whatever fails after it. */
  readonly onAnswered?: () => void;
  readonly clock: Clock;
}

export interface HttpAnswer {
  /** Where the answer came from, after redirects. */
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case; repeated headers joined with `, `. */
  readonly headers: Record<string, string>;
  /** Decompressed; at most `bytesMax`. */
  readonly body: Uint8Array;
  readonly truncated: boolean;
  readonly durationMs: number;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Codes of a connection that never stood. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
]);
const STATUS_TEXT_CHARS_MAX = 200;
const URL_CHARS_SHOWN = 300;

/** Where the exchange stands; a redirect makes the next one. */
interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export async function httpCall(call: HttpCall): Promise<HttpAnswer> {
  const startedMs = call.clock.monotonicMs();
  const headers = checkRequestHeaders(call.headers);
  const ending = new AbortController();
  const timer = call.clock.after(call.timeoutMs, () => ending.abort(timeoutError(call)));
  const onCancel = () => ending.abort(errorOf("canceled", `the request to ${shown(call.url)} was canceled`));
  call.signal.addEventListener("abort", onCancel, { once: true });
  if (call.signal.aborted) onCancel();
  try {
    let hop: Hop = { url: call.url, method: call.method.toUpperCase(), headers, body: call.body };
    for (let redirects = 0; ; redirects++) {
      const outcome = await exchange(call, hop, ending.signal);
      if (outcome.kind === "answer") {
        return { ...outcome.answer, durationMs: Math.round(call.clock.monotonicMs() - startedMs) };
      }
      if (redirects >= call.redirectsMax) {
        throw errorOf("upstream_unavailable", `${shown(call.url)} redirects more than ${call.redirectsMax} times`);
      }
      hop = nextHop(hop, outcome);
    }
  } catch (error) {
    throw asTesseraError(error, ending.signal, call.url);
  } finally {
    timer.cancel();
    call.signal.removeEventListener("abort", onCancel);
  }
}

type Outcome =
  | { readonly kind: "answer"; readonly answer: Omit<HttpAnswer, "durationMs"> }
  | { readonly kind: "redirect"; readonly status: number; readonly location: string };

async function exchange(call: HttpCall, hop: Hop, signal: AbortSignal): Promise<Outcome> {
  if (hop.url.protocol !== "https:" && hop.url.protocol !== "http:") {
    throw errorOf("url_not_allowed", `${hop.url.protocol} addresses cannot be fetched; use https:`);
  }
  call.allow(hop.url, hop.method); // H1
  signal.throwIfAborted();
  const { request } = await import("undici");
  const response = await request(hop.url, {
    dispatcher: typeof call.dispatcher === "function" ? await call.dispatcher() : call.dispatcher, // H6
    method: hop.method,
    headers: { ...hop.headers, "accept-encoding": "gzip, deflate, br" },
    body: hop.body ?? null,
    signal,
    // The call's own clock rules (H2); undici's two would only measure pauses.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  call.onAnswered?.();
  // A body that is thrown away reports its own abort; no caller waits for it any more.
  response.body.on("error", () => {});
  const headers = flattenHeaders(response.headers);
  const location = headers.location;
  if (call.redirectsMax > 0 && REDIRECTS.has(response.statusCode) && location !== undefined) {
    response.body.destroy();
    return { kind: "redirect", status: response.statusCode, location };
  }
  const bodiless = hop.method === "HEAD" || response.statusCode === 204 || response.statusCode === 304;
  const read = await readBody(response.body, {
    encoding: bodiless ? "" : (headers["content-encoding"] ?? ""),
    bytesMax: call.bytesMax,
  }); // H3
  const statusText = response.statusText.slice(0, STATUS_TEXT_CHARS_MAX);
  return { kind: "answer", answer: { url: hop.url.href, status: response.statusCode, statusText, headers, ...read } };
}

/** The request that a redirect asks for. Decides only; `allow` is asked when it is made. */
function nextHop(hop: Hop, redirect: { readonly status: number; readonly location: string }): Hop {
  if (!URL.canParse(redirect.location, hop.url.href)) {
    throw errorOf("upstream_unavailable", `${shown(hop.url)} redirects to something that is not a URL`);
  }
  const url = new URL(redirect.location, hop.url.href);
  const keepsMethod = redirect.status === 307 || redirect.status === 308 || hop.method === "HEAD";
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(hop.headers)) {
    if (url.origin !== hop.url.origin && !FOLLOWING_HEADERS.has(name)) continue; // H4
    if (!keepsMethod && name.startsWith("content-")) continue;
    headers[name] = value;
  }
  return keepsMethod ? { ...hop, url, headers } : { url, method: "GET", headers, body: undefined };
}

/** The failed request may have had its effect. Only a refusal of ours or a connection that never stood, both before the
 *  first answer, are certain. */
export function mayHaveArrived(
  { code, cause }: TesseraError,
  { wasAnswered }: { readonly wasAnswered: boolean },
): boolean {
  if (wasAnswered) return code !== "canceled";
  if (code !== "tool_timeout" && code !== "upstream_unavailable") return false;
  return !(cause instanceof Error && "code" in cause && NOT_SENT.has(cause.code));
}

function asTesseraError(error: unknown, ending: AbortSignal, url: URL): TesseraError {
  // Whatever broke after the end was called broke because of it (H2).
  if (ending.aborted && TesseraError.is(ending.reason)) return ending.reason;
  for (let cause = error, depth = 0; depth < 5 && cause instanceof Error; cause = cause.cause, depth++) {
    if (TesseraError.is(cause)) return cause;
  }
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
  return errorOf("upstream_unavailable", `${shown(url)} gave no answer (${code})`, { cause: error });
}

function timeoutError(call: HttpCall): TesseraError {
  return errorOf("tool_timeout", `${shown(call.url)} gave no whole answer within ${call.timeoutMs} ms`);
}

/** A URL for messages: without credentials, query and fragment (H5). */
function shown(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`.slice(0, URL_CHARS_SHOWN);
}
