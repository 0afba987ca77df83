// Reports that must not count, row by row of docs/reference/security.md#r-reports (R1 to R14), those that count as failed, and
// the bodies of v1r3 peers.

import { describe, expect, it } from "vitest";
import { LEAK, OTHER, PROJECT, timed, useServer, V1R3_SUBJECT } from "../../test/fixture.ts";

const fx = useServer();
type Held = Awaited<ReturnType<typeof fx.held>>;
const SUCCESS = { status: "success", result: { ok: true } };
const FAILED = { status: "failed", error: { code: "x", message: "m" } };

/** A minute notes ten refusals of a kind: each test has one of its own. */
const nextMinute = () => fx.clock.advance(60_000);

async function auditOf(call: Held) {
  const rows = await fx.kernel.reads.audit(PROJECT, 50);
  return rows.filter((row) => row.tool_call_id === call.tool_call_id).map((row) => `${row.kind}:${row.code}`);
}

interface Row {
  readonly row: string;
  readonly what: string;
  readonly status: number;
  readonly code: string;
  readonly body?: (call: Held, other: Held) => unknown;
  readonly capability?: (call: Held, other: Held) => string | null;
  readonly key?: string;
  readonly headers?: (call: Held) => Readonly<Record<string, string>>;
}

const flipped = (text: string) => (text.startsWith("0") ? "1" : "0") + text.slice(1);
const traceOf = (call: Held) => call.opened.headers.traceparent ?? "";

