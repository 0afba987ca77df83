// The HTTP server: the executor edge and the tool registry on one port.
//
//   S1. It binds to the address it is given and to nothing else; runtime's default is loopback.
//   S2. close() takes no new request, lets waiting claims answer at once, waits for the rest for CLOSE_GRACE_MS, then cuts
//       what is left; it resolves when nothing of this server is running.

import { randomBytes } from "node:crypto";
import type { Bus, Clock, Ids, Kernel } from "@tessera/kernel";
import type { FastifyInstance } from "fastify";
import { createAccess } from "./access.ts";
import type { AgentPorts } from "./agent-ports.ts";
import { buildApp } from "./build-app.ts";
import { type ExecutorWorld, executorRoutes } from "./executor-routes.ts";
import { createHostGuard } from "./host-guard.ts";
import { createPageCursors } from "./page-cursor.ts";
import { registryRoutes } from "./registry-routes.ts";
import type { RouteSpec } from "./route-spec.ts";
import { SERVER_LIMITS, type ServerLimits } from "./server-limits.ts";
import type { ToolDocuments } from "./tool-documents.ts";
import { type TurnWorld, turnRoutes } from "./turn-routes.ts";
import { createWorkBells } from "./work-bells.ts";

/** The part of the kernel that HTTP reaches. */
export type ServerKernel = Pick<Kernel, "authenticate" | "putTool" | "removeTool"> &
  ExecutorWorld["kernel"] &
  TurnWorld["kernel"] & { readonly reads: Pick<Kernel["reads"], "tool" | "toolsAfter" | "toolByDigest"> };

export interface ServerOptions {
  readonly kernel: ServerKernel;
  readonly tools: ToolDocuments;
  /** Absent: nobody here knows agents, and asking for a turn is answered 501. */
  readonly agents?: AgentPorts;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly listen: { readonly host: string; readonly port: number };
  /** Names besides loopback and the listening address that Host and Origin may have. */
  readonly allowedHosts?: readonly string[];
  /** Signs cursors; several servers behind one name need the same. Default: random. */
  readonly cursorKey?: Uint8Array;
  readonly onWarning: (warning: string) => void;
  readonly limits?: Partial<ServerLimits>;
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
  const { kernel, tools, bus, clock, ids, listen, onWarning } = options;
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const bells = createWorkBells({ bus, clock, onWarning });
  const cursors = createPageCursors(options.cursorKey ?? randomBytes(CURSOR_KEY_BYTES));
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const routes = [
    healthRoute,
    ...executorRoutes({ kernel, clock, bells, limits }),
    ...registryRoutes({ kernel, tools, cursors }),
    ...turnRoutes({ kernel, cursors, ...(options.agents === undefined ? {} : { agents: options.agents }) }),
  ].map((route) => tracked(route, running));
  const app = buildApp({
    clock,
    ids,
    routes,
    access: createAccess({ kernel, clock, limits }),
    hosts: createHostGuard(listen.host, options.allowedHosts),
    limits,
    closing: closing.signal,
    onWarning,
  });
  const url = await app.listen({ host: listen.host, port: listen.port });

  async function stop(): Promise<void> {
    closing.abort();
    const grace = clock.after(CLOSE_GRACE_MS, () => app.server.closeAllConnections());
    await app.close();
    grace.cancel();
    await Promise.allSettled(running); // S2: a handler may outlive its client
    await bells.close();
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

const healthRoute: RouteSpec = {
  method: "GET",
  path: "/health",
  roles: "anyone",
  handle: async () => ({ status: 200, body: { status: "ok" } }),
};

function tracked(route: RouteSpec, running: Set<Promise<unknown>>): RouteSpec {
  return {
    ...route,
    handle(request) {
      const work = route.handle(request).finally(() => running.delete(work));
      running.add(work);
      return work;
    },
  };
}
