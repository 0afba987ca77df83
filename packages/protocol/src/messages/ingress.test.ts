import { describe, expect, test } from "vitest";
import { buildNatsIngressContext } from "./ingress.ts";
import { parseSubject } from "./subject.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const ids = { traceId: () => "a".repeat(32), spanId: () => "b".repeat(16) };
const violation = expect.objectContaining({ code: "protocol_violation" });
const tool = parseSubject("cg.v1r4.p1.c1.cmd.tool.search.query");
const event = parseSubject("cg.v1r4.p1.c1.evt.agent.a7.task");
const wakeup = parseSubject("cg.v1r4.p1.c1.cmd.agent.worker.wakeup");
const headers = {
  "CG-Agent-Id": "a1",
  "CG-Turn-Id": "turn_1",
  "cg-turn-epoch": "4",
  traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
};

test("a command becomes a context and a clean payload", () => {
  const { ctx, payload, trace_restarted } = buildNatsIngressContext(headers, { x: 1 }, tool, { ids });
  expect(ctx).toMatchObject({
    project_id: "p1",
    channel_id: "c1",
    agent_id: "a1",
    agent_turn_id: "turn_1",
    turn_epoch: 4,
  });
  expect(ctx).toMatchObject({ trace_id: TRACE, recursion_depth: 0 });
  expect(payload).toEqual({ x: 1 });
  expect(trace_restarted).toBe(false);
});

test("a payload that is no object counts as empty", () => {
  for (const raw of [null, [], "x", 5, undefined]) {
    expect({ ...buildNatsIngressContext(headers, raw, tool, { ids }).payload }).toEqual({});
  }
});

describe("a violation is", () => {
  test.each([
    ["a missing subject", headers, {}, null],
    ["a control field in a command", headers, { agent_id: "a1" }, tool],
    ["another project in the header", { ...headers, "CG-Project-Id": "p2" }, {}, tool],
    ["another channel in the header", { ...headers, "cg-channel-id": "c2" }, {}, tool],
    ["no agent on a tool command", { traceparent: headers.traceparent }, {}, tool],
    ["no agent on a wakeup, whose target is a worker group", {}, {}, wakeup],
    ["another agent than the subject's", { "CG-Agent-Id": "a1" }, {}, event],
    ["an epoch that is no number", { ...headers, "cg-turn-epoch": "x" }, {}, tool],
    ["a negative depth", { ...headers, "CG-Recursion-Depth": "-1" }, {}, tool],
  ])("%s", (_, raw, payload, subject) => {
    expect(() => buildNatsIngressContext(raw, payload, subject, { ids })).toThrow(violation);
  });
});

test("the first refusal is that of the payload, before headers are read", () => {
  expect(() => buildNatsIngressContext({ "CG-Turn-Epoch": "x" }, { turn_epoch: 1 }, tool, { ids })).toThrow(
    /control fields/,
  );
});

test("events keep their payload but lose the control fields, and name their agent by the subject", () => {
  const { ctx, payload } = buildNatsIngressContext({}, { agent_turn_id: "turn_1", status: "success" }, event, { ids });
  expect(ctx.agent_id).toBe("a7");
  expect({ ...payload }).toEqual({ status: "success" });
});

test("a malformed traceparent starts a new trace and is reported", () => {
  const { ctx, trace_restarted } = buildNatsIngressContext({ ...headers, traceparent: "x".repeat(10_000) }, {}, tool, {
    ids,
  });
  expect(ctx.trace_id).toBe("a".repeat(32));
  expect(trace_restarted).toBe(true);
});
