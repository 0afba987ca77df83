// A turn with parallel calls: whatever order, how often and how late results come, each call has one outcome and each
// wrong answer its documented code.

import { describe, expect, it } from "vitest";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();

async function resultsInBox(box: string): Promise<unknown[]> {
  const cards = await fx.kernel.reads.boxCards(PROJECT, box);
  return cards.filter((card) => card.type === "tool.result").map((card) => card.content.result);
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, n) => permutations(items.filter((_, k) => k !== n)).map((rest) => [item, ...rest]));
}

describe("a turn with three parallel calls", () => {
  for (const order of permutations([0, 1, 2])) {
    it(`reads in call order when results arrive in the order ${order.join(", ")}`, async () => {
      const turn = await fx.suspended([{}, {}, {}]);
      for (const [position, n] of order.entries()) {
        const opened = await fx.opened(turn, n);
        const outcome = await fx.report(opened, { status: "success", result: { n } });
        expect(outcome.outcome).toBe("accepted");
        expect("wake" in outcome, "only the last result wakes the agent").toBe(position === 2);
      }
      const resumed = await fx.kernel.resume({
        project_id: PROJECT,
        agent_id: turn.agent_id,
        worker_id: turn.worker_id,
      });
      expect(resumed).toMatchObject({ outcome: "accepted", state: "resumed", turn_epoch: turn.turn_epoch + 1 });
      expect(resumed.outcome === "accepted" && resumed.results?.map((result) => result.content.result)).toEqual([
        { n: 0 },
        { n: 1 },
        { n: 2 },
      ]);
      expect(await resultsInBox(turn.output_box_id)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
      const cards = await fx.kernel.reads.boxCards(PROJECT, turn.output_box_id);
      expect(cards.map((card) => card.type)).toEqual([
        "agent.thought",
        ...Array(3).fill("tool.call"),
        ...Array(3).fill("tool.result"),
      ]);
    });
  }

  it("does not resume while a call is open", async () => {
    const turn = await fx.suspended([{}, {}]);
    await fx.report(await fx.opened(turn, 1));
    const outcome = await fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id });
    expect(outcome).toMatchObject({ outcome: "nothing", why: "waiting" });
  });

  it("ends as terminate when any of its results says so", async () => {
    const turn = await fx.suspended([{}, {}]);
    await fx.report(await fx.opened(turn, 0), {
      status: "success",
      result: { __cg_control: { after_execution: "terminate" } },
    });
    await fx.report(await fx.opened(turn, 1));
    const outcome = await fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id });
    expect(outcome).toMatchObject({ outcome: "accepted", after_execution: "terminate" });
  });

  it("settles each call once when all of them are reported at the same moment by many callers", async () => {
    const turn = await fx.suspended(Array.from({ length: 16 }, () => ({})));
    const opened = await Promise.all(turn.calls.map((_, n) => fx.opened(turn, n)));
    const other = fx.anotherKernel(await fx.store.another());
    const outcomes = await Promise.all(
      opened.flatMap((call) =>
        [fx.kernel, other].map((kernel) =>
          kernel.report({
            project_id: PROJECT,
            tool_call_id: call.tool_call_id,
            capability: call.capability,
            content: { status: "success", result: null },
          }),
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome.outcome === "accepted")).toHaveLength(16);
    expect(outcomes.filter((outcome) => outcome.outcome === "duplicate")).toHaveLength(16);
    expect(outcomes.filter((outcome) => "wake" in outcome).length, "the agent is woken").toBeGreaterThanOrEqual(1);
    expect(await fx.resumed(turn.agent_id, turn.worker_id)).toBeDefined();
  });
});

describe("a result that comes", () => {
  it("twice is a duplicate, whatever its body says", async () => {
    const opened = await fx.opened(await fx.suspended());
    const first = await fx.report(opened, { status: "success", result: 1 });
    const before = await fx.everything();
    const second = await fx.report(opened, { status: "failed", error: { code: "other", message: "other" } });
    expect(second).toEqual({
      outcome: "duplicate",
      tool_result_card_id: "tool_result_card_id" in first ? first.tool_result_card_id : "",
    });
    expect(await fx.everything()).toBe(before);
  });

  it("a thousand times at once is accepted once, and the rest are duplicates, in seconds", async () => {
    const opened = await fx.opened(await fx.suspended());
    const began = performance.now();
    const outcomes = await Promise.all(Array.from({ length: 1_000 }, () => fx.report(opened)));
    const counts = Object.groupBy(outcomes, (outcome) => outcome.outcome);
    expect(counts.accepted).toHaveLength(1);
    expect(counts.duplicate).toHaveLength(999);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it("after the deadline finds its call settled", async () => {
    const turn = await fx.suspended([{ effect: "read", timeout_ms: 1_000 }]);
    const opened = await fx.opened(turn, 0, { lease_ms: 600_000 });
    await fx.clock.advance(31_001);
    await fx.kernel.sweep();
    const before = await fx.everything();
    expect(await fx.report(opened)).toEqual({ outcome: "rejected", code: "already_settled" });
    expect(await fx.everything()).toBe(before);
    expect(await resultsInBox(turn.output_box_id)).toHaveLength(1);
  });

  it("with a stale epoch is refused as stale_epoch", async () => {
    const turn = await fx.suspended();
    const opened = await fx.opened(turn);
    const before = await fx.everything();
    for (const turn_epoch of [turn.turn_epoch + 1, turn.turn_epoch + 1_000]) {
      const outcome = await fx.kernel.report({
        project_id: PROJECT,
        tool_call_id: opened.tool_call_id,
        capability: opened.capability,
        turn_epoch,
        content: { status: "success" },
      });
      expect(outcome).toEqual({ outcome: "rejected", code: "stale_epoch" });
    }
    expect(await fx.everything()).toBe(before);
  });

  it("from an attempt that lost its lease is refused as stale_attempt, also after the next attempt settled", async () => {
    const turn = await fx.suspended([{ effect: "read" }]);
    const first = await fx.opened(turn);
    await fx.clock.advance(15_001);
    await fx.kernel.sweep();
    expect(await fx.report(first)).toEqual({ outcome: "rejected", code: "stale_attempt" });
    const ticket = fx.ticketOf(first.tool_call_id);
    const second = await fx.kernel.openCall({
      project_id: PROJECT,
      tool_call_id: first.tool_call_id,
      ticket,
      executor: "executor-2",
    });
    if (second.outcome !== "accepted") throw new Error(second.code);
    expect(second.attempt).toBe(2);
    expect(second.idempotency_key).toBe(first.idempotency_key);
    expect(await fx.report(first)).toEqual({ outcome: "rejected", code: "stale_attempt" });
    expect((await fx.report(second)).outcome).toBe("accepted");
    expect(await fx.report(first)).toEqual({ outcome: "rejected", code: "stale_attempt" });
  });
});
