// For tests: a local server that stands in for any host. The dispatcher dials it whatever the URL says, so that the code
// under test, its allow-lists included, is the same as in production.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Agent, type Dispatcher } from "undici";

export interface SeenRequest {
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
  const dialed: string[] = [];
  const server = createServer((incoming, response) => {
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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const dispatcher = new Agent({
    connect: (options, callback) => {
      dialed.push(`${options.hostname}:${options.port || (options.protocol === "https:" ? "443" : "80")}`);
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => callback(null, socket));
      socket.once("error", (error) => callback(error, null));
    },
  });
  const standIn: StandIn = {
    dispatcher,
    seen,
    dialed,
    answer: (_, response) => json(response, {}),
    async [Symbol.asyncDispose]() {
      await dispatcher.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return standIn;
}

export function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" }).end(JSON.stringify(body));
}

export function text(response: ServerResponse, body: string | Buffer, status = 200, type = "text/plain"): void {
  response.writeHead(status, { "content-type": type }).end(body);
}
