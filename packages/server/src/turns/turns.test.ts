// The turn routes: asking, looking, listing, stopping, and what an executor asks of other agents for its tool.

import {
  type AgentProfile,
  agentIdOf,
  createAgentRuntime,
  deployProfiles,
  enqueueAgentTurn,
  WORKER_TARGET_DEFAULT,
} from "@tessera/agent";
import { DatabaseError } from "@tessera/kernel";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Answer, OTHER, PROJECT, type RequestOptions, useServer } from "../../test/fixture.ts";
import type { Agents, Server } from "../index.ts";

const fx = useServer();
const TURNS = `/projects/${PROJECT}/turns`;
let server: Server;
let fault: Error | null = null;

function profile(name: string): AgentProfile {
  return {
    schema_version: 1,
    name,
    description: "",
    worker_target: WORKER_TARGET_DEFAULT,
    tags: [],
    model: { provider: "scripted", model: "scripted" },
    system_prompt: "",
    allowed_tools: [],
    allowed_internal_tools: [],
    must_end_with: [],
    required_tools: [],
    delegation_policy: null,
    max_steps: 10,
    extensions: [],
    swarm: null,
  };
}

const agents: Agents = {
  async enqueue(order) {
    const { agent_turn_id, agent_id, outcome } = await enqueueAgentTurn(fx.kernel, fx.ids, order);
    return { agent_turn_id, agent_id, isNew: outcome === "accepted" };
  },
  async runtime(caller, operation, { ordinal, target = "", event = {}, options = {} }, signal) {
    if (fault !== null) throw fault;
    const runtime = createAgentRuntime({ kernel: fx.kernel, clock: fx.clock, caller, ordinal, signal });
    const whole = {
      id: `e${ordinal}`,
      type: "t",
      createdAt: new Date(0),
      source: { kind: "agent", name: "x" },
      ...event,
    };
    if (operation === "request") return await runtime.request(target, whole as never, options);
    if (operation === "send") return await runtime.send(target, whole as never);
    if (operation === "spawn") return await runtime.spawn(target, options);
    return operation === "list" ? await runtime.list(options) : await runtime.catalog();
  },
};

beforeAll(async () => {
  await deployProfiles(fx.kernel, PROJECT, [profile("planner"), profile("reviewer"), profile("full")]);
  server = await fx.another({ ports: { agents } });
});
afterAll(() => server.close());

const send = (method: string, url: string, options: RequestOptions = {}) => fx.send(method, url, options, server);
const enqueue = (json: object, more: RequestOptions = {}) => send("POST", TURNS, { key: "operator", json, ...more });
const show = (turnId: string, key = "viewer") => send("GET", `${TURNS}/${turnId}`, { key });
const list = (query = "", key = "viewer") => send("GET", `${TURNS}${query}`, { key });
const stop = (turnId: string, json?: unknown) =>
  send("POST", `${TURNS}/${turnId}/stop`, { key: "operator", ...(json === undefined ? {} : { json }) });
const idsOf = (answer: Answer) => answer.body.turns.map((turn: { agent_turn_id: string }) => turn.agent_turn_id);
const runtime = (call: Awaited<ReturnType<typeof fx.held>>, operation: string, json: unknown, more: object = {}) =>
  send("POST", `/projects/${PROJECT}/calls/${call.tool_call_id}/runtime/${operation}`, {
    key: "executor",
    headers: { "cg-report-capability": call.opened.capability },
    json,
    ...more,
  });

