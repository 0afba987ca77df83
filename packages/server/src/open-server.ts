// The HTTP server: the whole API on one port.
//
//   S1. It binds to the address it is given and to nothing else; runtime's default is loopback.
//   S2. close() takes no new request, lets waiting claims and streams end at once, waits for the rest for CLOSE_GRACE_MS, then
//       cuts what is left; it resolves when nothing of this server is running.

import { randomBytes } from "node:crypto";
import type { Bus, Clock, Ids, Kernel } from "@tessera/kernel";
import type { FastifyInstance } from "fastify";
import { createAccess } from "./access/access.ts";
import { createAuditNotes } from "./access/audit-notes.ts";
import { buildApp } from "./build-app.ts";
import { createEventFeeds } from "./events/event-feed.ts";
import { createWorkSignals } from "./executors/work-signals.ts";
import { createClientAddresses } from "./http/client-address.ts";
import { createHostGuard } from "./http/host-guard.ts";
import { SERVER_LIMITS, type ServerLimits } from "./http/server-limits.ts";
import type { ServerPorts, ToolDocuments } from "./ports.ts";
import { createPageCursors } from "./routing/page-cursor.ts";
import type { RouteSpec } from "./routing/route-spec.ts";
import { allRoutes } from "./routing/route-table.ts";
import { runRoute } from "./routing/run-route.ts";

export interface ServerOptions {
  readonly kernel: Kernel;
  readonly tools: ToolDocuments;
  readonly ports?: ServerPorts;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly listen: { readonly host: string; readonly port: number };
  /** Names besides loopback and the listening address that Host and Origin may have. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. Default: none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Signs cursors; several servers behind one name need the same. Default: random. */
  readonly cursorKey?: Uint8Array | undefined;
  readonly onWarning: (warning: string) => void;
  readonly limits?: Partial<ServerLimits> | undefined;
}

export interface Server {
  readonly url: string;
  /** For tests: `app.inject` sends a request without a socket. */
  readonly app: FastifyInstance;
  readonly routes: readonly RouteSpec[];
  close(): Promise<void>;
}

const CLOSE_GRACE_MS = 5_000;
const CURSOR_KEY_BYTES = 32;

export async function openServer(options: ServerOptions): Promise<Server> {
  const { kernel, tools, bus, clock, ids, listen, onWarning, ports = {} } = options;
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const closing = new AbortController();
  const signals = createWorkSignals({ bus, clock, onWarning });
  const feeds = createEventFeeds({ kernel, bus, clock, onWarning });
  const notes = createAuditNotes({ kernel, clock, onWarning });
  const access = createAccess({
    kernel,
    clock,
    limits,
    onForbidden: ({ spec, key, address, params }) =>
      notes.refused({ spec, key, address, code: "forbidden", param: (name) => params[name] ?? "" }),
  });
  const running = new Set<Promise<unknown>>();
  const table = await allRoutes({
    ...{ kernel, tools, ports, clock, limits, signals, feeds, closing: closing.signal },
    cursors: createPageCursors(options.cursorKey ?? randomBytes(CURSOR_KEY_BYTES)),
    isKeyGood: (request) => access.isStillGood(request.header("authorization")),
  });
  const routes = table.map((route) => runRoute(route, { running, notes }));
  const app = buildApp({
    ...{ clock, ids, routes, access, limits, onWarning },
    hosts: createHostGuard(listen.host, options.allowedHosts),
    addresses: createClientAddresses(options.trustedProxies),
    closing: closing.signal,
  });
  const url = await app.listen({ host: listen.host, port: listen.port });

  async function stop(): Promise<void> {
    closing.abort();
    const grace = clock.after(CLOSE_GRACE_MS, () => app.server.closeAllConnections());
    await app.close();
    grace.cancel();
    await Promise.allSettled(running); // S2: a handler may outlive its client
    await Promise.all([signals.close(), feeds.close(), notes.close()]);
  }
  let closed: Promise<void> | null = null;
  return {
    url,
    app,
    routes,
    close() {
      closed ??= stop();
      return closed;
    },
  };
}
