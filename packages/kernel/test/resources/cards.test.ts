// Cards are written once; boxes are ordered, dense and written by one agent.

import { describe, expect, it } from "vitest";
import { hold, PROJECT, useFixture } from "../fixture.ts";

const fx = useFixture();

function textCard(text: string, card_id = fx.ids.mint("card")) {
  return { project_id: PROJECT, card_id, type: "task.instruction", author_id: "user.ann", content: { text } };
}

/** Content that is right for its type, so that only the check of the type can refuse it. */
const CONTENT_OF = {
  "tool.call": {
    tool_name: "echo__run",
    arguments: {},
    status: "called",
    target_subject: "cg.v1r4.p1.public.cmd.tool.echo.run",
  },
  "tool.result": { status: "success", after_execution: "suspend", result: null, error: null },
  "agent.thought": { text: "x" },
  "agent.calls": { data: {} },
  "agent.answer": { data: {} },
  "agent.reset": { data: {} },
  "task.deliverable": { text: "x" },
};

describe("a card", () => {
  it("saved again with the same content is accepted, with another it is a conflict", async () => {
    await fx.kernel.putProject({ project_id: "p2" });
    const card = textCard("one");
    expect((await fx.kernel.putCard(card)).outcome).toBe("accepted");
    expect((await fx.kernel.putCard(card)).outcome).toBe("accepted");
    for (const other of [
      { ...card, content: { text: "two" } },
      { ...card, author_id: "user.bob" },
      { ...card, project_id: "p2" },
    ]) {
      expect(await fx.kernel.putCard(other)).toMatchObject({ outcome: "rejected", code: "conflict" });
    }
    expect((await fx.kernel.reads.cards(PROJECT, [card.card_id]))[0]?.content).toEqual({ text: "one" });
  });

  it("cannot be updated, deleted or truncated, not even by its owner", async () => {
    const card = textCard("kept");
    await fx.kernel.putCard(card);
    for (const statement of [
      `update card.cards set content = '{}' where card_id = '${card.card_id}'`,
      `delete from card.cards where card_id = '${card.card_id}'`,
      "truncate card.cards",
    ]) {
      await expect(fx.query(statement)).rejects.toThrow(/immutable/);
    }
    expect((await fx.kernel.reads.cards(PROJECT, [card.card_id]))[0]?.content).toEqual({ text: "kept" });
  });

  it("of a kind that only the kernel makes is refused by putCard", async () => {
    for (const [type, content] of Object.entries(CONTENT_OF)) {
      expect(await fx.kernel.putCard({ ...textCard("x"), type, content })).toMatchObject({
        outcome: "rejected",
        code: "forbidden",
      });
    }
  });

  it("keeps its lineage and role in its metadata", async () => {
    const turn = await fx.suspended();
    await fx.report(await fx.opened(turn));
    const [thought, call, result] = await fx.kernel.reads.boxCards(PROJECT, turn.output_box_id);
    const lineage = {
      agent_turn_id: turn.agent_turn_id,
      step_id: turn.step_id,
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    };
    expect(thought).toMatchObject({
      type: "agent.thought",
      author_id: turn.agent_id,
      metadata: { ...lineage, role: "assistant" },
    });
    expect(call).toMatchObject({
      type: "tool.call",
      author_id: turn.agent_id,
      metadata: { ...lineage, role: "assistant", tool_call_id: turn.calls[0]?.tool_call_id },
    });
    expect(result).toMatchObject({
      type: "tool.result",
      author_id: "tool.echo",
      metadata: { ...lineage, role: "tool", function_name: "echo__run" },
    });
    expect(call?.content).toEqual({
      tool_name: "echo__run",
      arguments: { text: "hello" },
      status: "called",
      target_subject: "cg.v1r4.p1.public.cmd.tool.echo.run",
    });
    expect(result?.content).toEqual({
      status: "success",
      after_execution: "suspend",
      result: { ok: true },
      error: null,
    });
    expect(result?.metadata.trace_id).toBe(call?.metadata.trace_id);
  });

  it("read by id comes in the order asked for, with repetitions, without those of other projects", async () => {
    const [a, b] = [textCard("a"), textCard("b")];
    await Promise.all([fx.kernel.putCard(a), fx.kernel.putCard(b)]);
    const read = await fx.kernel.reads.cards(PROJECT, [b.card_id, "card_none", a.card_id, b.card_id]);
    expect(read.map((card) => card.card_id)).toEqual([b.card_id, a.card_id, b.card_id]);
    expect(await fx.kernel.reads.cards("p2", [a.card_id])).toEqual([]);
  });
});

