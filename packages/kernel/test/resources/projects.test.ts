// Projects: deletion to the last row, and what is refused for a project that is not active.

import { describe, expect, it } from "vitest";
import { type Database, type Kernel, verifyStore } from "../../src/index.ts";
import { PROJECT, useFixture } from "../fixture.ts";

const fx = useFixture();
let projects = 0;

async function newProject(): Promise<string> {
  projects += 1;
  const project_id = `gone_${projects}`;
  expect(await fx.kernel.putProject({ project_id })).toEqual({ outcome: "accepted", revision: 1 });
  return project_id;
}

const tool = (project_id: string, description = "") => ({
  project_id,
  tool_name: "echo__run",
  description,
  target_subject: `cg.v1r4.${project_id}.public.cmd.tool.echo.run`,
  after_execution: "suspend" as const,
});

/** A project with rows in every table that can hold any: turns, calls, a batch, keys, letters. All turns have ended. */
async function fill(project_id: string): Promise<void> {
  const target_subject = `cg.v1r4.${project_id}.public.cmd.tool.echo.run`;
  await fx.kernel.putTool(tool(project_id));
  await fx.kernel.createApiKey({ role: "viewer", project_id });
  const card_id = fx.ids.mint("card");
  const box_id = fx.ids.mint("box");
  const card = { project_id, card_id, type: "task.instruction", author_id: "sys.entry", content: { text: "x" } };
  await fx.kernel.putCard(card);
  await fx.kernel.putBox({ project_id, box_id, card_ids: [card_id] });
  await fx.kernel.putProfile({ project_id, name: "planner", profile_box_id: box_id, worker_target: "workers" });
  await fx.kernel.putDeadLetter({ project_id, reason: "test" });
  await fx.kernel.putAudit({ project_id, kind: "test", code: "ok" });
  const agent_id = await fx.newAgent(`${project_id}_agent`, project_id);
  await fx.kernel.putAgent({
    project_id,
    agent_id,
    worker_target: "workers",
    identity_edge: { edge_id: fx.ids.mint("edge"), action: "provision" },
  });
  const turn = await fx.suspend(await fx.started({ agent_id, project_id }), [{ target_subject }, { target_subject }]);
  const opened = await fx.kernel.openCall({
    project_id,
    tool_call_id: turn.calls[0]?.tool_call_id ?? "",
    ticket: turn.calls[0]?.ticket ?? "",
    executor: "executor-1",
  });
  if (opened.outcome === "rejected") throw new Error(opened.code);
  const broken = await fx.kernel.openCall({
    project_id,
    tool_call_id: turn.calls[1]?.tool_call_id ?? "",
    ticket: turn.calls[1]?.ticket ?? "",
    executor: "executor-1",
  });
  if (broken.outcome === "rejected") throw new Error(broken.code);
  const error = { code: "internal_error", message: "it broke" };
  const hold = { project_id, tool_call_id: broken.tool_call_id, capability: broken.capability };
  await fx.kernel.report({ ...hold, content: { status: "failed", error }, stack: "Error: it broke" });
  const batch_id = fx.ids.mint("batch");
  const batch_task_id = fx.ids.mint("task");
  const { tool_call_id, capability } = opened;
  const tasks = [{ batch_task_id, agent_id }];
  await fx.kernel.openBatch({ batch_id, project_id, tool_call_id, capability, tasks });
  await fx.kernel.moveBatchTask({ batch_task_id, project_id, move: "settle", status: "canceled" });
  const finished = await fx.kernel.finishBatch({ batch_id, project_id, status: "failed", result: {} });
  expect(finished).toMatchObject({ outcome: "accepted" });
  await fx.kernel.stopTurn({ project_id, agent_turn_id: turn.agent_turn_id });
}

