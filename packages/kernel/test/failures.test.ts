// Stacks of what failed (migration 0016): written with the report that settles the attempt, gives the call back or ends the turn,
// for the call that the reporter was proven to hold, and nowhere else.

import { readFileSync } from "node:fs";
import { STACK_CHARS_MAX } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import type { ReportRequest } from "../src/index.ts";
import { hold, PROJECT, type Suspended, useFixture } from "./fixture.ts";

const fx = useFixture();
const STACK = "TypeError: no id\n    at find (/srv/tools/orders.ts:12:7)";
const failed = { status: "failed", error: { code: "internal_error", message: "no id" } };
const retryable = { status: "failed", error: { ...failed.error, retryable: true } };
const ok = { status: "success", result: { ok: true } };

type Opened = Awaited<ReturnType<typeof fx.opened>>;

const report = (call: Opened, content: object, stack?: unknown) =>
  fx.kernel.report({
    project_id: call.project_id,
    tool_call_id: call.tool_call_id,
    capability: call.capability,
    content,
    ...(stack === undefined ? {} : { stack }),
  } as ReportRequest);

/** The next attempt, with the ticket of its own command. */
async function openedAgain(turn: Suspended): Promise<Opened> {
  await fx.later(10);
  const calls = turn.calls.map((call) => ({ ...call, ticket: fx.ticketOf(call.tool_call_id) }));
  return await fx.opened({ ...turn, calls });
}

const failuresOf = async ({ agent_turn_id }: { readonly agent_turn_id: string }) =>
  (await fx.kernel.reads.failuresOfTurn(PROJECT, agent_turn_id)).map(({ tool_call_id, tool_name, attempt, stack }) => ({
    ...{ tool_call_id, tool_name, attempt, stack },
  }));
const rows = async () => (await fx.query<{ n: number }>("select count(*)::int as n from state.failures"))[0]?.n;

