// Calls that run where their agent runs: two commits, the head stays with its worker, and a crash means what the tool
// declared.

import { describe, expect, it } from "vitest";
import { hold, PROJECT, type Suspended, useFixture } from "./fixture.ts";

const fx = useFixture();
const ok = { status: "success", result: { ok: true } };

function results(turn: Suspended, contents: readonly object[]) {
  return turn.calls.map((call, n) => ({ tool_call_id: call.tool_call_id, content: (contents[n] ?? ok) as typeof ok }));
}

describe("a step whose calls are all local", () => {
  it("keeps its head running and is applied in one commit, in call order", async () => {
    const turn = await fx.suspend(await fx.started(), [{ local: true }, { local: true }]);
    expect(await fx.headStatus(turn)).toBe("running");
    expect(turn.calls.every((call) => call.ticket === null && call.capability?.length === 64)).toBe(true);
    const outcome = await fx.kernel.applyResults({
      ...hold(turn),
      step_id: turn.step_id,
      results: results(turn, [
        { status: "success", result: 0 },
        { status: "success", result: 1 },
      ]).reverse(),
    });
    expect(outcome).toMatchObject({
      outcome: "accepted",
      after_execution: "suspend",
      results: turn.calls.map(({ tool_call_id }) => ({ tool_call_id, status: "success" })),
    });
    const cards = await fx.kernel.reads.boxCards(PROJECT, turn.output_box_id);
    expect(cards.slice(3).map((card) => card.content.result)).toEqual([0, 1]);
    expect(await fx.kernel.applyResults({ ...hold(turn), step_id: turn.step_id, results: results(turn, []) })).toEqual({
      outcome: "duplicate",
    });
    expect((await fx.finish(turn)).outcome).toBe("accepted");
  });

  it("is not applied while a call has no result, nor for another step", async () => {
    const turn = await fx.suspend(await fx.started(), [{ local: true }, { local: true }]);
    const before = await fx.everything();
    const request = { ...hold(turn), step_id: turn.step_id };
    expect(await fx.kernel.applyResults({ ...request, results: results(turn, []).slice(1) })).toEqual({
      outcome: "rejected",
      code: "conflict",
    });
    expect(await fx.kernel.applyResults({ ...request, step_id: "step_other", results: results(turn, []) })).toEqual({
      outcome: "rejected",
      code: "conflict",
    });
    expect(await fx.everything()).toBe(before);
  });

  it("answers terminate when a result says so", async () => {
    const turn = await fx.suspend(await fx.started(), [{ local: true, after_execution: "terminate" }]);
    expect(
      await fx.kernel.applyResults({ ...hold(turn), step_id: turn.step_id, results: results(turn, []) }),
    ).toMatchObject({ after_execution: "terminate" });
  });

  it("survives its worker: reads run again, once is outcome_unknown, and the step is applied by the next worker", async () => {
    const turn = await fx.suspend(await fx.started(), [
      { local: true, effect: "read" },
      { local: true, effect: "once" },
      { local: true, effect: "once", can_reconcile: true },
    ]);
    await fx.later(15_001);
    expect(await fx.kernel.applyResults({ ...hold(turn), step_id: turn.step_id, results: results(turn, []) })).toEqual({
      outcome: "rejected",
      code: "stale_epoch",
    });
    const worker = await fx.newWorker();
    const started = await fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: worker });
    if (started.outcome !== "accepted") throw new Error(JSON.stringify(started));
    expect(started.local_calls).toMatchObject([
      { tool_call_id: turn.calls[0]?.tool_call_id, attempt: 2, mode: "run", effect: "read" },
      { tool_call_id: turn.calls[2]?.tool_call_id, attempt: 2, mode: "reconcile", effect: "once" },
    ]);
    expect(started.results).toMatchObject([
      { tool_call_id: turn.calls[1]?.tool_call_id, content: { error: { code: "outcome_unknown" } } },
    ]);
    const applied = await fx.kernel.applyResults({
      ...hold(started),
      step_id: turn.step_id,
      results: results(turn, []),
    });
    expect(applied).toMatchObject({
      outcome: "accepted",
      results: [{ status: "success" }, { status: "failed" }, { status: "success" }],
    });
    expect((await fx.finish(started)).outcome).toBe("accepted");
  });

  it("keeps the outcome of a call whose deadline passed meanwhile", async () => {
    const turn = await fx.suspend(await fx.started({ worker_id: await fx.newWorker(fx.ids.mint("worker"), 600_000) }), [
      { local: true, timeout_ms: 1_000 },
    ]);
    await fx.later(31_001);
    const applied = await fx.kernel.applyResults({ ...hold(turn), step_id: turn.step_id, results: results(turn, []) });
    expect(applied).toMatchObject({ outcome: "accepted", results: [{ status: "timeout" }] });
  });
});

