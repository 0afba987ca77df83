// The whole round trip without a model: enqueue, suspend on three calls, claim and answer them in any order from other
// clients, resume, finish; on both databases and all three buses.

import { seedFromEnvironment, type TestEngine, withSeed } from "@tessera/testkit";
import { describe, expect, test } from "vitest";
import { callIdsOf } from "./turn-plan.ts";
import { type BusKind, TOOLS, World } from "./world.ts";

const AGENTS = 20;
const ENGINES: readonly TestEngine[] = ["pglite", "postgres"];
const BUSES: readonly BusKind[] = ["memory", "postgres", "nats"];
const CASES = ENGINES.flatMap((engine) => BUSES.map((bus) => ({ engine, bus })));

describe.each(CASES)("on $engine with the $bus bus", ({ engine, bus }) => {
  test("every call of twenty agents gets exactly one outcome, whatever order the answers come in", async () => {
    const seed = seedFromEnvironment();
    console.log(`seed ${seed.value}`);
    await withSeed(async (value) => {
      const world = await World.open({ engine, bus, seed: value, agents: AGENTS, turnsPerAgent: 2 });
      try {
        await world.enqueueAll();
        await world.waitUntilEnded();
        const calls = await world.expectOneOutcomeEach();

        expect(calls).toHaveLength(AGENTS * 2 * 2 * TOOLS.length);
        expect(calls.every((call) => call.result_status === "success" && call.settled_by === "report")).toBe(true);
        // No process died, so nothing was run twice, whatever its effect.
        expect(world.ledger.entries()).toHaveLength(calls.length);
        // The answers did come out of order: else this test would show nothing.
        expect(await outOfOrder(world)).toBeGreaterThan(0);
      } finally {
        await world.close();
      }
    }, seed);
  });
});

/** Steps whose calls were answered in another order than they were made. */
async function outOfOrder(world: World): Promise<number> {
  const rows = await world.database.query<{ tool_call_id: string; received_at: string }>(
    "select tool_call_id, received_at from state.calls where project_id = $1",
    [world.project],
  );
  const receivedAt = new Map(rows.map((row) => [row.tool_call_id, row.received_at]));
  const steps = world.turns.flatMap((turn) => {
    const ids = callIdsOf(turn);
    return [ids.slice(0, TOOLS.length), ids.slice(TOOLS.length)];
  });
  const isShuffled = (ids: readonly string[]) =>
    ids.some((id, n) => n > 0 && (receivedAt.get(ids[n - 1] ?? "") ?? "") > (receivedAt.get(id) ?? ""));
  return steps.filter(isShuffled).length;
}
