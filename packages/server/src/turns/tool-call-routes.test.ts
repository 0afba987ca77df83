// A tool call over HTTP: committed first, awaited then, the same for the same Idempotency-Key.

import { waitFor } from "@tessera/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { OTHER, PROJECT, SUBJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";

const fx = useManagement();
const CALL = `/projects/${PROJECT}/tools/echo:call`;
const call = (json: unknown, headers = {}, key = "operator") => fx.post(CALL, json, key, headers);
const success = { status: "success", result: { said: "hi" }, error: null } as const;

beforeAll(async () => {
  await fx.kernel.putTool({
    project_id: PROJECT,
    tool_name: "echo",
    target_subject: SUBJECT,
    after_execution: "suspend",
  });
});

describe("calling a tool", () => {
  it("answers 202 at once when nothing is waited for; the turn is there", async () => {
    const answer = await call({ arguments: { text: "hi" }, wait_seconds: 0, channel_id: "lab" });
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ status: "waiting", why: expect.stringContaining("worker") });
    const turn = await fx.kernel.reads.turn(PROJECT, answer.body.agent_turn_id);
    expect(turn).toMatchObject({
      channel_id: "lab",
      runtime_config: { tool_call: { name: "echo", arguments: { text: "hi" } } },
    });
  });

  it("waits for the result and answers it", async () => {
    const asked = call({ agent_id: "caller1" });
    await waitFor(() => fx.kernel.reads.head(PROJECT, "caller1"), { what: "the turn" });
    await fx.endCall("caller1", success);
    expect(await fx.answered(asked)).toMatchObject({ status: 200, body: { agent_id: "caller1", ...success } });
  });

  it("answers 200 for a tool that failed, with its error", async () => {
    const headers = { "idempotency-key": "fails" };
    const { agent_id } = (await call({ wait_seconds: 0 }, headers)).body;
    const error = { code: "bad_request", message: "no" };
    await fx.endCall(agent_id, { status: "failed", result: null, error });
    expect(await call({ wait_seconds: 0 }, headers)).toMatchObject({ status: 200, body: { status: "failed", error } });
  });

  it("says why a turn ended that was stopped", async () => {
    const headers = { "idempotency-key": "stopped" };
    const { agent_turn_id } = (await call({ wait_seconds: 0 }, headers)).body;
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id });
    const answer = await call({ wait_seconds: 0 }, headers);
    expect(answer).toMatchObject({ status: 200, body: { status: "canceled", error: { code: "canceled" } } });
  });

  it("gives up after wait_seconds, and the turn goes on", async () => {
    const asked = call({ wait_seconds: 1, agent_id: "slow" });
    expect((await fx.answered(asked)).status).toBe(202);
    expect(await fx.kernel.reads.turn(PROJECT, (await asked).body.agent_turn_id)).toMatchObject({ ended_at: null });
  });

  it("is answered at once by a server that closes", async () => {
    const closing = await fx.another();
    const asked = fx.send("POST", CALL, { key: "operator", json: { agent_id: "cut" } }, closing);
    const isWaiting = async () => (await fx.kernel.reads.head(PROJECT, "cut")) !== null && fx.clock.pending > 0;
    await waitFor(isWaiting, { what: "the request to wait" });
    await closing.close();
    expect((await asked).status).toBe(202);
  });
});

describe("an Idempotency-Key", () => {
  it("makes the same request the same call", async () => {
    const headers = { "idempotency-key": "k1" };
    const first = await call({ arguments: { a: 1, b: [2] }, wait_seconds: 0 }, headers);
    const again = await call({ arguments: { b: [2], a: 1 }, wait_seconds: 0 }, headers);
    expect(again.body).toEqual(first.body);
  });

  it("is refused for another channel", async () => {
    const headers = { "idempotency-key": "k3" };
    expect((await call({ channel_id: "lab", wait_seconds: 0 }, headers)).status).toBe(202);
    expect((await call({ channel_id: "lab", wait_seconds: 0 }, headers)).status).toBe(202);
    expect((await call({ wait_seconds: 0 }, headers)).status).toBe(409);
  });

  it("is refused for other arguments", async () => {
    const headers = { "idempotency-key": "k2" };
    const first = await call({ arguments: { a: 1 }, wait_seconds: 0 }, headers);
    const other = await call({ arguments: { a: 2 }, wait_seconds: 0 }, headers);
    expect([other.status, other.body.error_detail]).toEqual([
      409,
      { field: "Idempotency-Key", agent_turn_id: first.body.agent_turn_id },
    ]);
  });
});

