// Vitest's global setup: one PostgreSQL and one NATS for the whole run, however many projects ask for them.
//
// Tests read the addresses with `inject("postgresUrl")` and `inject("natsUrl")`.

import type { TestProject } from "vitest/node";
import { startTestServers, type TestServers } from "./servers.ts";

declare module "vitest" {
  export interface ProvidedContext {
    postgresUrl: string;
    natsUrl: string;
  }
}

interface Shared {
  servers: Promise<TestServers>;
  users: number;
}

/** Each project loads this file anew, so what they share lies on the process. */
const SHARED = Symbol.for("tessera.testkit.servers");
const place = globalThis as typeof globalThis & { [SHARED]?: Shared };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = place[SHARED] ?? { servers: startTestServers(), users: 0 };
  place[SHARED] = shared;
  shared.users++;
  const servers = await shared.servers;
  project.provide("postgresUrl", servers.postgresUrl);
  project.provide("natsUrl", servers.natsUrl);
  return async () => {
    shared.users--;
    if (shared.users > 0) return;
    delete place[SHARED];
    await servers.stop();
  };
}
