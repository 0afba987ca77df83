// Reads of a project from outside: two projects of the same shape, and nothing of the other is ever seen.

import { beforeAll, describe, expect, it } from "vitest";
import type { ExecutionEdgeRow, IdentityEdgeRow, StepRow } from "../../src/index.ts";
import { PROJECT, type Started, type Suspended, useFixture } from "../fixture.ts";

const OTHER = "p2";
const fx = useFixture();

interface Shape {
  readonly agents: readonly string[];
  /** Ended turns of two steps each, one per agent, then one that waits. */
  readonly ended: readonly Suspended[];
  readonly waiting: Suspended;
}
let ours: Shape;
let theirs: Shape;

async function steps(turn: Started, count: number): Promise<Suspended> {
  let suspended: Suspended | undefined;
  let held = turn;
  for (let n = 0; n < count; n += 1) {
    await fx.clock.advance(1_000);
    suspended = await fx.suspend(held, [{ target_subject: subjectOf(turn.project_id) }]);
    await fx.clock.advance(1_000);
    const opened = await fx.kernel.openCall({
      project_id: turn.project_id,
      tool_call_id: suspended.calls[0]?.tool_call_id ?? "",
      ticket: suspended.calls[0]?.ticket ?? "",
      executor: "executor-1",
    });
    if (opened.outcome === "rejected") throw new Error(opened.code);
    await fx.report(opened);
    held = await fx.resumed(turn.agent_id, turn.worker_id, turn.project_id);
  }
  if (suspended === undefined) throw new Error("no step");
  return { ...suspended, turn_epoch: held.turn_epoch };
}

const subjectOf = (project: string) => `cg.v1r4.${project}.public.cmd.tool.echo.run`;

async function shape(project: string): Promise<Shape> {
  const agents: string[] = [];
  const ended: Suspended[] = [];
  for (let n = 0; n < 3; n += 1) {
    const agent = await fx.newAgent(`${project}_agent_${n}`, project);
    await fx.kernel.putAgent({
      project_id: project,
      agent_id: agent,
      worker_target: "workers",
      tags: [`tag${n}`],
      owner_agent_id: `${project}_agent_0`,
      identity_edge: { edge_id: fx.ids.mint("edge"), action: "provision", source_agent_id: `${project}_agent_0` },
    });
    agents.push(agent);
    await fx.clock.advance(1_000);
    const started = await fx.started({ agent_id: agent, project_id: project });
    ended.push(await steps(started, 2));
    await fx.clock.advance(1_000);
    await fx.finish(ended[n] as Suspended);
  }
  await fx.clock.advance(1_000);
  const last = await fx.started({ agent_id: agents[0] as string, project_id: project });
  await fx.clock.advance(1_000);
  const waiting = await fx.suspend(last, [{ target_subject: subjectOf(project) }]);
  return { agents, ended, waiting };
}

beforeAll(async () => {
  await fx.kernel.putProject({ project_id: OTHER, title: "other" });
  ours = await shape(PROJECT);
  theirs = await shape(OTHER);
});

async function allSteps(order: "asc" | "desc", limit: number): Promise<StepRow[]> {
  const found: StepRow[] = [];
  for (;;) {
    const last = found.at(-1);
    const after = last === undefined ? {} : { after: { started_at: last.started_at, step_id: last.step_id } };
    const page = await fx.kernel.reads.steps(PROJECT, {}, { order, limit, ...after });
    expect(page.length).toBeLessThanOrEqual(limit);
    if (page.length === 0) return found;
    found.push(...page);
  }
}

