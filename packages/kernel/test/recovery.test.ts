// Crashes, stops, deferrals and lost rings: the turn goes on or ends, once, and its agent is free.

import { describe, expect, it } from "vitest";
import { type HangNote, noteHang } from "../src/index.ts";
import { hold, PROJECT, type Started, useFixture } from "./fixture.ts";

const fx = useFixture();

async function turnRow(turn: { agent_turn_id: string }) {
  return fx.kernel.reads.turn(PROJECT, turn.agent_turn_id);
}

async function terminalEvents(turn: { agent_turn_id: string }) {
  return fx.query("select status from state.events where agent_turn_id = $1 and kind = 'task'", [turn.agent_turn_id]);
}

describe("a worker that is lost", () => {
  it("has its turn resumed by another from the last commit, under a new epoch", async () => {
    const turn = await fx.started();
    const waiting = await fx.suspend(turn);
    await fx.report(await fx.opened(waiting));
    const resumed = await fx.resumed(turn.agent_id, turn.worker_id);
    await fx.later(15_001);
    const second = await fx.resumed(turn.agent_id, await fx.newWorker());
    expect(second).toMatchObject({ agent_turn_id: turn.agent_turn_id, turn_epoch: resumed.turn_epoch + 1 });
    expect(await fx.finish(resumed)).toEqual({ outcome: "rejected", code: "stale_epoch" });
    expect((await fx.finish(second)).outcome).toBe("accepted");
  });

  it("leaves turns that others find by looking, should the wakeup be lost", async () => {
    const turn = await fx.started();
    await fx.later(15_001);
    const found = await fx.kernel.overdueMessages({ worker_target: "workers" });
    expect(found.map((message) => message.headers["CG-Agent-Id"])).toContain(turn.agent_id);
  });

  it("cannot come back under its old name", async () => {
    const turn = await fx.started();
    await fx.later(15_001);
    expect(await fx.kernel.renewWorker({ worker_id: turn.worker_id, worker_target: "workers" })).toEqual({
      outcome: "rejected",
      code: "worker_lapsed",
    });
    expect(await fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id })).toEqual(
      { outcome: "rejected", code: "worker_lapsed" },
    );
  });

  it("three times in a row without a commit ends the turn as crash_loop, with a deliverable and a dead letter", async () => {
    const turn = await fx.started();
    for (let crash = 1; crash <= 3; crash += 1) {
      await fx.later(15_001);
      if (crash < 3) await fx.resumed(turn.agent_id, await fx.newWorker());
    }
    expect(await turnRow(turn)).toMatchObject({ status: "failed", error_code: "crash_loop" });
    expect(await terminalEvents(turn)).toEqual([{ status: "failed" }]);
    expect(await fx.headStatus(turn)).toBe("idle");
    expect(
      await fx.query("select reason from state.dead_letters where correlation_id = $1", [turn.agent_turn_id]),
    ).toEqual([{ reason: "crash_loop" }]);
    const [card] = await fx.kernel.reads.cards(PROJECT, [String((await turnRow(turn))?.deliverable_card_id)]);
    expect(card?.content).toMatchObject({ data: { kind: "fallback_deliverable", partial: true } });
  });

  it("any number of times with a commit between does not end the turn", async () => {
    let turn = await fx.started();
    for (let crash = 0; crash < 6; crash += 1) {
      await fx.kernel.appendCards({
        ...hold(turn),
        cards: [{ card_id: fx.ids.mint("card"), type: "agent.thought", content: { text: String(crash) } }],
      });
      await fx.later(15_001);
      turn = await fx.resumed(turn.agent_id, await fx.newWorker());
    }
    expect((await fx.finish(turn)).outcome).toBe("accepted");
  });

  it("leaves suspended turns alone: waiting needs no worker", async () => {
    const turn = await fx.suspended([{ timeout_ms: 600_000 }]);
    await fx.later(15_001);
    expect(await fx.headStatus(turn)).toBe("suspended");
    expect((await turnRow(turn))?.turn_epoch).toBe(turn.turn_epoch);
    await fx.report(await fx.opened(turn));
    expect((await fx.resumed(turn.agent_id, await fx.newWorker())).turn_epoch).toBe(turn.turn_epoch + 1);
  });

  it("that says goodbye is replaced at the next sweep", async () => {
    const turn = await fx.started();
    await fx.kernel.retireWorker(turn.worker_id);
    await fx.later(1);
    expect((await fx.resumed(turn.agent_id, await fx.newWorker())).turn_epoch).toBe(turn.turn_epoch + 1);
  });
});

