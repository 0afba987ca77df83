// How long a call waits for an executor, apart from how long it may run (decision 40).

import { describe, expect, it } from "vitest";
import type { CallDraft } from "../src/index.ts";
import { PROJECT, type Suspended, useFixture } from "./fixture.ts";

const fx = useFixture();
const QUEUE_MS = 2_000;
/** The tool's own time of 60 s and two leases. */
const RUN_MS = 90_000;

const parked = (draft: Partial<CallDraft> = {}) =>
  fx.suspended([{ effect: "read", timeout_ms: 60_000, queue_timeout_ms: QUEUE_MS, backoff_ms: 1_000, ...draft }]);

const unbounded = () => fx.suspended([{ effect: "read", timeout_ms: 60_000 }]);

const idOf = (turn: Suspended) => turn.calls[0]?.tool_call_id ?? "";

/** Opens it with the ticket of its newest command. */
async function openedAgain(turn: Suspended) {
  const call = { project_id: PROJECT, tool_call_id: idOf(turn), ticket: fx.ticketOf(idOf(turn)) };
  const opened = await fx.kernel.openCall({ ...call, executor: "executor-2" });
  if (opened.outcome !== "accepted") throw new Error(opened.code);
  return opened;
}

async function stateOf(turn: Suspended) {
  const call = await fx.kernel.reads.call(PROJECT, idOf(turn));
  const [card] = await fx.kernel.reads.cards(PROJECT, [String(call?.result_card_id)]);
  const error = card?.content.error as { code: string; message: string } | null | undefined;
  return {
    leftMs: new Date(String(call?.deadline_at)).getTime() - fx.clock.databaseTime().getTime(),
    wait: call?.wait_status,
    status: card?.content.status ?? null,
    code: error?.code ?? null,
    message: error?.message ?? "",
  };
}

