// Which turns a turn remembers: numbers in the order of dispatch, a beginning that is fixed with it, fresh starts and resets.

import { describe, expect, it } from "vitest";
import type { ResumeOutcome, TurnRequest } from "../src/index.ts";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();

type Taken = Extract<ResumeOutcome, { outcome: "accepted" }>;

const instruction = (text: string) => [{ card_id: fx.ids.mint("card"), type: "task.instruction", content: { text } }];

async function ask(agent_id: string, more: Partial<TurnRequest> = {}): Promise<string> {
  const outcome = await fx.kernel.enqueueTurn({
    project_id: PROJECT,
    agent_id,
    context_cards: instruction("?"),
    ...more,
  });
  if (outcome.outcome === "rejected") throw new Error(`not enqueued: ${outcome.code}`);
  return outcome.agent_turn_id;
}

async function take(agent_id: string, worker_id: string): Promise<Taken> {
  const outcome = await fx.kernel.resume({ project_id: PROJECT, agent_id, worker_id });
  if (outcome.outcome !== "accepted") throw new Error(`not taken: ${JSON.stringify(outcome)}`);
  return outcome;
}

/** A turn from its question to its end; what its worker was given. */
async function run(agent_id: string, worker_id: string, more: Partial<TurnRequest> = {}): Promise<Taken> {
  await ask(agent_id, more);
  const turn = await take(agent_id, worker_id);
  await fx.finish(turn);
  return turn;
}

const range = ({ turn_number, conversation_from }: Taken) => [conversation_from, turn_number];
const reset = (agent_id: string, card_id?: string) =>
  fx.kernel.resetConversation({
    project_id: PROJECT,
    agent_id,
    author_id: "sys.operator",
    ...(card_id ? { card_id } : {}),
  });

describe("what turns were asked", () => {
  it("is read for many at once, the newest instruction of each context, cut where that is wanted", async () => {
    const agent = await fx.newAgent();
    const turns = await Promise.all([
      ask(agent, { context_cards: instruction("one and more") }),
      ask(agent, { context_cards: [...instruction("older"), ...instruction("two")] }),
      ask(agent, {
        context_cards: [{ card_id: fx.ids.mint("card"), type: "task.deliverable", content: { text: "no" } }],
      }),
    ]);
    const rows = await Promise.all(turns.map((turn) => fx.kernel.reads.turn(PROJECT, turn)));
    const boxes = rows.map((row) => String(row?.context_box_id));
    const read = async (project: string, most?: number) => {
      const inputs = await fx.kernel.reads.instructions(project, boxes, most);
      return boxes.map((box) => inputs.get(box));
    };
    expect(await read(PROJECT)).toEqual(["one and more", "two", undefined]);
    expect(await read(PROJECT, 3)).toEqual(["one", "two", undefined]);
    expect(await read("another")).toEqual([undefined, undefined, undefined]);
  });
});

describe("the turns of an agent", () => {
  it("are numbered as they are dispatched, on every way to a worker", async () => {
    const agent = await fx.newAgent();
    const worker = await fx.newWorker();
    expect(range(await run(agent, worker))).toEqual([1, 1]); // dispatched when it was asked for
    await ask(agent);
    const queued = await ask(agent);
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: queued });
    await ask(agent);
    const second = await take(agent, worker);
    expect(range(second)).toEqual([1, 2]);
    await fx.finish(second);
    expect(range(await take(agent, worker))).toEqual([1, 3]); // from the queue; the stopped one has no number
    expect(await fx.kernel.reads.turn(PROJECT, queued)).toMatchObject({ turn_number: null });
  });

  it("get their place again after a step elsewhere, a lost answer and a lost worker", async () => {
    const agent = await fx.newAgent();
    const worker = await fx.newWorker();
    await run(agent, worker);
    const turn = await fx.started({ agent_id: agent, worker_id: worker });
    for (const drafts of [[{}], [{}, {}]]) {
      const [current] = await fx.query<{ turn_epoch: string }>(
        "select turn_epoch from state.agent_state_head where agent_id = $1",
        [agent],
      );
      const waits = await fx.suspend({ ...turn, turn_epoch: Number(current?.turn_epoch) }, drafts);
      for (const n of drafts.keys()) await fx.report(await fx.opened(waits, n));
      expect(range(await take(agent, worker))).toEqual([1, 2]);
    }
    const again = await fx.kernel.resume({ project_id: PROJECT, agent_id: agent, worker_id: worker, reclaim: true });
    expect(range(again as Taken)).toEqual([1, 2]);
    await fx.later(60_000);
    expect(range(await take(agent, await fx.newWorker()))).toEqual([1, 2]);
  });

  it("remember two hundred turns at most, and their beginning moves in jumps", async () => {
    const rows = await fx.query<{ n: number; first: string }>(
      "select n, l0.first_remembered(1, n) as first from generate_series(1, 650) n",
    );
    const firsts = rows.map((row) => Number(row.first));
    expect(new Set(firsts)).toEqual(new Set([1, 100, 200, 300, 400]));
    expect(rows.every(({ n, first }) => n - Number(first) <= 300)).toBe(true);
    expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
  });
});