describe("a turn whose code held up a process", () => {
  const note = (turn: Started, others: Partial<HangNote> = {}) =>
    noteHang(fx.store.database, fx.clock, {
      hang_id: fx.ids.mint("hang"),
      workers: [turn.worker_id],
      blamed: [turn.agent_turn_id],
      ...others,
    });

  const crashes = async ({ agent_id }: Started) =>
    (await fx.query("select crash_count::int from state.agent_state_head where agent_id = $1", [agent_id]))[0]
      ?.crash_count;

  it("is ended at the second hang, with a dead letter, and its agent takes the next turn", async () => {
    let turn = await fx.started();
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: turn.agent_id });
    expect(await note(turn)).toEqual({ ended: 0 });
    await fx.later(1); // its worker's lease is over at once
    turn = await fx.resumed(turn.agent_id, await fx.newWorker());
    expect(await note(turn)).toEqual({ ended: 1 });
    expect(await turnRow(turn)).toMatchObject({ status: "failed", error_code: "process_hung" });
    expect(await terminalEvents(turn)).toEqual([{ status: "failed" }]);
    const letters = "select reason from state.dead_letters where correlation_id = $1";
    expect(await fx.query(letters, [turn.agent_turn_id])).toEqual([{ reason: "process_hung" }]);
    const next = await fx.resumed(turn.agent_id, await fx.newWorker());
    expect(next.agent_turn_id).not.toBe(turn.agent_turn_id);
  });

  it("is ended also if it made steps between the two", async () => {
    let turn = await fx.started();
    await note(turn);
    await fx.later(1);
    turn = await fx.resumed(turn.agent_id, await fx.newWorker());
    const cards = [{ card_id: fx.ids.mint("card"), type: "agent.thought" as const, content: { text: "a step" } }];
    await fx.kernel.appendCards({ ...hold(turn), cards });
    await note(turn);
    expect(await turnRow(turn)).toMatchObject({ status: "failed", error_code: "process_hung" });
  });

  it("is blamed once for one hang, however often that is reported, and whichever worker has the turn by then", async () => {
    const turn = await fx.started();
    const hang_id = fx.ids.mint("hang");
    await note(turn, { hang_id });
    expect(await note(turn, { hang_id })).toEqual({ ended: 0 });
    await fx.later(1);
    const second = await fx.resumed(turn.agent_id, await fx.newWorker());
    expect(await note(turn, { hang_id })).toEqual({ ended: 0 });
    expect((await fx.finish(second)).outcome).toBe("accepted");
    expect(await note(turn)).toEqual({ ended: 0 }); // it has ended
  });

  it("counts neither as a crash nor as an attempt of those that were at work beside it", async () => {
    const hung = await fx.started();
    const agent = await fx.newAgent();
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent });
    let beside = await fx.resumed(agent, await fx.newWorker());
    const call = fx.call({ local: true, effect: "read" });
    const thought = { content: { text: "" } };
    await fx.kernel.suspendOnCalls({ ...hold(beside), step_id: fx.ids.mint("step"), thought, calls: [call] });
    for (let hang = 0; hang < 6; hang += 1) {
      await note(hung, { workers: [beside.worker_id] });
      await fx.later(1);
      beside = await fx.resumed(agent, await fx.newWorker());
      expect(await crashes(beside)).toBe(0);
      const sql = "select wait_status, claimed_by from state.calls where tool_call_id = $1";
      expect(await fx.query(sql, [call.tool_call_id])).toEqual([
        { wait_status: "waiting", claimed_by: beside.worker_id },
      ]);
    }
  });

  it("loses its worker as in any crash where it is unknown whose code it was", async () => {
    const turn = await fx.started();
    await note(turn, { blamed: null });
    await fx.later(1);
    expect(await crashes(await fx.resumed(turn.agent_id, await fx.newWorker()))).toBe(1);
  });
});

