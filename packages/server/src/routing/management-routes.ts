// The management API: everything that is not the executor edge, the tool registry or a turn.

import { keyRoutes } from "../access/key-routes.ts";
import { agentRoutes } from "../agents/agent-routes.ts";
import { profileRoutes } from "../agents/profile-routes.ts";
import { resetRoute } from "../agents/reset-route.ts";
import { cardRoutes } from "../cards/card-routes.ts";
import { observabilityRoutes } from "../operate/observability-routes.ts";
import { projectRoutes } from "../projects/project-routes.ts";
import { stateRoutes } from "../turns/state-routes.ts";
import { toolCallRoutes } from "../turns/tool-call-routes.ts";
import { createTurnWaits, type TurnWaits } from "../turns/turn-waits.ts";
import { uiActionRoutes } from "../ui-actions/ui-action-routes.ts";
import type { ManagementDeps } from "./management-deps.ts";
import type { RouteSpec } from "./route-spec.ts";

export async function managementRoutes(world: ManagementDeps): Promise<RouteSpec[]> {
  const waits = createTurnWaits(world);
  return [
    ...projectRoutes(world),
    ...profileRoutes(world),
    ...agentRoutes(world),
    resetRoute(world),
    ...stateRoutes(world),
    ...cardRoutes(world),
    ...keyRoutes(world),
    ...toolCallRoutes(world, waits),
    ...uiActionRoutes(world, waits),
    ...observabilityRoutes(world),
    ...(await interventionRoutes(world, waits)),
  ];
}

/** Loaded only where the operator has switched them on. */
async function interventionRoutes(world: ManagementDeps, waits: TurnWaits): Promise<RouteSpec[]> {
  if (world.ports.isGodEnabled !== true) return [];
  const { godRoutes } = await import("../god/god-routes.ts");
  return godRoutes(world, waits);
}
