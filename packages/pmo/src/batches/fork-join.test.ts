// fork_join from its arguments to its one answer.

import { isJsonObject } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { type CallerTurn, PATIENCE, PROJECT, task, useFixture, useTeam } from "../../test/fixture.ts";

const fx = useFixture();
const team = useTeam(fx);
const tasks = (count: number) => Array.from({ length: count }, (_, n) => task({ instruction: `part ${n}` }));

async function fork(args: object): Promise<CallerTurn> {
  return await fx.calling(await fx.agent(team.boss), "fork_join", args);
}

/** status, and each task's status, of a batch's answer. */
async function outcomeOf(turn: CallerTurn) {
  const { status, result, error } = await fx.result(turn.tool_call_id);
  const results = (isJsonObject(result) && Array.isArray(result.results) ? result.results : []) as {
    task_index: number;
    status: string;
    summary?: string;
    output_box_id?: string;
    error?: { code: string };
  }[];
  return { status, error, results, statuses: results.map((item) => item.status) };
}

describe("a fork_join whose children all succeed", () => {
  it("answers once, by task_index, with summaries and boxes, whatever order they ended in", async () => {
    const pmo = await fx.pmo();
    const caller = await fork({ tasks: tasks(3) });
    const agents = await fx.started(caller);
    expect(await fx.isAnswered(caller.tool_call_id)).toBe(false);
    const fields = Array.from({ length: 6 }, (_, n) => ({ name: `f${n}`, value: n === 0 ? "text" : { n } }));
    await fx.work(agents[2] ?? "", { content: { data: { fields } } });
    await fx.work(agents[0] ?? "", { content: { text: "zero" } });
    await pmo.reconcile();
    expect(await fx.isAnswered(caller.tool_call_id), "one child is still at work").toBe(false);
    await fx.work(agents[1] ?? "");
    await pmo.reconcile();
    const { status, error, results } = await outcomeOf(caller);
    expect({ status, error }).toEqual({ status: "success", error: null });
    const children = await fx.children(caller);
    expect(results).toEqual(
      ["zero", `done by ${agents[1]}`, 'f0: text | f1: {"n":1} | f2: {"n":2} | f3: {"n":3} | f4: {"n":4}'].map(
        (summary, task_index) => ({
          task_index,
          status: "success",
          summary,
          output_box_id: children.find((child) => child.agent_id === agents[task_index])?.output_box_id,
        }),
      ),
    );
    const parent = await fx.kernel.reads.turn(PROJECT, caller.agent_turn_id);
    for (const child of children) {
      expect(child.trace_id).not.toBe(parent?.trace_id);
      expect(child.parent_traceparent).toContain(String(parent?.trace_id));
    }
    const edges = await fx.query(
      "select edge_phase from state.edges where primitive = 'join' and correlation_id = $1 order by 1",
      [(await fx.batchOf(caller)).batch_id],
    );
    expect(edges).toEqual([{ edge_phase: "request" }, { edge_phase: "response" }]);
  });

  it("may have fifty of them", async () => {
    const pmo = await fx.pmo();
    const caller = await fork({ tasks: tasks(50) });
    const agents = await fx.started(caller);
    for (const agent of agents) await fx.work(agent);
    await pmo.reconcile();
    const { status, results } = await outcomeOf(caller);
    expect(status).toBe("success");
    expect(results.map((item) => item.task_index)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(await fx.children(caller)).toHaveLength(50);
  });

  it("learns of their ends by the wakeup, and without one within a second", async () => {
    await fx.pmo();
    const caller = await fork({ tasks: tasks(1) });
    const [agent] = await fx.started(caller);
    await fx.work(agent ?? "");
    await fx.clock.advance(1_000);
    expect((await outcomeOf(caller)).status).toBe("success");
  });
});

describe("a fork_join with children that do not succeed", () => {
  it("is partial when some did", async () => {
    const pmo = await fx.pmo();
    const caller = await fork({ tasks: tasks(3) });
    const agents = await fx.started(caller);
    await fx.work(agents[0] ?? "");
    await fx.work(agents[1] ?? "", { status: "failed" });
    await fx.work(agents[2] ?? "", { status: "timeout" });
    await pmo.reconcile();
    const { status, error, statuses, results } = await outcomeOf(caller);
    expect({ status, statuses }).toEqual({ status: "partial", statuses: ["success", "failed", "timeout"] });
    expect(error).toMatchObject({
      code: "batch_failed",
      detail: { batch_id: (await fx.batchOf(caller)).batch_id, status: "partial" },
    });
    expect(results[1]?.error).toMatchObject({ code: "internal_error", message: "it broke" });
  });

  it.each<[readonly ("failed" | "timeout" | "partial" | "canceled")[], string]>([
    [["failed", "timeout"], "failed"],
    [["timeout", "partial"], "timeout"],
    [["partial", "canceled"], "partial"],
    [["canceled", "canceled"], "failed"],
  ])("%j becomes %s", async (ends, expected) => {
    const pmo = await fx.pmo();
    const caller = await fork({ tasks: tasks(2) });
    const agents = await fx.started(caller);
    for (const [n, status] of ends.entries()) await fx.work(agents[n] ?? "", { status });
    await pmo.reconcile();
    const { status, statuses } = await outcomeOf(caller);
    expect({ status, statuses }).toEqual({ status: expected, statuses: ends });
  });

  it("and fail_fast stops the running ones and never starts the rest", async () => {
    const pmo = await fx.pmo();
    const busy = await fx.agent(team.helper);
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: busy });
    const caller = await fork({
      tasks: [task(), task(), task({ target_strategy: "reuse", target_ref: busy })],
      fail_fast: true,
    });
    await expect
      .poll(async () => (await fx.tasksOf(caller)).map((row) => row.status), PATIENCE)
      .toEqual(["dispatched", "dispatched", "pending"]);
    const [first] = (await fx.tasksOf(caller)).map((row) => String(row.agent_id));
    await fx.work(first ?? "", { status: "failed" });
    await pmo.reconcile();
    const { status, statuses, results } = await outcomeOf(caller);
    expect({ status, statuses }).toEqual({ status: "failed", statuses: ["failed", "canceled", "canceled"] });
    expect(results[1]?.error?.code).toBe("canceled");
    const children = await fx.children(caller);
    expect(children.map((child) => child.status).sort()).toEqual(["canceled", "failed"]);
  });
});

