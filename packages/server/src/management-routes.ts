// The management API: everything that is not the executor edge, the tool registry or a turn.

import { agentRoutes } from "./agent-routes.ts";
import { createTurnWaits } from "./await-turn.ts";
import { cardRoutes } from "./card-routes.ts";
import { godRoutes } from "./god-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import type { ManagementWorld } from "./management-world.ts";
import { observabilityRoutes } from "./observability-routes.ts";
import { profileRoutes } from "./profile-routes.ts";
import { projectRoutes } from "./project-routes.ts";
import { resetRoute } from "./reset-route.ts";
import type { RouteSpec } from "./route-spec.ts";
import { stateRoutes } from "./state-routes.ts";
import { toolCallRoutes } from "./tool-call-routes.ts";
import { uiActionRoutes } from "./ui-action-routes.ts";

export function managementRoutes(world: ManagementWorld): RouteSpec[] {
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
    ...godRoutes(world, waits),
  ];
}
