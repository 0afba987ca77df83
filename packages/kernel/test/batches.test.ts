// Fork and join: a call answered by a batch of child turns, once, whichever process dies.

import { describe, expect, it } from "vitest";
import { PROJECT, type Started, useFixture } from "./fixture.ts";

const fx = useFixture();

async function openBatch(tasks: number, deadline_ms = 900_000) {
  const turn = await fx.suspended([{ tool_name: "fork_join", author_id: "sys.pmo.batch_manager" }]);
  const opened = await fx.opened(turn);
  const batch_id = fx.ids.mint("batch");
  const request = {
    project_id: PROJECT,
    tool_call_id: opened.tool_call_id,
    capability: opened.capability,
    batch_id,
    deadline_ms,
    tasks: Array.from({ length: tasks }, () => ({ batch_task_id: fx.ids.mint("bt") })),
  };
  return { turn, opened, request, batch_id, tasks: request.tasks.map((task) => task.batch_task_id) };
}

describe("a batch", () => {
  it("owns its call: no lease lapses, and the call's own deadline lies past the batch's", async () => {
    const { request, opened } = await openBatch(2);
    expect((await fx.kernel.openBatch(request)).outcome).toBe("accepted");
    expect((await fx.kernel.openBatch(request)).outcome).toBe("duplicate");
    await fx.later(120_000);
    expect(await fx.kernel.reads.call(PROJECT, opened.tool_call_id)).toMatchObject({
      wait_status: "waiting",
      attempt: 1,
      batch_id: request.batch_id,
    });
  });

  it("follows its children's turns in the commits that end them, and answers its call once", async () => {
    const { request, turn, tasks, batch_id } = await openBatch(2);
    await fx.kernel.openBatch(request);
    const worker = await fx.newWorker(fx.ids.mint("worker"), 600_000);
    for (const batch_task_id of tasks) {
      const agent = await fx.newAgent();
      const child = await fx.kernel.enqueueTurn({
        project_id: PROJECT,
        agent_id: agent,
        correlation_id: batch_task_id,
        parent_agent_turn_id: turn.agent_turn_id,
      });
      if (child.outcome === "rejected") throw new Error(child.code);
      await fx.kernel.moveBatchTask({
        project_id: PROJECT,
        batch_task_id,
        move: "dispatch",
        agent_turn_id: child.agent_turn_id,
        agent_id: agent,
      });
      await fx.finish(await fx.resumed(agent, worker));
    }
    const children = await fx.kernel.reads.childTurns(PROJECT, turn.agent_turn_id);
    const { tool_call_id } = request;
    expect(children.map((child) => child.parent_tool_call_id)).toEqual([tool_call_id, tool_call_id]);
    const row = await fx.kernel.reads.batch(PROJECT, batch_id);
    expect(((row?.tasks ?? []) as { status: string }[]).map((task) => task.status)).toEqual(["success", "success"]);
    const end = {
      project_id: PROJECT,
      batch_id,
      status: "success",
      result: { status: "success", results: [{ task_index: 0 }, { task_index: 1 }] },
    };
    const other = fx.anotherKernel(await fx.store.another());
    const outcomes = await Promise.all([
      fx.kernel.finishBatch(end),
      other.finishBatch(end),
      fx.kernel.finishBatch(end),
      other.finishBatch(end),
    ]);
    expect(outcomes.map((outcome) => outcome.outcome).sort()).toEqual([
      "accepted",
      "duplicate",
      "duplicate",
      "duplicate",
    ]);
    const resumed = await fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: worker });
    expect(resumed.outcome === "accepted" && resumed.results?.[0]).toMatchObject({
      status: "success",
      content: { result: end.result },
    });
  });

  it("is not finished while a task is under way", async () => {
    const { request, tasks, batch_id } = await openBatch(2);
    await fx.kernel.openBatch(request);
    await fx.kernel.moveBatchTask({
      project_id: PROJECT,
      batch_task_id: tasks[0] ?? "",
      move: "settle",
      status: "failed",
    });
    expect(
      await fx.kernel.finishBatch({
        project_id: PROJECT,
        batch_id,
        status: "failed",
        result: null,
        error: { code: "batch_failed", message: "" },
      }),
    ).toMatchObject({ code: "conflict" });
  });

  it("ends only in a way that its tasks came to", async () => {
    const allowed = {
      "success success": ["success"],
      "success failed": ["failed", "partial"],
      "partial canceled": ["failed", "partial"],
      "timeout success": ["failed", "partial", "timeout"],
      "timeout canceled": ["failed", "timeout"],
      "failed canceled": ["failed"],
    };
    const others = ["success", "failed", "partial", "timeout", "running", "canceled", ""];
    for (const [ends, statuses] of Object.entries(allowed)) {
      for (const status of statuses) {
        const { request, tasks, batch_id } = await openBatch(2);
        await fx.kernel.openBatch(request);
        for (const [n, end] of ends.split(" ").entries()) {
          const task = { project_id: PROJECT, batch_task_id: tasks[n] ?? "" };
          await fx.kernel.moveBatchTask({ ...task, move: "dispatch", agent_turn_id: fx.ids.mint("turn") });
          await fx.kernel.moveBatchTask({ ...task, move: "settle", status: end });
        }
        const end = { project_id: PROJECT, batch_id, result: {} };
        for (const other of others.filter((name) => !statuses.includes(name))) {
          const outcome = await fx.kernel.finishBatch({ ...end, status: other });
          expect(outcome, `${ends}: ${other}`).toMatchObject({ outcome: "rejected", code: "conflict" });
        }
        expect((await fx.kernel.finishBatch({ ...end, status })).outcome, `${ends}: ${status}`).toBe("accepted");
        const call = await fx.kernel.reads.call(PROJECT, request.tool_call_id);
        expect(call).toMatchObject({ wait_status: "received", result_status: status });
      }
    }
  });

  it("with no task or more than fifty is refused", async () => {
    for (const count of [0, 51]) {
      const { request } = await openBatch(count);
      expect(await fx.kernel.openBatch(request)).toEqual({ outcome: "rejected", code: "fan_out_exceeded" });
    }
  });

  it("cannot be opened by someone who does not hold the call", async () => {
    const { request } = await openBatch(1);
    expect(await fx.kernel.openBatch({ ...request, capability: "00".repeat(32) })).toEqual({
      outcome: "rejected",
      code: "auth_failed",
    });
  });

  it("cannot be opened for a call that has its answer", async () => {
    const { request, opened } = await openBatch(1);
    await fx.report(opened);
    const refused = { outcome: "rejected", code: "already_settled" };
    expect(await fx.kernel.openBatch(request)).toEqual(refused);
    expect(await fx.kernel.reads.batch(PROJECT, request.batch_id)).toBeNull();
  });

  it("that ends after its parent was stopped ends without an answer to give", async () => {
    const { request, turn, tasks, batch_id } = await openBatch(1);
    await fx.kernel.openBatch(request);
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
    await fx.kernel.moveBatchTask({
      project_id: PROJECT,
      batch_task_id: tasks[0] ?? "",
      move: "settle",
      status: "canceled",
    });
    expect(
      await fx.kernel.finishBatch({
        project_id: PROJECT,
        batch_id,
        status: "failed",
        result: null,
        error: { code: "batch_failed", message: "stopped" },
      }),
    ).toEqual({ outcome: "accepted" });
  });
});

