// The connections of the server: how many there are, what they wait for, and which of them end.
//
//   C1. An answer that waits to be sent must move: a connection that took less than SLOWEST_BYTES_PER_S over STALL_MS, while bytes
//       were waiting for it, is cut. Any answer, a stream or a refusal, and what was written for bytes that were no request.
//       The client of a stream can come back and resume.
//   C2. One address has connectionsPerAddressMax of them. A proxy that the operator trusts speaks for many and has no such bound.
//   C3. Near the bound of all, each new one ends one that does nothing: of the address that has most, and rather one that never
//       brought a good key.
//   C4. Requests that a client sends without waiting for answers (pipelining) are held until their turn comes, so they are
//       bounded. One more is refused, and the connection ends with it.
//   C5. Told to close, it ends what is idle at once and the rest with its last answer. Node ends only connections that brought a
//       request: one that a client opened in advance would be waited for, four seconds with Node's own fetch.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock, Timer } from "@tessera/kernel/ports";
import { HttpRefusal } from "../routing/problem.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { ServerLimits } from "./server-limits.ts";

export const STALL_MS = 30_000;
export const SLOWEST_BYTES_PER_S = 8 * 1024;
/** Requests of one connection that are not yet answered. */
export const PIPELINED_MAX = 32;
const LOOK_MS = 5_000;
const BYTES_PER_STALL = (SLOWEST_BYTES_PER_S * STALL_MS) / 1_000;
/** C3: what is kept free of connectionsMax; a connection that is ended takes a moment to go. */
const HEADROOM = 0.05;

/** One request and its answer. */
export interface Exchange {
  /** `task` runs once, when the answer was taken or the connection is gone. */
  onEnd(task: () => void): void;
  /** Its key is good (C3). */
  isKnown(): void;
  /** Throws 429 (C4). */
  checkPipelined(): void;
}

export interface Connections {
  exchange(request: IncomingMessage, response: ServerResponse): Exchange;
  /** C5 */
  close(): void;
}

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  readonly open: Set<() => void>;
  isKnown: boolean;
  /** Since when, and from which byte on, it has been waiting for its reader. */
  waits: { readonly sinceMs: number; readonly taken: number } | null;
}

export function watchConnections(
  server: Server,
  world: {
    readonly clock: Clock;
    readonly addresses: ClientAddresses;
    readonly limits: Pick<ServerLimits, "connectionsMax" | "connectionsPerAddressMax">;
  },
): Connections {
  const { clock, addresses, limits } = world;
  const connections = new Map<Socket, Connection>();
  const byAddress = new Map<string, Set<Connection>>();
  const exchanges = new WeakMap<IncomingMessage, Exchange>();
  const roomy = limits.connectionsMax - Math.ceil(limits.connectionsMax * HEADROOM);
  let timer: Timer | null = null;
  let isClosed = false;

  function look(): void {
    timer = null;
    const nowMs = clock.monotonicMs();
    for (const connection of connections.values()) if (isStalled(connection, nowMs)) connection.socket.destroy(); // C1
    arm();
  }

  function arm(): void {
    if (timer === null && connections.size > 0 && !isClosed) timer = clock.after(LOOK_MS, look);
  }

  function begin(socket: Socket): Connection {
    const address = addresses.ofPeer(socket.remoteAddress);
    const connection: Connection = { socket, address, open: new Set(), isKnown: false, waits: null };
    socket.once("close", () => {
      connections.delete(socket);
      const others = byAddress.get(address);
      others?.delete(connection);
      if (others?.size === 0) byAddress.delete(address);
    });
    return connection;
  }

  server.on("connection", (socket: Socket) => {
    const connection = begin(socket);
    const { address } = connection;
    const own = byAddress.get(address) ?? new Set();
    const isBounded = !addresses.isProxy(socket.remoteAddress);
    if (isClosed || (isBounded && own.size >= limits.connectionsPerAddressMax && !endIdle([own]))) {
      socket.destroy(); // C5, C2
      return;
    }
    if (connections.size >= roomy) endIdle([...byAddress.values()].sort((a, b) => b.size - a.size)); // C3
    connections.set(socket, connection);
    byAddress.set(address, own.add(connection));
    arm();
  });
  server.prependListener("request", (request, response) => void exchange(request, response));

  function exchange(request: IncomingMessage, response: ServerResponse): Exchange {
    const known = exchanges.get(request);
    if (known !== undefined) return known;
    // A request that was injected comes without a connection; so does one whose connection has just gone.
    const connection = connections.get(request.socket) ?? begin(request.socket);
    const tasks: (() => void)[] = [];
    let hasEnded = false;
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      connection.open.delete(end);
      for (const task of tasks) task();
      if (isClosed && connection.open.size === 0 && connections.has(connection.socket)) connection.socket.destroySoon(); // C5
    };
    connection.open.add(end);
    response.once("finish", end);
    response.once("close", end);
    if (request.socket.destroyed === true) end();
    const made: Exchange = {
      onEnd: (task) => void (hasEnded ? task() : tasks.push(task)),
      isKnown() {
        connection.isKnown = true;
      },
      checkPipelined() {
        if (connection.open.size <= PIPELINED_MAX) return;
        throw new HttpRefusal("rate_limited", "too many requests on one connection wait for their answers", {
          headers: { connection: "close", "retry-after": "1" },
        });
      },
    };
    exchanges.set(request, made);
    return made;
  }

  return {
    exchange,
    close() {
      isClosed = true;
      timer?.cancel();
      for (const { open, socket } of connections.values()) if (open.size === 0) socket.destroy(); // C5
    },
  };
}

/** C3. False: none of them is idle. */
function endIdle(groups: readonly ReadonlySet<Connection>[]): boolean {
  for (const isKnown of [false, true]) {
    for (const group of groups) {
      for (const connection of group) {
        if (connection.open.size > 0 || connection.isKnown !== isKnown || connection.socket.destroyed) continue;
        connection.socket.destroy();
        return true;
      }
    }
  }
  return false;
}

/** C1 */
function isStalled(connection: Connection, nowMs: number): boolean {
  const { socket, waits } = connection;
  // What the system has taken; the rest waits here for a reader.
  const taken = socket.bytesWritten - socket.writableLength;
  const hasTime = waits !== null && nowMs - waits.sinceMs < STALL_MS;
  if (socket.writableLength > 0 && hasTime) return false;
  const isSlow = waits !== null && socket.writableLength > 0 && taken - waits.taken < BYTES_PER_STALL;
  connection.waits = socket.writableLength > 0 ? { sinceMs: nowMs, taken } : null;
  return isSlow;
}
