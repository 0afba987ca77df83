// A local server that stands in for any host: its dispatcher dials it whatever the URL says, so that the allow-lists of the
// code under test stay as they are.

import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Agent } from "undici";

export interface Upstream {
  readonly dispatcher: Agent;
  readonly seen: { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders }[];
  close(): Promise<void>;
}

/** `answer` makes a JSON body of a request. */
export async function startUpstream(
  answer: (request: { url: string; headers: IncomingHttpHeaders }) => { status?: number; body: unknown },
): Promise<Upstream> {
  const seen: Upstream["seen"] = [];
  const server = createServer((incoming, response) => {
    const request = { method: incoming.method ?? "", url: incoming.url ?? "", headers: incoming.headers };
    seen.push(request);
    const { status = 200, body } = answer(request);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const dispatcher = new Agent({
    connect: (_, callback) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => callback(null, socket));
      socket.once("error", (error) => callback(error, null));
    },
  });
  return {
    dispatcher,
    seen,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
