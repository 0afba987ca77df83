// For tests: a server on the loopback interface, and a dispatcher that sends every name to it. The URL rules stay as they
// are in production; only the dial is replaced, TLS included.

import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Agent, type Dispatcher } from "undici";

export interface Loopback {
  readonly port: number;
  /** Dials this server whatever the URL's host and port are. */
  readonly dispatcher: Dispatcher;
  /** `host:port` of every connection that was asked for. */
  readonly dialed: string[];
  /** Connections that are open now. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

export async function startLoopback(listener: RequestListener): Promise<Loopback> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const dialed: string[] = [];
  const dispatcher = new Agent({
    connect: (target, callback) => {
      dialed.push(`${target.hostname}:${target.port || (target.protocol === "https:" ? "443" : "80")}`);
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => callback(null, socket));
      socket.once("error", (error) => callback(error, null));
    },
  });
  return {
    port,
    dispatcher,
    dialed,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
      ),
    close: async () => {
      await dispatcher.destroy();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
