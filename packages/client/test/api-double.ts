// A server on loopback that answers as a test tells it to, and timers that keep account of what was waited for.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { createMethods, openWorld } from "../src/create-client.ts";
import type { OperationSpec } from "../src/operation-spec.ts";
import type { Timers } from "../src/timers.ts";

export interface Heard {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type Answerer = (request: Heard, response: ServerResponse, count: number) => void;

export interface Double {
  readonly url: string;
  readonly heard: Heard[];
  close(): Promise<void>;
}

/** Closed when the test has ended, if it was not before. */
export async function openDouble(answer: Answerer, port = 0): Promise<Double> {
  const heard: Heard[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      heard.push(one);
      answer(one, response, heard.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard, close };
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

export function sendProblem(
  response: ServerResponse,
  status: number,
  code: string,
  headers: Record<string, string> = {},
) {
  const body = {
    status,
    error_code: code,
    error_message: `it is ${code}`,
    error_detail: { field: "x" },
    request_id: "req_1",
  };
  sendJson(response, status, body, { "content-type": "application/problem+json", ...headers });
}

export interface TestTimers extends Timers {
  /** What was waited for, in milliseconds. */
  readonly pauses: number[];
}

/** Short pauses end at once; the long ones, which are limits, never come (or at once, with `isLate`). */
export function testTimers({ isLate = false } = {}): TestTimers {
  const pauses: number[] = [];
  return {
    pauses,
    random: () => 0,
    after(ms, task) {
      const isLimit = ms >= 60_000;
      if (!isLimit) pauses.push(ms);
      if (isLimit && !isLate) return { cancel: () => undefined };
      const timer = setImmediate(task);
      return { cancel: () => clearImmediate(timer) };
    },
  };
}

export const TABLE = {
  getThing: op("GET", "/projects/{project}/things/{thing}", { query: { limit: "limit", isOpen: "isOpen" } }),
  makeThing: op("POST", "/projects/{project}/things", {
    headers: { idempotencyKey: "idempotency-key", ifMatch: "if-match" },
    body: "application/json",
  }),
  uploadThing: op("POST", "/projects/{project}/uploads", { body: "application/yaml", answer: "none" }),
  callThing: op("POST", "/projects/{project}/things/{thing}:call", { body: "application/json" }),
  getText: op("GET", "/text", { answer: "text" }),
  streamThings: op("GET", "/projects/{project}/events", { query: { after: "after" }, answer: "events" }),
} as const;

function op(method: OperationSpec["method"], path: string, more: Partial<OperationSpec>): OperationSpec {
  return { method, path, query: {}, headers: {}, body: null, answer: "json", ...more };
}

type Call = (call?: Readonly<Record<string, unknown>>) => Promise<unknown>;
type Stream = (call?: Readonly<Record<string, unknown>>) => AsyncIterable<{ id: string; event: string; data: unknown }>;
export type DoubleMethods = Record<Exclude<keyof typeof TABLE, "streamThings">, Call> & { streamThings: Stream };

export const KEY = "tsk_secret-of-the-test";

export function methodsFor(url: string, timers: Timers = testTimers(), retries = 2): DoubleMethods {
  return createMethods(openWorld({ url, apiKey: KEY, timers, retries }), TABLE) as never;
}
