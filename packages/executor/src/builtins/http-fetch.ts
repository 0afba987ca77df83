// http-fetch: get and post to public hosts. ../net says where they may go and how much comes back.
//
//   H1. The URL rules are asked for the URL and for every redirect, and the dispatcher refuses to dial an address that is
//       not public, whatever the name resolved to.
//   H2. A body is text in the output's `body`. Whatever it says, `__cg_control` and the like included, it is content and
//       cannot steer the call.
//   H3. `post` is `once`. Where the request may have arrived although no answer came, or only a redirect that leads
//       nowhere, the error is `outcome_unknown`, so that it is not repeated without looking.

import type { Clock } from "@tessera/kernel/ports";
import { errorOf, TesseraError } from "@tessera/protocol";
import { defineTool, type JsonObject, type RegisteredTool, type ToolContext } from "@tessera/tool";
import { checkUrl, parseUrl, URL_POLICY_DEFAULT, type UrlPolicy } from "../net/check-url.ts";
import { httpCall, mayHaveArrived, type Outgoing } from "../net/http-call.ts";
import { createLazyAgent } from "../net/lazy-agent.ts";
import { readableText } from "./readable-text.ts";

export interface HttpFetchOptions extends Partial<UrlPolicy> {
  /** Who dials; a guarded agent when absent. */
  readonly dispatcher?: Outgoing;
}

const ERROR_MESSAGE_LIMIT = 1_000;
const TIMEOUT_MS = { default: 30_000, max: 120_000 };
/** The argument decides; the call's own limit stands behind it. */
const CALL_TIMEOUT_MS = TIMEOUT_MS.max + 10_000;
/** At most what a result card can hold with room for escapes and headers. */
const BYTES = { default: 500_000, max: 700_000 };
const REDIRECTS_MAX = 3;
const USER_AGENT = "tessera-http-fetch";

const request = {
  url: { type: "string", minLength: 1, maxLength: 8_192, description: "An absolute https URL of a public host" },
  headers: { type: "object", additionalProperties: { type: ["string", "number", "boolean"] }, default: {} },
  timeoutMs: { type: "integer", minimum: 1, maximum: TIMEOUT_MS.max, default: TIMEOUT_MS.default },
  maxBytes: { type: "integer", minimum: 1, maximum: BYTES.max, default: BYTES.default },
} as const;
const common = { errorMessageLimit: ERROR_MESSAGE_LIMIT, timeoutMs: CALL_TIMEOUT_MS, placement: "inline" } as const;

export function httpFetchTools(options: HttpFetchOptions, clock: Clock): readonly RegisteredTool[] {
  const policy: UrlPolicy = { ...URL_POLICY_DEFAULT, ...options };
  const dispatcher = options.dispatcher ?? createLazyAgent().dispatcher;

  const fetch = async (ctx: ToolContext, method: string, ask: Ask): Promise<JsonObject> => {
    let wasAnswered = false;
    const answer = await httpCall({
      url: parseUrl(ask.url),
      method,
      headers: withDefaults(ask.headers, { "user-agent": USER_AGENT }),
      body: ask.body,
      signal: ctx.signal,
      timeoutMs: ask.timeoutMs,
      bytesMax: ask.maxBytes + 1, // one more, so that a character at the cut is seen whole or not at all
      dispatcher,
      allow: (url) => checkUrl(url, policy), // H1
      redirectsMax: REDIRECTS_MAX,
      onAnswered: () => {
        wasAnswered = true;
      },
      clock,
    }).catch((error: unknown) => {
      const isUncertain = method === "POST" && TesseraError.is(error) && mayHaveArrived(error, { wasAnswered });
      throw isUncertain ? unknownOutcome(error) : error; // H3
    });
    const truncated = answer.truncated || answer.body.length > ask.maxBytes;
    const { url, status, statusText, headers, durationMs } = answer;
    const body = readableText(answer.body, ask.maxBytes); // H2
    return { url, method, status, statusText, headers, body, truncated, durationMs };
  };

  const get = defineTool({
    ...common,
    name: "http-fetch__get",
    description: "Fetches a URL of a public host with GET. Text only; private addresses are refused.",
    effect: "read",
    parameters: { type: "object", additionalProperties: false, required: ["url"], properties: request },
    handler: (ctx, input) => fetch(ctx, "GET", { ...input, headers: stringsOf(input.headers) }),
  });

  const post = defineTool({
    ...common,
    name: "http-fetch__post",
    description: "Sends a POST request to a public host, with a JSON body or a text.",
    effect: "once", // H3
    parameters: {
      type: "object",
      additionalProperties: false,
      required: ["url"],
      properties: {
        ...request,
        body: { type: "object", description: "Sent as JSON" },
        bodyString: { type: "string", description: "Sent as it is, where there is no body" },
      },
    },
    handler: async (ctx, input) => {
      const isJson = input.body !== undefined;
      const body = isJson ? JSON.stringify(input.body) : input.bodyString;
      const headers = withDefaults(stringsOf(input.headers), isJson ? { "content-type": "application/json" } : {});
      return await fetch(ctx, "POST", { ...input, headers, body });
    },
  });

  return [get, post];
}

interface Ask {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

function unknownOutcome(error: TesseraError): TesseraError {
  return errorOf("outcome_unknown", `${error.message}; the request may have arrived`, {
    cause: error,
    details: { reason: error.code },
  });
}

/** The given headers, and those of `defaults` that are not among them in any spelling. */
function withDefaults(given: Readonly<Record<string, string>>, defaults: Readonly<Record<string, string>>) {
  const names = new Set(Object.keys(given).map((name) => name.toLowerCase()));
  return { ...Object.fromEntries(Object.entries(defaults).filter(([name]) => !names.has(name))), ...given };
}

function stringsOf(headers: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
