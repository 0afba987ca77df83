// The turn queue: one active turn per agent, in the order asked for, within its limits.

import { describe, expect, it } from "vitest";
import { hold, PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();

async function enqueue(agent: string, extra: object = {}) {
  return fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent, ...extra });
}

describe("enqueue", () => {
  it("dispatches at once when the agent is idle and rings its worker", async () => {
    const agent = await fx.newAgent();
    const outcome = await enqueue(agent, {
      context_cards: [{ card_id: fx.ids.mint("card"), type: "task.instruction", content: { text: "go" } }],
    });
    expect(outcome).toMatchObject({ outcome: "accepted", turn_epoch: 1, recursion_depth: 0, channel_id: "public" });
    await fx.kernel.announcer.settled();
    expect(fx.published.at(-1)).toMatchObject({
      subject: "cg.v1r4.p1.public.cmd.agent.workers.wakeup",
      headers: { "CG-Agent-Id": agent, "CG-Turn-Epoch": "1" },
    });
    const turn = await fx.resumed(agent, await fx.newWorker());
    const context = await fx.query<{ context_box_id: string }>(
      "select context_box_id from state.agent_turns where agent_turn_id = $1",
      [turn.agent_turn_id],
    );
    expect(
      (await fx.kernel.reads.boxCards(PROJECT, context[0]?.context_box_id ?? "")).map((card) => card.content),
    ).toEqual([{ text: "go" }]);
  });

  it("keeps the order of turns and runs them one by one", async () => {
    const agent = await fx.newAgent();
    const worker = await fx.newWorker();
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => enqueue(agent)));
    const ids = outcomes.map((outcome) => (outcome.outcome === "rejected" ? "" : outcome.agent_turn_id));
    const run: string[] = [];
    for (const [n] of ids.entries()) {
      const turn = await fx.resumed(agent, worker);
      expect(turn.turn_epoch).toBe(n + 1);
      run.push(turn.agent_turn_id);
      expect((await fx.finish(turn)).outcome).toBe("accepted");
    }
    expect(run).toEqual(ids);
    expect(await fx.headStatus({ agent_id: agent })).toBe("idle");
  });

  it("with the same turn id or correlation is the same turn", async () => {
    const agent = await fx.newAgent();
    const agent_turn_id = fx.ids.mint("turn");
    const first = await enqueue(agent, { agent_turn_id, correlation_id: "order-7" });
    expect(first.outcome).toBe("accepted");
    expect(await enqueue(agent, { agent_turn_id, correlation_id: "order-7" })).toMatchObject({
      outcome: "duplicate",
      agent_turn_id,
    });
    expect(await enqueue(agent, { correlation_id: "order-7" })).toMatchObject({ outcome: "duplicate", agent_turn_id });
    expect(await enqueue(await fx.newAgent(), { agent_turn_id })).toEqual({ outcome: "rejected", code: "conflict" });
    expect(await enqueue(await fx.newAgent(), { correlation_id: "order-7" })).toEqual({
      outcome: "rejected",
      code: "conflict",
    });
  });

  it("on an agent that is not there, or no longer active, is not_found", async () => {
    expect(await enqueue("agent_none")).toEqual({ outcome: "rejected", code: "not_found" });
    const agent = await fx.newAgent();
    await fx.kernel.putAgent({ project_id: PROJECT, agent_id: agent, worker_target: "workers", status: "inactive" });
    expect(await enqueue(agent)).toEqual({ outcome: "rejected", code: "not_found" });
  });

  it("past ten thousand waiting turns is refused as backlog_full", async () => {
    const agent = await fx.newAgent();
    await enqueue(agent);
    await fx.query("update state.agent_state_head set queue_length = 10000 where agent_id = $1", [agent]);
    expect(await enqueue(agent)).toEqual({ outcome: "rejected", code: "backlog_full" });
    await fx.query("update state.agent_state_head set queue_length = 0 where agent_id = $1", [agent]);
  });

  it("of a ui_action on a busy agent is refused as agent_busy", async () => {
    const agent = await fx.newAgent();
    expect((await enqueue(agent, { message_type: "ui_action" })).outcome).toBe("accepted");
    expect(await enqueue(agent, { message_type: "ui_action" })).toEqual({ outcome: "rejected", code: "agent_busy" });
  });

  it("takes the depth from the stored parent and stops at twenty", async () => {
    let parent = await fx.started();
    for (let depth = 1; depth < 20; depth += 1) {
      const agent = await fx.newAgent();
      const outcome = await enqueue(agent, { parent_agent_turn_id: parent.agent_turn_id });
      expect(outcome).toMatchObject({ outcome: "accepted", recursion_depth: depth });
      parent = await fx.resumed(agent, parent.worker_id);
    }
    const agent = await fx.newAgent();
    expect(await enqueue(agent, { parent_agent_turn_id: parent.agent_turn_id })).toEqual({
      outcome: "rejected",
      code: "recursion_depth_exceeded",
    });
    expect(await enqueue(agent, { parent_agent_turn_id: parent.agent_turn_id, depth_policy: "peer" })).toMatchObject({
      recursion_depth: 19,
    });
    expect(await enqueue(agent, { parent_agent_turn_id: parent.agent_turn_id, depth_policy: "root" })).toMatchObject({
      recursion_depth: 0,
    });
  });

  it("past a thousand turns of one trace is refused", async () => {
    const trace_id = fx.ids.traceId();
    const agent = await fx.newAgent();
    expect((await enqueue(agent, { trace_id })).outcome).toBe("accepted");
    await fx.query("update state.trace_budgets set turns = 1000 where trace_id = $1", [trace_id]);
    expect(await enqueue(agent, { trace_id })).toEqual({ outcome: "rejected", code: "trace_budget_exceeded" });
  });

  it("refuses a parent, a context box or a request that is not there", async () => {
    const agent = await fx.newAgent();
    expect(await enqueue(agent, { parent_agent_turn_id: "turn_none" })).toEqual({
      outcome: "rejected",
      code: "not_found",
    });
    expect(await enqueue(agent, { context_box_id: "box_none" })).toEqual({ outcome: "rejected", code: "not_found" });
    expect(await enqueue(agent, { trace_id: "nonsense" })).toEqual({ outcome: "rejected", code: "bad_request" });
  });
});

