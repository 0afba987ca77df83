// God over HTTP: not there without the switch, five tools, stops that name both the agent and the turn.

import { waitFor } from "@tessera/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";

const fx = useManagement();
const GOD = `/projects/${PROJECT}/god`;
const SUBJECT = "cg.v1r4.p1.public.cmd.sys.pmo.internal.provision_agent";
const call = (json: unknown, tool = "provision_agent", key = "admin1") => fx.post(`${GOD}/pmo/${tool}:call`, json, key);
const stop = (json: unknown, key = "admin1") => fx.post(`${GOD}/stop`, json, key);

beforeAll(async () => {
  await fx.kernel.putAgent({ project_id: PROJECT, agent_id: "boss", worker_target: "w" });
  await fx.kernel.putAgent({ project_id: OTHER, agent_id: "far", worker_target: "w" });
});

/** Makes the call of the turn that was just asked for, settles it as the PMO would, and ends the turn. */
async function serve(result: Record<string, unknown>): Promise<void> {
  const newest = async () => {
    const agents = await fx.kernel.reads.agents(PROJECT, { worker_target: "callers" });
    return agents.map((agent) => String(agent.agent_id)).at(-1) ?? null;
  };
  const agentId = await waitFor(newest, { what: "the turn" });
  const hold = await fx.take(agentId);
  const tool_call_id = fx.ids.mint("tc");
  const step_id = fx.ids.mint("step");
  const step = await fx.kernel.suspendOnCalls({
    ...hold,
    ...{ step_id, thought: { content: { text: "" } } },
    calls: [
      { tool_call_id, tool_name: "provision_agent", arguments: {}, target_subject: SUBJECT, author_id: "sys.pmo" },
    ],
  });
  if (step.outcome === "rejected") throw new Error(step.code);
  const ticket = step.calls[0]?.ticket ?? "";
  const opened = await fx.kernel.openCall({ project_id: PROJECT, tool_call_id, ticket, executor: "pmo" });
  if (opened.outcome === "rejected") throw new Error(opened.code);
  const content = { status: "success", after_execution: "suspend", result, error: null };
  const { capability } = opened;
  await fx.kernel.report({
    project_id: PROJECT,
    tool_call_id,
    capability,
    card_id: fx.ids.mint("card"),
    content,
  } as never);
  const again = await fx.take(agentId);
  await fx.kernel.finishTurn({ ...again, status: "success" });
}

describe("without the switch", () => {
  it("is answered exactly like a path that does not exist", async () => {
    const bare = await fx.another({ ports: { ...fx.ports(), isGodEnabled: false } });
    try {
      const send = async (path: string) => {
        const { status, body } = await fx.send("POST", path, { key: "admin1", json: {} }, bare);
        const { request_id, ...rest } = body;
        return { status, rest };
      };
      const unknown = await send(`/projects/${PROJECT}/devil/stop`);
      expect(unknown.status).toBe(404);
      expect(await send(`${GOD}/stop`)).toEqual(unknown);
      expect(await send(`${GOD}/pmo/fork_join:call`)).toEqual(unknown);
    } finally {
      await bare.close();
    }
  });
});

