import { describe, expect, test } from "vitest";
import { CGContext, type CGContextInput } from "./context.ts";
import { commandHeaders, turnHeaders } from "./headers.ts";
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

  test.each<Readonly<Record<string, unknown>>>([
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
    { trace_id: [] },
    { step_id: "../x" },
    { step_id: 5 },
  ])("refuses %o", (patch) => {
    expect(() => new CGContext(Object.assign({ ...full }, patch))).toThrow(violation);
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

describe("evolving returns a new value", () => {
  const ctx = new CGContext(full);
  test("what is given changes and nothing else", () => {
    expect(ctx.evolve({ step_id: null, channel_id: undefined, turn_epoch: 9 }).toSysDict()).toEqual({
      ...ctx.toSysDict(),
      step_id: null,
      turn_epoch: 9,
    });
    expect(ctx.turn_epoch).toBe(3);
  });

  test("a new trace takes the traceparent along", () => {
    const moved = ctx.evolve({ trace_id: OTHER });
    expect([moved.trace_id, moved.headers.traceparent]).toEqual([OTHER, `00-${OTHER}-b7ad6b7169203331-01`]);
  });

  test("new headers bring their trace, and a depth that they copied follows the context's own", () => {
    const bare = new CGContext({ project_id: "p1", agent_id: "a1", recursion_depth: 2 });
    const moved = bare.evolve({ headers: { traceparent: PARENT, "CG-Recursion-Depth": "7" } });
    expect([moved.trace_id, moved.headers["CG-Recursion-Depth"]]).toEqual([TRACE, "2"]);
    expect(() => bare.evolve({ headers: { traceparent: PARENT }, trace_id: OTHER })).toThrow(violation);
  });

  test("the identity goes out as plain data and comes back", () => {
    expect(Object.keys(ctx.toSysDict())).toHaveLength(12);
    expect(new CGContext(ctx.toSysDict()).toSysDict()).toEqual(ctx.toSysDict());
  });
});

test("normalizing transport takes proofs of authority out", () => {
  const { headers } = normalizeTransport({ headers: { "CG-Call-Ticket": "t", "cg-report-capability": "c" } }, ids);
  expect(Object.keys(headers).sort()).toEqual(["CG-Recursion-Depth", "traceparent"]);
});

describe("what leaves", () => {
  const ctx = new CGContext({ ...full, headers: { ...full.headers, "CG-Agent-Id": "impostor", "X-Other": "1" } });
  const envelope = { traceparent: PARENT, msg_type: "ToolCommandPayload" };
  const turn = {
    "CG-Project-Id": "p1",
    "CG-Channel-Id": "c1",
    "CG-Agent-Id": "a1",
    "CG-Turn-Id": "turn_1",
    "CG-Turn-Epoch": "3",
    traceparent: PARENT,
    "CG-Version": "v1r4",
    "CG-Msg-Type": "ToolCommandPayload",
    "CG-Sender": "tessera",
  };
  test("headers of events carry the turn but no topology, and never a stale copy", () => {
    expect(turnHeaders(ctx, envelope)).toEqual(turn);
  });

  test("headers of commands carry the call and the turn above as well", () => {
    expect(commandHeaders(ctx, { ...envelope, version: "v1r3", ticket: "secret" })).toEqual({
      ...turn,
      "CG-Version": "v1r3",
      "CG-Recursion-Depth": "2",
      "CG-Step-Id": "step_1",
      "CG-Tool-Call-Id": "tc_1",
      "CG-Parent-Agent-Id": "a0",
      "CG-Parent-Turn-Id": "turn_0",
      "CG-Parent-Step-Id": "step_0",
      "CG-Call-Ticket": "secret",
    });
  });

  test("what is not set has no header", () => {
    const service = new CGContext({ project_id: "p1", agent_id: "tool.x" });
    expect(Object.keys(commandHeaders(service, { traceparent: null, msg_type: "X", ticket: "t" })).sort()).toEqual([
      ...["CG-Agent-Id", "CG-Call-Ticket", "CG-Channel-Id", "CG-Msg-Type", "CG-Project-Id", "CG-Recursion-Depth"],
      ...["CG-Sender", "CG-Turn-Epoch", "CG-Version"],
    ]);
  });
});

test("required fields refuse what is not set", () => {
  const service = new CGContext({ project_id: "p1", agent_id: "tool.x" });
  expect(() => service.requireAgentTurnId()).toThrow(violation);
  expect(() => service.requireToolCallId()).toThrow(violation);
  expect(new CGContext(full).requireToolCallId()).toBe("tc_1");
});
