// A cluster with a process for each role, two of each: processes are killed one after another while the work goes on,
// each is replaced by a new one, and every call has its one outcome.

import { seededRandom, seedFromEnvironment, type TestChild, waitFor, withSeed } from "@tessera/testkit";
import { describe, expect, inject, test } from "vitest";
import { expectOneOutcomeEach } from "../scenarios/outcome-check.ts";
import type { PlannedTurn } from "../scenarios/turn-plan.ts";
import { type CrashStore, withCrashStore } from "./crash-store.ts";
import type { NodeMessage, Role } from "./node-process.ts";

const TEST_MS = 90_000;
const KILLS = 8;
const MEMBERS: readonly Role[] = ["worker", "worker", "tools", "tools", "sweeper", "sweeper"];

const TURNS: readonly PlannedTurn[] = Array.from({ length: 120 }, (_, n) => ({
  agent_id: `agent_${n % 10}`,
  agent_turn_id: `turn_${n}`,
  steps: [
    {
      calls: [
        { tool: "echo", effect: "idempotent", workMs: 300 },
        { tool: "mail", effect: "once", workMs: 100, canReconcile: n % 2 === 0 },
        { tool: "search", effect: "read", workMs: 200 },
      ],
    },
  ],
}));

interface Member {
  readonly role: Role;
  readonly child: TestChild;
}

describe.each(["postgres", "nats"] as const)("over the %s bus", (bus) => {
  test("whichever process is killed, every call of three in parallel has exactly one outcome", {
    timeout: TEST_MS,
  }, async () => {
    const seed = seedFromEnvironment();
    console.log(`seed ${seed.value}`);
    const natsUrl = bus === "nats" ? { natsUrl: inject("natsUrl") } : {};
    await withSeed(async (value) => {
      const random = seededRandom(value);
      await withCrashStore({ engine: "postgres", ...natsUrl }, async (store) => {
        const start = starter(store);
        const members = await Promise.all(MEMBERS.map((role) => start(role)));
        const client = await start("client");
        const database = await store.open();
        const settled = async () => {
          const rows = await database.query<{ settled: number }>(
            "select count(*)::int as settled from state.calls where wait_status <> 'waiting'",
          );
          return rows[0]?.settled ?? 0;
        };
        const killed = new Set<Role>();
        for (let kill = 0; kill < KILLS; kill += 1) {
          const before = await settled();
          await waitFor(async () => (await settled()) > before, { what: "the work to go on", timeoutMs: 20_000 });
          // The first kills take one of each role; who comes after is drawn.
          const wanted = (["worker", "tools", "sweeper"] as const)[kill];
          const at =
            wanted === undefined
              ? Math.floor(random() * members.length)
              : members.findIndex((member) => member.role === wanted);
          const victim = members[at] as Member;
          await victim.child.kill();
          killed.add(victim.role);
          members[at] = await start(victim.role);
        }
        expect(killed).toEqual(new Set(["worker", "tools", "sweeper"]));
        expect((client.child.messages as NodeMessage[]).some((message) => message.event === "drained")).toBe(false); // in the middle

        await client.child.waitForMessage<NodeMessage>(
          "drained",
          (message) => message.event === "drained",
          TEST_MS / 2,
        );
        const mayEnd = () => ["success", "failed"]; // a turn that lost its worker three times in a row is a crash loop
        await expectOneOutcomeEach({ database, project: store.project, ledger: store.ledger, turns: TURNS, mayEnd });
      });
    }, seed);
  });
});

/** Starts processes of one role each, under a new name every time; the store's time is the same for all. */
function starter(store: CrashStore): (role: Role) => Promise<Member> {
  const time = { factor: 5, originMs: Date.now() };
  let started = 0;
  return async (role) => {
    started += 1;
    const config = { targets: ["echo", "mail", "search"], turns: TURNS, leaseMs: 10_000, sweepMs: 1_000, time };
    const child = await store.start({ ...config, name: `${role}-${started}`, roles: [role] });
    return { role, child };
  };
}