describe("asking for a turn", () => {
  it("by an agent's name is answered 202 with its id once it is committed, and the input is its instruction", async () => {
    const answer = await enqueue({ agent: "planner", input: "hello", channel_id: "c1" });
    expect(answer.status, answer.text).toBe(202);
    const { agent_turn_id, agent_id } = answer.body;
    expect(answer.body).toEqual({ agent_turn_id, agent_id: agentIdOf(PROJECT, "planner"), status: "queued" });
    const turn = await fx.kernel.reads.turn(PROJECT, agent_turn_id);
    expect(turn).toMatchObject({ agent_id, channel_id: "c1", recursion_depth: 0 });
    const cards = await fx.kernel.reads.boxCards(PROJECT, String(turn?.context_box_id));
    expect(cards.map(({ type, content }) => [type, content])).toEqual([["task.instruction", { text: "hello" }]]);
  });

  it("by an instance key or by agent_id reaches that agent", async () => {
    const byKey = await enqueue({ agent: "planner", instance_key: "ann", input: "x" });
    expect(byKey.body.agent_id).toBe(agentIdOf(PROJECT, "planner", "ann"));
    const byId = await enqueue({ agent_id: byKey.body.agent_id, input: "y" });
    expect(byId).toMatchObject({ status: 202, body: { agent_id: byKey.body.agent_id } });
  });

  it("H13: again with the same Idempotency-Key is the same turn, and another request with it a conflict", async () => {
    const headers = { "idempotency-key": "k1" };
    const first = await enqueue({ agent: "planner", input: "once" }, { headers });
    expect(first.status, first.text).toBe(202);
    const again = await enqueue({ agent: "planner", input: "once" }, { headers });
    expect(again).toMatchObject({ status: 200, body: { agent_turn_id: first.body.agent_turn_id } });
    const before = await fx.everything();
    for (const other of [
      { agent: "planner", input: "twice" },
      { agent: "planner", input: "once", channel_id: "c2" },
      { agent: "planner", input: "once", is_fresh: true },
      { agent: "planner", input: "once", instance_key: "ann" },
    ]) {
      const answer = await enqueue(other, { headers });
      expect(answer, answer.text).toMatchObject({ status: 409, body: { error_code: "conflict" } });
    }
    expect(await fx.everything()).toBe(before);
  });

  it("as a fresh start begins the conversation with it, and is the same turn when it is asked for so again", async () => {
    const headers = { "idempotency-key": "fresh" };
    const order = { agent: "planner", instance_key: "fresh", input: "anew", is_fresh: true };
    const { agent_turn_id } = (await enqueue(order, { headers })).body;
    expect(await fx.kernel.reads.turn(PROJECT, agent_turn_id)).toMatchObject({ is_fresh: true });
    expect(await enqueue(order, { headers })).toMatchObject({ status: 200, body: { agent_turn_id } });
    expect((await enqueue({ ...order, is_fresh: false }, { headers })).status).toBe(409);
  });

  it("H20: of an agent that is not defined is 404, of one whose queue is full 429", async () => {
    const nobody = await enqueue({ agent: "nobody", input: "x" });
    expect(nobody).toMatchObject({ status: 404, body: { error_code: "agent_not_found" } });
    expect(nobody.body.error_message).toContain("planner");
    const unknown = await enqueue({ agent_id: "agent_none", input: "x" });
    expect(unknown).toMatchObject({ status: 404, body: { error_code: "agent_not_found" } });
    const { agent_id } = (await enqueue({ agent: "full", input: "x" })).body;
    await fx.store.database.query("update state.agent_state_head set queue_length = 10000 where agent_id = $1", [
      agent_id,
    ]);
    const full = await enqueue({ agent: "full", input: "x" });
    expect(full).toMatchObject({ status: 429, body: { error_code: "backlog_full" } });
  });

  it.each<[string, object]>([
    ["no agent", { input: "x" }],
    ["two agents", { agent: "planner", agent_id: "a", input: "x" }],
    ["no input", { agent: "planner" }],
    ["an input that is no text", { agent: "planner", input: { text: "x" } }],
    ["a field that is not known", { agent: "planner", input: "x", depth: 0 }],
    ["a channel that is no id", { agent: "planner", input: "x", channel_id: "a.b" }],
    ["an agent_id that is none", { agent_id: "../x", input: "x" }],
    ["an instance key that is none", { agent: "planner", instance_key: "a b", input: "x" }],
    ["an instance key with agent_id", { agent_id: agentIdOf(PROJECT, "planner"), instance_key: "a", input: "x" }],
    ["a NUL in the input", { agent: "planner", input: "a\u0000b" }],
  ])("with %s is refused, and nothing is written", async (_, json) => {
    const before = await fx.everything();
    const answer = await enqueue(json);
    expect(answer.status, answer.text).toBe(400);
    expect(await fx.everything()).toBe(before);
  });

  it("with an Idempotency-Key that is too long is refused", async () => {
    const answer = await enqueue({ agent: "planner", input: "x" }, { headers: { "idempotency-key": "k".repeat(257) } });
    expect(answer).toMatchObject({ status: 400, body: { error_code: "bad_request" } });
  });

  it("of a process that serves no agents is answered 501", async () => {
    const answer = await fx.send("POST", TURNS, { key: "operator", json: { agent: "planner", input: "x" } });
    expect(answer).toMatchObject({ status: 501, body: { error_code: "not_implemented" } });
  });
});

