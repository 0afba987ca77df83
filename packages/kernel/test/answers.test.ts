// Answers that were not waited for: written with the end of the turn that gives them, and in the conversation of the agent that
// asked exactly once, in its running turn or in a turn of their own.

import { describe, expect, it } from "vitest";
import { type Database, DatabaseError, type ResumeOutcome } from "../src/index.ts";
import { hold, PROJECT, type Started, useFixture } from "./fixture.ts";

const fx = useFixture();
/** PGlite has one session: nothing is locked there by another. */
const hasSessions = process.env.TESSERA_TEST_ENGINE === "postgres";

type Taken = Extract<ResumeOutcome, { outcome: "accepted" }>;

async function take(agent_id: string, worker_id: string): Promise<Taken> {
  const outcome = await fx.kernel.resume({ project_id: PROJECT, agent_id, worker_id });
  if (outcome.outcome !== "accepted") throw new Error(`not taken: ${JSON.stringify(outcome)}`);
  return outcome;
}

/** A turn that was asked for by another and is not waited for. */
async function asked(parent: Started, agent_id?: string): Promise<Started> {
  const agent = agent_id ?? (await fx.newAgent());
  const { outcome } = await fx.kernel.enqueueTurn({
    project_id: PROJECT,
    agent_id: agent,
    parent_agent_turn_id: parent.agent_turn_id,
    answers_parent: true,
    display_name: "helper",
  });
  expect(outcome).toBe("accepted");
  return await fx.resumed(agent, await fx.newWorker());
}

async function answerRows(agent_id: string) {
  return await fx.query<{ status: string; correlation_id: string }>(
    "select status, correlation_id from state.inbox where agent_id = $1 and message_type = 'answer' order by queue_order",
    [agent_id],
  );
}

async function answersOf(turn: { output_box_id: string; context_box_id?: string | null }) {
  const boxes = [turn.context_box_id, turn.output_box_id].filter((box) => typeof box === "string");
  const cards = await Promise.all(boxes.map((box) => fx.kernel.reads.boxCards(PROJECT, box)));
  return cards.flat().filter((card) => card.type === "agent.answer");
}

async function taken(turn: Started) {
  const outcome = await fx.kernel.takeAnswers(hold(turn));
  if (outcome.outcome === "rejected") throw new Error(`not taken: ${outcome.code}`);
  return outcome.cards;
}

const headOf = async (agent: string) => await fx.kernel.reads.head(PROJECT, agent);

describe("an answer that comes", () => {
  it("while the asking turn runs is taken into its output once, and wakes its worker", async () => {
    const asking = await fx.started();
    const child = await asked(asking);
    const outcome = await fx.finish(child);
    expect(outcome).toMatchObject({ answer_wake: { agent_id: asking.agent_id } });
    expect(await answerRows(asking.agent_id)).toEqual([{ status: "pending", correlation_id: child.agent_turn_id }]);
    const taken = await fx.kernel.takeAnswers(hold(asking));
    expect(taken).toMatchObject({
      outcome: "accepted",
      cards: [
        {
          type: "agent.answer",
          author_id: child.agent_id,
          content: { data: { status: "success", text: "done" } },
          metadata: {
            role: "user",
            answer_of: child.agent_turn_id,
            agent_name: "helper",
            asked_by: asking.agent_turn_id,
          },
        },
      ],
    });
    expect(await fx.kernel.takeAnswers(hold(asking))).toEqual({ outcome: "accepted", cards: [] });
    expect(await answersOf(asking)).toHaveLength(1);
    expect(await fx.finish(asking)).toMatchObject({ outcome: "accepted", wake: null });
    await fx.expectDrained();
  });

  it("before the asking turn ends, and that its worker did not hear of, starts the next turn in the commit of its end", async () => {
    const asking = await fx.started();
    await fx.finish(await asked(asking));
    await fx.finish(await asked(asking));
    expect(await fx.finish(asking)).toMatchObject({ wake: { agent_id: asking.agent_id } });
    const next = await take(asking.agent_id, await fx.newWorker());
    expect(next).toMatchObject({
      parent_agent_turn_id: asking.agent_turn_id,
      turn_number: 2,
      conversation_from: 1,
      recursion_depth: 0,
    });
    expect(await answersOf(next)).toHaveLength(2);
    expect(await fx.finish(next)).toMatchObject({ wake: null });
    await fx.expectDrained();
  });

  it("while the asking turn waits for a call is reported with the turn, and taken then", async () => {
    const asking = await fx.suspended();
    const child = await asked(asking);
    await fx.finish(child);
    await fx.report(await fx.opened(asking));
    const resumed = await take(asking.agent_id, asking.worker_id);
    expect(resumed.answers_waiting).toBe(1);
    expect(await fx.kernel.takeAnswers(hold(resumed))).toMatchObject({ cards: [{ type: "agent.answer" }] });
    await fx.finish(resumed);
    await fx.expectDrained();
  });

  it("after the asking turn has ended starts a turn at once", async () => {
    const asking = await fx.started();
    const child = await asked(asking);
    await fx.finish(asking);
    expect(await fx.finish(child)).toMatchObject({ answer_wake: { agent_id: asking.agent_id } });
    const next = await take(asking.agent_id, await fx.newWorker());
    expect(await answersOf(next)).toHaveLength(1);
    await fx.finish(next);
    await fx.expectDrained();
  });

  it("while another turn is queued is taken by that turn, and starts none of its own", async () => {
    const asking = await fx.started();
    const child = await asked(asking);
    const queued = await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: asking.agent_id });
    await fx.finish(child);
    await fx.finish(asking);
    const next = await take(asking.agent_id, await fx.newWorker());
    expect(next).toMatchObject({
      agent_turn_id: (queued as { agent_turn_id: string }).agent_turn_id,
      answers_waiting: 1,
    });
    await fx.kernel.takeAnswers(hold(next));
    expect(await fx.finish(next)).toMatchObject({ wake: null });
    await fx.expectDrained();
  });

  it("of a turn that failed, was stopped or lost its worker three times says so", async () => {
    const asking = await fx.started();
    const [failed, stopped, lost] = [await asked(asking), await asked(asking), await asked(asking)];
    await fx.kernel.finishTurn({
      ...hold(failed),
      status: "failed",
      deliverable: { card_id: fx.ids.mint("card"), content: { text: "no" } },
      error_code: "model_failed",
      error_message: "the model is away",
    });
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: stopped.agent_turn_id, reason: "enough" });
    for (let crash = 0; crash < 3; crash += 1) {
      await fx.kernel.renewWorker({ worker_id: asking.worker_id, worker_target: "workers", lease_ms: 600_000 });
      await fx.later(20_000);
      if (crash < 2) await fx.resumed(lost.agent_id, await fx.newWorker());
    }
    const cards = await taken(asking);
    expect(cards.map(({ content, metadata }) => [metadata.answer_of, content])).toEqual([
      [
        failed.agent_turn_id,
        { data: { status: "failed", error: { code: "model_failed", message: "the model is away" } } },
      ],
      [stopped.agent_turn_id, { data: { status: "canceled", error: { code: "canceled", message: "enough" } } }],
      [lost.agent_turn_id, { data: { status: "failed", error: expect.objectContaining({ code: "crash_loop" }) } }],
    ]);
    await fx.finish(asking);
    await fx.expectDrained();
  });
});