describe("a local call that is tried again where it runs", () => {
  const repeat = (turn: Awaited<ReturnType<typeof fx.suspend>>, attempt: number, worker_id = turn.worker_id) =>
    fx.kernel.repeatCall({
      project_id: PROJECT,
      tool_call_id: turn.calls[0]?.tool_call_id ?? "",
      worker_id,
      attempt,
    });
  const attemptOf = async (turn: Awaited<ReturnType<typeof fx.suspend>>) =>
    (await fx.kernel.reads.call(PROJECT, turn.calls[0]?.tool_call_id ?? ""))?.attempt;

  it("has a number of its own, which asking twice gives once", async () => {
    const turn = await fx.suspend(await fx.started(), [{ local: true, effect: "once", can_reconcile: true }]);
    expect(await repeat(turn, 2)).toEqual({ outcome: "accepted" });
    expect(await repeat(turn, 2)).toEqual({ outcome: "duplicate" });
    expect(await attemptOf(turn)).toBe(2);
    await fx.later(15_001);
    const worker_id = await fx.newWorker();
    const next = await fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id });
    expect(next).toMatchObject({ outcome: "accepted", local_calls: [{ attempt: 3, mode: "reconcile" }] });
  });

  it("is refused for a worker that was given up, and for every other", async () => {
    const turn = await fx.suspend(await fx.started(), [{ local: true, effect: "once", can_reconcile: true }]);
    expect(await repeat(turn, 2, await fx.newWorker())).toEqual({ outcome: "rejected", code: "stale_attempt" });
    await fx.later(15_001);
    expect(await repeat(turn, 2)).toEqual({ outcome: "rejected", code: "stale_attempt" });
    await fx.resumed(turn.agent_id, await fx.newWorker());
    expect(await repeat(turn, 2)).toEqual({ outcome: "rejected", code: "stale_attempt" });
    expect(await repeat(turn, 3)).toEqual({ outcome: "rejected", code: "stale_attempt" });
    expect(await attemptOf(turn)).toBe(2);
  });

  it("is refused once the call has ended, and for what is no local call of the project", async () => {
    const turn = await fx.suspend(await fx.started(), [{ local: true }, {}]);
    const [local, remote] = turn.calls;
    const request = { project_id: PROJECT, worker_id: turn.worker_id, attempt: 2 };
    for (const wrong of [
      { ...request, tool_call_id: remote?.tool_call_id ?? "" },
      { ...request, tool_call_id: "tc_none" },
      { ...request, project_id: "p2", tool_call_id: local?.tool_call_id ?? "" },
    ]) {
      expect(await fx.kernel.repeatCall(wrong)).toEqual({ outcome: "rejected", code: "not_found" });
    }
    const { tool_call_id = "", capability = "" } = local ?? {};
    await fx.kernel.report({ project_id: PROJECT, tool_call_id, capability, content: ok });
    expect(await repeat(turn, 2)).toEqual({ outcome: "rejected", code: "already_settled" });
  });
});