describe("a call of a tool with a queue time", () => {
  it("is settled when the queue time is over and no executor took it, with the target and what to start", async () => {
    const turn = await parked({ effect: "once" });
    expect(await stateOf(turn)).toMatchObject({ leftMs: QUEUE_MS, wait: "waiting" });
    await fx.later(QUEUE_MS - 1);
    expect((await stateOf(turn)).wait).toBe("waiting");
    await fx.later(1);
    const settled = await stateOf(turn);
    expect(settled).toMatchObject({ wait: "received", status: "timeout", code: "no_executor" });
    expect(settled.message).toBe(
      "no executor of echo took the call within 2000 ms; start one that serves echo: a process with the role tools " +
        "and a bundle that has the tool, or an executor with a key for this target",
    );
    const late = await fx.kernel.openCall({
      project_id: PROJECT,
      tool_call_id: idOf(turn),
      ticket: fx.ticketOf(idOf(turn)),
      executor: "late",
    });
    expect(late).toMatchObject({ outcome: "rejected", code: "already_settled" });
  });

  it.each(["ticket", "key"] as const)("has the tool's own time from its claim on, claimed with a %s", async (by) => {
    const turn = await parked();
    await fx.clock.advance(QUEUE_MS - 1);
    const opened =
      by === "ticket"
        ? await fx.opened(turn, 0, { lease_ms: 600_000 })
        : (
            await fx.kernel.claimCalls({
              ...{ project_id: PROJECT, target: "echo", executor: "e1", claim_id: "k1", principal: "key-1" },
              ...{ max: 1, lease_ms: 600_000 },
            })
          )[0];
    if (opened === undefined) throw new Error("nothing was claimed");
    const until = new Date(fx.clock.databaseTime().getTime() + RUN_MS);
    expect(new Date(opened.deadline_at)).toEqual(until);
    expect(await stateOf(turn)).toMatchObject({ leftMs: RUN_MS });
    await fx.later(RUN_MS - 1);
    expect((await stateOf(turn)).wait).toBe("waiting");
    await fx.later(1);
    expect(await stateOf(turn)).toMatchObject({ wait: "received", code: "tool_timeout" });
  });

  it("keeps the deadline of its run when its executor asks for the same claim again", async () => {
    const turn = await parked();
    const order = { project_id: PROJECT, tool_call_id: idOf(turn), ticket: fx.ticketOf(idOf(turn)) };
    const first = await fx.kernel.openCall({ ...order, executor: "e1", claim_id: "k1" });
    await fx.clock.advance(5_000);
    const again = await fx.kernel.openCall({ ...order, executor: "e1", claim_id: "k1" });
    if (first.outcome !== "accepted" || again.outcome !== "accepted") throw new Error("not opened");
    expect(again.deadline_at).toBe(first.deadline_at);
    expect(await stateOf(turn)).toMatchObject({ leftMs: RUN_MS - 5_000 });
  });

  it("waits anew when its executor was lost, and ends as no_executor when no other comes", async () => {
    const turn = await parked();
    await fx.opened(turn);
    await fx.later(15_001);
    expect(await stateOf(turn)).toMatchObject({ wait: "waiting", leftMs: QUEUE_MS });
    await fx.later(QUEUE_MS);
    expect(await stateOf(turn)).toMatchObject({ status: "timeout", code: "no_executor" });
  });

  it("waits anew after the pause that a retryable failure has, however long the pause", async () => {
    const turn = await parked({ backoff_ms: 200_000, attempts_max: 2 });
    const failure = { status: "failed", error: { code: "away", message: "try later", retryable: true } };
    const answer = await fx.report(await fx.opened(turn), failure);
    expect(answer).toMatchObject({ outcome: "accepted", retry_at: expect.any(String) });
    expect(await stateOf(turn)).toMatchObject({ wait: "waiting", leftMs: 200_000 + QUEUE_MS });
    await fx.later(200_000);
    const second = await openedAgain(turn);
    expect(second.attempt).toBe(2);
    expect(await stateOf(turn)).toMatchObject({ leftMs: RUN_MS });
  });

  it("that is to be reconciled and is taken by no executor says that the outcome is unknown, and whom it waited for", async () => {
    const turn = await parked({ effect: "once", can_reconcile: true });
    await fx.opened(turn);
    await fx.later(15_001);
    expect(await stateOf(turn)).toMatchObject({ wait: "waiting", leftMs: QUEUE_MS });
    await fx.later(QUEUE_MS);
    const settled = await stateOf(turn);
    expect(settled).toMatchObject({ status: "timeout", code: "outcome_unknown" });
    expect(settled.message).toMatch(
      /^no executor of echo took the call within 2000 ms; start one .*; an earlier run was cut off/,
    );
  });

  it("that is to be reconciled and is taken in time has the tool's own time for it", async () => {
    const turn = await parked({ effect: "once", can_reconcile: true });
    await fx.opened(turn);
    await fx.later(15_001);
    const asked = await openedAgain(turn);
    expect(asked).toMatchObject({ mode: "reconcile", attempt: 2 });
    expect(await stateOf(turn)).toMatchObject({ leftMs: RUN_MS });
  });

  it("is canceled with its turn while it waits, and stays so when its queue time is over", async () => {
    const turn = await parked();
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
    await fx.later(QUEUE_MS + 1);
    expect(await stateOf(turn)).toMatchObject({ status: "canceled" });
  });

  it("among others of its step is bounded by itself: the others have their own time", async () => {
    const turn = await fx.suspended([
      { effect: "read", timeout_ms: 60_000, queue_timeout_ms: QUEUE_MS },
      { effect: "read", timeout_ms: 60_000 },
    ]);
    await fx.later(QUEUE_MS);
    const calls = await Promise.all(turn.calls.map((call) => fx.kernel.reads.call(PROJECT, call.tool_call_id)));
    expect(calls.map((call) => call?.wait_status)).toEqual(["received", "waiting"]);
  });

  it("that runs in its worker waits for no executor: the queue time is left out", async () => {
    const turn = await fx.suspended([
      { effect: "read", timeout_ms: 60_000, queue_timeout_ms: QUEUE_MS, local: true },
      { effect: "read", timeout_ms: 60_000 },
    ]);
    expect(await stateOf(turn)).toMatchObject({ leftMs: RUN_MS });
  });
});

describe("a call of a tool without a queue time", () => {
  it("has one deadline for waiting and running, which a claim does not move", async () => {
    const turn = await unbounded();
    expect(await stateOf(turn)).toMatchObject({ leftMs: RUN_MS });
    await fx.clock.advance(10_000);
    await fx.opened(turn);
    expect(await stateOf(turn)).toMatchObject({ leftMs: RUN_MS - 10_000 });
  });

  it("says after its deadline how long no executor took it", async () => {
    const turn = await unbounded();
    await fx.later(RUN_MS);
    expect(await stateOf(turn)).toMatchObject({
      code: "no_executor",
      message: expect.stringContaining("within 90000 ms"),
    });
  });
});
