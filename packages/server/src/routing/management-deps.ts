// What the routes of the management API are given.

import type { Kernel } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import type { ReadingBudget } from "../http/reading-budget.ts";
import type { ServerLimits } from "../http/server-limits.ts";
import type { WaitingPlaces } from "../http/waiting-places.ts";
import type { ServerPorts, ToolDocuments } from "../ports.ts";
import type { PageCursors } from "./page-cursor.ts";

export interface ManagementDeps {
  readonly kernel: Kernel;
  readonly cursors: PageCursors;
  readonly tools: ToolDocuments;
  readonly ports: ServerPorts;
  readonly clock: Clock;
  readonly limits: ServerLimits;
  readonly places: WaitingPlaces;
  readonly reading: ReadingBudget;
}