describe("two workers on one agent", () => {
  it("one wins, whichever asks and how often", async () => {
    const workers = await Promise.all(Array.from({ length: 4 }, () => fx.newWorker()));
    const other = fx.anotherKernel(await fx.store.another());
    for (let round = 0; round < 10; round += 1) {
      const agent = await fx.newAgent();
      await enqueue(agent);
      const outcomes = await Promise.all(
        workers.flatMap((worker_id) =>
          [fx.kernel, other].map((kernel) => kernel.resume({ project_id: PROJECT, agent_id: agent, worker_id })),
        ),
      );
      expect(outcomes.filter((outcome) => outcome.outcome === "accepted")).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome.outcome === "nothing" && outcome.why === "held")).toHaveLength(7);
    }
  });

  it("a thousand wakeups resume a turn once", async () => {
    const turn = await fx.suspended();
    await fx.report(await fx.opened(turn));
    const outcomes = await Promise.all(
      Array.from({ length: 1_000 }, () =>
        fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id }),
      ),
    );
    expect(outcomes.filter((outcome) => outcome.outcome === "accepted")).toHaveLength(1);
  });
});

describe("a worker", () => {
  it("whose epoch is stale writes nothing: not a step, not a card, not an end", async () => {
    const turn = await fx.started();
    const stale = { ...turn, turn_epoch: turn.turn_epoch - 1 };
    const before = await fx.everything();
    expect(
      await fx.kernel.suspendOnCalls({
        ...stale,
        step_id: fx.ids.mint("step"),
        thought: { content: { text: "" } },
        calls: [fx.call()],
      }),
    ).toEqual({ outcome: "rejected", code: "stale_epoch" });
    expect(
      await fx.kernel.appendCards({
        ...hold(stale),
        cards: [{ card_id: fx.ids.mint("card"), type: "agent.thought", content: { text: "" } }],
      }),
    ).toEqual({ outcome: "rejected", code: "stale_epoch" });
    expect(await fx.kernel.applyResults({ ...hold(stale), step_id: "step_x", results: [] })).toEqual({
      outcome: "rejected",
      code: "stale_epoch",
    });
    expect(await fx.finish(stale)).toEqual({ outcome: "rejected", code: "stale_epoch" });
    expect(await fx.kernel.deferTurn(hold(stale), "state_not_found")).toEqual({
      outcome: "rejected",
      code: "stale_epoch",
    });
    expect(await fx.everything()).toBe(before);
  });

  it("that repeats a step after a lost answer finds it there, with the same tickets", async () => {
    const turn = await fx.started();
    const request = {
      ...turn,
      step_id: fx.ids.mint("step"),
      thought: { card_id: fx.ids.mint("card"), content: { text: "" } },
      calls: [fx.call(), fx.call()],
    };
    const first = await fx.kernel.suspendOnCalls(request);
    const before = await fx.everything();
    const again = await fx.kernel.suspendOnCalls(request);
    expect(again.outcome).toBe("duplicate");
    expect(again.outcome !== "rejected" && again.calls).toEqual(first.outcome !== "rejected" && first.calls);
    expect(await fx.everything()).toBe(before);
  });

  it("that lost the answer of a resume takes the turn again, and its first epoch is stale", async () => {
    const turn = await fx.started();
    expect(
      await fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id }),
    ).toMatchObject({ why: "held" });
    const again = await fx.kernel.resume({
      project_id: PROJECT,
      agent_id: turn.agent_id,
      worker_id: turn.worker_id,
      reclaim: true,
    });
    expect(again).toMatchObject({ outcome: "accepted", state: "started", turn_epoch: turn.turn_epoch + 1 });
    expect(await fx.finish(turn)).toEqual({ outcome: "rejected", code: "stale_epoch" });
  });

  it("that finishes twice finds its turn finished", async () => {
    const turn = await fx.started();
    const request = {
      ...hold(turn),
      status: "success" as const,
      deliverable: { card_id: fx.ids.mint("card"), content: { text: "done" } },
    };
    expect((await fx.kernel.finishTurn(request)).outcome).toBe("accepted");
    expect((await fx.kernel.finishTurn(request)).outcome).toBe("duplicate");
    expect(await fx.kernel.finishTurn({ ...request, status: "failed" })).toEqual({
      outcome: "rejected",
      code: "stale_epoch",
    });
  });

  it("with a call id that is already used is answered with conflict, and the step is not there", async () => {
    const used = await fx.suspended();
    const turn = await fx.started();
    const before = await fx.everything();
    const outcome = await fx.kernel.suspendOnCalls({
      ...turn,
      step_id: fx.ids.mint("step"),
      thought: { content: { text: "" } },
      calls: [fx.call(), fx.call({ tool_call_id: used.calls[0]?.tool_call_id ?? "" })],
    });
    expect(outcome).toEqual({ outcome: "rejected", code: "conflict" });
    expect(await fx.everything()).toBe(before);
  });

  it("with no call or more than sixty-four is refused", async () => {
    const turn = await fx.started();
    const step = { ...turn, step_id: fx.ids.mint("step"), thought: { content: { text: "" } } };
    expect(await fx.kernel.suspendOnCalls({ ...step, calls: [] })).toEqual({
      outcome: "rejected",
      code: "bad_request",
    });
    expect(await fx.kernel.suspendOnCalls({ ...step, calls: Array.from({ length: 65 }, () => fx.call()) })).toEqual({
      outcome: "rejected",
      code: "too_many_calls",
    });
    expect(
      (await fx.kernel.suspendOnCalls({ ...step, calls: Array.from({ length: 64 }, () => fx.call()) })).outcome,
    ).toBe("accepted");
  });
});
