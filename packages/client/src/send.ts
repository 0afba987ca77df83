// A call: at most so many exchanges, within one time limit.
//
//   S1. Repeated is only what is safe to repeat: a GET, and a request with an Idempotency-Key. Only after 429 or 503 with
//       Retry-After, or when there was no connection; everything else is the caller's to decide.
//   S2. The time limit is for all of it, the pauses included. A server that asks for a longer pause than PAUSE_MS_MAX is not
//       waited for.

import { ApiError, errorOfAnswer } from "./api-error.ts";
import { type Connection, describe, exchange, readText } from "./connection.ts";
import type { CallOptions, OperationSpec } from "./operation-spec.ts";
import { SHAPES } from "./operations.gen.ts";
import type { PreparedRequest } from "./request.ts";
import { backoffMs, pause, type Timers } from "./timers.ts";
import { fromWire } from "./wire-form.ts";

export interface SendDeps {
  readonly connection: Connection;
  readonly timers: Timers;
  /** Besides the first try. */
  readonly retries: number;
  readonly timeoutMs: number;
}

const PAUSE_MS_MAX = 30_000;
const BACKOFF = { firstMs: 200, maxMs: 5_000 };

export async function send(
  world: SendDeps,
  spec: OperationSpec,
  request: PreparedRequest,
  options: CallOptions,
): Promise<unknown> {
  const { connection, timers } = world;
  const timeoutMs = options.timeoutMs ?? world.timeoutMs;
  const late = new AbortController();
  let last: unknown;
  const timer = timers.after(timeoutMs, () => {
    const message = `${describe(connection, request)} was not answered within ${timeoutMs} ms`;
    late.abort(new ApiError(message, { status: 0, code: "timeout", cause: last }));
  });
  const signal = options.signal === undefined ? late.signal : AbortSignal.any([options.signal, late.signal]);
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        const { response, body } = await once(connection, spec, request, signal);
        options.onAnswer?.({ status: response.status, etag: response.headers.get("etag") });
        return body;
      } catch (error) {
        last = error;
        const waitMs = attempt <= world.retries && isSafe(request) ? pauseAfter(error, attempt, timers) : null;
        if (waitMs === null) throw error;
        await pause(timers, waitMs, signal);
      }
    }
  } finally {
    timer.cancel(); // S2
  }
}

async function once(
  connection: Connection,
  spec: OperationSpec,
  request: PreparedRequest,
  signal: AbortSignal,
): Promise<{ readonly response: Response; readonly body: unknown }> {
  const response = await exchange(connection, request, signal);
  const text = await readText(connection, request, response, signal);
  if (!response.ok) throw errorOfAnswer(response, text, describe(connection, request));
  if (spec.answer === "text") return { response, body: text };
  if (spec.answer === "none" || response.status === 204) return { response, body: undefined };
  try {
    return { response, body: fromWire(JSON.parse(text), spec.answerShape, SHAPES) };
  } catch (cause) {
    const type = response.headers.get("content-type") ?? "nothing";
    const message = `${describe(connection, request)} was answered with ${type}, not with JSON; is this the address of a Tessera API?`;
    throw new ApiError(message, { status: response.status, code: "protocol_violation", cause });
  }
}

/** S1 */
function isSafe({ method, headers }: PreparedRequest): boolean {
  return method === "GET" || headers["idempotency-key"] !== undefined;
}

/** How long to wait before the next try, or null for none (S1). */
function pauseAfter(error: unknown, attempt: number, timers: Timers): number | null {
  if (!(error instanceof ApiError)) return null;
  if (error.status === 0) return error.code === "upstream_unavailable" ? backoffMs(timers, attempt, BACKOFF) : null;
  const isBusy = error.status === 429 || error.status === 503;
  return isBusy && error.retryAfterMs !== null && error.retryAfterMs <= PAUSE_MS_MAX ? error.retryAfterMs : null;
}