describe("a conversation", () => {
  it("is what each turn was asked and what it gave, also where two turns share an output box", async () => {
    const agent = await fx.newAgent();
    const worker = await fx.newWorker();
    const first = await run(agent, worker, { context_cards: instruction("one") });
    const second = await run(agent, worker, { context_cards: instruction("two"), output_box_id: first.output_box_id });
    const turns = await fx.kernel.reads.conversation(PROJECT, agent, { first: 1, last: 2 });
    expect(turns).toMatchObject([
      { turn_number: 1, agent_turn_id: first.agent_turn_id, context: [{ content: { text: "one" } }] },
      { turn_number: 2, agent_turn_id: second.agent_turn_id, context: [{ content: { text: "two" } }] },
    ]);
    expect(turns.map(({ output }) => output.map(({ metadata }) => metadata.agent_turn_id))).toEqual([
      [first.agent_turn_id],
      [second.agent_turn_id],
    ]);
    const known = await fx.kernel.reads.conversation(PROJECT, agent, {
      first: 1,
      last: 2,
      known: [first.agent_turn_id],
    });
    expect(known[0]).toEqual({ turn_number: 1, agent_turn_id: first.agent_turn_id, context: [], output: [] });
    expect(known[1]).toEqual(turns[1]);
  });

  it("begins anew with a fresh turn, for it and for those behind it", async () => {
    const agent = await fx.newAgent();
    const worker = await fx.newWorker();
    await run(agent, worker);
    expect(range(await run(agent, worker, { is_fresh: true }))).toEqual([2, 2]);
    expect(range(await run(agent, worker))).toEqual([2, 3]);
    const running = await fx.started({ agent_id: agent, worker_id: worker });
    await ask(agent, { is_fresh: true }); // from the queue
    await ask(agent);
    await fx.finish(running);
    for (const expected of [
      [5, 5],
      [5, 6],
    ]) {
      const turn = await take(agent, worker);
      expect(range(turn)).toEqual(expected);
      await fx.finish(turn);
    }
  });

  it("begins anew behind a reset, which changes no turn under way and deletes nothing", async () => {
    const agent = await fx.newAgent();
    const worker = await fx.newWorker();
    await run(agent, worker);
    await ask(agent);
    const [before] = await fx.query<{ cards: number }>("select count(*)::int as cards from card.cards");
    const outcome = await reset(agent, "card_of_reset");
    expect(outcome).toEqual({ outcome: "accepted", card_id: "card_of_reset", conversation_from: 3 });
    expect(range(await take(agent, worker))).toEqual([1, 2]);
    await fx.later(60_000); // its worker is lost
    const again = await take(agent, await fx.newWorker());
    expect(range(again)).toEqual([1, 2]);
    await fx.finish(again);
    const [card] = await fx.kernel.reads.cards(PROJECT, ["card_of_reset"]);
    expect(card).toMatchObject({
      type: "agent.reset",
      author_id: "sys.operator",
      content: { data: { agent_id: agent } },
    });
    expect(await reset(agent, "card_of_reset")).toMatchObject({ outcome: "duplicate", conversation_from: 3 });
    expect(range(await run(agent, await fx.newWorker()))).toEqual([3, 3]);
    const [after] = await fx.query<{ cards: number }>("select count(*)::int as cards from card.cards");
    expect(after?.cards).toBeGreaterThan(before?.cards ?? 0);
    const other = await fx.newAgent();
    expect(await reset(other, "card_of_reset")).toEqual({ outcome: "rejected", code: "conflict" });
    expect(await reset("agent_none")).toEqual({ outcome: "rejected", code: "not_found" });
  });
});