// biome-ignore format: one row per line
const ROWS: readonly Row[] = [
  { row: "R1", what: "no capability", capability: () => null, status: 403, code: "auth_failed" },
  { row: "R1", what: "the ticket as the capability", capability: (call) => call.ticket, status: 403, code: "auth_failed" },
  { row: "R2", what: "the capability of another call", capability: (_call, other) => other.opened.capability, status: 403, code: "auth_failed" },
  { row: "R2", what: "a capability with one bit flipped", capability: (call) => flipped(call.opened.capability), status: 403, code: "auth_failed" },
  { row: "R2", what: "a capability in capitals", capability: (call) => call.opened.capability.toUpperCase(), status: 403, code: "auth_failed" },
  { row: "R2", what: "a capability that is no hex", capability: () => "'; drop table state.calls; --", status: 403, code: "auth_failed" },
  { row: "R3", what: "the right capability and another key", key: "executor2", status: 403, code: "auth_failed" },
  { row: "R3", what: "the right capability and an admin's key", key: "admin", status: 403, code: "auth_failed" },
  { row: "R4", what: "an author that it declares itself", body: () => ({ ...SUCCESS, author_id: "sys.watchdog" }), status: 400, code: "protocol_violation" },
  { row: "R4", what: "another tool as the author", body: () => ({ ...SUCCESS, author_id: "tool.other" }), status: 400, code: "protocol_violation" },
  { row: "R5", what: "another function's name", body: () => ({ ...SUCCESS, function_name: "other" }), status: 400, code: "protocol_violation" },
  { row: "R5", what: "a card that is the call itself", body: (call) => ({ tool_result_card_id: call.opened.tool_call_card_id, status: "success", after_execution: "suspend" }), status: 400, code: "protocol_violation" },
  { row: "R5", what: "a card that does not exist", body: () => ({ tool_result_card_id: "card_none", status: "success", after_execution: "suspend" }), status: 400, code: "protocol_violation" },
  { row: "R6", what: "another trace", headers: () => ({ traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` }), status: 400, code: "protocol_violation" },
  { row: "R6", what: "a traceparent that is none", headers: () => ({ traceparent: "hello" }), status: 400, code: "protocol_violation" },
  { row: "R6", what: "another step in the body", body: () => ({ ...SUCCESS, step_id: "step_other" }), status: 400, code: "protocol_violation" },
  { row: "R6", what: "another parent in the body", body: () => ({ ...SUCCESS, parent_step_id: "step_other" }), status: 400, code: "protocol_violation" },
  { row: "R7", what: "no object", body: () => [SUCCESS], status: 400, code: "invalid_payload" },
  { row: "R8", what: "a result and a pointer", body: () => ({ ...SUCCESS, tool_result_card_id: "card_x" }), status: 400, code: "protocol_violation" },
  { row: "R9", what: "an epoch in a v1r4 body", body: (call) => ({ ...SUCCESS, turn_epoch: call.turn_epoch }), status: 400, code: "protocol_violation" },
  { row: "R11", what: "the word of a watchdog", body: () => ({ ...FAILED, message_type: "timeout" }), status: 403, code: "forbidden" },
  { row: "R14", what: "a card larger than cards are", body: () => ({ status: "success", result: "x".repeat(1_048_577) }), status: 413, code: "payload_too_large" },
];

interface Mended {
  readonly row: string;
  readonly what: string;
  readonly body: unknown;
  /** Of the failed result. */
  readonly code: string;
}

// biome-ignore format: one row per line
const MENDED: readonly Mended[] = [
  { row: "R7", what: "the status ok", body: { ...SUCCESS, status: "ok" }, code: "invalid_status" },
  { row: "R7", what: "the status SUCCESS", body: { ...SUCCESS, status: "SUCCESS" }, code: "invalid_status" },
  { row: "R7", what: "no status", body: { result: 1 }, code: "invalid_status" },
  { row: "R7", what: "a number as the status", body: { ...SUCCESS, status: 1 }, code: "invalid_status" },
  { row: "R7", what: "nothing", body: {}, code: "invalid_status" },
  { row: "R7", what: "a success with an error", body: { ...SUCCESS, error: FAILED.error }, code: "x" },
  { row: "R7", what: "a failure without an error", body: { status: "failed" }, code: "unknown_error" },
  { row: "R7", what: "a failure whose error has no code", body: { status: "failed", error: { message: "m" } }, code: "unknown_error" },
  { row: "R7", what: "an unknown field", body: { ...SUCCESS, colour: "red" }, code: "schema_invalid" },
  { row: "R10", what: "a control key that says loop", body: { status: "success", result: { __cg_control: { after_execution: "loop" } } }, code: "invalid_after_execution" },
  { row: "R10", what: "another after_execution", body: { ...SUCCESS, after_execution: "terminate" }, code: "invalid_after_execution" },
];

describe("a report with", () => {
  for (const { row, what, body, code } of MENDED) {
    it(`${row}: ${what} settles its call at once as failed ${code}, with a warning`, async () => {
      const call = await fx.held();
      const answer = await fx.about(call, "report", body);
      expect(answer.status, answer.text).toBe(200);
      const warning = {
        code: expect.stringMatching(/^(schema_invalid|after_execution_mismatch)$/),
        message: expect.any(String),
      };
      expect(answer.body).toMatchObject({ outcome: "accepted", warning });
      const [card] = await fx.kernel.reads.cards(PROJECT, [answer.body.tool_result_card_id]);
      expect(card?.content).toMatchObject({ status: "failed", error: { code, detail: { warning } } });
      expect((await fx.kernel.reads.call(PROJECT, call.tool_call_id))?.wait_status).toBe("received");
    });

    it(`${row}: ${what}, forged, is answered 403 and changes nothing`, async () => {
      const call = await fx.held();
      const before = await fx.everything();
      for (const forged of [{ capability: null }, { capability: "0".repeat(64) }, { key: "executor2" }]) {
        const answer = await fx.about(call, "report", body, forged);
        expect(answer).toMatchObject({ status: 403, body: { error_code: "auth_failed" } });
        const card = await fx.about(call, "result-card", { content: body }, forged);
        expect(card).toMatchObject({ status: 403, body: { error_code: "auth_failed" } });
      }
      expect(await fx.everything()).toBe(before);
    });

    it(`${row}: ${what} settles its call alike when it was saved as a card first`, async () => {
      const call = await fx.held();
      const saved = await fx.about(call, "result-card", { content: body });
      expect(saved, saved.text).toMatchObject({ status: 200, body: { warning: { message: expect.any(String) } } });
      const { tool_result_card_id } = saved.body;
      const { status = "success" } = body as { status?: unknown };
      const answer = await fx.about(call, "report", { tool_result_card_id, status });
      expect(answer, answer.text).toMatchObject({ status: 200, body: { outcome: "accepted", tool_result_card_id } });
      const [card] = await fx.kernel.reads.cards(PROJECT, [tool_result_card_id]);
      expect(card?.content).toMatchObject({ status: "failed", error: { code } });
    });
  }

  for (const { row, what, status, code, body, capability, key, headers } of ROWS) {
    it(`${row}: ${what} is answered ${status} ${code}, and the call still waits`, async () => {
      await nextMinute();
      const [call, other] = [await fx.held(), await fx.held()];
      const before = await fx.everything();
      const { answer, cpuMs } = await timed(() =>
        fx.about(call, "report", body?.(call, other) ?? SUCCESS, {
          ...(capability === undefined ? {} : { capability: capability(call, other) }),
          ...(key === undefined ? {} : { key }),
          ...(headers === undefined ? {} : { headers: headers(call) }),
        }),
      );
      expect(cpuMs).toBeLessThan(1_000);
      expect(answer.text).not.toMatch(LEAK);
      expect(answer.status, answer.text).toBe(status);
      expect(answer.body.error_code).toBe(code);
      expect(answer.text).not.toContain(call.opened.capability);
      expect(await fx.everything()).toBe(before);
      if (status === 403) expect(await auditOf(call)).toEqual([`report:${code}`]);
      expect((await fx.about(call, "report", SUCCESS)).body.outcome).toBe("accepted");
    });
  }

  it("R2: the capability of another project's path, or of an unknown call, is answered 404", async () => {
    const call = await fx.held();
    const headers = { "cg-report-capability": call.opened.capability };
    const path = (project: string, id: string) => `/projects/${project}/calls/${id}/report`;
    const foreign = await fx.send("POST", path(OTHER, call.tool_call_id), { key: "admin", headers, json: SUCCESS });
    const unknown = await fx.send("POST", path(PROJECT, "tc_none"), { key: "executor", headers, json: SUCCESS });
    for (const answer of [foreign, unknown])
      expect(answer).toMatchObject({ status: 404, body: { error_code: "not_found" } });
  });

  it("R2: its capability once more, after it settled, is a duplicate whatever it says", async () => {
    const call = await fx.held();
    const first = await fx.about(call, "report", SUCCESS);
    const again = await fx.about(call, "report", { status: "nonsense", agent_id: "somebody" });
    expect(again).toMatchObject({ status: 200, body: { outcome: "duplicate" } });
    expect(again.body.tool_result_card_id).toBe(first.body.tool_result_card_id);
  });

  it("R5: a card that was saved for another call is refused", async () => {
    const [call, other] = [await fx.held(), await fx.held()];
    const saved = await fx.about(other, "result-card", { content: SUCCESS });
    const pointer = { ...saved.body, status: "success", after_execution: "suspend" };
    expect(await fx.about(call, "report", pointer)).toMatchObject({
      status: 400,
      body: { error_code: "protocol_violation" },
    });
  });

  it("R6: its own trace is accepted", async () => {
    const call = await fx.held();
    expect((await fx.about(call, "report", SUCCESS, { headers: { traceparent: traceOf(call) } })).status).toBe(200);
  });

  it("R9: what came too late is answered 409, stale or settled", async () => {
    const call = await fx.held({ effect: "read" });
    await fx.clock.advance(16_000);
    await fx.kernel.sweep();
    const late = await fx.about(call, "report", SUCCESS);
    expect(late).toMatchObject({ status: 409, body: { error_code: "stale_attempt" } });
    const canceled = await fx.held();
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: canceled.agent_turn_id });
    expect(await fx.about(canceled, "report", SUCCESS)).toMatchObject({
      status: 409,
      body: { error_code: "already_settled" },
    });
    expect(await fx.about(canceled, "heartbeat", {})).toMatchObject({
      status: 409,
      body: { error_detail: { cancel: true } },
    });
  });

  it("R10: a valid control key is honoured", async () => {
    const call = await fx.held();
    const result = { __cg_control: { after_execution: "terminate" } };
    expect((await fx.about(call, "report", { status: "success", result })).status).toBe(200);
    expect((await fx.kernel.reads.call(PROJECT, call.tool_call_id))?.result_after).toBe("terminate");
  });

  it("R12: a thousand twins is accepted once", async () => {
    const call = await fx.held();
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => fx.about(call, "report", SUCCESS)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1_000);
    expect(answers.filter((answer) => answer.body.outcome === "accepted")).toHaveLength(1);
    expect(answers.filter((answer) => answer.body.outcome === "duplicate")).toHaveLength(999);
  });

  it("R13: no claim before it is refused as forged", async () => {
    const [call] = await fx.suspended();
    const answer = await fx.about({ tool_call_id: call?.tool_call_id ?? "" }, "report", SUCCESS, {
      capability: "0".repeat(64),
    });
    expect(answer).toMatchObject({ status: 403, body: { error_code: "auth_failed" } });
  });

  it("R14: a message of a megabyte is stored with its first thousand characters", async () => {
    const call = await fx.held();
    const error = { code: "x", message: "m".repeat(900_000) };
    const answer = await fx.about(call, "report", { status: "failed", error });
    const [card] = await fx.kernel.reads.cards(PROJECT, [answer.body.tool_result_card_id]);
    expect(card?.content).toMatchObject({ error: { message: expect.stringMatching(/^m{999}.$/) } });
  });
});

describe("a result card", () => {
  it("is refused like a report: forged, malformed, for a settled call", async () => {
    const call = await fx.held();
    const rows: [unknown, Parameters<typeof fx.about>[3], number, string][] = [
      [{ content: SUCCESS }, { capability: null }, 403, "auth_failed"],
      [{ content: SUCCESS }, { key: "executor2" }, 403, "auth_failed"],
      [{}, {}, 400, "bad_request"],
      [{ content: SUCCESS, colour: "red" }, {}, 400, "bad_request"],
    ];
    for (const [json, options, status, code] of rows) {
      expect(await fx.about(call, "result-card", json, options)).toMatchObject({ status, body: { error_code: code } });
    }
    await fx.about(call, "report", SUCCESS);
    const late = await fx.about(call, "result-card", { content: SUCCESS });
    expect(late).toMatchObject({ status: 409, body: { error_code: "already_settled" } });
  });
});

describe("a v1r3 peer", () => {
  const identity = (call: Held) => ({
    tool_call_id: call.tool_call_id,
    agent_turn_id: call.agent_turn_id,
    turn_epoch: call.turn_epoch,
    agent_id: call.agent_id,
    step_id: call.step_id,
  });

  it("may repeat the ids of its call in the body", async () => {
    const call = await fx.held({ target_subject: V1R3_SUBJECT });
    const body = { ...SUCCESS, ...identity(call), project_id: PROJECT, channel_id: "public" };
    expect((await fx.about(call, "report", body)).body.outcome).toBe("accepted");
    const texts = await fx.held({ target_subject: V1R3_SUBJECT });
    const asText = { ...SUCCESS, ...identity(texts), turn_epoch: String(texts.turn_epoch) };
    expect((await fx.about(texts, "report", asText)).body.outcome).toBe("accepted");
  });

  for (const [field, value] of [
    ["tool_call_id", "tc_other"],
    ["agent_turn_id", "turn_other"],
    ["turn_epoch", 999],
    ["agent_id", "agent_other"],
    ["step_id", "step_other"],
    ["parent_step_id", "step_other"],
    ["project_id", OTHER],
    ["channel_id", "private"],
    ["trace_id", "f".repeat(32)],
    ["traceparent", `00-${"a".repeat(32)}-${"b".repeat(16)}-01`],
    ["agent_id", { nested: true }],
  ] as const) {
    it(`is refused when ${field} is ${JSON.stringify(value)}, and told which field`, async () => {
      await nextMinute();
      const call = await fx.held({ target_subject: V1R3_SUBJECT });
      const before = await fx.everything();
      const answer = await fx.about(call, "report", { ...SUCCESS, ...identity(call), [field]: value });
      expect(answer).toMatchObject({ status: 400, body: { error_code: "protocol_violation" } });
      expect(answer.body.error_detail).toEqual({ fields: [field] });
      expect(await fx.everything()).toBe(before);
      expect(await auditOf(call)).toEqual(["report:protocol_violation"]);
    });
  }

  it("learns nothing about the ids without the capability", async () => {
    const call = await fx.held({ target_subject: V1R3_SUBJECT });
    for (const agent_id of [call.agent_id, "agent_other"]) {
      const answer = await fx.about(call, "report", { ...SUCCESS, agent_id }, { capability: "0".repeat(64) });
      expect(answer).toMatchObject({ status: 403, body: { error_code: "auth_failed" } });
    }
  });
});