describe("one turn", () => {
  it("that no worker has taken says so, and the next one of its agent says what it waits for", async () => {
    const first = (await enqueue({ agent: "reviewer", instance_key: "why", input: "1" })).body.agent_turn_id;
    const second = (await enqueue({ agent: "reviewer", instance_key: "why", input: "2" })).body.agent_turn_id;
    const open = { deliverable: null, calls: [], ended_at: null };
    expect((await show(first)).body).toMatchObject({
      ...open,
      status: "dispatched",
      why: `no worker of ${WORKER_TARGET_DEFAULT} has taken it yet`,
      agent_name: "reviewer",
      instance_key: "why",
      waiting_for: [{ code: "no_worker", target: WORKER_TARGET_DEFAULT }],
      steps: [],
      children: [],
    });
    expect((await show(second)).body).toMatchObject({
      ...open,
      status: "queued",
      why: `its agent works on another turn first: ${first}`,
      waiting_for: [{ code: "queued_behind", agent_turn_ids: [first] }],
    });
  });

  it("says what it was asked, whole, and its place in the conversation once it is dispatched", async () => {
    const input = `${"a".repeat(999)}\u{1f600} and more`;
    const order = { agent: "reviewer", instance_key: "asked", input };
    const [first, fresh, queued] = [
      (await enqueue(order)).body.agent_turn_id,
      (await enqueue({ ...order, is_fresh: true })).body.agent_turn_id,
      (await enqueue(order)).body.agent_turn_id,
    ];
    await stop(first);
    expect((await show(first)).body).toMatchObject({ input, turn_number: 1, conversation_from: 1 });
    expect((await show(fresh)).body).toMatchObject({ input, turn_number: 2, conversation_from: 2 });
    expect((await show(queued)).body).toMatchObject({ input, turn_number: null, conversation_from: null });
  });

  it("that asked nothing in words has no input, and one with a context of its own the newest instruction in it", async () => {
    const [call] = await fx.suspended();
    expect((await show(call?.agent_turn_id ?? "")).body.input).toBeNull();
    const handed = ["older", "newest"].map((text) => ({
      ...{ card_id: fx.ids.mint("card"), type: "task.instruction", author_id: "sys.test", content: { text } },
    }));
    for (const card of handed) await fx.kernel.putCard({ project_id: PROJECT, ...card });
    const context_box_id = fx.ids.mint("box");
    await fx.kernel.putBox({
      project_id: PROJECT,
      box_id: context_box_id,
      card_ids: handed.map((card) => card.card_id),
    });
    const agent_id = (await enqueue({ agent: "reviewer", instance_key: "handed", input: "x" })).body.agent_id;
    const asked = await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id, context_box_id });
    if (asked.outcome === "rejected") throw new Error(asked.code);
    expect((await show(asked.agent_turn_id)).body.input).toBe("newest");
  });

  it("that is suspended shows its calls, each with what it waits for", async () => {
    const [taken, free] = await fx.suspended([{}, {}]);
    await fx.send("POST", `/projects/${PROJECT}/calls/${taken?.tool_call_id}/open`, {
      key: "executor",
      json: { executor: "py-1" },
    });
    const { body } = await show(taken?.agent_turn_id ?? "");
    expect(body).toMatchObject({
      status: "suspended",
      why: "it waits for 2 calls: 1 at an executor, 1 that no executor has taken",
      waiting_for: [
        { code: "executor", tool_call_id: taken?.tool_call_id, executor: "py-1", target: "echo" },
        { code: "no_executor", tool_call_id: free?.tool_call_id, tool_name: "echo__run", target: "echo" },
      ],
      agent_name: null,
      steps: [{ step_id: taken?.step_id, status: "waiting" }],
    });
    expect(body.calls.map((call: { tool_call_id: string }) => call.tool_call_id)).toEqual([
      taken?.tool_call_id,
      free?.tool_call_id,
    ]);
    expect(body.calls[0]).toMatchObject({
      wait_status: "waiting",
      why: expect.stringMatching(/^py-1 is at work on echo__run, until /),
    });
    expect(body.calls[1].why).toMatch(/^no executor of echo has taken echo__run, until /);
  });

  it("that has ended shows its status, its deliverable and how its calls went, and waits for nothing", async () => {
    const call = await fx.held();
    await fx.about(call, "report", { status: "success", result: { n: 1 } });
    const { agent_id, agent_turn_id } = call;
    const worker_id = fx.ids.mint("worker");
    await fx.kernel.renewWorker({ worker_id, worker_target: "workers" });
    const held = await fx.kernel.resume({ project_id: PROJECT, agent_id, worker_id });
    if (held.outcome !== "accepted") throw new Error(JSON.stringify(held));
    const { turn_epoch } = held;
    const deliverable = { card_id: fx.ids.mint("card"), content: { text: "done" } };
    await fx.kernel.finishTurn({
      project_id: PROJECT,
      agent_id,
      agent_turn_id,
      turn_epoch,
      status: "success",
      deliverable,
    });
    const { body } = await show(agent_turn_id);
    expect(body).toMatchObject({ status: "success", deliverable: { card_id: deliverable.card_id, text: "done" } });
    expect(body.calls[0]).toMatchObject({ wait_status: "applied", result_status: "success" });
    expect(body).not.toHaveProperty("why");
    expect(body.calls[0]).not.toHaveProperty("why");
  });

  it("that does not exist, or is another project's, is 404", async () => {
    const { agent_turn_id } = (await enqueue({ agent: "planner", input: "x" })).body;
    expect(await show("turn_none")).toMatchObject({ status: 404, body: { error_code: "not_found" } });
    const foreign = await send("GET", `/projects/${OTHER}/turns/${agent_turn_id}`, { key: "admin" });
    expect(foreign).toMatchObject({ status: 404, body: { error_code: "not_found" } });
  });
});

