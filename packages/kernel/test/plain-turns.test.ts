// Items of one batch that name one agent, turn, correlation or task twice, where one of them is for the plain function and the
// other is not. The second must meet what the first did, whichever function each goes through (26_plain_calls.sql, P4).

import { describe, expect, it } from "vitest";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();

interface Answer {
  readonly outcome: string;
  readonly code?: string;
  readonly agent_turn_id?: string;
}

async function ask(fn: string, items: readonly unknown[]): Promise<readonly Answer[]> {
  const values = [JSON.stringify(items), fx.clock.databaseTime().toISOString()];
  const rows = await fx.query<{ answer: readonly Answer[] }>(
    `select l0.${fn}($1::jsonb, $2::timestamptz) as answer`,
    values,
  );
  return rows[0]?.answer ?? [];
}

const turnFor = (agent_id: string, more: object = {}) => ({
  project_id: PROJECT,
  agent_id,
  agent_turn_id: fx.ids.mint("turn"),
  trace_id: fx.ids.traceId(),
  span_id: fx.ids.spanId(),
  context_cards: [],
  new_box_ids: [fx.ids.mint("box"), fx.ids.mint("box")],
  ...more,
});

const statusOf = async (turn: { readonly agent_turn_id: string }) =>
  (await fx.kernel.reads.turn(PROJECT, turn.agent_turn_id))?.status;

for (const fn of ["enqueue_plainly", "enqueue_turn"])
  describe(`${fn}, asked in one batch`, () => {
    it("starts a message of a page before the turn behind it", async () => {
      const agent = await fx.newAgent();
      const [page, turn] = [turnFor(agent, { message_type: "ui_action" }), turnFor(agent)];
      expect(await ask(fn, [page, turn])).toMatchObject([{ outcome: "accepted" }, { outcome: "accepted" }]);
      expect([await statusOf(page), await statusOf(turn)]).toEqual(["active", "queued"]);
    });

    it("starts a turn with a box of its own before the plain one behind it", async () => {
      const agent = await fx.newAgent();
      const output_box_id = fx.ids.mint("box");
      await fx.query("insert into card.boxes (box_id, project_id, agent_id, created_at) values ($1, $2, $3, now())", [
        output_box_id,
        PROJECT,
        agent,
      ]);
      const [first, second] = [turnFor(agent, { output_box_id }), turnFor(agent)];
      expect(await ask(fn, [first, second])).toMatchObject([{ outcome: "accepted" }, { outcome: "accepted" }]);
      expect([await statusOf(first), await statusOf(second)]).toEqual(["active", "queued"]);
    });

    it("takes one correlation once, for whichever agent came first", async () => {
      const correlation_id = fx.ids.mint("c");
      const agents = [await fx.newAgent(), await fx.newAgent()].sort();
      const answers = await ask(
        fn,
        agents.map((agent) => turnFor(agent, { correlation_id })),
      );
      expect(answers).toMatchObject([{ outcome: "accepted" }, { outcome: "rejected", code: "conflict" }]);
    });

    it("keeps what it is given of a turn, also where it is given null", async () => {
      const turn = turnFor(await fx.newAgent(), { metadata: null, runtime_config: { a: 1 } });
      await ask(fn, [turn]);
      const rows = await fx.query(
        "select metadata::text as metadata, runtime_config::text as config from state.agent_turns where agent_turn_id = $1",
        [turn.agent_turn_id],
      );
      expect(rows).toEqual([{ metadata: "null", config: '{"a": 1}' }]);
    });
  });

describe("a task of a batch", () => {
  async function openTask() {
    const parent = await fx.suspended([{ tool_name: "fork_join", author_id: "sys.pmo.batch_manager" }]);
    const opened = await fx.opened(parent);
    const batch_task_id = fx.ids.mint("bt");
    const batch = {
      project_id: PROJECT,
      tool_call_id: opened.tool_call_id,
      capability: opened.capability,
      batch_id: fx.ids.mint("batch"),
      tasks: [{ batch_task_id }],
    };
    expect(await fx.kernel.openBatch(batch)).toMatchObject({ outcome: "accepted" });
    return { parent, batch_task_id };
  }

  it("that is named twice in one batch starts one child", async () => {
    const { parent, batch_task_id } = await openTask();
    const items = [await fx.newAgent(), await fx.newAgent()].map((agent) => ({
      project_id: PROJECT,
      batch_task_id,
      only_idle: false,
      turn: turnFor(agent, { parent_agent_turn_id: parent.agent_turn_id }),
    }));
    expect(await ask("dispatch_batch_task", items)).toMatchObject([
      { outcome: "accepted", agent_turn_id: items[0]?.turn.agent_turn_id },
      { outcome: "rejected", code: "conflict" },
    ]);
    expect(await fx.kernel.reads.childTurns(PROJECT, parent.agent_turn_id)).toHaveLength(1);
  });
});
