// Fork and join: a call answered by a batch of child turns, once, whoever dies.

import { describe, expect, it } from "vitest";
import { PROJECT, useFixture } from "./fixture.ts";

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