describe("the child of a task", () => {
  /** A batch of one task, ready to be dispatched to an agent. */
  async function ready() {
    const { request, turn, batch_id, tasks } = await openBatch(1);
    await fx.kernel.openBatch(request);
    const agent = await fx.newAgent();
    const context_box_id = fx.ids.mint("box");
    await fx.kernel.putBox({ project_id: PROJECT, box_id: context_box_id });
    const dispatch = (only_idle = false, kernel = fx.kernel) =>
      kernel.dispatchBatchTask({
        project_id: PROJECT,
        batch_task_id: tasks[0] ?? "",
        only_idle,
        turn: {
          project_id: PROJECT,
          agent_id: agent,
          agent_turn_id: `turn_${batch_id}`,
          correlation_id: tasks[0] ?? "",
          parent_agent_turn_id: turn.agent_turn_id,
          context_box_id,
        },
      });
    const task = async () =>
      ((await fx.kernel.reads.batch(PROJECT, batch_id))?.tasks as { status: string }[] | undefined)?.[0];
    return { turn, agent, batch_id, dispatch, task };
  }

  it("is started once, whichever client asks and how often", async () => {
    const { dispatch, agent, task } = await ready();
    const other = fx.anotherKernel(await fx.store.another());
    const outcomes = await Promise.all([dispatch(), dispatch(false, other), dispatch(), dispatch(false, other)]);
    expect(outcomes.map((outcome) => outcome.outcome).sort()).toEqual([
      "accepted",
      "duplicate",
      "duplicate",
      "duplicate",
    ]);
    expect(await task()).toMatchObject({ status: "dispatched" });
    expect(await fx.query("select agent_turn_id from state.agent_turns where agent_id = $1", [agent])).toHaveLength(1);
  });

  it("on a busy agent is put off by 2, 4, 8, 16 and 30 seconds, and then the task has failed", async () => {
    const { dispatch, agent, task } = await ready();
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent });
    for (const seconds of [2, 4, 8, 16, 30]) {
      const outcome = await dispatch(true);
      expect(outcome).toMatchObject({ outcome: "rejected", code: "agent_busy" });
      expect(await dispatch(true), "not before its time").toMatchObject({ code: "conflict" });
      await fx.clock.advance(seconds * 1_000);
    }
    expect(await dispatch(true)).toEqual({ outcome: "rejected", code: "dispatch_retry_exhausted" });
    expect(await task()).toMatchObject({ status: "failed", error_detail: { code: "dispatch_retry_exhausted" } });
  });

  it("is not started when the turn that waits for it was stopped", async () => {
    const { dispatch, turn, agent } = await ready();
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
    expect(await dispatch()).toMatchObject({ outcome: "rejected", code: "conflict" });
    expect(await fx.query("select 1 from state.agent_turns where agent_id = $1", [agent])).toEqual([]);
  });

  it("that ends makes its batch due, and a batch that only waits is handed out to no worker", async () => {
    const { dispatch, agent, batch_id } = await ready();
    const due = async () => (await fx.kernel.takeDueBatches(100)).find((batch) => batch.batch_id === batch_id);
    expect((await due())?.tasks).toMatchObject([{ status: "pending", is_due: true }]);
    expect(await due(), "it was given away a moment ago").toBeUndefined();
    await dispatch();
    await fx.clock.advance(5_000);
    expect((await due())?.tasks).toMatchObject([{ status: "dispatched", is_running: true }]);
    await fx.clock.advance(60_000);
    expect(await due()).toBeUndefined();
    await fx.finish(await fx.resumed(agent, await fx.newWorker()));
    expect((await due())?.tasks).toMatchObject([{ status: "success", is_running: false }]);
    expect(await due()).toBeUndefined();
    await fx.clock.advance(5_000);
    expect(await due(), "its holder may have died").toBeDefined();
  });
});

