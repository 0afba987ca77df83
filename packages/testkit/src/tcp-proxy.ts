// A TCP proxy that breaks connections in the ways networks do.
//
//   X1. Faults apply to open connections and to new ones, from the moment they are set.
//   X2. Counters show what happened, so that a test can prove that its fault took place. A stranded connection that is reset
//       does not count as cut: no peer was served by it any more.
//   X3. A black hole reads and forgets: the sender sees a healthy connection, as when a cable is pulled.
//   X4. A stranded connection is half open for good: nothing passes any more, not even its end, except a reset. New ones pass.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

type Direction = "to-server" | "to-client";

export type ProxyFault =
  | { readonly kind: "pass" }
  /** Every chunk waits. */
  | { readonly kind: "delay"; readonly ms: number }
  /** X3, in one direction or both. */
  | { readonly kind: "black-hole"; readonly direction?: Direction }
  /** Resets both sides after this many more bytes in the direction, and later connections at their first byte. */
  | { readonly kind: "cut-after"; readonly bytes: number; readonly direction: Direction }
  /** A byte at a time. */
  | { readonly kind: "drip"; readonly intervalMs: number }
  /** New connections are reset; open ones go on. */
  | { readonly kind: "refuse" };

interface ProxyCounters {
  accepted: number;
  refused: number;
  cut: number;
  stranded: number;
  bytesToServer: number;
  bytesToClient: number;
  bytesSwallowed: number;
}

export interface TcpProxy {
  readonly host: string;
  readonly port: number;
  readonly counters: Readonly<ProxyCounters>;
  readonly open: number;
  /** Open and not stranded. */
  readonly live: number;
  set(fault: ProxyFault): void;
  /** Resets every open connection now. */
  cut(): void;
  /** X4, for every open connection. */
  strand(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** Listens on a free port of 127.0.0.1 and forwards to `target`. */
export async function startTcpProxy(target: { readonly host?: string; readonly port: number }): Promise<TcpProxy> {
  const counters: ProxyCounters = {
    accepted: 0,
    refused: 0,
    cut: 0,
    stranded: 0,
    bytesToServer: 0,
    bytesToClient: 0,
    bytesSwallowed: 0,
  };
  const pairs = new Set<Pair>();
  const stranded = new WeakSet<Pair>();
  let fault: ProxyFault = { kind: "pass" };
  let bytesLeft = Number.POSITIVE_INFINITY;

  const cutPair = (pair: Pair) => {
    if (!pairs.delete(pair)) return;
    if (!stranded.has(pair)) counters.cut++; // X2
    pair.client.resetAndDestroy();
    pair.server.resetAndDestroy();
  };

  const livePairs = () => [...pairs].filter((pair) => !stranded.has(pair));

  const deliver = (pair: Pair, chunk: Buffer, direction: Direction, written?: () => void) => {
    if (direction === "to-server") counters.bytesToServer += chunk.length;
    else counters.bytesToClient += chunk.length;
    (direction === "to-server" ? pair.server : pair.client).write(chunk, written);
  };

  const forward = async (pair: Pair, chunk: Buffer, direction: Direction) => {
    if (fault.kind === "delay") await delay(fault.ms);
    let at = 0;
    for (; fault.kind === "drip" && at < chunk.length; at++) {
      await delay(fault.intervalMs);
      deliver(pair, chunk.subarray(at, at + 1), direction);
    }
    const rest = chunk.subarray(at);
    const now = fault as ProxyFault; // it may have changed during a wait
    if (stranded.has(pair)) {
      counters.bytesSwallowed += rest.length; // X4
    } else if (now.kind === "black-hole" && (now.direction ?? direction) === direction) {
      counters.bytesSwallowed += rest.length; // X3
    } else if (now.kind === "cut-after" && now.direction === direction) {
      const part = rest.subarray(0, bytesLeft);
      bytesLeft -= part.length;
      deliver(pair, part, direction, () => {
        if (bytesLeft <= 0) cutPair(pair);
      });
    } else if (rest.length > 0) {
      deliver(pair, rest, direction);
    }
  };

  const pump = async (pair: Pair, direction: Direction) => {
    const [from, to] = direction === "to-server" ? [pair.client, pair.server] : [pair.server, pair.client];
    for await (const chunk of from) await forward(pair, chunk as Buffer, direction);
    if (!stranded.has(pair)) to.end(); // X4
  };

  const listener = createServer({ allowHalfOpen: true }, (client) => {
    if (fault.kind === "refuse") {
      counters.refused++;
      client.resetAndDestroy();
      return;
    }
    counters.accepted++;
    const server = connect({ port: target.port, host: target.host ?? "127.0.0.1", allowHalfOpen: true });
    const pair = { client, server };
    pairs.add(pair);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on("error", () => {}); // one that breaks when its pump has ended already is no error
    }
    const ended = [pump(pair, "to-server"), pump(pair, "to-client")];
    const drop = () => {
      client.destroy();
      server.destroy();
    };
    // A reset or refused side takes the other one with it. Stranded ones did not see that the other side had ended.
    Promise.all(ended)
      .then(() => stranded.has(pair) && drop(), drop)
      .finally(() => pairs.delete(pair));
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");

  return {
    host: "127.0.0.1",
    port: (listener.address() as AddressInfo).port,
    counters,
    get open() {
      return pairs.size;
    },
    get live() {
      return livePairs().length;
    },
    set: (next) => {
      fault = next;
      bytesLeft = next.kind === "cut-after" ? next.bytes : Number.POSITIVE_INFINITY;
    },
    cut: () => {
      for (const pair of [...pairs]) cutPair(pair);
    },
    strand: () => {
      const live = livePairs();
      for (const pair of live) stranded.add(pair);
      counters.stranded += live.length;
    },
    close: async () => {
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
      await new Promise<void>((resolve) => listener.close(() => resolve()));
    },
  };
}
