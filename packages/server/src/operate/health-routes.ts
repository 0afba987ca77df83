// Whether this process can serve, for load balancers, supervisors and people. No key is needed, and no secret is answered.
//
//   H1. `live` says that the process answers, and nothing else: a supervisor that restarts it for a lost database makes it worse.
//   H2. `ready` says whether requests may be sent here. `health` tells all checks.
//   H3. The store is looked at once in CACHE_MS however many ask, and those who come meanwhile share one look.

import type { Clock } from "@tessera/kernel/ports";
import Type from "typebox";
import type { Health, ServerPorts } from "../ports.ts";
import { named, oneOf, Text } from "../routing/api-schemas.ts";
import { given } from "../routing/query-values.ts";
import type { ApiAnswer, RouteSpec } from "../routing/route-spec.ts";

export interface HealthDeps {
  readonly ports: ServerPorts;
  readonly clock: Clock;
  readonly closing: AbortSignal;
}

const CACHE_MS = 1_000;
const Status = oneOf(["ok", "degraded", "unready"]);
const HealthDocument = named("Health", "How a process is, check by check.", {
  status: Status,
  checks: Type.Array(
    named("HealthCheck", "One thing that was looked at, and what was found.", {
      name: Text,
      status: Status,
      says: Text,
    }),
  ),
  version: Type.Optional(Text),
});
const Live = named("Live", "The process answers.", { status: oneOf(["ok"]) });

export function healthRoutes({ ports, clock, closing }: HealthDeps): RouteSpec[] {
  let last: { readonly health: Promise<Health>; readonly untilMs: number } | null = null;

  function look(): Promise<Health> {
    const nowMs = clock.monotonicMs();
    if (last === null || nowMs >= last.untilMs) last = { health: ask(ports), untilMs: nowMs + CACHE_MS }; // H3
    return last.health;
  }

  async function health(): Promise<ApiAnswer> {
    const { status, checks } = await look();
    return { status: status === "unready" ? 503 : 200, body: { status, checks, ...given({ version: ports.version }) } };
  }

  async function ready(): Promise<ApiAnswer> {
    const { status, checks } = await look();
    const isReady = status !== "unready" && !closing.aborted;
    return { status: isReady ? 200 : 503, body: { status: isReady ? status : "unready", checks } }; // H2
  }

  // Answered however full the memory is: who restarts a process for a 503 makes it worse.
  const common = { tag: "health", method: "GET", roles: "anyone", answerBytes: 0 } as const;
  const told = { 200: HealthDocument, 503: HealthDocument };
  return [
    {
      ...common,
      id: "getHealth",
      summary: "Say how this process is, check by check.",
      path: "/health",
      answers: told,
      handle: health,
    },
    {
      ...common,
      id: "getLive",
      summary: "Say that this process answers.",
      path: "/health/live",
      answers: { 200: Live },
      handle: async () => ({ status: 200, body: { status: "ok" } }), // H1
    },
    {
      ...common,
      id: "getReady",
      summary: "Say whether requests may be sent here.",
      path: "/health/ready",
      answers: told,
      handle: ready,
    },
  ];
}

async function ask({ health }: ServerPorts): Promise<Health> {
  if (health === undefined) return { status: "ok", checks: [] };
  try {
    return await health();
  } catch {
    return { status: "unready", checks: [{ name: "store", status: "unready", says: "the checks could not be made" }] };
  }
}