describe("the list of turns", () => {
  const agent_id = agentIdOf(PROJECT, "planner", "list");
  const made: string[] = [];
  beforeAll(async () => {
    for (let n = 0; n < 5; n += 1) {
      made.push((await enqueue({ agent: "planner", instance_key: "list", input: String(n) })).body.agent_turn_id);
    }
  });

  it("comes in pages, newest first, without a gap and without an end that lies", async () => {
    const pages: string[][] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const answer = await list(`?agent_id=${agent_id}&limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`);
      expect(answer.status, answer.text).toBe(200);
      pages.push(idsOf(answer));
      cursor = answer.body.next_cursor;
    }
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat()).toEqual(made.toReversed());
  });

  it("says what each was asked, cut at 1,000 characters, with one read for the whole page", async () => {
    const { body } = await list(`?agent_id=${agent_id}`);
    const rows = body.turns.map(({ input, turn_number }: Record<string, unknown>) => [input, turn_number]);
    expect(rows).toEqual([
      ["4", null],
      ["3", null],
      ["2", null],
      ["1", null],
      ["0", 1],
    ]);
    const long = { agent: "planner", instance_key: "long", input: `${"a".repeat(999)}\u{1f600}b` };
    await enqueue(long);
    const reads = vi.spyOn(fx.kernel.reads, "instructions");
    const page = await list(`?agent_id=${agentIdOf(PROJECT, "planner", "long")}`);
    expect(page.body.turns[0].input).toBe(`${"a".repeat(999)}\u{1f600}`);
    expect((await list("?limit=200")).body.turns.length).toBeGreaterThan(5);
    expect(reads).toHaveBeenCalledTimes(2);
    reads.mockRestore();
  });

  it("is filtered by status, also by what an active turn does at the moment", async () => {
    expect(idsOf(await list(`?agent_id=${agent_id}&status=queued`))).toEqual(made.slice(1).toReversed());
    for (const status of ["active", "dispatched"]) {
      expect(idsOf(await list(`?agent_id=${agent_id}&status=${status}`))).toEqual([made[0]]);
    }
    const [call] = await fx.suspended();
    const suspended = await list("?status=suspended&limit=1");
    expect(idsOf(suspended)).toEqual([call?.agent_turn_id]);
    const dispatched = await list("?status=dispatched&limit=200");
    expect(idsOf(dispatched)).not.toContain(call?.agent_turn_id);
    expect(new Set(dispatched.body.turns.map((turn: { status: string }) => turn.status))).toEqual(
      new Set(["dispatched"]),
    );
  });

  it("is filtered by the turn that asked for them, in pages", async () => {
    const [parent] = await fx.suspended();
    const children: string[] = [];
    for (const name of ["k1", "k2", "k3"]) {
      const child = agentIdOf(PROJECT, "reviewer", name);
      await fx.kernel.putAgent({ project_id: PROJECT, agent_id: child, worker_target: "nobody" });
      const asked = await fx.kernel.enqueueTurn({
        ...{ project_id: PROJECT, agent_id: child, parent_agent_turn_id: parent?.agent_turn_id ?? "" },
      });
      if (asked.outcome === "rejected") throw new Error(asked.code);
      children.unshift(asked.agent_turn_id);
    }
    const query = `?parent=${parent?.agent_turn_id}`;
    expect(idsOf(await list(query))).toEqual(children);
    const first = await list(`${query}&limit=2`);
    expect(idsOf(first)).toEqual(children.slice(0, 2));
    expect(idsOf(await list(`${query}&limit=2&cursor=${first.body.next_cursor}`))).toEqual(children.slice(2));
    expect((await list(`?cursor=${first.body.next_cursor}`)).status).toBe(400);
    expect(idsOf(await list(`${query}&status=success`))).toEqual([]);
    expect(idsOf(await list("?parent=turn_none"))).toEqual([]);
  });

  it("H11, H12: refuses a limit, a filter, a status and a cursor that mean nothing, and a cursor of another list", async () => {
    const { next_cursor } = (await list(`?agent_id=${agent_id}&limit=1`)).body;
    const swapped = next_cursor.startsWith("A") ? `B${next_cursor.slice(1)}` : `A${next_cursor.slice(1)}`;
    for (const query of [
      ...["limit=-1", "limit=0", "limit=201", "limit=1e9", "limit=NaN", "limit=007", "status=id;drop", "status=idle"],
      ...[
        "agent_id=a;drop",
        "agent_id=",
        "parent=a;drop",
        "sort=id",
        "cursor=x",
        `agent_id=${agent_id}&cursor=${swapped}`,
      ],
      `cursor=${next_cursor}`,
      `agent_id=${agent_id}&status=queued&cursor=${next_cursor}`,
    ]) {
      expect((await list(`?${query}`)).status, query).toBe(400);
    }
  });
});

