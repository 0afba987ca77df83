// The executor edge: claim, open, heartbeat, result-card, report.

import type { Bus } from "@tessera/kernel";
import { waitFor } from "@tessera/testkit";
import { beforeEach, describe, expect, it } from "vitest";
import { OTHER, PROJECT, useServer } from "../../test/fixture.ts";
import type { ServerOptions } from "../index.ts";

const fx = useServer();
const CLAIM = `/projects/${PROJECT}/executors/echo/claim`;
const claim = (json: object = {}, key = "executor") => fx.send("POST", CLAIM, { key, json });
const open = (callId: string, options: Parameters<typeof fx.send>[2] = {}) =>
  fx.send("POST", `/projects/${PROJECT}/calls/${callId}/open`, { key: "executor", json: {}, ...options });

const CALL_FIELDS = [
  "after_execution",
  "arguments",
  "attempt",
  "caller",
  "capability",
  "deadline_at",
  "definition",
  "effect",
  "headers",
  "idempotency_key",
  "lease_expires_at",
  "message",
  "mode",
  "tool_call_card_id",
  "tool_call_id",
  "tool_name",
];

/** A server whose looks for calls are counted: after the first one, a claim waits. */
async function waitingServer(options: Partial<ServerOptions> = {}) {
  const seen = { looks: 0 };
  const claimCalls = async (request: Parameters<typeof fx.kernel.claimCalls>[0]) => {
    const calls = await fx.kernel.claimCalls(request);
    seen.looks += 1;
    return calls;
  };
  const server = await fx.another({ kernel: { ...fx.kernel, claimCalls }, ...options });
  return {
    server,
    claim: (
      wait_ms = 30_000,
      { key = "executor", project = PROJECT, ...json }: { key?: string; project?: string; claim_id?: string } = {},
    ) => fx.send("POST", CLAIM.replace(PROJECT, project), { key, json: { wait_ms, ...json } }, server),
    waits: () => waitFor(() => seen.looks > 0, { what: "a claim that waits" }),
    looks: () => seen.looks,
  };
}

// What one test leaves waiting would be claimed by the next.
beforeEach(async () => {
  while ((await claim({ max: 32 })).body.calls.length > 0);
});

