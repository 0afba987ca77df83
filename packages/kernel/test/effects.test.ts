// What a crash, a deadline and a failure mean for a call: what its tool declared (docs/design.md#effects).

import { describe, expect, it } from "vitest";
import type { CallDraft } from "../src/index.ts";
import { PROJECT, type Suspended, useFixture } from "./fixture.ts";

const fx = useFixture();

async function outcomeOf(
  turn: Suspended,
): Promise<{ status: unknown; code: unknown; settled_by: unknown; attempt: unknown }> {
  const call = await fx.kernel.reads.call(PROJECT, turn.calls[0]?.tool_call_id ?? "");
  const [card] = await fx.kernel.reads.cards(PROJECT, [String(call?.result_card_id)]);
  const error = card?.content.error as { code: string } | null;
  return {
    status: card?.content.status ?? null,
    code: error?.code ?? null,
    settled_by: call?.settled_by ?? null,
    attempt: call?.attempt,
  };
}

/** The executor opens the call and is never heard of again; its lease lapses. */
async function dieOnce(turn: Suspended, executor: string) {
  const callId = turn.calls[0]?.tool_call_id ?? "";
  const opened = await fx.kernel.openCall({
    project_id: PROJECT,
    tool_call_id: callId,
    ticket: fx.ticketOf(callId),
    executor,
  });
  if (opened.outcome !== "accepted") throw new Error(opened.code);
  await fx.later(15_001);
  return opened;
}

describe("an executor that dies mid-run", () => {
  for (const effect of ["read", "idempotent"] as const) {
    it(`leaves a call of effect ${effect} to the next one, with the same idempotency key`, async () => {
      const turn = await fx.suspended([{ effect, timeout_ms: 600_000 }]);
      const first = await dieOnce(turn, "e1");
      const callId = first.tool_call_id;
      const second = await fx.kernel.openCall({
        project_id: PROJECT,
        tool_call_id: callId,
        ticket: fx.ticketOf(callId),
        executor: "e2",
      });
      if (second.outcome !== "accepted") throw new Error(second.code);
      expect(second).toMatchObject({ attempt: 2, mode: "run", idempotency_key: first.idempotency_key });
      await fx.report(second);
      expect(await outcomeOf(turn)).toEqual({ status: "success", code: null, settled_by: "report", attempt: 2 });
      const { entries } = await fx.kernel.reads.timeline(PROJECT, turn.agent_turn_id, 100);
      const attempts = entries.filter(({ kind }) => kind === "call.claimed" || kind === "call.lost");
      expect(attempts.map(({ kind, detail }) => ({ kind, detail }))).toEqual([
        { kind: "call.claimed", detail: { executor: "e1", attempt: 1 } },
        { kind: "call.lost", detail: { executor: "e1", attempt: 1 } },
        { kind: "call.claimed", detail: { executor: "e2", attempt: 2 } },
      ]);
    });

    it(`three times settles a call of effect ${effect} as tool_crashed, and it is a dead letter`, async () => {
      const turn = await fx.suspended([{ effect, timeout_ms: 600_000 }]);
      for (const executor of ["e1", "e2", "e3"]) await dieOnce(turn, executor);
      expect(await outcomeOf(turn)).toEqual({
        status: "failed",
        code: "tool_crashed",
        settled_by: "crash",
        attempt: 3,
      });
      const letters = await fx.query("select reason from state.dead_letters where correlation_id = $1", [
        turn.calls[0]?.tool_call_id,
      ]);
      expect(letters).toEqual([{ reason: "tool_crashed" }]);
    });
  }

  it("settles a call of effect once as outcome_unknown: it is never blindly repeated", async () => {
    const turn = await fx.suspended([{ effect: "once", timeout_ms: 600_000 }]);
    await dieOnce(turn, "e1");
    expect(await outcomeOf(turn)).toEqual({
      status: "failed",
      code: "outcome_unknown",
      settled_by: "crash",
      attempt: 1,
    });
    expect((await fx.resumed(turn.agent_id, await fx.newWorker())).turn_epoch).toBe(turn.turn_epoch + 1);
  });

  it("is noticed when its lease ends, also where the call had been rung for so long that rings are a minute apart", async () => {
    const turn = await fx.suspended([{ effect: "read", timeout_ms: 600_000 }]);
    for (const wait of [5_000, 5_000, 10_000, 20_000, 40_000]) await fx.later(wait);
    await dieOnce(turn, "e1");
    const call = await fx.kernel.reads.call(PROJECT, turn.calls[0]?.tool_call_id ?? "");
    expect(call).toMatchObject({ claimed_by: null, attempt: 1 });
  });

  it("lets a tool of effect once that can reconcile be asked what happened", async () => {
    const turn = await fx.suspended([{ effect: "once", can_reconcile: true, timeout_ms: 600_000 }]);
    const first = await dieOnce(turn, "e1");
    const second = await fx.kernel.openCall({
      project_id: PROJECT,
      tool_call_id: first.tool_call_id,
      ticket: fx.ticketOf(first.tool_call_id),
      executor: "e2",
    });
    expect(second).toMatchObject({ outcome: "accepted", mode: "reconcile", attempt: 2 });
  });
});

