// The bus rings, the database decides (docs/design.md#messages-are-hints): whatever a bus does to its messages, every call gets
// its one outcome.
//
// The store's time runs faster than the wall's, so that a ring after 5 s takes a fraction of a second. Where no message
// of the bus arrives at all, not even the sweeper's, workers and tools find in the store what was announced without effect.

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Bus } from "@tessera/kernel";
import {
  FaultyBus,
  freePort,
  seedFromEnvironment,
  startNats,
  type TestEngine,
  waitFor,
  withSeed,
} from "@tessera/testkit";
import { describe, expect, test } from "vitest";
import { World, type WorldOptions } from "./world.ts";

const TEST_MS = 60_000;
const ENGINES: readonly TestEngine[] = ["pglite", "postgres"];

/** Runs the work of a world to its end and checks it; `meanwhile` does the damage. */
async function run(
  options: Omit<WorldOptions, "seed">,
  checks: { meanwhile?: (world: World) => Promise<void>; after: (world: World) => void },
): Promise<void> {
  const seed = seedFromEnvironment();
  console.log(`seed ${seed.value}`);
  await withSeed(async (value) => {
    const world = await World.open({ ...options, seed: value });
    try {
      await world.enqueueAll();
      await checks.meanwhile?.(world);
      await world.waitUntilEnded(TEST_MS / 2);
      const calls = await world.expectOneOutcomeEach();
      expect(calls.every((call) => call.result_status === "success")).toBe(true);
      expect(world.ledger.entries()).toHaveLength(calls.length);
      checks.after(world);
    } finally {
      await world.close();
    }
  }, seed);
}

function callsOf(world: World): number {
  return world.turns.flatMap((turn) => turn.steps.flatMap((step) => step.calls)).length;
}

describe.each(ENGINES)("on %s", (engine) => {
  test("with a bus that drops every message, the sweeper alone brings all work to its end", {
    timeout: TEST_MS,
  }, async () => {
    const faulty: FaultyBus[] = [];
    const wrapBus = (bus: Bus) => wrapped(faulty, new FaultyBus(bus, { seed: 1, drop: 1 }));
    await run(
      { engine, bus: "memory", agents: 10, timeFactor: 20, wrapBus },
      {
        after: (world) => {
          const dropped = faulty.reduce((sum, bus) => sum + bus.counts.dropped, 0);
          // Each call's command and each turn's three wakeups were lost, and rung again by the sweeper.
          expect(dropped).toBeGreaterThanOrEqual(callsOf(world) + 3 * world.turns.length);
          expect(world.swept.commands).toBeGreaterThanOrEqual(callsOf(world));
          expect(world.swept.wakes).toBeGreaterThanOrEqual(3 * world.turns.length);
        },
      },
    );
  });

  test("with every message eight times, each call is run once", { timeout: TEST_MS }, async () => {
    const faulty: FaultyBus[] = [];
    const twice = (bus: Bus, seed: number) => wrapped(faulty, new FaultyBus(bus, { seed, duplicate: 1 }));
    await run(
      { engine, bus: "memory", agents: 10, timeFactor: 5, wrapBus: (bus) => twice(twice(twice(bus, 1), 2), 3) },
      {
        after: (world) => {
          const copies = faulty.reduce((sum, bus) => sum + bus.counts.duplicated, 0);
          expect(copies).toBeGreaterThanOrEqual(7 * callsOf(world)); // 1 + 2 + 4 further copies of each command
          const refused = world.tools.reduce(
            (sum, tool) =>
              sum + (tool.openings.get("already_claimed") ?? 0) + (tool.openings.get("already_settled") ?? 0),
            0,
          );
          const opened = world.tools.reduce((sum, tool) => sum + (tool.openings.get("accepted") ?? 0), 0);
          expect(opened).toBe(callsOf(world));
          expect(refused).toBeGreaterThanOrEqual(7 * callsOf(world));
        },
      },
    );
  });

  test("with messages late, lost and out of order, nothing is lost for good", { timeout: TEST_MS }, async () => {
    const faulty: FaultyBus[] = [];
    let published = 0;
    const publishError = () => ++published % 8 === 0; // how many there are depends on what goes out together
    const wrapBus = (bus: Bus) =>
      wrapped(
        faulty,
        new FaultyBus(bus, { seed: 7, delayMs: [0, 60], delay: 0.4, reorder: 0.3, drop: 0.15, publishError }),
      );
    await run(
      { engine, bus: "memory", agents: 10, turnsPerAgent: 2, timeFactor: 20, wrapBus },
      {
        after: (world) => {
          const total = faulty.map((bus) => bus.counts)[0];
          expect(total?.delayed).toBeGreaterThan(10);
          expect(total?.reordered).toBeGreaterThan(10);
          expect(total?.dropped).toBeGreaterThan(10);
          expect((total?.failedLost ?? 0) + (total?.failedSent ?? 0)).toBeGreaterThan(1);
          expect(world.swept.commands + world.swept.wakes).toBeGreaterThan(0);
        },
      },
    );
  });

  test("with a NATS that is never there, the sweeper and looks in the store bring all work to its end", {
    timeout: TEST_MS,
  }, async () => {
    const natsUrl = `nats://127.0.0.1:${await freePort()}`;
    await run(
      { engine, bus: "nats", natsUrl, agents: 5, timeFactor: 20 },
      {
        after: (world) => {
          expect(world.buses.every((bus) => !bus.health().connected)).toBe(true);
          expect(world.lost).toBeGreaterThanOrEqual(callsOf(world));
          expect(world.looked.size).toBeGreaterThan(0);
          expect(world.swept.commands + world.looked.size).toBeGreaterThanOrEqual(callsOf(world));
        },
      },
    );
  });
});

describe.each([
  { engine: "postgres", isWiped: false, what: "keeps its store" },
  { engine: "postgres", isWiped: true, what: "lost its store" },
  { engine: "pglite", isWiped: false, what: "keeps its store" },
  { engine: "pglite", isWiped: true, what: "lost its store" },
] as const)("on $engine", ({ engine, isWiped, what }) => {
  test(`when NATS is killed in the middle and comes back, and ${what}, nothing is lost`, {
    timeout: TEST_MS,
  }, async () => {
    const nats = await startNats();
    const firstPid = nats.pid;
    try {
      await run(
        { engine, bus: "nats", natsUrl: nats.url, agents: 10, turnsPerAgent: 4, workMs: 500, timeFactor: 5 },
        {
          meanwhile: async (world) => {
            const before = callsOf(world);
            await waitFor(async () => (await world.settledCalls()) >= before / 10, {
              what: "a part of the calls to be settled",
            });
            await nats.kill();
            expect(isAlive(firstPid)).toBe(false);
            await waitFor(() => world.buses.every((bus) => !bus.health().connected), {
              what: "every client to notice",
            });
            await waitFor(() => world.lost > 0, { what: "a message to be lost while the broker is away" });
            const store = join(nats.directory, "jetstream");
            expect(existsSync(store)).toBe(true);
            if (isWiped) rmSync(store, { recursive: true });
            expect(await world.settledCalls()).toBeLessThan(before); // it was in the middle
            await nats.start();
            expect(nats.pid).not.toBe(firstPid);
          },
          after: (world) => {
            expect(world.swept.commands + world.swept.wakes).toBeGreaterThan(0);
          },
        },
      );
    } finally {
      await nats.stop();
    }
  });
});

function wrapped(all: FaultyBus[], bus: FaultyBus): FaultyBus {
  all.push(bus);
  return bus;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
