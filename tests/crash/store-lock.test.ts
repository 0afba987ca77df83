// A PGlite directory belongs to one process (docs/design.md#one-dialect-two-engines): the second is refused and told what to do;
// after kill -9 the directory opens at once, and no process waits for the leases of the dead.

import { describe, expect, test } from "vitest";
import { expectOneOutcomeEach } from "../scenarios/outcome-check.ts";
import type { PlannedTurn } from "../scenarios/turn-plan.ts";
import { withCrashStore } from "./crash-store.ts";
import type { NodeMessage } from "./node-process.ts";

const TEST_MS = 40_000;
const REFUSED_MS_MAX = 1_000;
const WORK_MS = 700;
/** Longer than any test: a process that goes on within it was not waiting for a lease. */
const LEASE_MS = 600_000;
/** For a process that is to be killed in the middle of its work: the work takes it 20 times as long. */
const SLOW = { factor: 0.05 };
const STARTERS = 5;

const TURNS: readonly PlannedTurn[] = [
  {
    agent_id: "agent_a",
    agent_turn_id: "turn_a",
    steps: [{ calls: [{ tool: "echo", effect: "idempotent", workMs: WORK_MS }] }],
  },
  {
    agent_id: "agent_b",
    agent_turn_id: "turn_b",
    steps: [{ calls: [{ tool: "files", effect: "read", local: true, workMs: WORK_MS }] }],
  },
];
const CONFIG = { targets: ["echo"], turns: TURNS, leaseMs: LEASE_MS, sweepMs: 100 };
const isReady = (message: NodeMessage) => message.event === "ready";
const isFailed = (message: NodeMessage): message is Extract<NodeMessage, { event: "failed" } & { name: string }> =>
  message.event === "failed" && "name" in message;

describe("one directory", () => {
  test("a second process is refused within a second and told what to do", { timeout: TEST_MS }, async () => {
    await withCrashStore({ engine: "pglite" }, async (store) => {
      const holder = await store.start({ ...CONFIG, name: "holder", roles: [] });
      await holder.waitForMessage<NodeMessage>("ready", isReady);

      const second = await store.start({ ...CONFIG, name: "second", roles: [] });
      const refusal = await second.waitForMessage<NodeMessage>("its refusal", isFailed);
      if (!isFailed(refusal)) throw new Error("not a refusal");
      expect(refusal.name).toBe("StoreLockedError");
      expect(refusal.message).toContain(`is in use by process ${holder.pid}`);
      expect(refusal.message).toMatch(/stop that process.*or choose another directory/);
      expect(refusal.ms).toBeLessThan(REFUSED_MS_MAX);
      expect(await second.ended()).toEqual({ code: 1, signal: null });

      expect(await holder.terminate()).toEqual({ code: 0, signal: null }); // it was not disturbed
    });
  });

  test("of five processes that start together, one gets it", { timeout: TEST_MS }, async () => {
    await withCrashStore({ engine: "pglite" }, async (store) => {
      const names = Array.from({ length: STARTERS }, (_, n) => `starter-${n}`);
      const children = await Promise.all(names.map((name) => store.start({ ...CONFIG, name, roles: [] })));
      const answers = await Promise.all(
        children.map((child) =>
          child.waitForMessage<NodeMessage>("ready or refused", (message) => isReady(message) || isFailed(message)),
        ),
      );
      expect(answers.filter(isReady)).toHaveLength(1);
      expect(answers.filter(isFailed).map((answer) => answer.name)).toEqual(
        Array(STARTERS - 1).fill("StoreLockedError"),
      );
    });
  });

  test("after kill -9 it opens at once, its leases are free, and the work goes on", { timeout: TEST_MS }, async () => {
    await withCrashStore({ engine: "pglite" }, async (store) => {
      const roles = ["client", "worker", "tools", "sweeper"] as const;
      const first = await store.start({ ...CONFIG, name: "first", roles, time: SLOW });
      await first.waitForMessage<NodeMessage>("that its tool works", (message) => message.event === "working");
      await first.waitForMessage<NodeMessage>("that its worker acts", (message) => message.event === "acting");
      await first.kill();

      const second = await store.start({ ...CONFIG, name: "second", roles });
      const freed = await second.waitForMessage<NodeMessage>("what it freed", (message) => message.event === "freed");
      expect(freed).toMatchObject({ workers: 1, calls: 1 });
      await second.waitForMessage<NodeMessage>("drained", (message) => message.event === "drained");
      expect(await second.terminate()).toEqual({ code: 0, signal: null });

      const database = await store.open();
      await expectOneOutcomeEach({ database, project: store.project, ledger: store.ledger, turns: TURNS });
      const attempts = store.ledger.entries().map((entry) => `${entry.tool_call_id} ${entry.attempt}`);
      expect(attempts.sort()).toEqual(["turn_a_s0c0 2", "turn_b_s0c0 2"]); // both were run again
    });
  });
});
