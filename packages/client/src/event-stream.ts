// Events as an endless list: when the connection ends, the next one goes on after the last event that came (Last-Event-ID).
//
//   V1. It ends when its signal is aborted, or when its reader stops; then nothing of it is left running.
//   V2. It throws what trying again cannot change (no right, no such project), and what was the matter last when
//       FAILURES_MAX connections in a row brought nothing. The first connection is tried like any GET.
//   V3. A connection that brings nothing for IDLE_MS, not even a comment, counts as lost: it may be half open.

import { ApiError, errorOfAnswer } from "./api-error.ts";
import { describe, exchange, unreachable } from "./connection.ts";
import { SHAPES } from "./operations.gen.ts";
import type { PreparedRequest } from "./request.ts";
import type { SendDeps } from "./send.ts";
import { createSseParser, type SseEvent } from "./sse-parser.ts";
import { backoffMs, pause, type Timers } from "./timers.ts";
import { fromWire, type WireShape } from "./wire-form.ts";

/** One event of a stream. */
export interface StreamedEvent<T> {
  /** Where the next connection goes on. */
  readonly id: string;
  /** Its kind on the stream. */
  readonly event: string;
  /** What happened. */
  readonly data: T;
}

/** What a method that streams takes besides the operation's own arguments. */
export interface StreamOptions {
  /** Ends the stream. */
  readonly signal?: AbortSignal;
  /** Called when a connection stands: what happens from now on is in it. */
  readonly onOpen?: () => void;
  /** Called before each pause, so that a reader can say why nothing comes. */
  readonly onReconnect?: (why: { readonly error: unknown; readonly waitMs: number }) => void;
}

const FAILURES_MAX = 10;
const IDLE_MS = 60_000;
const BACKOFF = { firstMs: 500, maxMs: 15_000 };
const EVENT_STREAM = "text/event-stream";

export interface StreamRequests {
  /** Without Last-Event-ID. */
  readonly first: PreparedRequest;
  /** The same without where to begin. */
  readonly next: PreparedRequest;
  /** Of an event. */
  readonly shape?: WireShape | undefined;
}

export async function* streamEvents<T>(
  world: SendDeps,
  { first, next, shape }: StreamRequests,
  options: StreamOptions,
): AsyncGenerator<StreamedEvent<T>, void, undefined> {
  const { connection, timers } = world;
  const asked = options.signal ?? new AbortController().signal;
  let failures = 0;
  let failuresMax = world.retries; // V2
  let lastId = "";
  while (!asked.aborted) {
    const attempt = new AbortController();
    const signal = AbortSignal.any([asked, attempt.signal]);
    const idle = watchIdle(timers, () => attempt.abort(silent(describe(connection, first))));
    let error: unknown = new ApiError(`${describe(connection, first)}: the stream ended`, {
      status: 0,
      code: "upstream_unavailable",
    });
    const parser = createSseParser(lastId);
    try {
      const more = { accept: EVENT_STREAM, ...(lastId === "" ? {} : { "last-event-id": lastId }) };
      const request = lastId === "" ? first : next;
      const response = await exchange(connection, request, signal, more);
      if (!response.ok) throw errorOfAnswer(response, await response.text(), describe(connection, request));
      const chunks = bodyOf(response, describe(connection, request));
      failuresMax = FAILURES_MAX;
      options.onOpen?.();
      for (;;) {
        const piece = await chunks.read().catch((cause: unknown) => {
          throw unreachable(connection, request, cause, signal);
        });
        if (piece.done) break;
        failures = 0;
        idle.heard();
        for (const event of parser.push(piece.value)) yield eventOf<T>(event, shape, describe(connection, request));
      }
    } catch (caught) {
      if (asked.aborted) return; // V1
      if (!isPassing(caught)) throw caught;
      error = caught;
    } finally {
      idle.stop();
      attempt.abort(); // closes the connection, also when the reader has stopped (V1)
    }
    lastId = parser.lastId;
    failures++;
    if (failures > failuresMax) throw error; // V2
    const wished = (error instanceof ApiError ? error.retryAfterMs : null) ?? parser.retryMs ?? 0;
    const waitMs = Math.max(Math.min(wished, BACKOFF.maxMs), backoffMs(timers, failures, BACKOFF));
    options.onReconnect?.({ error, waitMs });
    await pause(timers, waitMs, asked).catch(() => undefined); // aborted: the loop sees it
  }
}

/** What may be otherwise the next time: no connection, too much, out of order for a while (V2). */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (error.status === 0) return error.code === "upstream_unavailable";
  return error.status === 429 || error.status >= 500;
}

function bodyOf(response: Response, asked: string): ReadableStreamDefaultReader<Uint8Array> {
  const type = response.headers.get("content-type") ?? "nothing";
  if (response.body !== null && type.startsWith(EVENT_STREAM)) return response.body.getReader();
  const message = `${asked} was answered with ${type}, not with events; is this the address of a Tessera API?`;
  throw new ApiError(message, { status: response.status, code: "protocol_violation" });
}

function eventOf<T>({ id, event, data }: SseEvent, shape: WireShape | undefined, asked: string): StreamedEvent<T> {
  try {
    return { id, event, data: fromWire(JSON.parse(data), shape, SHAPES) as T };
  } catch (cause) {
    throw new ApiError(`${asked} sent an event that is not JSON`, { status: 200, code: "protocol_violation", cause });
  }
}

/** V3 */
function watchIdle(timers: Timers, onIdle: () => void): { heard(): void; stop(): void } {
  let timer = timers.after(IDLE_MS, onIdle);
  return {
    heard() {
      timer.cancel();
      timer = timers.after(IDLE_MS, onIdle);
    },
    stop: () => timer.cancel(),
  };
}

function silent(asked: string): ApiError {
  return new ApiError(`${asked} sent nothing for ${IDLE_MS} ms`, { status: 0, code: "upstream_unavailable" });
}