describe("steps", () => {
  it("are listed in pages of any size without a gap or a repetition, in both orders", async () => {
    const whole = await allSteps("asc", 100);
    expect(whole).toHaveLength(7);
    expect(new Set(whole.map((step) => step.step_id)).size).toBe(7);
    expect(whole.every((step) => step.project_id === PROJECT)).toBe(true);
    expect(whole.map((step) => step.started_at)).toEqual(whole.map((step) => step.started_at).sort());
    for (const limit of [1, 2, 3, 7]) {
      expect(await allSteps("asc", limit)).toEqual(whole);
      expect(await allSteps("desc", limit)).toEqual(whole.toReversed());
    }
  });

  it("say how their calls stand, and can be asked for by that", async () => {
    const page = { order: "desc", limit: 10 } as const;
    const [newest] = await fx.kernel.reads.steps(PROJECT, {}, page);
    expect(newest).toMatchObject({
      step_id: ours.waiting.step_id,
      agent_turn_id: ours.waiting.agent_turn_id,
      status: "waiting",
      tool_call_ids: ours.waiting.calls.map((call) => call.tool_call_id),
      channel_id: "public",
      output_box_id: ours.waiting.output_box_id,
    });
    expect(await fx.kernel.reads.steps(PROJECT, { status: "waiting" }, page)).toEqual([newest]);
    expect(await fx.kernel.reads.steps(PROJECT, { status: "done" }, page)).toHaveLength(6);
    expect(await fx.kernel.reads.steps(PROJECT, { status: "ended" }, page)).toEqual([]);
  });

  it("are found by each filter, and never those of another project", async () => {
    const page = { order: "asc", limit: 10 } as const;
    const [first] = await fx.kernel.reads.steps(PROJECT, {}, page);
    if (first === undefined) throw new Error("no step");
    const ids = async (filter: Parameters<typeof fx.kernel.reads.steps>[1], project = PROJECT) => {
      const asc = (await fx.kernel.reads.steps(project, filter, page)).map((step) => step.step_id);
      const desc = (await fx.kernel.reads.steps(project, filter, { ...page, order: "desc" })).map((s) => s.step_id);
      expect(desc).toEqual(asc.toReversed());
      return asc;
    };
    expect(await ids({ agent_id: first.agent_id })).toHaveLength(3);
    expect(await ids({ agent_turn_id: first.agent_turn_id })).toHaveLength(2);
    expect(await ids({ agent_turn_id: first.agent_turn_id, step_id: first.step_id })).toEqual([first.step_id]);
    expect(await ids({ step_id: first.step_id })).toEqual([first.step_id]);
    expect(await ids({ trace_id: first.trace_id })).toHaveLength(2);
    expect(await ids({ channel_id: "public" })).toHaveLength(7);
    expect(await ids({ channel_id: "elsewhere" })).toEqual([]);
    expect(await ids({ parent_step_id: "step_none" })).toEqual([]);
    expect(await ids({ started_after: first.started_at })).toHaveLength(6);
    expect(await ids({ started_before: first.started_at })).toEqual([]);
    for (const filter of [
      { agent_turn_id: first.agent_turn_id },
      { step_id: first.step_id },
      { trace_id: first.trace_id },
      { agent_id: first.agent_id },
    ])
      expect(await ids(filter, OTHER), JSON.stringify(filter)).toEqual([]);
  });

  it("of one turn are paged, too", async () => {
    const filter = { agent_turn_id: ours.ended[0]?.agent_turn_id ?? "" };
    for (const order of ["asc", "desc"] as const) {
      const [one] = await fx.kernel.reads.steps(PROJECT, filter, { order, limit: 1 });
      if (one === undefined) throw new Error("no step");
      const after = { started_at: one.started_at, step_id: one.step_id };
      const rest = await fx.kernel.reads.steps(PROJECT, filter, { order, limit: 5, after });
      expect(rest).toHaveLength(1);
      expect(rest[0]?.step_id).not.toBe(one.step_id);
    }
  });

  it("of a turn that was stopped say that it ended first", async () => {
    const turn = await fx.suspended();
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
    const page = { order: "asc", limit: 10 } as const;
    expect(await fx.kernel.reads.steps(PROJECT, { agent_turn_id: turn.agent_turn_id }, page)).toMatchObject([
      { step_id: turn.step_id, status: "ended" },
    ]);
    expect(await fx.kernel.reads.steps(PROJECT, { status: "ended" }, page)).toHaveLength(1);
  });
});