/** Starts a task's child and gives it to a worker that lives long, or to none. */
async function startChild(parent: { agent_turn_id: string }, batch_task_id: string, isTaken = true) {
  const agent_id = await fx.newAgent();
  const context_box_id = fx.ids.mint("box");
  await fx.kernel.putBox({ project_id: PROJECT, box_id: context_box_id });
  const child = { project_id: PROJECT, agent_id, agent_turn_id: fx.ids.mint("turn"), context_box_id };
  const turn = { ...child, parent_agent_turn_id: parent.agent_turn_id };
  const dispatch = { project_id: PROJECT, batch_task_id, only_idle: false, turn };
  expect(await fx.kernel.dispatchBatchTask(dispatch)).toMatchObject({ outcome: "accepted" });
  return isTaken ? await fx.resumed(agent_id, await fx.newWorker(undefined, 900_000)) : null;
}

describe("a task that was cut", () => {
  // The first end is written by the plain function, the others by the full one.
  const ends = {
    succeeds: (child: Started) => fx.finish(child),
    fails: (child: Started) => fx.finish(child, "failed"),
    "is stopped": ({ project_id, agent_turn_id }: Started) => fx.kernel.stopTurn({ project_id, agent_turn_id }),
  };
  const cuts = (["canceled", "failed", "timeout"] as const).flatMap((status) =>
    (Object.keys(ends) as (keyof typeof ends)[]).map((end) => [status, end] as const),
  );
  it.each(cuts)("as %s stays so when its child %s after that", async (status, end) => {
    const { request, turn, tasks, batch_id } = await openBatch(1);
    await fx.kernel.openBatch(request);
    const batch_task_id = tasks[0] ?? "";
    const child = await startChild(turn, batch_task_id);
    const error_detail = { code: "cut", message: "by its batch" };
    const cut = { project_id: PROJECT, batch_task_id, move: "settle", status, error_detail } as const;
    expect(await fx.kernel.moveBatchTask(cut)).toMatchObject({ outcome: "accepted" });
    expect(await ends[end](child as Started)).toMatchObject({ outcome: "accepted" });
    expect((await fx.kernel.reads.batch(PROJECT, batch_id))?.tasks).toMatchObject([{ status, error_detail }]);
  });
});

describe("a batch that its PMO took and did not finish", () => {
  it.each([
    [true, "is handed out again after 5 s when a task failed and fail_fast is set"],
    [false, "is left to wait for its other tasks when a task failed and fail_fast is not set"],
  ] as const)("(fail_fast: %s) %s", async (fail_fast, _) => {
    const { request, turn, tasks, batch_id } = await openBatch(2);
    await fx.kernel.openBatch({ ...request, fail_fast });
    for (const batch_task_id of tasks) await startChild(turn, batch_task_id);
    const isTaken = async () => (await fx.kernel.takeDueBatches(100)).some((batch) => batch.batch_id === batch_id);
    expect(await isTaken(), "it is new").toBe(true);
    const failed = { project_id: PROJECT, batch_task_id: tasks[0] ?? "", move: "settle", status: "failed" } as const;
    expect(await fx.kernel.moveBatchTask(failed)).toMatchObject({ outcome: "accepted" });
    expect(await isTaken(), "a task has ended").toBe(true);
    await fx.clock.advance(4_999);
    expect(await isTaken(), "its PMO may be at it").toBe(false);
    await fx.clock.advance(1);
    expect(await isTaken(), "its PMO may have died").toBe(fail_fast);
  });
});

