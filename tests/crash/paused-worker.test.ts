// A process that was stopped past its lease and goes on as if nothing had happened (docs/faults.md#f23): everything it writes is
// refused, and the store does not change by a single row.

import type { Database } from "@tessera/kernel";
import { waitFor } from "@tessera/testkit";
import { describe, expect, inject, test } from "vitest";
import { expectOneOutcomeEach } from "../scenarios/outcome-check.ts";
import type { PlannedStep, PlannedTurn } from "../scenarios/turn-plan.ts";
import { withCrashStore } from "./crash-store.ts";
import type { NodeMessage } from "./node-process.ts";
import { isStopped } from "./process-state.ts";
import { digestOfRows } from "./store-digest.ts";

const TEST_MS = 40_000;
/** The same for all processes. What follows is in the store's time: a second of the wall's is five of it. */
const TIME = { factor: 5, originMs: Date.now() };
const LEASE_MS = 5_000;
const THINK_MS = 15_000;
const BASE = { targets: ["echo"], leaseMs: LEASE_MS, sweepMs: 1_000, time: TIME };
const BUSES = ["postgres", "nats"] as const;

const MOVES: readonly { move: string; steps: readonly PlannedStep[]; isLocal: boolean }[] = [
  { move: "suspend_on_calls", steps: [{ calls: [{ tool: "echo", effect: "once" }] }], isLocal: false },
  { move: "append_cards", steps: [{ hasNote: true, calls: [{ tool: "echo", effect: "once" }] }], isLocal: false },
  { move: "finish_turn", steps: [], isLocal: false },
  {
    move: "apply_results",
    steps: [{ calls: [{ tool: "files", effect: "idempotent", local: true, workMs: THINK_MS }] }],
    isLocal: true,
  },
];

async function hasOpenCalls(database: Database): Promise<boolean> {
  return (await database.query("select 1 from state.agent_state_head where open_calls is not null")).length > 0;
}

function turnOf(steps: readonly PlannedStep[]): PlannedTurn {
  return { agent_id: "agent_a", agent_turn_id: "turn_a", steps };
}

describe.each(BUSES)("over the %s bus", (bus) => {
  const options = () => ({ engine: "postgres" as const, ...(bus === "nats" ? { natsUrl: inject("natsUrl") } : {}) });

  // The fence is the database's: one move is enough to see that the other bus does not open it.
  test.each(bus === "nats" ? MOVES.slice(0, 1) : MOVES)(
    "a worker that is paused past its lease before $move comes back and writes nothing",
    { timeout: TEST_MS },
    async ({ move, steps, isLocal }) => {
      await withCrashStore(options(), async (store) => {
        const turns = [turnOf(steps)];
        const database = await store.open();
        const paused = await store.start({
          ...BASE,
          name: "paused",
          roles: ["worker"],
          turns,
          ...(isLocal ? {} : { thinkMs: THINK_MS }),
        });
        await paused.waitForMessage<NodeMessage>("ready", (message) => message.event === "ready");
        const client = await store.start({ ...BASE, name: "client", roles: ["client", "tools"], turns });
        // It has read how far its turn is, and is about to write: in the middle of its work, not before it.
        if (isLocal)
          await waitFor(() => hasOpenCalls(database), { what: "the worker to be at work on its local call" });
        else await paused.waitForMessage<NodeMessage>("that it thinks", (message) => message.event === "thinking");
        paused.stop();
        await waitFor(() => isStopped(paused.pid), { what: "the worker to be stopped" });

        await store.start({ ...BASE, name: "other", roles: ["worker", "sweeper"], turns });
        await client.waitForMessage<NodeMessage>("drained", (message) => message.event === "drained");
        const before = await digestOfRows(database);
        expect(paused.messages).not.toContainEqual(expect.objectContaining({ event: "refused" }));

        paused.resume();
        const refused = await paused.waitForMessage<NodeMessage>(
          "its refusal",
          (message) => message.event === "refused",
        );
        expect(refused).toMatchObject({ move, agent_turn_id: "turn_a", code: "stale_epoch" });
        await paused.waitForMessage<NodeMessage>("that its lease had lapsed", (message) => message.event === "lapsed");
        expect(await digestOfRows(database)).toBe(before);

        await expectOneOutcomeEach({ database, project: store.project, ledger: store.ledger, turns });
      });
    },
  );

  test("a tool that is paused past its lease comes back and its report changes nothing", {
    timeout: TEST_MS,
  }, async () => {
    await withCrashStore(options(), async (store) => {
      const turns = [turnOf([{ calls: [{ tool: "echo", effect: "idempotent", workMs: THINK_MS }] }])];
      const database = await store.open();
      const paused = await store.start({ ...BASE, name: "paused", roles: ["tools"], turns });
      await paused.waitForMessage<NodeMessage>("ready", (message) => message.event === "ready");
      // Its lease outlasts the sweeper's head start below.
      const client = await store.start({
        ...BASE,
        leaseMs: 600_000,
        name: "client",
        roles: ["client", "worker"],
        turns,
      });
      await paused.waitForMessage<NodeMessage>("that it works", (message) => message.event === "working");
      paused.stop();
      await waitFor(() => isStopped(paused.pid), { what: "the tool to be stopped" });

      await store.start({
        ...BASE,
        name: "other",
        roles: ["tools", "sweeper"],
        turns,
        time: { ...TIME, aheadMs: 60_000 },
      });
      await client.waitForMessage<NodeMessage>("drained", (message) => message.event === "drained");
      const before = await digestOfRows(database);

      paused.resume();
      const isRefusal = (message: NodeMessage) => message.event === "reported" || message.event === "canceled";
      const told = await paused.waitForMessage<NodeMessage>("that it was refused", isRefusal);
      expect("answer" in told ? told.answer : "code" in told ? told.code : null).toBe("stale_attempt");
      expect(await digestOfRows(database)).toBe(before);

      const calls = await expectOneOutcomeEach({ database, project: store.project, ledger: store.ledger, turns });
      expect(calls).toMatchObject([{ result_status: "success", settled_by: "report" }]);
    });
  });
});
