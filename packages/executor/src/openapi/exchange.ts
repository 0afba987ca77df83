// One request of a definition's tool, from what is to be sent to the tool's output.
//
//   X1. Every hop is asked for by `allow`, which belongs to the definition's own host list.
//   X2. The trace goes on: same trace id, a span id of its own, derived from the call so that an attempt has one.
//   X3. A request that may have had its effect although no answer came, or only a redirect that leads nowhere, is
//       `outcome_unknown` where the tool's effect is `once`: it must not be repeated without looking.
//   X4. Errors name hosts and variables, never values. Message and details pass the mask whatever the error: a server
//       that redirects may put what it was sent into the name of the next host.

import { createHash } from "node:crypto";
import type { Clock } from "@tessera/kernel/ports";
import {
  type ErrorCode,
  errorOf,
  formatTraceparent,
  type JsonObject,
  normalizeTraceId,
  TesseraError,
} from "@tessera/protocol";
import type { ToolContext, ToolInvocation } from "@tessera/tool";
import { type HttpAnswer, httpCall, mayHaveArrived, type Outgoing } from "../net/http-call.ts";
import { createSecretMask } from "../secrets/secret-mask.ts";
import { ANSWER_BYTES_MAX, failureDetails, readAnswer } from "./answer.ts";

const REDIRECTS_MAX = 3;
const TRACE_FLAGS = "01";
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Everything about a request that the definition and the arguments decide. */
export interface OutgoingRequest {
  readonly url: URL;
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly timeoutMs: number;
  readonly allow: (url: URL, method: string) => void;
  /** What must not come back. */
  readonly secrets: readonly string[];
  readonly errorKey: string | null;
}

export interface Exchange {
  readonly dispatcher: Outgoing;
  readonly clock: Clock;
  readonly invocation: ToolInvocation;
  readonly ctx: ToolContext;
}

export async function exchange(
  request: OutgoingRequest,
  { dispatcher, clock, invocation, ctx }: Exchange,
): Promise<JsonObject> {
  const reader = {
    tool_name: invocation.tool_name,
    tool_call_id: invocation.tool_call_id,
    // Names of hosts and types of content come in small letters only.
    mask: createSecretMask(request.secrets.flatMap((secret) => [secret, secret.toLowerCase()])),
    errorKey: request.errorKey,
  };
  let answer: HttpAnswer;
  let wasAnswered = false;
  try {
    answer = await httpCall({
      url: request.url,
      method: request.method,
      headers: { ...request.headers, ...traceHeaders(invocation) },
      body: request.body,
      signal: ctx.signal,
      timeoutMs: request.timeoutMs,
      bytesMax: ANSWER_BYTES_MAX,
      dispatcher,
      allow: request.allow, // X1
      redirectsMax: REDIRECTS_MAX,
      onAnswered: () => {
        wasAnswered = true;
      },
      clock,
    });
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    const mayHaveEffect = invocation.effect === "once" && !SAFE_METHODS.has(request.method);
    const isUncertain = mayHaveEffect && mayHaveArrived(error, { wasAnswered });
    if (!isUncertain && error.code !== "upstream_unavailable" && error.code !== "tool_timeout") {
      throw errorOf(error.code, reader.mask.text(error.message), { details: reader.mask.value(error.details) }); // X4
    }
    const code: ErrorCode = isUncertain ? "outcome_unknown" : error.code; // X3
    const details = { ...failureDetails(reader, null, error.message), ...(isUncertain ? { reason: error.code } : {}) };
    throw errorOf(code, reader.mask.text(error.message), { details }); // X4
  }
  return readAnswer(answer, reader);
}

/** X2. A trace id that is none is left out: a foreign one would join what does not belong together. */
function traceHeaders(invocation: ToolInvocation): Record<string, string> {
  const trace_id = normalizeTraceId(invocation.trace_id);
  if (trace_id === null) return {};
  const span = createHash("sha256").update(
    JSON.stringify([invocation.span_id, invocation.tool_call_id, invocation.attempt]),
  );
  return { traceparent: formatTraceparent({ trace_id, span_id: span.digest("hex").slice(0, 16), flags: TRACE_FLAGS }) };
}