describe("stop", () => {
  const states: {
    title: string;
    reach: () => Promise<Started & { calls?: readonly { tool_call_id: string }[] }>;
    was: string;
  }[] = [
    { title: "a running turn", reach: () => fx.started(), was: "running" },
    { title: "a suspended turn with one answered and one open call", reach: suspendedHalf, was: "suspended" },
    {
      title: "a dispatched turn",
      was: "dispatched",
      async reach() {
        const agent_id = await fx.newAgent();
        const outcome = await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id });
        if (outcome.outcome === "rejected") throw new Error(outcome.code);
        return {
          project_id: PROJECT,
          agent_id,
          agent_turn_id: outcome.agent_turn_id,
          turn_epoch: 1,
          output_box_id: "",
          worker_id: "",
        };
      },
    },
  ];
  for (const { title, reach, was } of states) {
    it(`ends ${title} at once: one terminal event, one result per call, agent free, holder stale`, async () => {
      const turn = await reach();
      const outcome = await fx.kernel.stopTurn({
        project_id: PROJECT,
        agent_turn_id: turn.agent_turn_id,
        reason: "user asked",
      });
      expect(outcome).toMatchObject({ outcome: "accepted", was });
      expect(await turnRow(turn)).toMatchObject({
        status: "canceled",
        error_message: "user asked",
        turn_status: "canceled",
      });
      expect(await terminalEvents(turn)).toEqual([{ status: "canceled" }]);
      expect(await fx.headStatus(turn)).toBe("idle");
      expect(await fx.finish(turn)).toEqual({ outcome: "rejected", code: "stale_epoch" });
      for (const { tool_call_id } of turn.calls ?? [])
        expect((await fx.kernel.reads.call(PROJECT, tool_call_id))?.wait_status).toBe("dropped");
      expect(await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id })).toMatchObject({
        outcome: "rejected",
        code: "already_settled",
      });
    });
  }

  async function suspendedHalf() {
    const turn = await fx.suspended([{}, {}]);
    await fx.report(await fx.opened(turn, 0));
    return turn;
  }

  it("of a queued turn skips it and leaves the running one alone", async () => {
    const turn = await fx.started();
    const queued = await fx.kernel.enqueueTurn({
      project_id: PROJECT,
      agent_id: turn.agent_id,
      output_box_id: turn.output_box_id,
    });
    const last = await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: turn.agent_id });
    if (queued.outcome === "rejected" || last.outcome === "rejected") throw new Error("not queued");
    expect(await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: queued.agent_turn_id })).toMatchObject({
      outcome: "accepted",
      was: "queued",
    });
    expect(await terminalEvents(queued)).toEqual([{ status: "canceled" }]);
    const finished = await fx.finish(turn);
    expect(finished).toMatchObject({ outcome: "accepted", wake: { agent_turn_id: last.agent_turn_id } });
  });

  it("of an unknown or foreign turn is not_found", async () => {
    const turn = await fx.started();
    expect(await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: "turn_none" })).toMatchObject({
      code: "not_found",
    });
    expect(await fx.kernel.stopTurn({ project_id: "p2", agent_turn_id: turn.agent_turn_id })).toMatchObject({
      code: "not_found",
    });
  });

  it("races with a result, a step and an end: there is one terminal event, whichever wins", async () => {
    const other = fx.anotherKernel(await fx.store.another());
    for (let round = 0; round < 8; round += 1) {
      const turn = await fx.started();
      const contender = [
        () => fx.finish(turn),
        () =>
          fx.kernel.suspendOnCalls({
            ...turn,
            step_id: fx.ids.mint("step"),
            thought: { content: { text: "" } },
            calls: [fx.call()],
          }),
      ][round % 2];
      await Promise.all([contender?.(), other.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id })]);
      expect(await terminalEvents(turn)).toHaveLength(1);
      expect(await fx.headStatus(turn)).toBe("idle");
    }
    for (let round = 0; round < 8; round += 1) {
      const waiting = await fx.suspended();
      const opened = await fx.opened(waiting);
      await Promise.all([
        fx.report(opened),
        other.stopTurn({ project_id: PROJECT, agent_turn_id: waiting.agent_turn_id }),
      ]);
      expect((await fx.kernel.reads.call(PROJECT, opened.tool_call_id))?.wait_status).toBe("dropped");
      expect(await terminalEvents(waiting)).toEqual([{ status: "canceled" }]);
    }
  });
});

describe("a turn that is put off", () => {
  it("comes back after the delay of its reason, not before", async () => {
    const turn = await fx.started();
    expect(await fx.kernel.deferTurn(hold(turn), "state_not_found")).toMatchObject({
      outcome: "accepted",
      retry_count: 1,
    });
    await fx.clock.advance(1_999);
    expect(
      await fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id }),
    ).toMatchObject({ why: "deferred" });
    const before = fx.published.length;
    await fx.later(1);
    expect(fx.published.slice(before).some((message) => message.headers["CG-Agent-Id"] === turn.agent_id)).toBe(true);
    expect((await fx.resumed(turn.agent_id, turn.worker_id)).turn_epoch).toBe(turn.turn_epoch + 1);
  });

  it("a fourth time ends as resume_retry_exhausted", async () => {
    let turn = await fx.started();
    for (let times = 1; times <= 3; times += 1) {
      await fx.kernel.deferTurn(hold(turn), "resume_cas_failed_running");
      await fx.clock.advance(1_000);
      turn = await fx.resumed(turn.agent_id, await fx.newWorker());
    }
    expect(await fx.kernel.deferTurn(hold(turn), "resume_cas_failed_running")).toMatchObject({
      outcome: "rejected",
      code: "resume_retry_exhausted",
    });
    expect(await turnRow(turn)).toMatchObject({ status: "failed", error_code: "resume_retry_exhausted" });
  });
});