describe("stopping a turn", () => {
  it("ends it as canceled, with the reason, once; H19: a finished one is 409, an unknown or foreign one 404", async () => {
    const { agent_turn_id } = (await enqueue({ agent: "planner", instance_key: "stop", input: "x" })).body;
    const foreign = await send("POST", `/projects/${OTHER}/turns/${agent_turn_id}/stop`, { key: "admin", json: {} });
    expect(foreign).toMatchObject({ status: 404, body: { error_code: "not_found" } });
    const stopped = await stop(agent_turn_id, { reason: "enough" });
    expect(stopped.body, stopped.text).toEqual({ agent_turn_id, status: "canceled", was: "dispatched" });
    expect((await show(agent_turn_id)).body).toMatchObject({ status: "canceled", error_message: "enough" });
    const again = await stop(agent_turn_id);
    expect(again).toMatchObject({
      status: 409,
      body: { error_code: "already_settled", error_detail: { status: "canceled" } },
    });
    expect(await stop("turn_none")).toMatchObject({ status: 404, body: { error_code: "not_found" } });
  });

  it("takes no body, or one that is closed", async () => {
    const { agent_turn_id } = (await enqueue({ agent: "planner", instance_key: "stop", input: "x" })).body;
    expect((await stop(agent_turn_id, { why: "x" })).status).toBe(400);
    expect((await stop(agent_turn_id)).status).toBe(200);
  });
});

