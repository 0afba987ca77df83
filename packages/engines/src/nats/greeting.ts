// Which servers are there and speak NATS: a NATS server speaks first.
//
// Asked before the client library connects, because that leaves a socket open for ever at a server that accepts and never
// greets (a proxy without a broker behind it, a stopped process), one at each attempt.
//
//   G1. Whatever comes of it, the socket is destroyed.

import { once } from "node:events";
import { connect } from "node:net";

const PORT_DEFAULT = 4222;
const GREETING = "INFO ";

/** Throws what the first one said if none greets in time. */
export async function greetingServers(
  servers: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string[]> {
  const answers = await Promise.allSettled(servers.map((server) => greet(server, timeoutMs, signal)));
  const greeting = servers.filter((_, index) => answers[index]?.status === "fulfilled");
  if (greeting.length > 0) return greeting;
  throw answers.find((answer) => answer.status === "rejected")?.reason ?? new Error("no server was named");
}

/** `host:port`, without whatever else stands in the URL. */
export function hostOf(server: string): string {
  return addressOf(server).host;
}

async function greet(server: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const { hostname, port } = addressOf(server);
  const timeout = AbortSignal.timeout(timeoutMs);
  const until = { signal: AbortSignal.any([signal, timeout]) };
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || PORT_DEFAULT) });
  socket.on("error", () => {}); // after the answer no listener is left
  try {
    const gone = once(socket, "close", until).then(() => {
      throw new Error("the server hung up without a greeting");
    });
    const [chunk] = (await Promise.race([once(socket, "data", until), gone])) as [Buffer];
    if (!chunk.toString("latin1").startsWith(GREETING)) throw new Error("what answers there does not speak NATS");
  } catch (error) {
    throw timeout.aborted ? new Error(`no server greeted within ${timeoutMs / 1_000} s`) : error;
  } finally {
    socket.destroy(); // G1
  }
}

function addressOf(server: string): URL {
  return new URL(server.includes("://") ? server : `nats://${server}`);
}