describe("a lost ring", () => {
  const rings = (agent: string, from: number) =>
    fx.published.slice(from).filter((message) => message.headers["CG-Agent-Id"] === agent);

  it("for a dispatched turn is rung again after 5 s, then at doubling intervals up to a minute", async () => {
    const agent = await fx.newAgent();
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent });
    await fx.kernel.announcer.settled();
    for (const wait of [5_000, 5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      const from = fx.published.length;
      await fx.later(wait - 1);
      expect(rings(agent, from)).toHaveLength(0);
      await fx.later(1);
      expect(rings(agent, from)).toHaveLength(1);
    }
  });

  it("for a call, and for a step that is settled, is rung again at doubling intervals up to a minute", async () => {
    const waiting = await fx.suspended([{ timeout_ms: 600_000 }]);
    const settled = await fx.suspended([{ timeout_ms: 600_000 }]);
    await fx.report(await fx.opened(settled));
    await fx.kernel.announcer.settled();
    const lost = [waiting.calls[0]?.tool_call_id, settled.agent_id];
    const rung = (from: number) =>
      fx.published
        .slice(from)
        .map(({ headers }) => headers["CG-Tool-Call-Id"] ?? headers["CG-Agent-Id"])
        .filter((id) => lost.includes(id));
    for (const wait of [5_000, 5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      const from = fx.published.length;
      await fx.later(wait - 1);
      expect(rung(from)).toEqual([]);
      await fx.later(1);
      expect(rung(from).toSorted(), `after ${wait} ms`).toEqual(lost.toSorted());
    }
  });

  it.each([
    ["success", { result: 1 }],
    ["failed", { error: { code: "x", message: "no", source: "tool", retryable: false } }],
  ] as const)(
    "of a settled step (%s) is rung again after 5 s, also where its call was rung for long and had a long lease",
    async (status, said) => {
      const turn = await fx.suspended([{ timeout_ms: 600_000 }]);
      for (const wait of [5_000, 5_000, 10_000, 20_000, 40_000]) await fx.later(wait); // it is rung next in a minute
      const hold = await fx.opened(turn, 0, { lease_ms: 300_000 });
      await fx.report(hold, { status, ...said });
      await fx.kernel.announcer.settled();
      const from = fx.published.length;
      await fx.later(4_999);
      expect(rings(turn.agent_id, from)).toHaveLength(0);
      await fx.later(1);
      expect(rings(turn.agent_id, from)).toHaveLength(1);
    },
  );

  it("for a call is rung again with a ticket that still opens it", async () => {
    const turn = await fx.suspended([{ timeout_ms: 600_000 }]);
    const callId = turn.calls[0]?.tool_call_id ?? "";
    await fx.kernel.announcer.settled();
    const first = fx.published.findLast((message) => message.headers["CG-Tool-Call-Id"] === callId);
    const from = fx.published.length;
    await fx.later(5_000);
    const again = fx.published.slice(from).find((message) => message.headers["CG-Tool-Call-Id"] === callId);
    expect(again).toEqual(first);
    expect((await fx.opened(turn)).attempt).toBe(1);
  });

  it("for a settled step is rung again within 5 s, however slow its tool was", async () => {
    const turn = await fx.suspended([{ timeout_ms: 600_000 }]);
    const opened = await fx.opened(turn, 0, { lease_ms: 300_000 });
    await fx.later(60_000);
    await fx.report(opened);
    await fx.kernel.announcer.settled();
    const from = fx.published.length;
    await fx.later(5_000);
    expect(rings(turn.agent_id, from)).toHaveLength(1);
  });
});

describe("a store that only one process can open", () => {
  it("has every lease ended when it is opened again", async () => {
    const turn = await fx.started();
    const waiting = await fx.suspended([{ effect: "read" }]);
    await fx.opened(waiting);
    expect(await fx.kernel.freeLeases()).toMatchObject({ workers: expect.any(Number), calls: expect.any(Number) });
    await fx.kernel.sweep();
    expect(await fx.headStatus(turn)).toBe("dispatched");
    expect((await fx.kernel.reads.call(PROJECT, waiting.calls[0]?.tool_call_id ?? ""))?.claimed_by).toBe(null);
  });
});