describe("the plain functions of a local step", () => {
  const SHORT = /l0\.(suspend_locally|apply_plainly)\(/g;
  const FULL: Readonly<Record<string, string>> = {
    suspend_locally: "suspend_on_calls",
    apply_plainly: "apply_results",
  };

  /** A kernel that calls the full functions instead, and how often. */
  function fullKernel() {
    const database = fx.store.database;
    let replaced = 0;
    const kernel = fx.anotherKernel({
      ...database,
      capabilities: database.capabilities,
      query: (text, values) => {
        const full = text.replaceAll(SHORT, (_, name: string) => `l0.${FULL[name]}(`);
        if (full !== text) replaced += 1;
        return database.query(full, values);
      },
    });
    return { kernel, replaced: () => replaced };
  }

  /** What a step left, without what differs between any two: ids and times. */
  async function leftBy(turn: Suspended): Promise<string> {
    const rows = await fx.query(
      `select to_jsonb(h) as head, to_jsonb(c) as call,
              (select jsonb_agg(to_jsonb(k) order by k.pos) from card.cards k where k.box_id = c.box_id) as cards,
              (select jsonb_agg(to_jsonb(e) - 'seq' order by e.seq) from state.events e
                where e.agent_turn_id = c.agent_turn_id) as events
         from state.calls c join state.agent_state_head h on h.agent_id = c.agent_id where c.tool_call_id = $1`,
      [turn.calls[0]?.tool_call_id],
    );
    return withoutOwn(rows);
  }

  function withoutOwn(value: unknown): string {
    return JSON.stringify(value, null, 1)
      .replaceAll(/"[^"]*[0-9a-f]{16}[^"]*"/g, '"an id"')
      .replaceAll(/"\d{4}-\d\d-\d\dT[^"]*"/g, '"a time"');
  }

  it.each([
    ["a success", ok],
    ["a success that names its after_execution", { ...ok, after_execution: "suspend", error: null }],
    ["a success of nothing", { status: "success" }],
    ["a success that steers", { status: "success", result: { __cg_control: { after_execution: "terminate" } } }],
    ["a failure", { status: "failed", error: { code: "x", message: "y", source: "tool" } }],
    ["another after_execution than the tool's", { ...ok, after_execution: "terminate" }],
    ["what is no result", { ...ok, more: 1 }],
    ["what is no object", "ok"],
  ])("leave and answer with %s what the full functions do", async (_, content) => {
    const full = fullKernel();
    const seen = [];
    for (const kernel of [fx.kernel, full.kernel]) {
      const started = await fx.started();
      const own = fx.kernel;
      fx.kernel = kernel;
      try {
        const turn = await fx.suspend(started, [{ local: true }]);
        const suspended = await leftBy(turn);
        const request = { ...hold(turn), step_id: turn.step_id, results: results(turn, [content as object]) };
        const answers = [await kernel.applyResults(request), await kernel.applyResults(request)];
        seen.push({ suspended, applied: await leftBy(turn), answers: withoutOwn(answers) });
      } finally {
        fx.kernel = own;
      }
    }
    expect(full.replaced()).toBe(3);
    expect(seen[0]).toEqual(seen[1]);
    await fx.expectSafe();
  });

  it("answer in place when a batch holds what only the full functions can decide", async () => {
    const turns = [];
    for (let n = 0; n < 5; n += 1) turns.push(await fx.suspend(await fx.started(), [{ local: true }]));
    const failure = { status: "failed", error: { code: "x", message: "y", source: "tool" } };
    const items = turns.map((turn, n) => ({
      ...hold(turn),
      turn_epoch: turn.turn_epoch + (n === 1 ? 1 : 0),
      step_id: turn.step_id,
      results: results(turn, n === 3 ? [failure] : []),
    }));
    const [applied] = await fx.query<{ answer: { outcome: string; code?: string; results?: { status: string }[] }[] }>(
      "select l0.apply_plainly($1::jsonb, $2) as answer",
      [JSON.stringify(items), fx.clock.databaseTime()],
    );
    expect(applied?.answer.map(({ outcome, code, results }) => code ?? results?.[0]?.status ?? outcome)).toEqual([
      "success",
      "stale_epoch",
      "success",
      "failed",
      "success",
    ]);
    await fx.expectSafe();
  });
});

describe("a step of local and remote calls", () => {
  it("suspends, and its local calls report like any other", async () => {
    const turn = await fx.suspend(await fx.started(), [{ local: true }, {}]);
    expect(await fx.headStatus(turn)).toBe("suspended");
    const local = turn.calls[0];
    const reported = await fx.kernel.report({
      project_id: PROJECT,
      tool_call_id: local?.tool_call_id ?? "",
      capability: local?.capability ?? "",
      content: ok,
    });
    expect(reported.outcome).toBe("accepted");
    await fx.report(await fx.opened(turn, 1));
    expect((await fx.resumed(turn.agent_id, turn.worker_id)).turn_epoch).toBe(turn.turn_epoch + 1);
  });

  it("gives its local calls to the next worker when the first is lost", async () => {
    const turn = await fx.suspend(await fx.started(), [
      { local: true, effect: "idempotent", timeout_ms: 600_000 },
      { timeout_ms: 600_000 },
    ]);
    await fx.later(15_001);
    await fx.later(15_001);
    const outcome = await fx.kernel.resume({
      project_id: PROJECT,
      agent_id: turn.agent_id,
      worker_id: await fx.newWorker(),
    });
    if (outcome.outcome !== "nothing") throw new Error(JSON.stringify(outcome));
    expect(outcome).toMatchObject({
      why: "waiting",
      local_calls: [{ tool_call_id: turn.calls[0]?.tool_call_id, attempt: 2 }],
    });
    const first = { project_id: PROJECT, tool_call_id: turn.calls[0]?.tool_call_id ?? "", content: ok };
    expect(await fx.kernel.report({ ...first, capability: turn.calls[0]?.capability ?? "" })).toEqual({
      outcome: "rejected",
      code: "stale_attempt",
    });
    expect((await fx.kernel.report({ ...first, capability: outcome.capability })).outcome).toBe("accepted");
  });
});