/** Rows that name the project, by table: every column of that name, wherever it is. */
async function rowsOf(project_id: string): Promise<Record<string, number>> {
  const tables = await fx.query<{ name: string }>(
    `select format('%I.%I', c.table_schema, c.table_name) as name from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
      where c.column_name = 'project_id' and t.table_type = 'BASE TABLE' and c.table_schema in ('card', 'resource', 'state', 'l0') order by 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const rows = await fx.query<{ n: number }>(`select count(*)::int as n from ${name} where project_id = $1`, [
      project_id,
    ]);
    counts[name] = rows[0]?.n ?? 0;
  }
  return counts;
}

const total = (counts: Record<string, number>) => Object.values(counts).reduce((sum, n) => sum + n, 0);

/** A kernel whose database fails with the n-th statement, as if its process had died. */
function dyingKernel(after: number): Kernel {
  let left = after;
  const { database } = fx.store;
  const dying: Database = {
    ...database,
    capabilities: database.capabilities,
    query: (text, values) => {
      left -= 1;
      if (left < 0) throw new Error("killed");
      return database.query(text, values);
    },
  };
  return fx.anotherKernel(dying);
}

describe("deleteProject", () => {
  it("leaves no row of the project in any table, and every row of the others", async () => {
    const gone = await newProject();
    const kept = await newProject();
    await fill(gone);
    await fill(kept);
    const filled = await rowsOf(gone);
    const empty = Object.keys(filled).filter((name) => filled[name] === 0);
    expect(empty, "each of these tables could hold rows that no check looks for").toEqual([]);
    const others = await rowsOf(kept);
    const tasksBefore = await fx.query("select batch_task_id from state.pmo_batch_tasks where project_id <> $1", [
      gone,
    ]);
    expect(await fx.kernel.deleteProject(gone)).toEqual({ outcome: "accepted" });
    expect(total(await rowsOf(gone))).toBe(0);
    expect(await rowsOf(kept)).toEqual(others);
    expect(await fx.query("select batch_task_id from state.pmo_batch_tasks")).toEqual(tasksBefore);
    expect(await fx.kernel.deleteProject(gone)).toEqual({ outcome: "rejected", code: "not_found" });
    expect(await fx.kernel.deleteProject("../x")).toEqual({ outcome: "rejected", code: "invalid_id" });
  });

  it("goes on where it was killed, whatever the moment, and no invariant is broken meanwhile", async () => {
    const gone = await newProject();
    await fill(gone);
    let deaths = 0;
    for (let after = 0; (await fx.kernel.reads.project(gone)) !== null; after += 1) {
      const outcome = await dyingKernel(after)
        .deleteProject(gone)
        .catch(() => null);
      if (outcome === null) deaths += 1;
      await fx.kernel.sweep();
      expect((await verifyStore(fx.store.database, { drained: true })).violations).toEqual([]);
    }
    expect(deaths).toBeGreaterThan(15);
    expect(total(await rowsOf(gone))).toBe(0);
  });

  it("removes more than one piece holds", async () => {
    const gone = await newProject();
    await fx.query(
      `insert into state.dead_letters (project_id, reason, created_at)
       select $1, 'many', now() from generate_series(1, 4500)`,
      [gone],
    );
    await fx.query(
      `insert into card.cards (card_id, project_id, type, author_id, content, sha256, created_at)
       select $1 || n, $1, 'task.instruction', 'sys.entry', c.content, sha256(convert_to(c.content::text, 'UTF8')), now()
         from generate_series(1, 1500) n, lateral (
         select jsonb_build_object('text', string_agg(md5(n || '/' || k), '')) as content from generate_series(1, 50) k) c`,
      [gone],
    );
    const size = await fx.query<{ blocks: number }>("select pg_relation_size('card.cards')::int / 8192 as blocks");
    expect(size[0]?.blocks, "more blocks than one piece passes").toBeGreaterThan(128);
    expect(await fx.kernel.deleteProject(gone)).toEqual({ outcome: "accepted" });
    expect(total(await rowsOf(gone))).toBe(0);
  });

  it("is refused while a turn is queued or active, says how many, and changes nothing", async () => {
    const project_id = await newProject();
    const agent_id = await fx.newAgent(`${project_id}_agent`, project_id);
    const turns: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const made = await fx.kernel.enqueueTurn({ project_id, agent_id });
      if (made.outcome === "rejected") throw new Error(made.code);
      turns.push(made.agent_turn_id);
    }
    const before = await fx.everything();
    expect(await fx.kernel.deleteProject(project_id)).toEqual({ outcome: "rejected", code: "conflict", open_turns: 3 });
    expect(await fx.everything()).toBe(before);
    for (const agent_turn_id of turns) await fx.kernel.stopTurn({ project_id, agent_turn_id });
    expect(await fx.kernel.deleteProject(project_id)).toEqual({ outcome: "accepted" });
    expect(total(await rowsOf(project_id))).toBe(0);
  });

  it("and an enqueue at the same moment never both succeed, and leave nothing behind", async () => {
    for (let n = 0; n < 12; n += 1) {
      const project_id = await newProject();
      const agent_id = await fx.newAgent(`${project_id}_agent`, project_id);
      const another = fx.anotherKernel(await fx.store.another({ poolMax: 2 }));
      const enqueue = () => fx.kernel.enqueueTurn({ project_id, agent_id });
      const remove = () => another.deleteProject(project_id);
      const [first, second] = n % 2 === 0 ? [enqueue(), remove()] : [remove(), enqueue()];
      const outcomes = await Promise.all([first, second]);
      const [turn, deletion] = n % 2 === 0 ? outcomes : outcomes.toReversed();
      if (deletion?.outcome === "accepted") {
        expect(turn).toEqual({ outcome: "rejected", code: "not_found" });
        expect(total(await rowsOf(project_id))).toBe(0);
      } else {
        expect(deletion).toMatchObject({ code: "conflict", open_turns: 1 });
        expect(turn).toMatchObject({ outcome: "accepted" });
        const turns = await fx.kernel.reads.turns(project_id);
        expect(turns).toHaveLength(1);
        await fx.kernel.stopTurn({ project_id, agent_turn_id: String(turns[0]?.agent_turn_id) });
        expect(await fx.kernel.deleteProject(project_id)).toEqual({ outcome: "accepted" });
      }
    }
  });

  it("keeps everything out from its first commit on", async () => {
    const project_id = await newProject();
    await fill(project_id);
    const agent_id = `${project_id}_agent`;
    await dyingKernel(1)
      .deleteProject(project_id)
      .catch(() => undefined);
    expect(await fx.kernel.reads.project(project_id)).toMatchObject({ status: "deleting", revision: 2 });
    const before = await fx.everything();
    const notFound = { outcome: "rejected", code: "not_found" };
    expect(await fx.kernel.enqueueTurn({ project_id, agent_id })).toEqual(notFound);
    expect(await fx.kernel.putTool(tool(project_id, "new"))).toMatchObject(notFound);
    expect(await fx.kernel.putAgent({ project_id, agent_id: "late", worker_target: "workers" })).toEqual(notFound);
    const profile_box_id = String((await fx.kernel.reads.profile(project_id, "planner"))?.profile_box_id);
    const profile = { project_id, name: "late", profile_box_id, worker_target: "workers" };
    expect(await fx.kernel.putProfile(profile)).toEqual(notFound);
    const card = { type: "task.instruction", author_id: "sys.entry", content: { text: "late" } };
    expect(await fx.kernel.putCard({ project_id, card_id: "late", ...card })).toMatchObject(notFound);
    expect(await fx.kernel.putBox({ project_id, box_id: "late" })).toMatchObject(notFound);
    expect(await fx.kernel.createApiKey({ role: "viewer", project_id })).toEqual(notFound);
    expect(await fx.kernel.putProject({ project_id, title: "again" })).toEqual({
      outcome: "rejected",
      code: "conflict",
    });
    expect(await fx.everything()).toBe(before);
    // What is only noted belongs to no project.
    await fx.kernel.putDeadLetter({ project_id, reason: "late" });
    await fx.kernel.putAudit({ project_id, kind: "late", code: "ok" });
    expect((await fx.kernel.reads.audit(project_id)).map((row) => row.kind)).not.toContain("late");
    await fx.kernel.deleteProject(project_id);
    expect(total(await rowsOf(project_id))).toBe(0);
  });

  it("is the only way for a card to go", async () => {
    const project_id = await newProject();
    await fill(project_id);
    for (const statement of [
      "delete from card.cards where project_id = $1",
      "delete from card.box_cards where project_id = $1",
      "update card.cards set content = '{}' where project_id = $1",
    ])
      await expect(fx.query(statement, [project_id])).rejects.toThrow(/immutable/);
    await dyingKernel(1)
      .deleteProject(project_id)
      .catch(() => undefined);
    await expect(fx.query("update card.cards set content = '{}' where project_id = $1", [project_id])).rejects.toThrow(
      /immutable/,
    );
    await expect(fx.query("delete from card.cards where project_id = $1", [PROJECT])).resolves.toEqual([]);
    await fx.newAgent();
    await expect(fx.query("truncate card.cards")).rejects.toThrow(/immutable/);
    expect(await fx.kernel.deleteProject(project_id)).toEqual({ outcome: "accepted" });
    expect(await fx.kernel.putProject({ project_id, title: "a new one" })).toEqual({
      outcome: "accepted",
      revision: 1,
    });
  });
});

describe("a project that is not active", () => {
  it("takes no new turn, and answers a repeated one as before", async () => {
    const project_id = await newProject();
    const agent_id = await fx.newAgent(`${project_id}_agent`, project_id);
    const turn = { project_id, agent_id, agent_turn_id: fx.ids.mint("turn") };
    expect(await fx.kernel.enqueueTurn(turn)).toMatchObject({ outcome: "accepted" });
    for (const status of ["inactive", "archived"] as const) {
      await fx.kernel.putProject({ project_id, status });
      expect(await fx.kernel.enqueueTurn({ project_id, agent_id })).toMatchObject({
        outcome: "rejected",
        code: "conflict",
      });
      expect(await fx.kernel.enqueueTurn(turn)).toMatchObject({ outcome: "duplicate" });
    }
    await fx.kernel.putProject({ project_id, title: "kept" });
    expect(await fx.kernel.reads.project(project_id)).toMatchObject({ status: "archived", title: "kept" });
    await fx.kernel.putProject({ project_id, status: "active" });
    expect(await fx.kernel.enqueueTurn({ project_id, agent_id })).toMatchObject({ outcome: "accepted" });
  });
});