describe("who may do what", () => {
  it.each<[string, number, number, number, number]>([
    ["viewer", 403, 200, 403, 403],
    ["operator", 400, 200, 404, 403],
    ["executor", 403, 403, 403, 400],
    ["admin", 400, 200, 404, 400],
  ])("%s: ask %i, look %i, stop %i, act for a call %i", async (key, ask, look, end, act) => {
    const statuses = [
      await send("POST", TURNS, { key, json: {} }),
      await list("", key),
      await send("POST", `${TURNS}/turn_none/stop`, { key, json: {} }),
      await send("POST", `/projects/${PROJECT}/calls/tc_none/runtime/list`, { key, json: {} }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([ask, look, end, act]);
  });

  it("a project that does not exist is 404 for an admin, too", async () => {
    const nowhere = "/projects/p9/turns";
    expect((await send("GET", nowhere, { key: "admin" })).status).toBe(404);
    const asked = await send("POST", nowhere, { key: "admin", json: { agent: "planner", input: "x" } });
    expect(asked).toMatchObject({ status: 404, body: { error_code: "not_found" } });
  });
});

describe("what an executor asks for its tool", () => {
  it("is done once for each ordinal, however often it is asked", async () => {
    const call = await fx.held();
    const order = { ordinal: 0, target: "reviewer", event: { input: "look" } };
    const first = await runtime(call, "send", order);
    expect(first.body, first.text).toEqual({ answer: { eventId: "e0", target: "reviewer", accepted: true } });
    expect((await runtime(call, "send", order)).status).toBe(200);
    expect(await fx.kernel.reads.childTurns(PROJECT, call.agent_turn_id)).toHaveLength(1);
    await fx.clock.advance(1); // children of one moment are listed by their ids
    await runtime(call, "send", { ...order, ordinal: 1 });
    expect(await fx.kernel.reads.childTurns(PROJECT, call.agent_turn_id)).toHaveLength(2);
    const { children, timeline } = (await show(call.agent_turn_id)).body;
    expect(children).toMatchObject([
      { agent_name: "reviewer", status: "dispatched" },
      { agent_name: "reviewer", status: "queued" },
    ]);
    const kinds = timeline.map(({ kind }: { kind: string }) => kind);
    expect(kinds[0]).toBe("turn.queued");
    expect(kinds).toEqual(expect.arrayContaining(["step", "call.made", "call.claimed", "child.queued"]));
  });

  it("spawn, list and catalog answer as ctx.runtime does", async () => {
    const call = await fx.held();
    const spawned = await runtime(call, "spawn", { ordinal: 0, target: "reviewer", options: { instanceKey: "mine" } });
    expect(spawned.body.answer, spawned.text).toEqual({ target: "reviewer", instanceKey: "mine", spawned: true });
    const listed = await runtime(call, "list", { ordinal: 1 });
    expect(listed.body.answer.agents).toMatchObject([{ target: "reviewer", instanceKey: "mine" }]);
    const { answer } = (await runtime(call, "catalog", { ordinal: 2 })).body;
    expect(answer.availableAgents).toEqual(["full", "planner", "reviewer"]);
  });

  it("needs the call's capability and its key, and a call that is open", async () => {
    const call = await fx.held();
    const order = { ordinal: 0, target: "reviewer", event: { input: "x" } };
    const before = await fx.everything();
    const forged = { headers: { "cg-report-capability": "0".repeat(64) } };
    expect((await runtime(call, "send", order, forged)).status).toBe(403);
    expect((await runtime(call, "send", order, { headers: {} })).status).toBe(403);
    expect((await runtime(call, "send", order, { key: "executor2" })).status).toBe(403);
    expect(await runtime({ ...call, tool_call_id: "tc_none" }, "send", order)).toMatchObject({ status: 404 });
    expect(await fx.everything()).toBe(before);
    await fx.about(call, "report", { status: "success", result: {} });
    expect(await runtime(call, "send", order)).toMatchObject({ status: 409, body: { error_code: "already_settled" } });
  });

  it("tells a tool's error by its own code", async () => {
    const call = await fx.held();
    const answer = await runtime(call, "request", { ordinal: 0, target: "nobody", event: { input: "x" } });
    expect(answer).toMatchObject({
      status: 400,
      body: { error_code: "bad_request", error_detail: { code: "AGENT_NOT_FOUND" } },
    });
    expect(answer.body.error_message).toContain("nobody");
  });

  it("tells a failure of ours by its code alone", async () => {
    const call = await fx.held();
    fault = new DatabaseError("connection_lost", "host 10.0.0.1 went away");
    const answer = await runtime(call, "catalog", { ordinal: 0 }).finally(() => {
      fault = null;
    });
    expect(answer).toMatchObject({ status: 503, body: { error_code: "storage_error" } });
    expect(answer.text).not.toContain("10.0.0.1");
  });

  it.each<[string, string, object, number]>([
    ["an operation that is none", "steal", { ordinal: 0 }, 404],
    ["no ordinal", "list", {}, 400],
    ["an ordinal below 0", "list", { ordinal: -1 }, 400],
    ["no target", "request", { ordinal: 0, event: { input: "x" } }, 400],
    ["an input that is no text", "send", { ordinal: 0, target: "reviewer", event: { input: 1 } }, 400],
    ["a field of the event that is not known", "send", { ordinal: 0, target: "reviewer", event: { depth: 1 } }, 400],
    ["an option that is not known", "list", { ordinal: 0, options: { all: true } }, 400],
    ["an instance key that is none", "send", { ordinal: 0, target: "reviewer", event: { instanceKey: "a b" } }, 400],
    ["a field that is not known", "list", { ordinal: 0, agent_id: "a" }, 400],
  ])("with %s is refused", async (_, operation, json, status) => {
    const call = await fx.held();
    const turns = (await fx.kernel.reads.childTurns(PROJECT, call.agent_turn_id)).length;
    const answer = await runtime(call, operation, json);
    expect(answer.status, answer.text).toBe(status);
    expect(await fx.kernel.reads.childTurns(PROJECT, call.agent_turn_id)).toHaveLength(turns);
  });
});

describe("a project that is switched off", () => {
  it("takes no turn and says why; one that was asked for before is still found", async () => {
    const headers = { "idempotency-key": "before" };
    const first = await enqueue({ agent: "planner", input: "early" }, { headers });
    await fx.kernel.putProject({ project_id: PROJECT, status: "inactive" });
    try {
      const refused = await enqueue({ agent: "planner", input: "late" });
      expect(refused).toMatchObject({
        status: 409,
        body: { error_message: expect.stringMatching(/project is inactive/) },
      });
      const again = await enqueue({ agent: "planner", input: "early" }, { headers });
      expect(again).toMatchObject({ status: 200, body: { agent_turn_id: first.body.agent_turn_id } });
    } finally {
      await fx.kernel.putProject({ project_id: PROJECT, status: "active" });
    }
  });
});