describe("the stack of a report", () => {
  it("is kept with the attempt that failed, and is in no card and no message", async () => {
    const turn = await fx.suspended();
    const call = await fx.opened(turn);
    expect(await report(call, failed, STACK)).toMatchObject({ outcome: "accepted" });
    const { tool_call_id } = call;
    expect(await failuresOf(turn)).toEqual([{ tool_call_id, tool_name: "echo__run", attempt: 1, stack: STACK }]);
    await fx.kernel.announcer.settled();
    expect(JSON.stringify(fx.published)).not.toContain("orders.ts");
    const cards = await fx.kernel.reads.boxCards(PROJECT, turn.output_box_id);
    expect(cards.some((card) => card.type === "tool.result")).toBe(true);
    expect(JSON.stringify(cards)).not.toContain("orders.ts");
    expect(JSON.stringify(await fx.kernel.reads.call(PROJECT, tool_call_id))).not.toContain("orders.ts");
  });

  it("is kept for each attempt apart, also for one that is tried again", async () => {
    const turn = await fx.suspended([{ effect: "read", attempts_max: 3, backoff_ms: 1 }]);
    expect(await report(await fx.opened(turn), retryable, "first")).toMatchObject({ retry_at: expect.anything() });
    expect(await report(await openedAgain(turn), retryable, "second")).toMatchObject({ retry_at: expect.anything() });
    expect(await report(await openedAgain(turn), ok)).toMatchObject({
      outcome: "accepted",
      inbox_id: expect.anything(),
    });
    expect(await failuresOf(turn)).toMatchObject([
      { attempt: 1, stack: "first" },
      { attempt: 2, stack: "second" },
    ]);
  });

  it("is written once, however often the report is repeated", async () => {
    const turn = await fx.suspended();
    const call = await fx.opened(turn);
    await report(call, failed, STACK);
    expect(await report(call, failed, "another")).toMatchObject({ outcome: "duplicate" });
    expect(await failuresOf(turn)).toMatchObject([{ stack: STACK }]);
  });

  it("of each call of a step is kept, whichever came in one batch", async () => {
    const turn = await fx.suspended([{}, {}, {}]);
    const calls = [await fx.opened(turn, 0), await fx.opened(turn, 1), await fx.opened(turn, 2)] as const;
    await Promise.all([report(calls[0], ok, "none"), report(calls[1], failed, "b"), report(calls[2], failed, "c")]);
    const kept = new Map((await failuresOf(turn)).map(({ tool_call_id, stack }) => [tool_call_id, stack]));
    expect(kept).toEqual(
      new Map([
        [calls[1].tool_call_id, "b"],
        [calls[2].tool_call_id, "c"],
      ]),
    );
  });

  it("is cut where it is longer than it may be, and made storable; the report counts all the same", async () => {
    const turn = await fx.suspended([{}, {}]);
    await report(await fx.opened(turn, 0), failed, "x".repeat(3 * STACK_CHARS_MAX));
    await report(await fx.opened(turn, 1), failed, "a\0b\ud800");
    const [long, odd] = await failuresOf(turn);
    expect(long?.stack).toHaveLength(STACK_CHARS_MAX);
    expect(long?.stack.endsWith("... (truncated)")).toBe(true);
    expect(odd?.stack).toBe("a\ufffdb\ufffd");
  });

  it.each([
    ["an empty one", ""],
    ["a number", 7],
    ["an object", { at: "x" }],
    ["null", null],
  ])("is left out where it is no text: %s", async (_, stack) => {
    const turn = await fx.suspended();
    expect(await report(await fx.opened(turn), failed, stack)).toMatchObject({ outcome: "accepted" });
    expect(await failuresOf(turn)).toEqual([]);
  });

  it("of a success is left out, on the way that successes take and on the other", async () => {
    const before = await rows();
    const alone = await fx.suspended();
    await report(await fx.opened(alone), ok, STACK);
    const several = await fx.suspended([{}, {}]);
    await report(await fx.opened(several), ok, STACK);
    expect(await rows()).toBe(before);
  });

  it("is written only by the holder of the attempt: what is forged, stale or late writes nothing", async () => {
    const turn = await fx.suspended([{ effect: "read", attempts_max: 2, backoff_ms: 1 }]);
    const first = await fx.opened(turn);
    const before = await rows();
    expect(await report({ ...first, capability: "0".repeat(64) }, failed, STACK)).toMatchObject({
      code: "auth_failed",
    });
    expect(await report({ ...first, project_id: "p2" }, failed, STACK)).toMatchObject({ code: "not_found" });
    expect(await rows()).toBe(before);
    await report(first, retryable, "first");
    await openedAgain(turn);
    expect(await report(first, failed, "late")).toMatchObject({ code: "stale_attempt" });
    expect(await failuresOf(turn)).toMatchObject([{ attempt: 1, stack: "first" }]);
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
  });

  it("is taken from a report that points to its card, too", async () => {
    const turn = await fx.suspended();
    const { project_id, tool_call_id, capability } = await fx.opened(turn);
    const call = { project_id, tool_call_id, capability };
    const card = await fx.kernel.putResultCard({ ...call, content: failed });
    if (card.outcome === "rejected") throw new Error(card.code);
    const { tool_result_card_id } = card;
    const pointer = { ...call, tool_result_card_id, status: "failed", stack: STACK };
    expect(await fx.kernel.report(pointer)).toMatchObject({ outcome: "accepted" });
    expect(await failuresOf(turn)).toMatchObject([{ stack: STACK }]);
  });
});

describe("the stack of a call that runs where its agent runs", () => {
  it("is kept with the results that are applied", async () => {
    const turn = await fx.suspend(await fx.started(), [{ local: true }, { local: true }]);
    const results = turn.calls.map(({ tool_call_id }, n) => ({
      ...{ tool_call_id, content: n === 0 ? ok : failed, stack: `stack ${n}` },
    }));
    expect(await fx.kernel.applyResults({ ...hold(turn), step_id: turn.step_id, results })).toMatchObject({
      outcome: "accepted",
    });
    expect(await failuresOf(turn)).toMatchObject([{ tool_call_id: turn.calls[1]?.tool_call_id, stack: "stack 1" }]);
    await fx.kernel.applyResults({ ...hold(turn), step_id: turn.step_id, results });
    expect(await failuresOf(turn)).toHaveLength(1);
  });

  it("of an attempt that is repeated is kept with that attempt's number", async () => {
    const turn = await fx.suspend(await fx.started(), [{ local: true, effect: "read", attempts_max: 3 }]);
    const call = { project_id: PROJECT, tool_call_id: turn.calls[0]?.tool_call_id ?? "", worker_id: turn.worker_id };
    expect(await fx.kernel.repeatCall({ ...call, attempt: 2, stack: "first" })).toEqual({ outcome: "accepted" });
    expect(await fx.kernel.repeatCall({ ...call, attempt: 2, stack: "again" })).toEqual({ outcome: "duplicate" });
    expect(await fx.kernel.repeatCall({ ...call, worker_id: "w", attempt: 3, stack: "no" })).toMatchObject({
      outcome: "rejected",
    });
    const results = [{ tool_call_id: call.tool_call_id, content: failed, stack: "second" }];
    await fx.kernel.applyResults({ ...hold(turn), step_id: turn.step_id, results });
    expect(await failuresOf(turn)).toMatchObject([
      { attempt: 1, stack: "first" },
      { attempt: 2, stack: "second" },
    ]);
  });

  it("is not kept where its deadline settled the call first, nor by a worker that lost the turn", async () => {
    const turn = await fx.suspend(await fx.started({ worker_id: await fx.newWorker(fx.ids.mint("worker"), 600_000) }), [
      { local: true, timeout_ms: 1_000 },
    ]);
    await fx.later(31_001);
    const results = [{ tool_call_id: turn.calls[0]?.tool_call_id ?? "", content: failed, stack: STACK }];
    const order = { ...hold(turn), step_id: turn.step_id, results };
    expect(await fx.kernel.applyResults({ ...order, turn_epoch: order.turn_epoch + 1 })).toMatchObject({
      code: "stale_epoch",
    });
    expect(await fx.kernel.applyResults(order)).toMatchObject({ results: [{ status: "timeout" }] });
    expect(await failuresOf(turn)).toEqual([]);
  });
});

