// With the broker gone, a hop costs one look at the store (work-source.ts, L2), and looking costs what it always did.

import { waitFor } from "@tessera/testkit";
import { afterEach, describe, expect, it } from "vitest";
import { AgentsWorld } from "./agents-world.ts";
import { SWARM_FILES } from "./swarm-bundle.ts";

/** From one process to another, through the whole swarm: planner, service tool, batch, researchers, their tools, request, reviewer. */
const HOPS = 15;
const LOOK_MS = 1_000;
/** The machine may be busy. Each hop cost six looks before, 60 s and more in all. */
const SLACK = 2;
const TEST_MS = 180_000;

const worlds: AgentsWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function openWorld(): Promise<AgentsWorld> {
  const world = await AgentsWorld.open("postgres");
  worlds.push(world);
  return world;
}

/** Counts what this process asks the store to look for. */
function countedLooks(world: AgentsWorld) {
  const { kernel } = world.node;
  const looks = { plain: 0, alsoUnrung: 0 };
  const overdueMessages: typeof kernel.overdueMessages = (role, options) => {
    looks[options?.alsoUnrung === true ? "alsoUnrung" : "plain"] += 1;
    return kernel.overdueMessages(role, options);
  };
  return { looks, kernel: { ...kernel, overdueMessages } };
}

describe("with nats-server stopped", () => {
  it(
    "a swarm with a fork_join, a request and a service tool pays a look for each hop, not six seconds",
    async () => {
      const world = await openWorld();
      const { kernel, looks } = countedLooks(world);
      await world.crew(world.bundle(SWARM_FILES), { kernel });
      await world.nats?.kill();
      await waitFor(() => !world.node.bus.health().connected, { what: "the bus to be gone", timeoutMs: 10_000 });
      const before = performance.now();
      const turn = await world.ask("planner", "granite");
      const row = await world.ended(turn, TEST_MS / 2);
      const tookMs = performance.now() - before;
      expect(row).toMatchObject({ error_message: null, status: "success" });
      expect(looks.alsoUnrung).toBeGreaterThan(0);
      console.log(`the turn took ${Math.round(tookMs)} ms without a broker`);
      expect(tookMs).toBeLessThan(HOPS * LOOK_MS * SLACK);
      await world.expectOneEndEach();
    },
    TEST_MS,
  );

  it(
    "an idle process asks the store no more often than with it",
    async () => {
      const world = await openWorld();
      const { kernel, looks } = countedLooks(world);
      await world.crew(world.bundle(SWARM_FILES), { kernel });
      const during = async (kind: keyof typeof looks) => {
        const from = { count: looks[kind], ms: performance.now() };
        await waitFor(() => looks[kind] - from.count >= 15, { what: "15 looks", timeoutMs: 60_000 });
        return (looks[kind] - from.count) / ((performance.now() - from.ms) / 1_000);
      };
      const connected = await during("plain");
      await world.nats?.kill();
      await waitFor(() => !world.node.bus.health().connected, { what: "the bus to be gone", timeoutMs: 10_000 });
      const gone = await during("alsoUnrung");
      console.log(`looks per second: ${connected.toFixed(1)} with the broker, ${gone.toFixed(1)} without`);
      expect(gone).toBeLessThan(connected * 1.5 + 1);
    },
    TEST_MS,
  );
});