describe("execution edges", () => {
  const everyEdge = async (limit: number, filter: object = {}): Promise<ExecutionEdgeRow[]> => {
    const found: ExecutionEdgeRow[] = [];
    for (;;) {
      const last = found.at(-1);
      const page = await fx.kernel.reads.executionEdges(OTHER, filter, limit, last);
      if (page.length === 0) return found;
      found.push(...page);
    }
  };

  it("are those of the project, newest first, as the view of the reference has them", async () => {
    const expected = await fx.query<ExecutionEdgeRow>(
      `select edge_id, channel_id, primitive, edge_phase, source_agent_id, source_agent_turn_id, source_step_id, target_agent_id,
              target_agent_turn_id, correlation_id, enqueue_mode, recursion_depth, trace_id, parent_step_id, metadata, created_at
         from state.execution_edges where project_id = $1 order by created_at desc, edge_id desc`,
      [OTHER],
    );
    // Four turns, seven calls, six of them answered.
    expect(expected).toHaveLength(17);
    for (const limit of [1, 2, 5, 100]) expect(await everyEdge(limit)).toEqual(expected);
  });

  it("are found by each filter, and never those of another project", async () => {
    const call = theirs.ended[1]?.calls[0]?.tool_call_id ?? "";
    const both = await fx.kernel.reads.executionEdges(OTHER, { correlation_id: call }, 10);
    expect(both.map((edge) => edge.primitive)).toEqual(["report", "tool_call"]);
    expect(await fx.kernel.reads.executionEdges(PROJECT, { correlation_id: call }, 10)).toEqual([]);
    const traced = { trace_id: both[0]?.trace_id ?? "" };
    expect(await everyEdge(3, traced)).toHaveLength(5);
    expect(await fx.kernel.reads.executionEdges(PROJECT, traced, 10)).toEqual([]);
    expect(await everyEdge(3, { primitive: "enqueue" })).toHaveLength(4);
    expect(await everyEdge(3, { primitive: "report" })).toHaveLength(6);
    expect(await everyEdge(3, { edge_phase: "request" })).toHaveLength(11);
    expect(await everyEdge(3, { agent_id: theirs.agents[1] })).toHaveLength(5);
    expect(await everyEdge(3, { agent_id: "tool.echo" })).toHaveLength(13);
    expect(await everyEdge(3, { channel_id: "elsewhere" })).toEqual([]);
    expect(await everyEdge(3, { parent_step_id: "step_none" })).toEqual([]);
  });
});

describe("identity edges", () => {
  it("are found by each filter, newest first, with what the roster says of their target now", async () => {
    const find = (
      filter: object,
      project = PROJECT,
      limit = 10,
      before?: IdentityEdgeRow,
    ): Promise<IdentityEdgeRow[]> => fx.kernel.reads.identityEdges(project, filter, limit, before);
    const whole = await find({});
    expect(whole.map((edge) => edge.target_agent_id)).toEqual(ours.agents.toReversed());
    expect(whole[0]).toMatchObject({ owner_agent_id: ours.agents[0], worker_target: "workers", tags: ["tag2"] });
    const [first] = await find({}, PROJECT, 1);
    if (first === undefined) throw new Error("no edge");
    expect([first, ...(await find({}, PROJECT, 10, first))]).toEqual(whole);
    expect(await find({ tag: "tag1" })).toHaveLength(1);
    expect(await find({ owner_agent_id: ours.agents[0] })).toHaveLength(3);
    expect(await find({ worker_target: "unused" })).toEqual([]);
    expect(await find({ action: "provision", channel_id: "public" })).toHaveLength(3);
    expect(await find({ action: "derive" })).toEqual([]);
    expect(await find({ agent_id: ours.agents[1] })).toHaveLength(1);
    expect(await find({ agent_id: ours.agents[1] }, OTHER)).toEqual([]);
    expect(await find({ trace_id: "none" })).toEqual([]);
    expect(await find({ parent_step_id: "none" })).toEqual([]);
  });
});

describe("projects and heads", () => {
  it("are paged by id", async () => {
    const first = await fx.kernel.reads.projects({ limit: 1 });
    expect(first).toMatchObject([{ project_id: PROJECT, status: "active", revision: 1 }]);
    expect(await fx.kernel.reads.projects({ limit: 5, after: PROJECT })).toMatchObject([
      { project_id: OTHER, title: "other" },
    ]);
    expect(await fx.kernel.reads.projects({ limit: 5, project_id: OTHER })).toHaveLength(1);
    expect(await fx.kernel.reads.projects({ limit: 5, project_id: "p9" })).toEqual([]);

    const heads = await fx.kernel.reads.heads(OTHER, { limit: 2 });
    expect(heads.map((head) => head.agent_id)).toEqual(theirs.agents.slice(0, 2));
    expect(heads[0]).toMatchObject({
      status: "suspended",
      waiting_tool_count: 1,
      active_agent_turn_id: theirs.waiting.agent_turn_id,
    });
    const rest = await fx.kernel.reads.heads(OTHER, { limit: 2, after: theirs.agents[1] as string });
    expect(rest.map((head) => head.agent_id)).toEqual(theirs.agents.slice(2));
    expect(await fx.kernel.reads.heads(OTHER, { limit: 9, channel_id: "elsewhere" })).toEqual([]);
    expect(await fx.kernel.reads.heads("p9", { limit: 9 })).toEqual([]);
  });
});