describe("the stack of a turn", () => {
  const finish = (turn: Awaited<ReturnType<typeof fx.started>>, status: "failed" | "success") =>
    fx.kernel.finishTurn({
      ...hold(turn),
      status,
      deliverable: { card_id: fx.ids.mint("card"), content: { text: "it broke" } },
      ...(status === "failed" ? { error_code: "internal_error" } : {}),
      stack: STACK,
    });

  it("that its worker could not run is kept without a call", async () => {
    const turn = await fx.started();
    expect(await finish(turn, "failed")).toMatchObject({ outcome: "accepted" });
    expect(await failuresOf(turn)).toEqual([{ tool_call_id: null, tool_name: null, attempt: null, stack: STACK }]);
  });

  it("that went well is left out", async () => {
    const turn = await fx.started();
    expect(await finish(turn, "success")).toMatchObject({ outcome: "accepted" });
    expect(await failuresOf(turn)).toEqual([]);
  });
});

describe("the failures of a turn", () => {
  it("are read by pages, of this project only", async () => {
    const turn = await fx.suspended([{}, {}, {}]);
    for (const n of [0, 1, 2]) await report(await fx.opened(turn, n), failed, `stack ${n}`);
    const read = fx.kernel.reads.failuresOfTurn;
    const [first, ...more] = await read(PROJECT, turn.agent_turn_id, { limit: 2 });
    expect(more).toHaveLength(1);
    const rest = await read(PROJECT, turn.agent_turn_id, { after: Number(first?.failure_id) });
    expect(rest.map(({ stack }) => stack)).toEqual(["stack 1", "stack 2"]);
    expect(await read("p2", turn.agent_turn_id)).toEqual([]);
  });
});

if (process.env.TESSERA_TEST_ENGINE === "postgres")
  describe("the roles of the database", () => {
    it("let a tool's login write the stack of its own call, and read none", async () => {
      await fx.store.database.script(readFileSync(new URL("../../../deploy/roles.sql", import.meta.url), "utf8"));
      const login = `failing_tool_${Math.trunc(performance.timeOrigin).toString(36)}`;
      await fx.store.database.script(`create role ${login} login in role tessera_tool`);
      try {
        const tool = await fx.store.another({ user: login, poolMax: 1 });
        const turn = await fx.suspended();
        const [called] = turn.calls;
        const say = async (name: "open_call" | "report", item: object) => {
          const [row] = await tool.query<{ answer: Record<string, unknown>[] }>(
            `select l0.${name}($1::jsonb) as answer`,
            [JSON.stringify([{ project_id: PROJECT, tool_call_id: called?.tool_call_id, ...item }])],
          );
          return row?.answer[0] ?? {};
        };
        await fx.query("update state.calls set deadline_at = now() + interval '1 hour' where tool_call_id = $1", [
          called?.tool_call_id,
        ]); // its functions know no time but the server's
        const claim = { ticket: called?.ticket, executor: "raw", claim_id: "claim_1" };
        const { capability } = await say("open_call", claim);
        const stack = "y".repeat(2 * STACK_CHARS_MAX);
        expect(await say("report", { capability, content: failed, message_type: "tool_result", stack })).toMatchObject({
          outcome: "accepted",
        });
        expect((await failuresOf(turn))[0]?.stack).toBe("y".repeat(STACK_CHARS_MAX));
        await expect(tool.query("select stack from state.failures")).rejects.toMatchObject({ sqlstate: "42501" });
      } finally {
        await fx.store.database.script(`drop role ${login}`);
      }
    });
  });
