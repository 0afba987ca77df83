// The executor edge seen from the executor: the same port as the kernel's, over plain HTTP (docs/design.md#public-surface).
//
//   E1. An answer of the kernel (accepted, duplicate, rejected + code) comes back as the same outcome; only a server that
//       cannot be reached, or fails, is an exception, and every request here is safe to repeat.
//   E2. The key and the capability travel in headers, never in a URL or an error.
//   E3. A claim that got no answer may have been made all the same. It is repeated with its claim id, which is the same
//       claim; with another one the call would be another claim's, and no executor would run it until its lease lapsed.

import type { CallHold, ClaimRequest, Clock, ExecutorPort, OpenedCall, Rejected, ReportOutcome } from "@tessera/kernel";
import { HEADERS, isErrorCode, isJsonObject, type JsonObject, UpstreamUnavailable } from "@tessera/protocol";
import { ToolError } from "@tessera/tool";
import { openedCallOf } from "./edge-call.ts";

export interface EdgeOptions {
  /** Of the API, e.g. http://127.0.0.1:8099 */
  readonly url: string;
  readonly apiKey: string;
  readonly clock: Clock;
  readonly mintClaimId: () => string;
  readonly fetch?: typeof fetch;
}

export interface EdgeClient extends Pick<ExecutorPort, "openCall" | "renewCall" | "putResultCard" | "report"> {
  claim(
    request: ClaimRequest & { readonly wait_ms?: number },
    options?: { signal?: AbortSignal },
  ): Promise<OpenedCall[]>;
  /** An operation of ctx.runtime, on behalf of a call that is held. Throws what the tool should see. */
  runtime(hold: CallHold, operation: string, request: object, waitMs?: number): Promise<unknown>;
  mintClaimId(): string;
}

/** Beyond the long poll itself: what a round trip may take. */
const ANSWER_MS_MAX = 15_000;
/** Before an opening that got no answer is tried again (E3), each time. */
const OPEN_AGAIN_MS: readonly number[] = [200, 1_000];

export function connectEdge(options: EdgeOptions): EdgeClient {
  const callPath = (hold: { project_id: string; tool_call_id: string }, what: string) =>
    `/projects/${hold.project_id}/calls/${hold.tool_call_id}/${what}`;

  async function post(path: string, body: object, extra: Extra = {}): Promise<Answer> {
    const timeout = new AbortController();
    const timer = options.clock.after(ANSWER_MS_MAX + (extra.waitMs ?? 0), () => timeout.abort());
    try {
      const response = await (options.fetch ?? fetch)(new URL(path, options.url), {
        method: "POST",
        headers: {
          authorization: `Bearer ${options.apiKey}`,
          "content-type": "application/json",
          ...extra.headers,
        },
        body: JSON.stringify(body),
        signal: AbortSignal.any([timeout.signal, ...(extra.signal ? [extra.signal] : [])]),
      });
      const text = await response.text();
      return { status: response.status, body: readBody(text) };
    } catch (cause) {
      throw new UpstreamUnavailable(`the API at ${new URL(options.url).origin} did not answer`, { cause });
    } finally {
      timer.cancel();
    }
  }

  return {
    mintClaimId: options.mintClaimId,
    async claim({ project_id, target, executor, claim_id, max = 1, wait_ms = 0 }, { signal } = {}) {
      const path = `/projects/${project_id}/executors/${target}/claim`;
      const extra = { waitMs: wait_ms, ...(signal === undefined ? {} : { signal }) };
      const body = accepted(await post(path, { max, wait_ms, executor, claim_id }, extra));
      const calls = Array.isArray(body.calls) ? body.calls : [];
      return calls.filter(isJsonObject).map((call) => openedCallOf(project_id, call));
    },
    async openCall(request) {
      const { tool_call_card_id, executor, ticket, claim_id = options.mintClaimId() } = request;
      const headers: Record<string, string> = ticket === undefined ? {} : { [HEADERS.call_ticket]: ticket };
      for (let tries = 0; ; tries++) {
        try {
          const body = { tool_call_card_id, executor, claim_id };
          const answer = await post(callPath(request, "open"), body, { headers });
          return rejectedBy(answer) ?? openedCallOf(request.project_id, answer.body);
        } catch (error) {
          const pauseMs = OPEN_AGAIN_MS[tries];
          if (pauseMs === undefined) throw error;
          await new Promise<void>((resolve) => options.clock.after(pauseMs, resolve)); // E3
        }
      }
    },
    async renewCall(hold) {
      const answer = await post(callPath(hold, "heartbeat"), {}, capability(hold));
      const rejected = rejectedBy(answer);
      if (rejected !== null) return { ...rejected, cancel: true };
      if (answer.body.cancel === true) return { outcome: "rejected", code: "already_settled", cancel: true };
      return { outcome: "accepted", lease_expires_at: String(answer.body.lease_expires_at), cancel: false };
    },
    async putResultCard(request) {
      const { content, card_id, author_id, function_name } = request;
      const body = { content, card_id, author_id, function_name };
      const answer = await post(callPath(request, "result-card"), body, capability(request));
      const id = String(answer.body.tool_result_card_id);
      return rejectedBy(answer) ?? { outcome: "accepted", tool_result_card_id: id };
    },
    async report(request) {
      const { content, tool_result_card_id, status, after_execution, ...claims } = request;
      const { author_id, function_name, stack } = claims;
      const said = content ?? { tool_result_card_id, status, after_execution };
      const body = { ...said, author_id, function_name, stack };
      const answer = await post(callPath(request, "report"), body, capability(request));
      return rejectedBy(answer) ?? (answer.body as ReportOutcome);
    },
    async runtime(hold, operation, request, waitMs = 0) {
      const answer = await post(callPath(hold, `runtime/${operation}`), request, { ...capability(hold), waitMs });
      if (rejectedBy(answer) === null) return answer.body.answer;
      const detail = isJsonObject(answer.body.error_detail) ? answer.body.error_detail : {};
      const code = typeof detail.code === "string" ? detail.code : String(answer.body.error_code);
      const suggestion = typeof detail.suggestion === "string" ? { suggestion: detail.suggestion } : {};
      throw new ToolError(String(answer.body.error_message), { code, ...suggestion });
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}
interface Extra {
  readonly headers?: Readonly<Record<string, string>>;
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

function capability(hold: CallHold & { readonly traceparent?: string | undefined }): Extra {
  const trace = hold.traceparent === undefined ? {} : { [HEADERS.traceparent]: hold.traceparent };
  return { headers: { [HEADERS.report_capability]: hold.capability, ...trace } };
}

/** E1: 4xx with a code of ours is an answer. */
function rejectedBy(answer: Answer): Rejected | null {
  if (answer.status < 400) return null;
  const code = answer.body.error_code;
  const isAnswer = answer.status < 500 && answer.status !== 429 && answer.status !== 401;
  if (isAnswer && isErrorCode(code)) return { outcome: "rejected", code };
  throw new UpstreamUnavailable(`the API answered ${answer.status} ${String(answer.body.error_code ?? "")}`.trim());
}

function accepted(answer: Answer): JsonObject {
  const rejected = rejectedBy(answer);
  if (rejected === null) return answer.body;
  throw new UpstreamUnavailable(`the API refused: ${String(answer.body.error_message ?? rejected.code)}`);
}

function readBody(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {}; // a proxy in between answered; its status says enough
  }
}
