// The whole API as one table: what a server registers, and what documents and clients are made from.

import { type EventWorld, eventRoutes } from "./event-routes.ts";
import { type ExecutorWorld, executorRoutes } from "./executor-routes.ts";
import { type HealthWorld, healthRoutes } from "./health-routes.ts";
import { managementRoutes } from "./management-routes.ts";
import type { ManagementWorld } from "./management-world.ts";
import { openApiRoutes } from "./openapi-routes.ts";
import { createReadingBudget } from "./reading-budget.ts";
import { registryRoutes } from "./registry-routes.ts";
import type { RouteSpec } from "./route-spec.ts";
import { runtimeRoutes } from "./runtime-routes.ts";
import { SERVER_LIMITS } from "./server-limits.ts";
import { turnRoutes } from "./turn-routes.ts";
import { createWaitingPlaces } from "./waiting-places.ts";

export type ApiWorld = Omit<ManagementWorld & ExecutorWorld & EventWorld & HealthWorld, "places" | "reading">;

export function allRoutes(options: ApiWorld): RouteSpec[] {
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
    ...managementRoutes(world),
  );
  return routes;
}

/** The table without a server. Its handlers must not be called: there is nothing behind them. */
export function describeRoutes(): RouteSpec[] {
  const nothing = {} as never;
  return allRoutes({
    ...{ kernel: nothing, cursors: nothing, tools: nothing, bells: nothing, feeds: nothing, clock: nothing },
    ports: { isGodEnabled: true },
    limits: SERVER_LIMITS,
    closing: new AbortController().signal,
    isKeyGood: async () => false,
  });
}