describe("claim", () => {
  it("gives the calls of the target, oldest first, with everything that running them needs", async () => {
    const calls = await fx.suspended([{}, { target_subject: "cg.v1r4.p1.public.cmd.tool.search.web" }, {}]);
    const answer = await claim({ max: 32, executor: "py-1" });
    expect(answer.status).toBe(200);
    const ids = answer.body.calls.map((call: { tool_call_id: string }) => call.tool_call_id);
    expect(ids).toEqual([calls[0]?.tool_call_id, calls[2]?.tool_call_id]);
    const [call] = answer.body.calls;
    expect(Object.keys(call).sort()).toEqual(CALL_FIELDS);
    expect(call).toMatchObject({ tool_name: "echo__run", arguments: { text: "hello" }, attempt: 1, mode: "run" });
    expect(call.caller).toEqual({});
    expect(call.capability).toMatch(/^[0-9a-f]{64}$/);
    expect(call.headers).toMatchObject({
      "CG-Project-Id": PROJECT,
      "CG-Tool-Call-Id": call.tool_call_id,
      "CG-Agent-Id": calls[0]?.agent_id,
      "CG-Turn-Id": calls[0]?.agent_turn_id,
      "CG-Version": "v1r4",
    });
    expect(call.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(JSON.stringify(call.headers)).not.toMatch(/ticket|capability/i);
    const row = await fx.kernel.reads.call(PROJECT, call.tool_call_id);
    expect(row?.claimed_by).toBe("py-1");
  });

  it("answers an empty list at once when nothing waits, and names the executor after its key when it does not say", async () => {
    expect((await claim()).body).toEqual({ calls: [] });
    const [call] = await fx.suspended();
    expect((await claim()).body.calls).toHaveLength(1);
    expect((await fx.kernel.reads.call(PROJECT, call?.tool_call_id ?? ""))?.claimed_by).toBe(fx.keyIds.executor);
  });

  it("may be asked by an admin for any target", async () => {
    await fx.suspended([{ target_subject: "cg.v1r4.p1.public.cmd.tool.other.run" }]);
    const answer = await fx.send("POST", `/projects/${PROJECT}/executors/other/claim`, { key: "admin", json: {} });
    expect(answer.body.calls).toHaveLength(1);
  });

  it("that waits is woken by the bus, without time passing", async () => {
    const edge = await waitingServer();
    const waiting = edge.claim();
    await edge.waits();
    const [call] = await fx.suspended();
    const answer = await waiting;
    expect(answer.body.calls.map((one: { tool_call_id: string }) => one.tool_call_id)).toEqual([call?.tool_call_id]);
    await edge.server.close();
  });

  it("that waits finds by looking what the bus sent no signal for", async () => {
    const deaf: Bus = {
      ...fx.bus,
      capabilities: fx.bus.capabilities,
      subscribe: () => Promise.reject(new Error("away")),
    };
    const edge = await waitingServer({ bus: deaf });
    const waiting = edge.claim();
    await edge.waits();
    await fx.suspended();
    await fx.clock.advance(1_000);
    expect((await waiting).body.calls).toHaveLength(1);
    expect(fx.warnings.at(-1)).toContain("no signals for calls of");
    await edge.server.close();
  });

  it("that waits in vain answers an empty list when its time is up, and not before", async () => {
    const silent: Bus = {
      ...fx.bus,
      capabilities: fx.bus.capabilities,
      subscribe: async () => ({ stop: async () => {} }),
    };
    const edge = await waitingServer({ bus: silent });
    let isDone = false;
    const waiting = edge.claim(2_500).finally(() => {
      isDone = true;
    });
    for (const looks of [1, 2, 3]) {
      await waitFor(() => edge.looks() === looks, { what: `look ${looks}` });
      expect(isDone).toBe(false);
      await fx.clock.advance(looks < 3 ? 1_000 : 500);
    }
    expect(await waiting).toMatchObject({ status: 200, body: { calls: [] } });
    expect(edge.looks()).toBe(4);
    await edge.server.close();
  });

  it("claims nothing for a client that went away while it waited", async () => {
    const edge = await waitingServer();
    const client = new AbortController();
    const waiting = fetch(`${edge.server.url}${CLAIM}`, {
      method: "POST",
      headers: { authorization: `Bearer ${fx.keys.executor}`, "content-type": "application/json" },
      body: JSON.stringify({ wait_ms: 30_000 }),
      signal: client.signal,
    });
    await edge.waits();
    client.abort();
    await expect(waiting).rejects.toThrow();
    const connections = () =>
      new Promise<number>((resolve) => edge.server.app.server.getConnections((_error, count) => resolve(count)));
    await waitFor(async () => (await connections()) === 0, { what: "the server to notice" });
    const looks = edge.looks();
    const [call] = await fx.suspended();
    await edge.server.close(); // resolves when no handler runs any more
    expect(edge.looks()).toBe(looks);
    expect((await fx.kernel.reads.call(PROJECT, call?.tool_call_id ?? ""))?.claimed_by).toBeNull();
  });

  it("past the number that may wait for one key is answered 429, while other keys wait unhindered", async () => {
    const edge = await waitingServer({ limits: { longPollsPerKeyMax: 1 } });
    const waiting = edge.claim();
    await edge.waits();
    expect(await edge.claim()).toMatchObject({ status: 429, body: { error_code: "rate_limited" } });
    expect((await edge.claim(0)).status).toBe(200);
    const other = edge.claim(30_000, { key: "executor2" });
    await waitFor(() => edge.looks() === 3, { what: "the other key to wait" });
    await edge.server.close();
    expect([(await waiting).status, (await other).status]).toEqual([200, 200]);
  });

  it("past the number that may wait for one project is answered 429, whichever of its keys asks, and another project's waits", async () => {
    await fx.key("neighbour", { role: "executor", project_id: OTHER, targets: ["echo"] });
    const edge = await waitingServer({ limits: { longPollsMax: 10, longPollsPerProjectMax: 2 } });
    const waiting = [edge.claim(), edge.claim(30_000, { key: "executor2" })];
    await waitFor(() => edge.looks() === 2, { what: "two keys to wait" });
    expect(await edge.claim(30_000, { key: "executor2" })).toMatchObject({
      status: 429,
      body: { error_code: "rate_limited", error_detail: { full: "project" } },
    });
    const neighbour = edge.claim(30_000, { key: "neighbour", project: OTHER });
    await waitFor(() => edge.looks() === 3, { what: "the neighbour to wait" });
    await edge.server.close();
    expect((await Promise.all([...waiting, neighbour])).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it("past the number that may wait in all is answered 429, whatever its key", async () => {
    const edge = await waitingServer({ limits: { longPollsMax: 1 } });
    const waiting = edge.claim();
    await edge.waits();
    expect((await edge.claim(30_000, { key: "executor2" })).status).toBe(429);
    await edge.server.close();
    expect((await waiting).status).toBe(200);
  });

  it("that comes again with its id gives the same calls, and the capabilities that were lost are worth nothing", async () => {
    const made = await fx.suspended([{}, {}]);
    const ids = (answer: Awaited<ReturnType<typeof claim>>) =>
      answer.body.calls.map((call: { tool_call_id: string }) => call.tool_call_id);
    const lost = await claim({ max: 2, claim_id: "claim_1" });
    expect(ids(lost)).toEqual(made.map((call) => call.tool_call_id));
    expect((await claim({ max: 2, claim_id: "claim_2" })).body.calls).toEqual([]);
    expect((await claim({ max: 2, claim_id: "claim_1" }, "executor2")).body.calls).toEqual([]);
    const again = await claim({ max: 2, claim_id: "claim_1" });
    expect(ids(again)).toEqual(ids(lost));
    expect(again.body.calls[0].attempt).toBe(1);
    const result = { status: "success", result: 1 };
    expect((await fx.about({ ...made[0], opened: lost.body.calls[0] } as never, "report", result)).status).toBe(403);
    expect((await fx.about({ ...made[0], opened: again.body.calls[0] } as never, "report", result)).status).toBe(200);
    expect(await claim({ claim_id: "no id" })).toMatchObject({ status: 400, body: { error_code: "bad_request" } });
  });

  it("that comes again with its id ends the one before, which takes no calls any more", async () => {
    const edge = await waitingServer();
    const first = edge.claim(30_000, { claim_id: "claim_3" });
    await edge.waits();
    expect((await edge.claim(0, { claim_id: "claim_3" })).body.calls).toEqual([]);
    expect((await first).body.calls).toEqual([]);
    await fx.suspended();
    expect((await claim()).body.calls).toHaveLength(1);
    await edge.server.close();
  });
});

describe("open", () => {
  it("claims a call by its ticket, or by a key of its target, and answers like claim", async () => {
    const [first, second] = await fx.suspended([{}, {}]);
    const byTicket = await open(first?.tool_call_id ?? "", { headers: { "cg-call-ticket": first?.ticket ?? "" } });
    const byTarget = await open(second?.tool_call_id ?? "");
    for (const answer of [byTicket, byTarget]) {
      expect(answer.status, answer.text).toBe(200);
      expect(Object.keys(answer.body).sort()).toEqual(CALL_FIELDS);
    }
  });

  it("that comes again with its id is the same claim", async () => {
    const [call] = await fx.suspended();
    const ask = (claim_id: string) =>
      open(call?.tool_call_id ?? "", { headers: { "cg-call-ticket": call?.ticket ?? "" }, json: { claim_id } });
    const lost = await ask("claim_1");
    const again = await ask("claim_1");
    expect(again.status, again.text).toBe(200);
    expect(again.body).toMatchObject({ attempt: 1, tool_call_id: call?.tool_call_id });
    expect(again.body.capability).not.toBe(lost.body.capability);
    expect((await ask("claim_2")).status).toBe(409);
  });

  it("is answered 409 for a call that another executor holds, that is settled, or with a ticket that was used", async () => {
    const call = await fx.held();
    const again = await open(call.tool_call_id, { headers: { "cg-call-ticket": call.ticket }, key: "executor2" });
    expect(again).toMatchObject({ status: 409, body: { error_code: "already_claimed" } });
    await fx.about(call, "report", { status: "success", result: 1 });
    expect(await open(call.tool_call_id)).toMatchObject({ status: 409, body: { error_code: "already_settled" } });
    const retried = await fx.held({ attempts_max: 3, backoff_ms: 1 });
    await fx.about(retried, "report", { status: "failed", error: { code: "x", message: "m", retryable: true } });
    const late = await open(retried.tool_call_id, { headers: { "cg-call-ticket": retried.ticket } });
    expect(late).toMatchObject({ status: 409, body: { error_code: "stale_attempt" } });
  });

  it("is refused for a forged ticket, another card, another target, another project and an unknown call", async () => {
    const [call] = await fx.suspended();
    const id = call?.tool_call_id ?? "";
    const before = await fx.everything();
    const rows: [Parameters<typeof fx.send>[2], number, string][] = [
      [{ headers: { "cg-call-ticket": "0".repeat(64) } }, 403, "auth_failed"],
      [{ json: { tool_call_card_id: "card_other" } }, 404, "card_not_found"],
      [{ key: "stranger", headers: { "cg-call-ticket": call?.ticket ?? "" } }, 403, "forbidden"],
      [{ json: { ticket: "x" } }, 400, "bad_request"],
    ];
    for (const [options, status, code] of rows) {
      expect(await open(id, options)).toMatchObject({ status, body: { error_code: code } });
    }
    expect(await open("tc_none")).toMatchObject({ status: 404, body: { error_code: "unknown_call" } });
    const foreign = await fx.send("POST", `/projects/${OTHER}/calls/${id}/open`, { key: "admin", json: {} });
    expect(foreign).toMatchObject({ status: 404, body: { error_code: "unknown_call" } });
    expect(await fx.everything()).toBe(before);
  });
});

describe("heartbeat", () => {
  it("extends the lease and says whether to go on", async () => {
    const call = await fx.held();
    await fx.clock.advance(5_000);
    const answer = await fx.about(call, "heartbeat", undefined);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.cancel).toBe(false);
    expect(Date.parse(answer.body.lease_expires_at)).toBeGreaterThan(Date.parse(call.opened.lease_expires_at));
  });

  it("R15: for a settled call is answered already_settled, with the word to stop", async () => {
    const call = await fx.held();
    await fx.about(call, "report", { status: "success", result: {} });
    const answer = await fx.about(call, "heartbeat", {});
    expect(answer).toMatchObject({
      status: 409,
      body: { error_code: "already_settled", error_detail: { cancel: true } },
    });
  });

  it("R15: a thousand of them are rate limited by call, and another call's are not", async () => {
    const server = await fx.another({ limits: { heartbeatsPerCall: { perSecond: 2, burst: 20 } } });
    const [one, two] = [await fx.held(), await fx.held()];
    const beat = (call: typeof one) =>
      fx.send(
        "POST",
        `/projects/${PROJECT}/calls/${call.tool_call_id}/heartbeat`,
        { key: "executor", headers: { "cg-report-capability": call.opened.capability }, json: {} },
        server,
      );
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => beat(one)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(20);
    expect(answers.filter((answer) => answer.status === 429)).toHaveLength(980);
    expect((await beat(two)).status).toBe(200);
    await server.close();
  });
});

describe("result-card and report", () => {
  it("settle a call with the result in the body", async () => {
    const call = await fx.held();
    const answer = await fx.about(call, "report", { status: "success", result: { a: [1, null, "x"] } });
    expect(answer.status, answer.text).toBe(200);
    expect(Object.keys(answer.body).sort()).toEqual(["outcome", "tool_result_card_id"]);
    const [card] = await fx.kernel.reads.cards(PROJECT, [answer.body.tool_result_card_id]);
    expect(card?.content).toMatchObject({
      status: "success",
      result: { a: [1, null, "x"] },
      after_execution: "suspend",
    });
    expect(card?.author_id).toBe("tool.echo");
  });

  it("settle a call by a card that was saved before", async () => {
    const call = await fx.held();
    const saved = await fx.about(call, "result-card", { content: { status: "success", result: { n: 1 } } });
    expect(saved.status, saved.text).toBe(200);
    const { tool_result_card_id } = saved.body;
    const answer = await fx.about(call, "report", {
      tool_result_card_id,
      status: "success",
      after_execution: "suspend",
    });
    expect(answer.body).toEqual({ outcome: "accepted", tool_result_card_id });
  });

  it("keep the id of a card that its author names, and refuse one that is signed by another", async () => {
    const call = await fx.held();
    const content = { status: "success", result: { n: 1 } };
    const named = { card_id: "card_of_mine", author_id: "tool.echo", function_name: "echo__run" };
    for (const wrong of [{ author_id: "tool.other" }, { function_name: "echo__other" }]) {
      const answer = await fx.about(call, "result-card", { content, ...named, ...wrong });
      expect(answer.body.error_code, answer.text).toBe("protocol_violation");
    }
    expect(await fx.about(call, "result-card", { content, card_id: "no id" })).toMatchObject({ status: 400 });
    const saved = await fx.about(call, "result-card", { content, ...named });
    expect(saved.body, saved.text).toEqual({ tool_result_card_id: "card_of_mine" });
    const report = { tool_result_card_id: "card_of_mine", status: "success", after_execution: "suspend" };
    expect((await fx.about(call, "report", report)).status).toBe(200);
  });

  it("give a retryable failure back for another attempt, and say when", async () => {
    const call = await fx.held({ attempts_max: 3, backoff_ms: 10, effect: "read" });
    const error = { code: "upstream_unavailable", message: "m", retryable: true };
    const answer = await fx.about(call, "report", { status: "failed", error });
    expect(answer.body).toEqual({ outcome: "accepted", retry_at: expect.stringMatching(/^20/) });
  });

  it("take a result of 64 levels and refuse one of 65", async () => {
    const nested = (levels: number) => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);
    const call = await fx.held();
    const tooDeep = await fx.about(call, "report", { status: "success", result: nested(65) });
    expect(tooDeep).toMatchObject({ status: 400, body: { error_code: "too_deep" } });
    const card = await fx.about(call, "result-card", { content: { status: "success", result: nested(64) } });
    expect(card.status, card.text).toBe(200);
    expect((await fx.about(call, "report", { status: "success", result: nested(64) })).status).toBe(200);
  });
});
