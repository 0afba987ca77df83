import { describe, expect, test } from "vitest";
import { CGContext, type CGContextInput } from "./context.ts";
import { normalizeTransport } from "./transport.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const OTHER = "c".repeat(32);
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const ids = { traceId: () => "a".repeat(32), spanId: () => "b".repeat(16) };
const violation = expect.objectContaining({ code: "protocol_violation" });
const full: CGContextInput = {
  project_id: "p1",
  agent_id: "a1",
  channel_id: "c1",
  agent_turn_id: "turn_1",
  turn_epoch: 3,
  step_id: "step_1",
  tool_call_id: "tc_1",
  recursion_depth: 2,
  parent_agent_id: "a0",
  parent_agent_turn_id: "turn_0",
  parent_step_id: "step_0",
  headers: { traceparent: PARENT, tracestate: "v=1" },
};

describe("making a context", () => {
  test("trims, fills defaults and turns empty optionals into null", () => {
    const ctx = new CGContext({ project_id: " p1 ", agent_id: "a1", step_id: "  ", turn_epoch: "4" });
    expect({ ...ctx, headers: { ...ctx.headers } }).toEqual({
      project_id: "p1",
      agent_id: "a1",
      channel_id: "public",
      agent_turn_id: "",
      turn_epoch: 4,
      step_id: null,
      tool_call_id: null,
      trace_id: null,
      recursion_depth: 0,
      parent_agent_id: null,
      parent_agent_turn_id: null,
      parent_step_id: null,
      headers: {},
    });
  });

  test.each([
    { project_id: "" },
    { agent_id: "  " },
    { channel_id: "a.b" },
    { project_id: "p\nCG-Agent-Id: x" },
    { turn_epoch: -1 },
    { turn_epoch: "1e3" },
    { turn_epoch: Number.NaN },
    { recursion_depth: 1.5 },
    { trace_id: "xyz" },
    { trace_id: OTHER },
    { trace_id: [] as unknown as string },
    { step_id: "../x" },
    { step_id: 5 as unknown as string },
  ])("refuses %o", (patch) => {
    expect(() => new CGContext({ ...full, ...patch })).toThrow(violation);
  });

  test("is immutable, down to its headers", () => {
    const ctx = new CGContext(full);
    expect(() => Object.assign(ctx, { agent_id: "x" })).toThrow(TypeError);
    expect(() => Object.assign(ctx.headers, { traceparent: "x" })).toThrow(TypeError);
  });

  test("never holds a proof of authority", () => {
    const ctx = new CGContext({ ...full, headers: { "cg-call-ticket": "t", "CG-Report-Capability": "c" } });
    expect(JSON.stringify(ctx)).not.toMatch(/ticket|capability/i);
  });

  test("takes its trace from the traceparent", () => {
    expect(new CGContext(full).trace_id).toBe(TRACE);
  });
});

describe("operations return new values", () => {
  const ctx = new CGContext(full);
  test("each changes its own fields and nothing else", () => {
    expect(ctx.withTurn("turn_2", 9).toSysDict()).toEqual({
      ...ctx.toSysDict(),
      agent_turn_id: "turn_2",
      turn_epoch: 9,
    });
    expect(ctx.withBumpedEpoch().toSysDict()).toEqual({ ...ctx.toSysDict(), turn_epoch: 4 });
    expect(ctx.withNewStep("step_2").toSysDict()).toEqual({ ...ctx.toSysDict(), step_id: "step_2" });
    expect(ctx.withToolCall("tc_2").toSysDict()).toEqual({ ...ctx.toSysDict(), tool_call_id: "tc_2" });
    expect(ctx.withRecursionDepth(5).toSysDict()).toEqual({ ...ctx.toSysDict(), recursion_depth: 5 });
    expect(ctx.evolve({ step_id: null, agent_id: undefined as unknown as string }).toSysDict()).toEqual({
      ...ctx.toSysDict(),
      step_id: null,
    });
    expect(ctx.turn_epoch).toBe(3);
  });

  test("restoring sets only what is given", () => {
    expect(ctx.withRestoredState({}).toSysDict()).toEqual(ctx.toSysDict());
    const restored = ctx.withRestoredState({ parent_step_id: "step_9", trace_id: OTHER });
    expect(restored.parent_step_id).toBe("step_9");
    expect(restored.trace_id).toBe(OTHER);
    expect(restored.headers.traceparent).toBe(`00-${OTHER}-b7ad6b7169203331-01`);
  });

  test("lineage goes out to card metadata and comes back", () => {
    expect(ctx.toLineageMeta()).toEqual({ step_id: "step_1", trace_id: TRACE, parent_step_id: "step_0" });
    expect(ctx.toLineageMeta({ includeStep: false })).toEqual({ trace_id: TRACE, parent_step_id: "step_0" });
    const back = ctx.withLineageMeta({ step_id: "step_7", trace_id: OTHER, parent_step_id: "", role: "tool" });
    expect([back.step_id, back.trace_id, back.parent_step_id]).toEqual(["step_7", OTHER, "step_0"]);
    expect(ctx.withLineageMeta(null).toSysDict()).toEqual(ctx.toSysDict());
  });

  test("the identity goes out as plain data and comes back", () => {
    expect(Object.keys(ctx.toSysDict())).toHaveLength(12);
    expect(CGContext.fromSysDict(ctx.toSysDict()).toSysDict()).toEqual(ctx.toSysDict());
  });
});