describe("a deadline", () => {
  const deadlines: { title: string; draft: Partial<CallDraft>; isClaimed: boolean; code: string }[] = [
    { title: "of a call that no executor took", draft: { effect: "once" }, isClaimed: false, code: "no_executor" },
    { title: "of a claimed call of effect once", draft: { effect: "once" }, isClaimed: true, code: "outcome_unknown" },
    {
      title: "of a claimed call of effect idempotent",
      draft: { effect: "idempotent" },
      isClaimed: true,
      code: "tool_timeout",
    },
    { title: "of a claimed call of effect read", draft: { effect: "read" }, isClaimed: true, code: "tool_timeout" },
  ];
  for (const { title, draft, isClaimed, code } of deadlines) {
    it(`${title} settles it as timeout with ${code}, signed by the kernel`, async () => {
      const turn = await fx.suspended([{ ...draft, timeout_ms: 1_000 }]);
      if (isClaimed) await fx.opened(turn, 0, { lease_ms: 600_000 });
      await fx.later(31_001);
      expect(await outcomeOf(turn)).toMatchObject({ status: "timeout", code, settled_by: "deadline" });
      const inbox = await fx.query(
        "select message_type, status from state.agent_inbox where correlation_id = $1 and message_type = 'timeout'",
        [turn.calls[0]?.tool_call_id],
      );
      expect(inbox).toEqual([{ message_type: "timeout", status: "pending" }]);
    });
  }

  it("of a call whose run was cut off and whose outcome could not be asked in time settles it with outcome_unknown", async () => {
    const turn = await fx.suspended([{ effect: "once", can_reconcile: true, timeout_ms: 1_000 }]);
    await dieOnce(turn, "e1");
    await fx.later(31_001);
    expect(await outcomeOf(turn)).toMatchObject({
      status: "timeout",
      code: "outcome_unknown",
      settled_by: "deadline",
      attempt: 1,
    });
  });

  it("that two sweepers notice at once settles the call once", async () => {
    const turns = await Promise.all(Array.from({ length: 10 }, () => fx.suspended([{ timeout_ms: 1_000 }])));
    await fx.clock.advance(31_001);
    const other = fx.anotherKernel(await fx.store.another());
    const sweeps = await Promise.all([fx.kernel.sweep(), other.sweep(), fx.kernel.sweep(), other.sweep()]);
    expect(sweeps.reduce((sum, sweep) => sum + sweep.settled, 0)).toBe(10);
    for (const turn of turns) expect((await outcomeOf(turn)).status).toBe("timeout");
  });

  it("that passes while the result commits has one winner", async () => {
    for (let round = 0; round < 5; round += 1) {
      const turn = await fx.suspended([{ effect: "read", timeout_ms: 1_000 }]);
      const opened = await fx.opened(turn, 0, { lease_ms: 600_000 });
      await fx.clock.advance(31_001);
      const other = fx.anotherKernel(await fx.store.another());
      const [sweep, report] = await Promise.all([other.sweep(), fx.report(opened)]);
      const isTimeout = (await outcomeOf(turn)).settled_by === "deadline";
      expect(report.outcome).toBe(isTimeout ? "rejected" : "accepted");
      expect(sweep.settled).toBe(isTimeout ? 1 : 0);
    }
  });
});

describe("a failure marked retryable", () => {
  const retryable = {
    status: "failed",
    error: { code: "upstream_unavailable", message: "try later", retryable: true },
  };

  it("gives the call back until its attempts are used up, with growing pauses", async () => {
    const turn = await fx.suspended([{ attempts_max: 3, backoff_ms: 1_000, timeout_ms: 600_000 }]);
    const callId = turn.calls[0]?.tool_call_id ?? "";
    for (const [attempt, pause] of [
      [1, 1_000],
      [2, 2_000],
    ] as const) {
      const opened = await fx.kernel.openCall({
        project_id: PROJECT,
        tool_call_id: callId,
        ticket: fx.ticketOf(callId),
        executor: "e",
      });
      if (opened.outcome !== "accepted") throw new Error(opened.code);
      expect(opened.attempt).toBe(attempt);
      const answer = await fx.report(opened, retryable);
      expect(answer).toMatchObject({ outcome: "accepted" });
      expect("retry_at" in answer && Date.parse(answer.retry_at)).toBe(fx.clock.databaseTime().getTime() + pause);
      await fx.later(pause + 1);
    }
    const last = await fx.kernel.openCall({
      project_id: PROJECT,
      tool_call_id: callId,
      ticket: fx.ticketOf(callId),
      executor: "e",
    });
    if (last.outcome !== "accepted") throw new Error(last.code);
    expect(await fx.report(last, retryable)).toMatchObject({
      outcome: "accepted",
      tool_result_card_id: expect.any(String),
    });
    expect(await outcomeOf(turn)).toMatchObject({ status: "failed", code: "upstream_unavailable", attempt: 3 });
    expect(
      await fx.query("select count(*)::int as n from state.audit_log where tool_call_id = $1 and code = 'retry'", [
        callId,
      ]),
    ).toEqual([{ n: 2 }]);
  });

  it("that is not marked settles at once", async () => {
    const turn = await fx.suspended([{ attempts_max: 3 }]);
    await fx.report(await fx.opened(turn), { status: "failed", error: { code: "boom", message: "no" } });
    expect(await outcomeOf(turn)).toMatchObject({ status: "failed", code: "boom", attempt: 1 });
  });
});