describe("a box", () => {
  it("keeps the order of its cards and is the same when made again", async () => {
    const cards = [textCard("1"), textCard("2"), textCard("3")];
    await Promise.all(cards.map((card) => fx.kernel.putCard(card)));
    const box = {
      project_id: PROJECT,
      box_id: fx.ids.mint("box"),
      card_ids: cards.map((card) => card.card_id).reverse(),
    };
    expect((await fx.kernel.putBox(box)).outcome).toBe("accepted");
    expect((await fx.kernel.putBox(box)).outcome).toBe("duplicate");
    expect(await fx.kernel.putBox({ ...box, card_ids: [] })).toMatchObject({ outcome: "rejected", code: "conflict" });
    expect((await fx.kernel.reads.boxCards(PROJECT, box.box_id)).map((card) => card.content.text)).toEqual([
      "3",
      "2",
      "1",
    ]);
  });

  it("cannot hold a card of another project", async () => {
    await fx.kernel.putProject({ project_id: "p2" });
    const card = { ...textCard("mine"), project_id: "p2" };
    await fx.kernel.putCard(card);
    expect(
      await fx.kernel.putBox({ project_id: PROJECT, box_id: fx.ids.mint("box"), card_ids: [card.card_id] }),
    ).toMatchObject({ outcome: "rejected", code: "card_not_found" });
  });

  it("cannot be the output of an agent that does not own it", async () => {
    const [owner, thief] = [await fx.newAgent(), await fx.newAgent()];
    const box_id = fx.ids.mint("box");
    await fx.kernel.putBox({ project_id: PROJECT, box_id, agent_id: owner });
    expect(await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: thief, output_box_id: box_id })).toEqual({
      outcome: "rejected",
      code: "forbidden",
    });
    expect((await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: owner, output_box_id: box_id })).outcome).toBe(
      "accepted",
    );
  });

  it("that an agent uses again goes on where it ended", async () => {
    const agent = await fx.newAgent();
    const worker = await fx.newWorker();
    const box_id = fx.ids.mint("box");
    await fx.kernel.putBox({ project_id: PROJECT, box_id, agent_id: agent });
    for (let n = 0; n < 3; n += 1) {
      await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent, output_box_id: box_id });
      const turn = await fx.resumed(agent, worker);
      await fx.report(await fx.opened(await fx.suspend(turn)));
      await fx.finish(await fx.resumed(agent, worker));
    }
    const cards = await fx.kernel.reads.boxCards(PROJECT, box_id);
    expect(cards.map((card) => card.pos)).toEqual(Array.from({ length: 12 }, (_, n) => n));
    expect(cards.map((card) => card.type)).toEqual(
      Array(3).fill(["agent.thought", "tool.call", "tool.result", "task.deliverable"]).flat(),
    );
  });
});

describe("cards appended by a step", () => {
  it("stand in the output box, once", async () => {
    const turn = await fx.started();
    const cards = [{ card_id: fx.ids.mint("card"), type: "sys.must_end_with_required", content: { text: "remember" } }];
    expect((await fx.kernel.appendCards({ ...hold(turn), cards })).outcome).toBe("accepted");
    expect((await fx.kernel.appendCards({ ...hold(turn), cards })).outcome).toBe("duplicate");
    expect(
      await fx.kernel.appendCards({ ...hold(turn), cards: [{ ...cards[0], content: { text: "other" } } as never] }),
    ).toMatchObject({ code: "conflict" });
    expect((await fx.kernel.reads.boxCards(PROJECT, turn.output_box_id)).map((card) => card.content)).toEqual([
      { text: "remember" },
    ]);
  });

  it("may not be calls or results", async () => {
    const turn = await fx.started();
    for (const type of ["tool.call", "tool.result"] as const) {
      const cards = [{ card_id: fx.ids.mint("card"), type, content: CONTENT_OF[type] }];
      expect(await fx.kernel.appendCards({ ...hold(turn), cards })).toEqual({
        outcome: "rejected",
        code: "bad_request",
      });
    }
  });
});