describe("batches that are due", () => {
  it("are given to one of several who ask at once", async () => {
    const mine = new Set<string>();
    for (let n = 0; n < 8; n += 1) {
      const { request, batch_id } = await openBatch(1);
      await fx.kernel.openBatch(request);
      mine.add(batch_id);
    }
    const other = fx.anotherKernel(await fx.store.another());
    const takes = await Promise.all([fx.kernel, other, fx.kernel, other].map((kernel) => kernel.takeDueBatches(3)));
    takes.push(await fx.kernel.takeDueBatches(100));
    const taken = takes.flat().map((batch) => batch.batch_id);
    expect(new Set(taken).size, "none twice").toBe(taken.length);
    expect(taken).toEqual(expect.arrayContaining([...mine]));
  });
});

describe("a stopped turn", () => {
  it("names its open children until none is left, and gets no more of them", async () => {
    const parent = await fx.started();
    const child = await fx.newAgent();
    const enqueue = () =>
      fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: child, parent_agent_turn_id: parent.agent_turn_id });
    const children = [await enqueue(), await enqueue()].map((outcome) =>
      outcome.outcome === "rejected" ? "" : outcome.agent_turn_id,
    );
    const listed = async () => (await fx.kernel.childrenOfStopped(100)).map((turn) => turn.agent_turn_id);
    expect(await listed()).not.toContain(children[0]);
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: parent.agent_turn_id });
    expect(await listed()).toEqual(expect.arrayContaining(children));
    expect(await enqueue()).toEqual({ outcome: "rejected", code: "canceled" });
    for (const agent_turn_id of children) await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id });
    expect(await listed()).toEqual([]);
  });
});

describe("the budget of a trace", () => {
  it("counts every turn, also of those that are asked for in one batch", async () => {
    const trace_id = fx.ids.traceId();
    const turns = Array.from({ length: 5 }, async () =>
      fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: await fx.newAgent(), trace_id }),
    );
    for (const { outcome } of await Promise.all(turns)) expect(outcome).toBe("accepted");
    expect(await fx.query("select turns from state.trace_budgets where trace_id = $1", [trace_id])).toEqual([
      { turns: 5 },
    ]);
  });

  it("is the first ancestor's: children with traces of their own spend it too", async () => {
    const parent = await fx.started();
    const trace = (await fx.kernel.reads.turn(PROJECT, parent.agent_turn_id))?.trace_id;
    await fx.query("update state.trace_budgets set turns = 999 where trace_id = $1", [trace]);
    const enqueue = async () =>
      fx.kernel.enqueueTurn({
        project_id: PROJECT,
        agent_id: await fx.newAgent(),
        parent_agent_turn_id: parent.agent_turn_id,
        trace_id: fx.ids.traceId(),
      });
    expect((await enqueue()).outcome).toBe("accepted");
    expect(await enqueue()).toEqual({ outcome: "rejected", code: "trace_budget_exceeded" });
  });

  it.each<[string, (batch: Awaited<ReturnType<typeof openBatch>>) => Promise<void>]>([
    [
      "whose deadline has passed",
      async ({ turn, tasks }) => {
        await startChild(turn, tasks[0] ?? "");
        await fx.clock.advance(30_000);
      },
    ],
    [
      "with fail_fast whose child no worker took within a minute",
      async ({ turn, tasks }) => {
        await startChild(turn, tasks[0] ?? "", false);
        await fx.clock.advance(60_000);
      },
    ],
    [
      "whose turn was stopped",
      async ({ turn, tasks }) => {
        await startChild(turn, tasks[0] ?? "");
        await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
      },
    ],
  ])("%s is handed out again after 5 s, and not before", async (title, come) => {
    const batch = await openBatch(1, title.includes("deadline") ? 30_000 : 900_000);
    await fx.kernel.openBatch({ ...batch.request, fail_fast: title.includes("fail_fast") });
    const isTaken = async () =>
      (await fx.kernel.takeDueBatches(100)).some(({ batch_id }) => batch_id === batch.batch_id);
    expect(await isTaken(), "it is new").toBe(true);
    await come(batch);
    await fx.clock.advance(5_000); // and no PMO was there
    expect(await isTaken(), "it is due").toBe(true);
    await fx.clock.advance(4_999);
    expect(await isTaken(), "its PMO may be at it").toBe(false);
    await fx.clock.advance(1);
    expect(await isTaken(), "its PMO may have died").toBe(true);
  });
});
