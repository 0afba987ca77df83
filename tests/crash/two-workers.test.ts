// Two processes with everything in them race for the same agents (docs/faults.md#f22): of every epoch of every turn, one is the
// holder.

import { waitFor } from "@tessera/testkit";
import { describe, expect, inject, test } from "vitest";
import { expectOneOutcomeEach } from "../scenarios/outcome-check.ts";
import type { PlannedTurn } from "../scenarios/turn-plan.ts";
import { withCrashStore } from "./crash-store.ts";
import type { NodeMessage } from "./node-process.ts";

const TEST_MS = 60_000;
const AGENTS = 10;
const TURNS_PER_AGENT = 20;

const TURNS: readonly PlannedTurn[] = Array.from({ length: AGENTS * TURNS_PER_AGENT }, (_, n) => ({
  agent_id: `agent_${n % AGENTS}`,
  agent_turn_id: `turn_${n}`,
  steps: [
    {
      calls: [
        { tool: "mail", effect: "once" },
        { tool: "search", effect: "read" },
      ],
    },
  ],
}));
const CONFIG = { targets: ["mail", "search"], turns: TURNS, leaseMs: 15_000, sweepMs: 500 };

describe.each(["postgres", "nats"] as const)("over the %s bus", (bus) => {
  test("two workers race on the same agents through 200 turns, and one wins each", { timeout: TEST_MS }, async () => {
    const natsUrl = bus === "nats" ? { natsUrl: inject("natsUrl") } : {};
    await withCrashStore({ engine: "postgres", ...natsUrl }, async (store) => {
      const one = await store.start({ ...CONFIG, name: "one", roles: ["worker", "tools", "sweeper"] });
      await one.waitForMessage<NodeMessage>("ready", (message) => message.event === "ready");
      const two = await store.start({ ...CONFIG, name: "two", roles: ["worker", "tools", "sweeper", "client"] });
      await two.waitForMessage<NodeMessage>("drained", (message) => message.event === "drained", TEST_MS / 2);
      for (const child of [one, two]) {
        expect(await child.terminate()).toEqual({ code: 0, signal: null });
        // Its end may be known before the last of its lines is read.
        const isRead = () => (child.messages as NodeMessage[]).some((message) => message.event === "stopped");
        await waitFor(isRead, { what: "all lines of an ended process" });
      }

      const failures = [one, two].flatMap((child) =>
        (child.messages as NodeMessage[]).filter((message) => message.event === "failed"),
      );
      expect(failures).toEqual([]);
      const taken = [one, two].map((child) =>
        (child.messages as NodeMessage[]).filter((message) => message.event === "took"),
      );
      for (const took of taken) expect(took.length).toBeGreaterThan(0); // both were in the race
      const holds = taken.flat().map((took) => `${took.agent_turn_id} ${took.turn_epoch}`);
      expect(new Set(holds).size).toBe(holds.length);
      // Two steps forward each, the start and the resume; no worker died, so nothing was done again.
      expect(holds).toHaveLength(2 * TURNS.length);

      const database = await store.open();
      const calls = await expectOneOutcomeEach({
        database,
        project: store.project,
        ledger: store.ledger,
        turns: TURNS,
      });
      expect(calls.every((call) => call.result_status === "success")).toBe(true);
      expect(store.ledger.entries()).toHaveLength(calls.length);
      // Both processes' tools heard the commands; each call was run by one of them.
      expect(new Set(store.ledger.entries().map((entry) => entry.by.split("-")[0]))).toEqual(new Set(["one", "two"]));
    });
  });
});