describe("a deadline", () => {
  it("ends what is open, keeps what was done, and records a late child without applying it", async () => {
    const pmo = await fx.pmo();
    const caller = await fork({ tasks: tasks(2), deadline_seconds: 60 });
    const agents = await fx.started(caller);
    await fx.work(agents[0] ?? "");
    const late = await fx.kernel.resume({ project_id: PROJECT, agent_id: agents[1] ?? "", worker_id: fx.worker });
    await fx.clock.advance(60_000);
    await pmo.reconcile();
    const { status, statuses, results } = await outcomeOf(caller);
    expect({ status, statuses }).toEqual({ status: "partial", statuses: ["success", "timeout"] });
    expect(results[1]?.error?.code).toBe("timeout");
    if (late.outcome !== "accepted") throw new Error("the child was not taken");
    const finish = await fx.kernel.finishTurn({
      project_id: PROJECT,
      agent_id: late.agent_id,
      agent_turn_id: late.agent_turn_id,
      turn_epoch: late.turn_epoch,
      status: "success",
      deliverable: { card_id: fx.ids.mint("card"), content: { text: "too late" } },
    });
    expect(finish, "its worker is fenced").toMatchObject({ outcome: "rejected" });
    expect((await fx.children(caller)).map((child) => child.status).sort()).toEqual(["canceled", "success"]);
    expect((await fx.tasksOf(caller)).map((row) => row.status)).toEqual(["success", "timeout"]);
  });

  it("that finds nothing done is a timeout, and the call's own deadline lies behind it", async () => {
    const pmo = await fx.pmo();
    const caller = await fork({ tasks: tasks(1), deadline_seconds: 2 });
    const [agent] = await fx.started(caller);
    await fx.kernel.resume({ project_id: PROJECT, agent_id: agent ?? "", worker_id: fx.worker });
    await fx.clock.advance(2_000);
    await fx.kernel.sweep();
    await pmo.reconcile();
    expect(await outcomeOf(caller)).toMatchObject({
      status: "timeout",
      statuses: ["timeout"],
      error: { code: "batch_failed" },
    });
  });

  it("of 900 seconds is the default", async () => {
    await fx.pmo();
    const batch = await fx.batchOf(await fork({ tasks: tasks(1) }));
    expect(Date.parse(String(batch.deadline_at)) - Date.parse(String(batch.created_at))).toBe(900_000);
  });
});

describe("a child that no worker takes", () => {
  it("makes a fail_fast batch fail after a minute as downstream_unavailable", async () => {
    const pmo = await fx.pmo();
    const caller = await fork({ tasks: tasks(1), fail_fast: true });
    await fx.started(caller);
    await fx.clock.advance(59_000);
    await pmo.reconcile();
    expect(await fx.isAnswered(caller.tool_call_id)).toBe(false);
    await fx.clock.advance(1_000);
    await pmo.reconcile();
    const { status, results } = await outcomeOf(caller);
    expect({ status, code: results[0]?.error?.code }).toEqual({ status: "failed", code: "downstream_unavailable" });
  });
});