describe("what is refused", () => {
  it.each([
    ["arguments", { arguments: [] }],
    ["channel_id", { channel_id: "a.b" }],
    ["agent_id", { agent_id: "" }],
    ["wait_seconds", { wait_seconds: 31 }],
    ["wait_seconds", { wait_seconds: -1 }],
    ["args", { args: {} }],
  ])("names %s when it does not fit", async (field, json) => {
    const answer = await call(json);
    expect([answer.status, answer.body.error_detail.field]).toEqual([400, field]);
  });

  it("names an Idempotency-Key that is too long", async () => {
    const answer = await call({}, { "idempotency-key": "k".repeat(257) });
    expect([answer.status, answer.body.error_detail]).toEqual([400, { field: "Idempotency-Key" }]);
  });

  it("answers 404 for a tool that is not there, of another project, or internal", async () => {
    await fx.kernel.putTool({
      ...{ project_id: OTHER, tool_name: "far", after_execution: "suspend" },
      target_subject: "cg.v1r4.p2.public.cmd.tool.echo.run",
    });
    for (const tool of ["none", "far", "fork_join"]) {
      const answer = await fx.post(`/projects/${PROJECT}/tools/${tool}:call`, {});
      expect([answer.status, answer.body.error_detail]).toEqual([404, { field: "tool_name" }]);
    }
  });

  it("answers 403 to a viewer and 501 in a process that takes no calls", async () => {
    expect((await call({}, {}, "viewer")).status).toBe(403);
    const bare = await fx.another({ ports: {} });
    try {
      expect((await fx.send("POST", CALL, { key: "operator", json: {} }, bare)).status).toBe(501);
    } finally {
      await bare.close();
    }
  });

  it("takes the same places as an executor that waits for work", async () => {
    const narrow = await fx.another({ limits: { longPollsMax: 1 } });
    const claim = (wait_ms: number) =>
      fx.send("POST", `/projects/${PROJECT}/executors/echo/claim`, { key: "executor", json: { wait_ms } }, narrow);
    try {
      const waiting = fx.send("POST", CALL, { key: "operator", json: { agent_id: "placed" } }, narrow);
      const isWaiting = async () => (await fx.kernel.reads.head(PROJECT, "placed")) !== null && fx.clock.pending > 0;
      await waitFor(isWaiting, { what: "the call to wait" });
      expect((await claim(1_000)).status).toBe(429);
      expect((await claim(0)).status).toBe(200);
      await fx.endCall("placed", success);
      expect((await fx.answered(waiting)).status).toBe(200);
      expect((await fx.answered(claim(1))).status).toBe(200);
    } finally {
      await narrow.close();
    }
  });

  it("lets one key wait only so often at the same time, and frees the place afterwards", async () => {
    const narrow = await fx.another({ limits: { longPollsPerKeyMax: 1 } });
    const send = (json: unknown) => fx.send("POST", CALL, { key: "operator", json }, narrow);
    try {
      const waiting = send({ agent_id: "waiter" });
      const isWaiting = async () => (await fx.kernel.reads.head(PROJECT, "waiter")) !== null && fx.clock.pending > 0;
      await waitFor(isWaiting, { what: "the first request to wait" });
      const before = (await fx.kernel.reads.turns(PROJECT)).length;
      const second = await send({});
      expect([second.status, second.body.error_code]).toEqual([429, "rate_limited"]);
      expect(await fx.kernel.reads.turns(PROJECT)).toHaveLength(before);
      expect((await send({ wait_seconds: 0 })).status).toBe(202);
      await fx.endCall("waiter", success);
      expect((await fx.answered(waiting)).status).toBe(200);
      const third = send({ wait_seconds: 0.001 });
      expect((await fx.answered(third)).status).toBe(202);
    } finally {
      await narrow.close();
    }
  });
});