it("an answer whose taking was lost with its connection is returned when it is asked for again", async () => {
  const asking = await fx.started();
  const [first, second] = [await asked(asking), await asked(asking)];
  await fx.finish(first);
  await taken(asking);
  await fx.finish(second);
  let lost = 0;
  const breaking: Database = {
    ...fx.store.database,
    query: async (text, values) => {
      const rows = await fx.store.database.query(text, values);
      if (!text.includes("l0.take_answers(") || lost > 0) return rows as never;
      lost += 1;
      throw new DatabaseError("connection_lost", "the connection broke after the commit");
    },
  };
  const asksAgain = fx.anotherKernel(breaking).takeAnswers(hold(asking));
  await expect.poll(() => lost).toBe(1);
  await fx.clock.advance(1_000);
  expect(await asksAgain).toMatchObject({
    cards: [{ metadata: { answer_of: first.agent_turn_id } }, { metadata: { answer_of: second.agent_turn_id } }],
  });
  expect(await answersOf(asking)).toHaveLength(2);
  await fx.finish(asking);
  await fx.expectDrained();
});

describe("an answer starts no turn", () => {
  it("where the turn that asked was stopped; the agent's next turn finds it", async () => {
    const asking = await fx.started();
    const child = await asked(asking);
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: asking.agent_turn_id });
    await fx.finish(child);
    expect(await headOf(asking.agent_id)).toMatchObject({ status: "idle", answers_waiting: 1 });
    const next = await fx.started({ agent_id: asking.agent_id });
    expect(await fx.kernel.takeAnswers(hold(next))).toMatchObject({ cards: [{ type: "agent.answer" }] });
    await fx.finish(next);
    await fx.expectDrained();
  });

  it("where the trace has had its turns", async () => {
    const asking = await fx.started();
    const child = await asked(asking);
    await fx.query(
      "update state.trace_budgets set turns = 1000 where trace_id = (select trace_id from state.agent_turns where agent_turn_id = $1)",
      [asking.agent_turn_id],
    );
    await fx.finish(asking);
    await fx.finish(child);
    expect(await headOf(asking.agent_id)).toMatchObject({ status: "idle", answers_waiting: 1 });
    await fx.expectDrained();
  });
});

if (hasSessions) {
  it("a head that is locked holds up no end of a turn: the answer is counted by the next sweep", async () => {
    const asking = await fx.started();
    const child = await asked(asking);
    await fx.finish(asking);
    await fx.store.database.transaction(async (tx) => {
      await tx.query("select 1 from state.agent_state_head where agent_id = $1 for no key update", [asking.agent_id]);
      expect(await fx.finish(child)).toMatchObject({ outcome: "accepted" });
      expect(await answerRows(asking.agent_id)).toMatchObject([{ status: "deferred" }]);
    });
    await fx.later(1_500);
    expect(await headOf(asking.agent_id)).toMatchObject({ status: "dispatched" });
    const next = await take(asking.agent_id, await fx.newWorker());
    expect(await answersOf(next)).toHaveLength(1);
    await fx.finish(next);
    await fx.expectDrained();
  });
}

describe("a worker that lost the turn", () => {
  it("takes no answers", async () => {
    const asking = await fx.started();
    await fx.finish(await asked(asking));
    const stale = { ...hold(asking), turn_epoch: asking.turn_epoch - 1 };
    expect(await fx.kernel.takeAnswers(stale)).toEqual({ outcome: "rejected", code: "stale_epoch" });
    expect(await answersOf(asking)).toEqual([]);
    await fx.kernel.takeAnswers(hold(asking));
    await fx.finish(asking);
  });
});

it("many turns that end together answer each its asker", async () => {
  const asking = await fx.started();
  const children = await Promise.all([1, 2, 3, 4].map(() => asked(asking)));
  const others = await Promise.all([1, 2].map(() => fx.started()));
  await Promise.all([...children, ...others].map((turn) => fx.finish(turn)));
  await fx.later(1_500);
  expect(await taken(asking)).toHaveLength(4);
  await fx.finish(asking);
  await fx.expectDrained();
});
