// For the tests of this folder: a provider on loopback, and a clock whose short waits pass at once.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "@tessera/kernel/ports";

interface SeenRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

export interface ModelServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** Connections that clients have closed. */
  closed: number;
}

/** Answers the n-th request (from 0) with `answer`. */
export async function modelServer(answer: (response: ServerResponse, n: number) => void): Promise<ModelServer> {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
      requests.push({ url: request.url ?? "", headers: request.headers, body });
      answer(response, requests.length - 1);
    });
    response.on("close", () => {
      if (!response.writableFinished) handle.closed++;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const handle: ModelServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    closed: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return handle;
}

/** Server-sent events; with `end` false the stream stays open. */
export function sendEvents(response: ServerResponse, events: readonly unknown[], end = true): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) {
    const name = (event as { type?: string }).type;
    if (typeof name === "string") response.write(`event: ${name}\n`);
    response.write(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
  }
  if (end) response.end();
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

export interface TestClock extends Clock {
  /** Back-offs that were waited for, in milliseconds. */
  readonly waits: number[];
  /** Timers of a limit that wait. */
  readonly limits: Set<{ readonly ms: number; readonly task: () => void }>;
  /** Lets the limit of so many milliseconds run out. */
  expire(ms: number): void;
}

const BACKOFF_MS_MAX = 60_000;

export function testClock(): TestClock {
  const waits: number[] = [];
  const limits = new Set<{ readonly ms: number; readonly task: () => void }>();
  return {
    waits,
    limits,
    databaseTime: () => null,
    monotonicMs: () => 0,
    after(ms, task) {
      const timer = { ms, task };
      if (ms > BACKOFF_MS_MAX) limits.add(timer);
      else {
        waits.push(ms);
        queueMicrotask(task);
      }
      return { cancel: () => void limits.delete(timer) };
    },
    expire(ms) {
      for (const timer of [...limits]) if (timer.ms === ms) timer.task();
    },
  };
}