describe("calling an internal tool in an agent's name", () => {
  it("answers the result with the ids of the call", async () => {
    const asked = call({ caller_agent_id: "boss", args: { action: "create", agent_id: "n1" } });
    await serve({ status: "accepted", agent_id: "n1" });
    const answer = await fx.answered(asked);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      status: "ok",
      tool_call_id: expect.stringMatching(/^tc_/),
      step_id: expect.stringMatching(/^step_/),
      tool_result: { status: "success", result: { status: "accepted", agent_id: "n1" } },
    });
    const [card] = await fx.kernel.reads.cards(PROJECT, [answer.body.tool_result_card_id]);
    expect(card?.content).toEqual(answer.body.tool_result);
  });

  it("is in the trace of its caller, and refuses two that differ", async () => {
    const trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    const headers = { traceparent: `00-${trace_id}-00f067aa0ba902b7-01` };
    const path = `${GOD}/pmo/provision_agent:call`;
    const send = (json: object) => fx.send("POST", path, { key: "admin1", headers, json });
    const other = await send({ caller_agent_id: "boss", trace_id: "a".repeat(32) });
    expect([other.status, other.body.error_code]).toEqual([400, "protocol_violation"]);
    const asked = send({ caller_agent_id: "boss", timeout_seconds: 1, trace_id });
    const { body } = await fx.answered(asked);
    expect(await fx.kernel.reads.turn(PROJECT, body.error_detail.agent_turn_id)).toMatchObject({ trace_id });
  });

  it("answers 400 tool_timeout when it takes too long, and says which turn goes on", async () => {
    const asked = call({ caller_agent_id: "boss", timeout_seconds: 1 });
    const answer = await fx.answered(asked);
    expect([answer.status, answer.body.error_code]).toEqual([400, "tool_timeout"]);
    const turn = await fx.kernel.reads.turn(PROJECT, answer.body.error_detail.agent_turn_id);
    expect(turn).toMatchObject({ ended_at: null });
  });

  it("answers 503 shutting_down when the server closes meanwhile, and says which turn goes on", async () => {
    const closing = await fx.another();
    const before = await fx.kernel.reads.turns(PROJECT);
    const json = { caller_agent_id: "boss" };
    const asked = fx.send("POST", `${GOD}/pmo/provision_agent:call`, { key: "admin1", json }, closing);
    const isWaiting = async () => (await fx.kernel.reads.turns(PROJECT)).length > before.length && fx.clock.pending > 0;
    await waitFor(isWaiting, { what: "the request to wait" });
    await closing.close();
    const { status, body, headers } = await asked;
    expect([status, body.error_code, headers["retry-after"]]).toEqual([503, "shutting_down", "1"]);
    const { agent_turn_id } = body.error_detail;
    expect(await fx.kernel.reads.turn(PROJECT, agent_turn_id)).toMatchObject({ ended_at: null });
    const notes = (await fx.kernel.reads.audit(PROJECT)).filter((row) => row.agent_turn_id === agent_turn_id);
    expect(notes).toMatchObject([{ kind: "api.godCallPmo", code: "ok" }]);
  });

  it("notes what was committed for the audit, also when the request no longer waits for its end", async () => {
    const answer = await fx.answered(call({ caller_agent_id: "boss", timeout_seconds: 1 }));
    expect(answer.status).toBe(400);
    const { agent_turn_id } = answer.body.error_detail;
    const noted = async () =>
      (await fx.kernel.reads.audit(PROJECT)).find((row) => row.agent_turn_id === agent_turn_id) ?? null;
    expect(await waitFor(noted, { what: "the note" })).toMatchObject({
      ...{ kind: "api.godCallPmo", code: "ok", principal: fx.keyIds.admin1 },
      detail: { tool: "provision_agent" },
    });
  });

  it.each([
    [400, "caller_agent_id", {}],
    [400, "timeout_seconds", { caller_agent_id: "boss", timeout_seconds: 0 }],
    [400, "timeout_seconds", { caller_agent_id: "boss", timeout_seconds: 601 }],
    [400, "after_execution", { caller_agent_id: "boss", after_execution: "yes" }],
    [400, "args", { caller_agent_id: "boss", args: [] }],
    [400, "trace_id", { caller_agent_id: "boss", trace_id: "x" }],
    [400, "evil", { caller_agent_id: "boss", evil: 1 }],
    [404, "caller_agent_id", { caller_agent_id: "nobody" }],
    [404, "caller_agent_id", { caller_agent_id: "far" }],
  ])("answers %i and names %s", async (status, field, json) => {
    const answer = await call(json);
    expect([answer.status, answer.body.error_detail.field]).toEqual([status, field]);
  });

  it("knows the five internal tools and no others", async () => {
    for (const tool of ["submit_result", "echo", "Fork_Join"]) {
      const answer = await call({ caller_agent_id: "boss" }, tool);
      expect([answer.status, answer.body.error_code]).toEqual([404, "unsupported_pmo_route"]);
    }
  });

  it("is for administrators of the project", async () => {
    expect((await call({ caller_agent_id: "boss" }, "fork_join", "operator")).status).toBe(403);
    expect((await fx.post(`/projects/${OTHER}/god/stop`, {}, "admin1")).status).toBe(404);
  });
});

describe("stopping a turn as an administrator", () => {
  async function turn() {
    const [made] = await fx.suspended();
    if (made === undefined) throw new Error("no turn");
    return { agent_id: made.agent_id, agent_turn_id: made.agent_turn_id };
  }

  it("ends it with the reason; the second time it has ended", async () => {
    const wanted = await turn();
    const answer = await stop({ ...wanted, target: "worker_generic", channel_id: "public" });
    expect([answer.status, answer.body]).toEqual([200, { status: "ok" }]);
    const ended = await fx.kernel.reads.turn(PROJECT, wanted.agent_turn_id);
    expect(ended).toMatchObject({ status: "canceled", error_message: "admin_intervention" });
    expect((await stop(wanted)).body).toMatchObject({ status: 409, error_code: "already_settled" });
  });

  it("refuses a turn of another agent or channel, and leaves it running", async () => {
    const [one, two] = [await turn(), await turn()];
    const mixed = await stop({ agent_id: one.agent_id, agent_turn_id: two.agent_turn_id });
    expect([mixed.status, mixed.body.error_detail]).toEqual([409, { field: "agent_id" }]);
    expect((await stop({ ...one, channel_id: "elsewhere" })).status).toBe(409);
    expect(await fx.kernel.reads.turn(PROJECT, two.agent_turn_id)).toMatchObject({ ended_at: null });
  });

  it.each([
    [400, "agent_id", { agent_turn_id: "t" }],
    [400, "agent_turn_id", { agent_id: "boss" }],
    [400, "evil", { agent_id: "boss", agent_turn_id: "t", evil: 1 }],
    [404, "agent_id", { agent_id: "nobody", agent_turn_id: "t" }],
    [404, "agent_turn_id", { agent_id: "boss", agent_turn_id: "t" }],
  ])("answers %i and names %s", async (status, field, json) => {
    const answer = await stop(json);
    expect([answer.status, answer.body.error_detail.field]).toEqual([status, field]);
  });
});
