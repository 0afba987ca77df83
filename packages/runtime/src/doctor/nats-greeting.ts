// What a NATS server says of itself before a client sends anything: its INFO line, and whether it lets this user in.
//
//   G1. Nothing is made or changed on the server: one connection, one CONNECT, one question to JetStream, closed.
//   G2. Nothing takes longer than GREETING_MS_MAX; a server that is silent is one that cannot be reached.

import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

export interface Greeting {
  readonly version: string;
  readonly jetstream: boolean;
  readonly authRequired: boolean;
  readonly tlsRequired: boolean;
  /** Null: let in. */
  readonly refusal: string | null;
  /** The broker's time when it described one of our streams; null where it told none. */
  readonly timeMs: number | null;
  /** The stream that was asked about takes no more messages: it keeps what it has, and is full. */
  readonly isStreamFull: boolean;
}

export interface GreetingOptions {
  readonly server: string;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  /** A stream to ask about. */
  readonly stream: string;
}

const GREETING_MS_MAX = 5_000;
const PORT_DEFAULT = 4222;
const INBOX = "_INBOX.tessera-doctor";

/** Throws when there is no NATS server. */
export async function greetNats(options: GreetingOptions): Promise<Greeting> {
  const { hostname, port, protocol } = new URL(options.server);
  const host = hostname.replace(/^\[|\]$/g, "");
  const signal = AbortSignal.timeout(GREETING_MS_MAX); // G2
  const plain = connectTcp({ host, port: Number(port || PORT_DEFAULT), signal });
  const sockets: Socket[] = [plain];
  try {
    await once(plain, "connect", { signal });
    const info = JSON.parse((await readLine(plain, signal, (line) => line.startsWith("INFO "))).slice("INFO ".length));
    const isTls = protocol === "tls:" || info.tls_required === true;
    const socket = isTls ? connectTls({ socket: plain, servername: host }) : plain;
    if (isTls) {
      sockets.push(socket);
      await once(socket, "secureConnect", { signal });
    }
    const greeting = {
      version: String(info.version ?? "unknown"),
      jetstream: info.jetstream === true,
      authRequired: info.auth_required === true,
      tlsRequired: info.tls_required === true,
    };
    return { ...greeting, ...(await logIn(socket, options, signal)) };
  } finally {
    for (const socket of sockets.reverse()) socket.destroy(); // G1
  }
}

async function logIn(
  socket: Socket,
  { user, pass, token, stream }: GreetingOptions,
  signal: AbortSignal,
): Promise<Pick<Greeting, "refusal" | "timeMs" | "isStreamFull">> {
  const who = { user, pass, auth_token: token };
  socket.write(
    `CONNECT ${JSON.stringify({ verbose: false, pedantic: false, lang: "node", version: "0", ...who })}\r\nPING\r\n`,
  );
  const answer = await readLine(socket, signal, (line) => line.startsWith("PONG") || line.startsWith("-ERR"));
  if (answer.startsWith("-ERR"))
    return { refusal: answer.slice("-ERR".length).trim(), timeMs: null, isStreamFull: false };
  const question = `$JS.API.STREAM.INFO.${stream}`;
  socket.write(`SUB ${INBOX} 1\r\nPUB ${question} ${INBOX} 0\r\n\r\nPING\r\n`);
  // The server answers in order, but JetStream is another of its parts: the PONG may come first.
  const told = await readLine(socket, signal, (line) => line.startsWith("{") || line.startsWith("-ERR")).catch(
    () => "",
  );
  const info = told.startsWith("{") ? (JSON.parse(told) as StreamInfo) : {};
  const timeMs = info.ts === undefined ? null : new Date(info.ts).getTime();
  return { refusal: null, timeMs, isStreamFull: isFull(info) };
}

interface StreamInfo {
  readonly ts?: string;
  readonly config?: { readonly discard?: string; readonly max_msgs?: number; readonly max_bytes?: number };
  readonly state?: { readonly messages?: number; readonly bytes?: number };
}

function isFull({ config = {}, state = {} }: StreamInfo): boolean {
  const reaches = (held = 0, limit = -1) => limit > 0 && held >= limit;
  return (
    config.discard === "new" && (reaches(state.messages, config.max_msgs) || reaches(state.bytes, config.max_bytes))
  );
}

/** The first line that fits. Throws when the connection ends or the time is over. */
async function readLine(socket: Socket, signal: AbortSignal, isWanted: (line: string) => boolean): Promise<string> {
  return await new Promise((resolve, reject) => {
    let text = "";
    const settle = (act: () => void) => {
      socket.off("data", onData).off("error", onEnd).off("close", onEnd);
      signal.removeEventListener("abort", onEnd);
      act();
    };
    const onData = (chunk: Buffer) => {
      text += chunk.toString("utf8");
      const lines = text.split("\r\n");
      text = lines.pop() ?? "";
      const found = lines.find(isWanted);
      if (found !== undefined) settle(() => resolve(found));
    };
    const onEnd = (error?: unknown) =>
      settle(() => reject(error instanceof Error ? error : new Error("it does not speak NATS, or hung up")));
    socket.on("data", onData).once("error", onEnd).once("close", onEnd);
    signal.addEventListener("abort", onEnd, { once: true });
  });
}