describe("the tail of a box", () => {
  it("is its last cards in their order, whole or as ids, and nothing for another project", async () => {
    const box = ours.ended[0]?.output_box_id ?? "";
    const whole = await fx.kernel.reads.boxCards(PROJECT, box);
    expect(whole).toHaveLength(7);
    expect(await fx.kernel.reads.boxTail(PROJECT, box, 100)).toEqual(whole);
    expect(await fx.kernel.reads.boxTail(PROJECT, box, 3)).toEqual(whole.slice(-3));
    expect(await fx.kernel.reads.boxTail(OTHER, box, 3)).toEqual([]);
    const empty = fx.ids.mint("box");
    await fx.kernel.putBox({ project_id: PROJECT, box_id: empty });
    expect(await fx.kernel.reads.boxTailIds(PROJECT, [empty, "box_none", box, box], 2)).toEqual([
      { box_id: empty, card_ids: [] },
      { box_id: box, card_ids: whole.slice(-2).map((card) => card.card_id) },
    ]);
    expect(await fx.kernel.reads.boxTailIds(OTHER, [box], 2)).toEqual([]);
  });

  it("finds cards that live elsewhere, too", async () => {
    const cards = [fx.ids.mint("card"), fx.ids.mint("card"), fx.ids.mint("card")];
    for (const card_id of cards) {
      await fx.kernel.putCard({
        project_id: PROJECT,
        card_id,
        type: "task.instruction",
        author_id: "sys.entry",
        content: { text: card_id },
      });
    }
    const box_id = fx.ids.mint("box");
    await fx.kernel.putBox({ project_id: PROJECT, box_id, card_ids: cards });
    const tail = await fx.kernel.reads.boxTail(PROJECT, box_id, 2);
    expect(tail.map((card) => [card.pos, card.card_id])).toEqual([
      [1, cards[1]],
      [2, cards[2]],
    ]);
  });
});

describe("the timeline of a turn", () => {
  it("is what happened, in order", async () => {
    const turn = ours.ended[1] as Suspended;
    const { entries: rows, isCut } = await fx.kernel.reads.timeline(PROJECT, turn.agent_turn_id, 100);
    expect(isCut).toBe(false);
    const step = ["step", "call.made", "turn.state", "call.claimed", "call.settled", "call.applied"];
    expect(rows.map((row) => row.kind)).toEqual([
      "turn.queued",
      "turn.state",
      "turn.state",
      ...step,
      ...step,
      "turn.ended",
    ]);
    expect(rows.filter((row) => row.kind === "turn.state").map((row) => row.status)).toEqual([
      "dispatched",
      "running",
      "suspended",
      "suspended",
    ]);
    expect(rows.map((row) => row.at)).toEqual(rows.map((row) => row.at).sort());
    expect(rows.find((row) => row.kind === "call.made")).toMatchObject({
      name: "echo__run",
      detail: { target: "echo", effect: "once" },
    });
    expect(rows.at(-1)).toMatchObject({ kind: "turn.ended", status: "success" });
    const timeline = (limit: number) => fx.kernel.reads.timeline(PROJECT, turn.agent_turn_id, limit);
    expect(await timeline(4)).toEqual({ entries: rows.slice(-4), isCut: true });
    expect(await timeline(rows.length - 1)).toEqual({ entries: rows.slice(1), isCut: true });
    expect(await timeline(rows.length)).toEqual({ entries: rows, isCut: false });
    expect(await fx.kernel.reads.timeline(OTHER, turn.agent_turn_id, 100)).toEqual({ entries: [], isCut: false });
  });

  it("names the children and how they ended", async () => {
    const parent = await fx.started();
    const child = await fx.newAgent();
    const made = await fx.kernel.enqueueTurn({
      project_id: PROJECT,
      agent_id: child,
      parent_agent_turn_id: parent.agent_turn_id,
      parent_step_id: "step_parent",
    });
    if (made.outcome === "rejected") throw new Error(made.code);
    await fx.clock.advance(1_000);
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: made.agent_turn_id });
    const { entries: rows } = await fx.kernel.reads.timeline(PROJECT, parent.agent_turn_id, 100);
    const of = (kind: string) => rows.filter((row) => row.kind === kind);
    expect(of("child.queued")).toMatchObject([{ agent_turn_id: made.agent_turn_id, name: child }]);
    expect(of("child.ended")).toMatchObject([{ status: "canceled", detail: { error_code: "canceled" } }]);
    await fx.finish(parent);
  });

  it("finds a turn's events among many, wherever they lie", async () => {
    const first = ours.ended[0] as Suspended;
    const before = await fx.kernel.reads.timeline(PROJECT, first.agent_turn_id, 100);
    await fx.clock.advance(3_600_000);
    const late = await fx.started();
    const { entries: rows } = await fx.kernel.reads.timeline(PROJECT, late.agent_turn_id, 100);
    expect(rows.map((row) => row.kind)).toEqual(["turn.queued", "turn.state", "turn.state"]);
    expect(await fx.kernel.reads.timeline(PROJECT, first.agent_turn_id, 100)).toEqual(before);
    await fx.finish(late);
  });

  it("leaves older states out, and says so, where too many events of others lie between", async () => {
    const turn = await fx.started();
    await fx.query(
      `insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, created_at)
       select $1, 'noise', 'turn_noise', 'state', 'running', 1, $2::timestamptz from generate_series(1, 50000)`,
      [PROJECT, fx.clock.databaseTime()?.toISOString()],
    );
    const { entries, isCut } = await fx.kernel.reads.timeline(PROJECT, turn.agent_turn_id, 100);
    expect([entries.map((row) => row.kind), isCut]).toEqual([["turn.queued"], true]);
    await fx.finish(turn);
    const ended = await fx.kernel.reads.timeline(PROJECT, turn.agent_turn_id, 100);
    expect([ended.entries.map((row) => row.kind), ended.isCut]).toEqual([["turn.queued", "turn.ended"], true]);
    await fx.query("delete from state.events where agent_turn_id = 'turn_noise'");
  });
});

