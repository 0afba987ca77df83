// The whole API as one table: what a server registers, and what documents and clients are made from.

import { type EventDeps, eventRoutes } from "../events/event-routes.ts";
import { type ExecutorDeps, executorRoutes } from "../executors/executor-routes.ts";
import { runtimeRoutes } from "../executors/runtime-routes.ts";
import { createReadingBudget } from "../http/reading-budget.ts";
import { SERVER_LIMITS } from "../http/server-limits.ts";
import { createWaitingPlaces } from "../http/waiting-places.ts";
import { openApiRoutes } from "../openapi/openapi-routes.ts";
import { type HealthDeps, healthRoutes } from "../operate/health-routes.ts";
import { registryRoutes } from "../tools/registry-routes.ts";
import { turnRoutes } from "../turns/turn-routes.ts";
import type { ManagementDeps } from "./management-deps.ts";
import { managementRoutes } from "./management-routes.ts";
import type { RouteSpec } from "./route-spec.ts";

export type ApiDeps = Omit<ManagementDeps & ExecutorDeps & EventDeps & HealthDeps, "places" | "reading">;

export async function allRoutes(options: ApiDeps): Promise<RouteSpec[]> {
  const { limits } = options;
  const places = createWaitingPlaces(
    { all: limits.longPollsMax, perProject: limits.longPollsPerProjectMax, perKey: limits.longPollsPerKeyMax },
    { message: "too many requests wait at the same time; come again when one has its answer", retryAfterS: 1 },
  );
  const world = { ...options, places, reading: createReadingBudget(options.clock, limits) };
  const routes: RouteSpec[] = [];
  routes.push(
    ...healthRoutes(world),
    ...openApiRoutes({ routes: () => routes, ports: world.ports }),
    ...executorRoutes(world),
    ...runtimeRoutes(world),
    ...registryRoutes(world),
    ...turnRoutes(world),
    ...eventRoutes(world),
    ...(await managementRoutes(world)),
  );
  return routes;
}

/** The table without a server. Its handlers must not be called: there is nothing behind them. */
export function describeRoutes(): Promise<RouteSpec[]> {
  const nothing = {} as never;
  return allRoutes({
    ...{ kernel: nothing, cursors: nothing, tools: nothing, signals: nothing, feeds: nothing, clock: nothing },
    ports: { isGodEnabled: true },
    limits: SERVER_LIMITS,
    closing: new AbortController().signal,
    isKeyGood: async () => false,
  });
}