describe("transport", () => {
  const bare = new CGContext({ project_id: "p1", agent_id: "a1", recursion_depth: 2 });
  test("normalizing guarantees a traceparent and the depth", () => {
    const ctx = bare.withNormalizedTransport({}, ids);
    expect(ctx.headers).toMatchObject({
      traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
      "CG-Recursion-Depth": "2",
    });
    expect(ctx.trace_id).toBe("a".repeat(32));
    const taken = bare.withNormalizedTransport({ headers: { Traceparent: PARENT, "cg-recursion-depth": "7" } }, ids);
    expect([taken.trace_id, taken.recursion_depth]).toEqual([TRACE, 7]);
    expect(() => bare.withNormalizedTransport({ headers: { traceparent: PARENT }, trace_id: OTHER }, ids)).toThrow(
      violation,
    );
  });

  test("normalizing takes proofs of authority out", () => {
    const { headers } = normalizeTransport({ headers: { "CG-Call-Ticket": "t", "cg-report-capability": "c" } }, ids);
    expect(Object.keys(headers).sort()).toEqual(["CG-Recursion-Depth", "traceparent"]);
  });

  test("plain transport sets what is given and completes nothing", () => {
    expect(bare.withTransport({ recursion_depth: 4 }).headers).toEqual({});
    expect(bare.withTransport({ headers: { traceparent: PARENT } }).trace_id).toBe(TRACE);
  });

  test("the trace variant sets and removes trace headers, and keeps the depth in step", () => {
    const ctx = new CGContext(full).withNormalizedTransport({}, ids).withRecursionDepth(6);
    expect(ctx.headers["CG-Recursion-Depth"]).toBe("6");
    const child = ctx.withTraceTransport({ trace_id: OTHER, tracestate: null, parent_traceparent: PARENT }, ids);
    expect(child.headers).toMatchObject({
      traceparent: `00-${OTHER}-${"b".repeat(16)}-01`,
      "CG-Parent-Traceparent": PARENT,
      "CG-Recursion-Depth": "6",
    });
    expect(child.headers.tracestate).toBeUndefined();
    const set = ctx.withTraceTransport({ traceparent: `00-${OTHER}-${"d".repeat(16)}-00` }, ids);
    expect(set.trace_id).toBe(OTHER);
    expect(ctx.withTraceTransport({ traceparent: null }, ids).headers.traceparent).toBe(
      `00-${TRACE}-${"b".repeat(16)}-01`,
    );
  });
});

describe("what leaves", () => {
  const ctx = new CGContext({ ...full, headers: { ...full.headers, "CG-Agent-Id": "impostor", "X-Other": "1" } });
  test("headers of events carry the turn but no topology, and never a stale copy", () => {
    expect(ctx.toNatsHeaders()).toEqual({
      "CG-Project-Id": "p1",
      "CG-Channel-Id": "c1",
      "CG-Agent-Id": "a1",
      "CG-Turn-Id": "turn_1",
      "CG-Turn-Epoch": "3",
      traceparent: PARENT,
      tracestate: "v=1",
    });
  });

  test("headers of commands carry the topology as well", () => {
    expect(ctx.toNatsHeaders({ includeTopology: true })).toEqual({
      ...ctx.toNatsHeaders(),
      "CG-Recursion-Depth": "2",
      "CG-Step-Id": "step_1",
      "CG-Tool-Call-Id": "tc_1",
      "CG-Parent-Agent-Id": "a0",
      "CG-Parent-Turn-Id": "turn_0",
      "CG-Parent-Step-Id": "step_0",
    });
  });

  test("a subject template is rendered with the context's own ids", () => {
    expect(ctx.renderSubjectTemplate("cg.v1r4.{project_id}.{channel_id}.cmd.tool.x.y")).toBe(
      "cg.v1r4.p1.c1.cmd.tool.x.y",
    );
  });

  test("span attributes name what is set", () => {
    expect(ctx.toOtelAttributes()).toEqual({
      "cg.project_id": "p1",
      "cg.channel_id": "c1",
      "cg.agent_id": "a1",
      "cg.agent_turn_id": "turn_1",
      "cg.turn_epoch": 3,
      "cg.step_id": "step_1",
      "cg.tool_call_id": "tc_1",
      "cg.trace_id": TRACE,
      "cg.parent_step_id": "step_0",
    });
  });
});

test("a row matches by turn and epoch, and a newer epoch only where that is asked", () => {
  const ctx = new CGContext(full);
  expect(ctx.matchesState({ active_agent_turn_id: "turn_1", turn_epoch: 3 })).toBe(true);
  expect(ctx.matchesState({ agent_turn_id: "turn_1", turn_epoch: 4 })).toBe(false);
  expect(ctx.matchesSameTurnAllowNewerEpoch({ agent_turn_id: "turn_1", turn_epoch: 4 })).toBe(true);
  expect(ctx.matchesSameTurnAllowNewerEpoch({ agent_turn_id: "turn_1", turn_epoch: 2 })).toBe(false);
  expect(ctx.matchesState({ agent_turn_id: "turn_2", turn_epoch: 3 })).toBe(false);
  const service = new CGContext({ project_id: "p1", agent_id: "tool.x" });
  expect(service.matchesState({ active_agent_turn_id: null, turn_epoch: 0 })).toBe(false);
});

test("strict accessors refuse what is not set", () => {
  const service = new CGContext({ project_id: "p1", agent_id: "tool.x" });
  expect(() => service.requireAgentTurnId()).toThrow(violation);
  expect(() => service.requireStepId()).toThrow(violation);
  expect(() => service.requireToolCallId()).toThrow(violation);
  expect(() => service.requireParentStepId()).toThrow(violation);
  expect(new CGContext(full).requireToolCallId()).toBe("tc_1");
});