describe("a busy agent", () => {
  it("is tried again and taken when it is idle", async () => {
    const pmo = await fx.pmo();
    const busy = await fx.agent(team.helper);
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: busy });
    const caller = await fork({ tasks: [task({ target_strategy: "reuse", target_ref: busy })] });
    await expect
      .poll(async () => (await fx.tasksOf(caller))[0], PATIENCE)
      .toMatchObject({ status: "pending", attempt_count: 1 });
    await fx.work(busy);
    await fx.clock.advance(2_000);
    await pmo.reconcile();
    await fx.started(caller);
    await fx.work(busy);
    await pmo.reconcile();
    expect((await outcomeOf(caller)).status).toBe("success");
  });

  it("that waits for this very batch fails its task in a minute, not at the deadline (A → B → A)", async () => {
    const pmo = await fx.pmo();
    const a = await fx.agent(team.boss);
    const outer = await fx.calling(a, "fork_join", { tasks: [task({ target_ref: "boss" })] });
    const [b] = await fx.started(outer);
    const inner = await fx.callAgain(b ?? "", "fork_join", {
      tasks: [task({ target_strategy: "reuse", target_ref: a })],
    });
    await expect.poll(async () => (await fx.tasksOf(inner))[0], PATIENCE).toMatchObject({ attempt_count: 1 });
    for (const seconds of [2, 4, 8, 16, 30]) {
      await fx.clock.advance(seconds * 1_000);
      await pmo.reconcile();
    }
    const { status, results } = await outcomeOf(inner);
    expect({ status, code: results[0]?.error?.code }).toEqual({ status: "failed", code: "dispatch_retry_exhausted" });
  });
});

describe("arguments that cannot be", () => {
  const reuse = (target_ref: string) => task({ target_strategy: "reuse", target_ref });
  it.each<[string, unknown, RegExp]>([
    ["no tasks", { tasks: [] }, /args\.tasks.*got 0, max 50/],
    ["51 tasks", { tasks: tasks(51) }, /args\.tasks.*got 51, max 50/],
    ["no list", {}, /args\.tasks/],
    ["the same reuse target twice", { tasks: [reuse("a"), reuse("b"), reuse("a")] }, /args\.tasks\[2\]\.target_ref/],
    ["deadline 0", { tasks: tasks(1), deadline_seconds: 0 }, /args\.deadline_seconds/],
    ["deadline -1", { tasks: tasks(1), deadline_seconds: -1 }, /args\.deadline_seconds/],
    ["deadline NaN, which JSON writes as null", { tasks: tasks(1), deadline_seconds: null }, /args\.deadline_seconds/],
    ["deadline 10^9", { tasks: tasks(1), deadline_seconds: 1e9 }, /args\.deadline_seconds/],
    ["an unknown field", { tasks: tasks(1), extra: 1 }, /args\.extra/],
    ["an unknown field of a task", { tasks: [task({ extra: 1 })] }, /args\.tasks\[0\]\.extra/],
    ["a task that is no object", { tasks: ["x"] }, /args\.tasks\[0\]/],
    ["a flag that is none", { tasks: tasks(1), fail_fast: "maybe" }, /args\.fail_fast/],
  ])("%s is a bad request that names the place", async (_what, args, place) => {
    await fx.pmo();
    const caller = await fork(args as object);
    const { status, error } = await fx.result(caller.tool_call_id);
    expect({ status, code: error?.code }).toEqual({ status: "failed", code: "bad_request" });
    expect(error?.message).toMatch(place);
    expect(error?.message).toMatch(/^fork_join: invalid /);
  });

  it("the calling agent itself is one too", async () => {
    await fx.pmo();
    const agent = await fx.agent(team.boss);
    const caller = await fx.calling(agent, "fork_join", { tasks: [reuse(agent)] });
    expect((await fx.result(caller.tool_call_id)).error?.code).toBe("bad_request");
  });

  it("one task that may not be given refuses all, and no child is made", async () => {
    await fx.pmo();
    const caller = await fork({ tasks: [task(), task({ target_ref: "missing" })] });
    const { status, result, error } = await fx.result(caller.tool_call_id);
    expect({ status, result }).toEqual({
      status: "failed",
      result: { status: "rejected", error_code: "profile_not_found" },
    });
    expect(error?.message).toContain("args.tasks[1]");
    expect(await fx.kernel.reads.agents(PROJECT, { owner_agent_id: caller.agent_id })).toEqual([]);
  });
});

describe("a bomb of forks", () => {
  it("is stopped by the budget of its first turn, though every fork has a trace of its own", async () => {
    const pmo = await fx.pmo();
    const outer = await fork({ tasks: [task({ target_ref: "boss" })] });
    const [child] = await fx.started(outer);
    const root = await fx.kernel.reads.turn(PROJECT, outer.agent_turn_id);
    await fx.query("update state.trace_budgets set turns = 998 where trace_id = $1", [root?.trace_id]);
    const inner = await fx.callAgain(child ?? "", "fork_join", { tasks: tasks(4) });
    await fx.started(inner);
    const refused = (await fx.tasksOf(inner)).filter((row) => row.status === "failed");
    expect(refused.map((row) => (row.error_detail as { code: string }).code)).toEqual([
      "trace_budget_exceeded",
      "trace_budget_exceeded",
    ]);
    for (const row of await fx.tasksOf(inner)) if (row.status === "dispatched") await fx.work(String(row.agent_id));
    await pmo.reconcile();
    expect((await outcomeOf(inner)).status).toBe("partial");
  });
});