describe("the activity of a project", () => {
  it("counts turns, calls, refusals and what waits, of its own and of its span", async () => {
    await fx.kernel.putDeadLetter({ project_id: OTHER, reason: "test" });
    await fx.kernel.openCall({
      project_id: OTHER,
      tool_call_id: theirs.waiting.calls[0]?.tool_call_id ?? "",
      ticket: "forged",
      executor: "e",
    });
    const report = await fx.kernel.reads.activity(OTHER, { since: "2020-01-01T00:00:00Z", until: null });
    expect(report).toMatchObject({
      turns: [
        { status: "active", count: 1, p50_ms: null },
        { status: "success", count: 3, p50_ms: 5_000, p95_ms: 5_000 },
      ],
      calls: [
        { tool_name: "echo__run", count: 7, open: 1, success: 6, failed: 0, unknown: 0, attempts: 6, p50_ms: 1_000 },
      ],
      refusals: [{ kind: "open_call", code: "auth_failed", count: 1 }],
      dead_letters: 1,
      unserved: [{ target: "echo", open: 1 }],
      backlog: { queued: 0, active: 1 },
    });
    const [waits] = await fx.kernel.reads.steps(OTHER, { status: "waiting" }, { order: "asc", limit: 1 });
    expect(Date.parse(report.unserved[0]?.oldest_at ?? "")).toBe(Date.parse(waits?.started_at ?? ""));
    const past = { since: "2020-01-01T00:00:00Z", until: "2020-01-02T00:00:00Z" };
    expect(await fx.kernel.reads.activity(OTHER, past)).toMatchObject({
      turns: [],
      calls: [],
      refusals: [],
      dead_letters: 0,
    });
    const empty = await fx.kernel.reads.activity("p9", { since: past.since, until: null });
    expect(empty).toMatchObject({ turns: [], calls: [], unserved: [], backlog: { queued: 0, active: 0 } });
  });
});

describe("the last event", () => {
  it("is where a listener begins that wants no past", async () => {
    const last = await fx.kernel.reads.lastEventSeq(PROJECT);
    expect(last).toBe((await fx.kernel.reads.eventsAfter(PROJECT, 0)).at(-1)?.seq);
    expect(await fx.kernel.reads.eventsAfter(PROJECT, last)).toEqual([]);
    const turn = await fx.started();
    const heard = await fx.kernel.reads.eventsAfter(PROJECT, last);
    expect(heard.map((event) => event.agent_turn_id)).toEqual([turn.agent_turn_id, turn.agent_turn_id]);
    expect(await fx.kernel.reads.lastEventSeq("p9")).toBe(0);
    await fx.finish(turn);
  });
});
