// Faults at random moments, drawn from a printed seed: kill -9 of an embedded process, and a PostgreSQL whose backends
// are terminated and which is restarted without a shutdown, while processes work on it.

import { setTimeout as pause } from "node:timers/promises";
import { openPostgres } from "@tessera/engines/postgres";
import { seededRandom, seedFromEnvironment, startPostgres, waitFor, withSeed } from "@tessera/testkit";
import { describe, expect, inject, test } from "vitest";
import { countEnded, expectOneOutcomeEach } from "../scenarios/outcome-check.ts";
import type { PlannedTurn } from "../scenarios/turn-plan.ts";
import { withCrashStore } from "./crash-store.ts";
import type { NodeMessage } from "./node-process.ts";
import { isAlive } from "./process-state.ts";

const TEST_MS = 120_000;
const ROLES = ["client", "worker", "tools", "sweeper"] as const;
const TARGETS = ["echo", "mail", "search"];
const isDrained = (message: NodeMessage) => message.event === "drained";
/** A turn that lost its worker three times in a row ends as a crash loop; that is an end, too. */
const mayEnd = () => ["success", "failed"];

function planTurns(agents: number, turnsPerAgent: number, workMs: number): PlannedTurn[] {
  return Array.from({ length: agents * turnsPerAgent }, (_, n) => ({
    agent_id: `agent_${n % agents}`,
    agent_turn_id: `turn_${n}`,
    steps: [
      {
        calls: [
          { tool: "echo", effect: "idempotent", workMs },
          { tool: "mail", effect: "once", canReconcile: n % 2 === 0, behave: n % 3 === 0 ? "pointer" : "answer" },
          { tool: "search", effect: "read" },
        ],
      },
      {
        hasNote: true,
        calls: [
          { tool: "files", effect: "once", local: true, workMs: workMs / 2 },
          { tool: "files", effect: "read", local: true },
        ],
      },
    ],
  }));
}

describe("an embedded store", () => {
  const KILLS = 10;
  const KILL_MS_MAX = 500;

  test("survives ten kills at random moments", { timeout: TEST_MS }, async () => {
    const seed = seedFromEnvironment();
    console.log(`seed ${seed.value}`);
    await withSeed(async (value) => {
      const random = seededRandom(value);
      const turns = planTurns(8, 10, 100);
      await withCrashStore({ engine: "pglite" }, async (store) => {
        const config = { name: "embedded", roles: ROLES, targets: TARGETS, turns, leaseMs: 10_000, sweepMs: 100 };
        let killedAtWork = 0;
        for (let kill = 1; kill <= KILLS; kill += 1) {
          // Each time further ahead, so that a ring that was lost with the last process is due in the next.
          const child = await store.start({ ...config, time: { aheadMs: kill * 20_000 } });
          await child.waitForMessage<NodeMessage>("ready", (message) => message.event === "ready");
          await pause(random() * KILL_MS_MAX); // the fault itself, not a wait for something
          await child.kill();
          if (!(child.messages as NodeMessage[]).some(isDrained)) killedAtWork += 1;
        }
        expect(killedAtWork).toBeGreaterThanOrEqual(KILLS / 2);

        const last = await store.start({ ...config, time: { aheadMs: (KILLS + 1) * 20_000 } });
        await last.waitForMessage<NodeMessage>("drained", isDrained, TEST_MS / 2);
        expect(await last.terminate()).toEqual({ code: 0, signal: null });
        await expectOneOutcomeEach({
          database: await store.open(),
          project: store.project,
          ledger: store.ledger,
          turns,
          mayEnd,
        });
      });
    }, seed);
  });
});

describe.each(["postgres", "nats"] as const)("a cluster of two processes over the %s bus", (bus) => {
  const ROUNDS = 4;

  test("outlives terminated backends and an immediate restart of PostgreSQL", { timeout: TEST_MS }, async () => {
    const seed = seedFromEnvironment();
    console.log(`seed ${seed.value}`);
    await withSeed(async (value) => {
      const random = seededRandom(value);
      const turns = planTurns(8, 10, 1_000);
      const server = await startPostgres();
      const natsUrl = bus === "nats" ? { natsUrl: inject("natsUrl") } : {};
      try {
        await withCrashStore({ engine: "postgres", postgresUrl: server.url, ...natsUrl }, async (store) => {
          if (store.address.engine !== "postgres") throw new Error("not a PostgreSQL");
          const time = { factor: 5, originMs: Date.now() };
          const config = { targets: TARGETS, turns, leaseMs: 15_000, sweepMs: 1_000, time };
          const one = await store.start({ ...config, name: "one", roles: ["worker", "tools", "sweeper"] });
          const two = await store.start({ ...config, name: "two", roles: ROLES });
          await two.waitForMessage<NodeMessage>("that all is enqueued", (message) => message.event === "enqueued");
          await one.waitForMessage<NodeMessage>("ready", (message) => message.event === "ready");

          const { url } = store.address;
          let terminated = 0;
          for (let round = 0; round < ROUNDS; round += 1) {
            await pause(random() * 400); // the fault's own moment
            terminated += await terminateBackends(url);
          }
          expect(terminated).toBeGreaterThanOrEqual(ROUNDS);
          const endedBefore = await readEnded(url, store.project);
          expect(endedBefore).toBeLessThan(turns.length); // it was in the middle
          const pid = server.pid;
          await server.restart("immediate");
          expect(isAlive(pid)).toBe(false);
          expect(server.pid).not.toBe(pid);

          await two.waitForMessage<NodeMessage>("drained", isDrained, TEST_MS / 2);
          for (const child of [one, two]) expect(await child.terminate()).toEqual({ code: 0, signal: null });
          await expectOneOutcomeEach({
            database: await store.open(),
            project: store.project,
            ledger: store.ledger,
            turns,
            mayEnd,
          });
        });
      } finally {
        await server.stop();
      }
    }, seed);
  });
});

/** Ends every connection of the two processes, and says how many there were. */
async function terminateBackends(url: string): Promise<number> {
  const database = await openPostgres({ url, poolMax: 1, applicationName: "nemesis" });
  const text = `select count(pg_terminate_backend(pid))::int as ended from pg_stat_activity
                 where datname = current_database() and application_name in ('one', 'two', 'tessera-bus')`;
  try {
    const rows = await waitFor(
      async () => {
        const found = await database.query<{ ended: number }>(text);
        return (found[0]?.ended ?? 0) > 0 ? found : null;
      },
      { what: "a connection to terminate" },
    );
    return rows[0]?.ended ?? 0;
  } finally {
    await database.close();
  }
}

async function readEnded(url: string, project: string): Promise<number> {
  const database = await openPostgres({ url, poolMax: 1, applicationName: "nemesis" });
  return await countEnded(database, project).finally(() => database.close());
}
