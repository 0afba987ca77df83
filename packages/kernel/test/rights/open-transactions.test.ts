// What a move sees of another that has not committed yet, on PostgreSQL. PGlite has one session, so nothing waits there.

import { waitFor } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import type { Statements } from "../../src/index.ts";
import { PROJECT, useFixture } from "../fixture.ts";

const fx = useFixture();
const hasSessions = process.env.TESSERA_TEST_ENGINE === "postgres";

async function ask(database: Statements, fn: string, item: object): Promise<unknown> {
  const values = [JSON.stringify([item]), fx.clock.databaseTime().toISOString()];
  const text = `select l0.${fn}($1::jsonb, $2::timestamptz) as answer`;
  const [row] = await database.query<{ answer: unknown }>(text, values);
  return row?.answer;
}

/** Asks while a transaction is open in which the first statement was made; answers when that one has committed. */
async function whileOpen<T>(fn: string, item: object, second: () => Promise<T>): Promise<T> {
  const asked: Promise<T>[] = [];
  await fx.store.database.transaction(async (tx) => {
    expect(await ask(tx, fn, item)).toMatchObject([{ outcome: "accepted" }]);
    let isAnswered = false;
    asked.push(
      second().finally(() => {
        isAnswered = true;
      }),
    );
    const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    // One that does not wait is answered from what was there before, and the test goes on to say so.
    await waitFor(async () => isAnswered || (await fx.query(waiting)).length > 0, {
      what: "the second to wait, or its answer",
    });
  });
  return await (asked[0] as Promise<T>);
}

if (hasSessions) {
  describe("a parent that is stopped while a child is asked for", () => {
    // The full function has a lock of its own: what hands it items need not have been through the plain one.
    it.each(["enqueue_plainly", "enqueue_turn"])(
      "gets none through %s, so that its children can be found and stopped",
      async (fn) => {
        const parent = await fx.started();
        const other = await fx.store.another({ poolMax: 1 });
        const child = {
          project_id: PROJECT,
          agent_id: await fx.newAgent(),
          agent_turn_id: fx.ids.mint("turn"),
          trace_id: fx.ids.traceId(),
          span_id: fx.ids.spanId(),
          parent_agent_turn_id: parent.agent_turn_id,
          new_box_ids: [fx.ids.mint("box"), fx.ids.mint("box")],
        };
        const stopped = { project_id: PROJECT, agent_turn_id: parent.agent_turn_id };
        expect(await whileOpen("stop_turn", stopped, () => ask(other, fn, child))).toEqual([
          { outcome: "rejected", code: "canceled" },
        ]);
        expect(await fx.kernel.reads.childTurns(PROJECT, parent.agent_turn_id)).toEqual([]);
      },
    );
  });

  describe("siblings that report at once", () => {
    it("wake their agent with the later of two, though neither saw the other when it began", async () => {
      const turn = await fx.suspended([{}, {}]);
      const saidOf = async (n: number) => {
        const { tool_call_id, capability } = await fx.opened(turn, n);
        return { project_id: PROJECT, tool_call_id, capability, content: { status: "success", result: n } };
      };
      const [first, second] = [await saidOf(0), await saidOf(1)];
      const other = fx.anotherKernel(await fx.store.another({ poolMax: 1 }));
      const late = await whileOpen("report_plainly", first, () => other.report(second));
      expect(late).toMatchObject({ outcome: "accepted", wake: { agent_id: turn.agent_id } });
    });
  });
} else {
  it("an engine with one session has no open transaction beside another", () => {
    expect(fx.store.database.capabilities.batchesInFlight).toBe(1);
  });
}
