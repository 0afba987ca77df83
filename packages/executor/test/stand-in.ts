// For tests: a loopback server that stands in for any host and keeps what it was asked. The code under test, its
// allow-lists included, is the same as in production.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Dispatcher } from "undici";
import { startLoopback } from "./loopback.ts";

interface SeenRequest {
  /** As the request was dialed and addressed. */
  readonly host: string;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type Answer = (request: SeenRequest, response: ServerResponse) => void;

export interface StandIn extends AsyncDisposable {
  readonly dispatcher: Dispatcher;
  readonly seen: SeenRequest[];
  /** `host:port` of every connection. */
  readonly dialed: string[];
  answer: Answer;
}

export async function startStandIn(): Promise<StandIn> {
  const seen: SeenRequest[] = [];
  const loopback = await startLoopback((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const request = {
        host: incoming.headers.host ?? "",
        method: incoming.method ?? "",
        url: incoming.url ?? "",
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      };
      seen.push(request);
      standIn.answer(request, response);
    });
  });
  const standIn: StandIn = {
    dispatcher: loopback.dispatcher,
    seen,
    dialed: loopback.dialed,
    answer: (_, response) => json(response, {}),
    [Symbol.asyncDispose]: () => loopback.close(),
  };
  return standIn;
}

export function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" }).end(JSON.stringify(body));
}

export function text(response: ServerResponse, body: string | Buffer, status = 200, type = "text/plain"): void {
  response.writeHead(status, { "content-type": type }).end(body);
}
