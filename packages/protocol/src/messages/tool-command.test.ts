import { describe, expect, test } from "vitest";
import { TesseraError } from "../errors/errors.ts";
import { CGContext } from "./context.ts";
import { commandHeaders } from "./headers.ts";
import { parseToolCommand } from "./tool-command.ts";
import { traceparentOf } from "./trace-context.ts";

const ids = { traceId: () => "a".repeat(32), spanId: () => "b".repeat(16) };
const SUBJECT = "cg.v1r4.p1.c1.cmd.tool.search.query";
const ctx = new CGContext({
  project_id: "p1",
  agent_id: "a1",
  channel_id: "c1",
  agent_turn_id: "turn_1",
  turn_epoch: 2,
  step_id: "step_1",
  tool_call_id: "tc_1",
  recursion_depth: 3,
  trace_id: ids.traceId(),
});
const HEADERS = commandHeaders(ctx, {
  ticket: "secret",
  traceparent: traceparentOf(ids.traceId(), ids.spanId()),
  msg_type: "ToolCommandPayload",
});
const PAYLOAD = { tool_call_card_id: "card_1", tool_name: "search", after_execution: "suspend" };

function parse(change: { subject?: string; headers?: Record<string, string>; payload?: unknown; without?: string }) {
  const headers: Record<string, string> = { ...HEADERS, ...change.headers };
  if (change.without) delete headers[change.without];
  const data = new TextEncoder().encode(JSON.stringify(change.payload ?? PAYLOAD));
  return parseToolCommand({ subject: change.subject ?? SUBJECT, headers, data }, { ids });
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return TesseraError.is(error) ? error.code : String(error);
  }
  return "accepted";
}

test("a command that the kernel sends is read back, ticket aside", () => {
  const command = parse({ payload: { ...PAYLOAD, hint: 1 } });
  expect(command.ctx.toSysDict()).toEqual(ctx.toSysDict());
  expect(command.command).toEqual(PAYLOAD);
  expect(command.ticket).toBe("secret");
  expect(command.dropped).toEqual(["hint"]);
  expect(JSON.stringify(command.ctx)).not.toContain("secret");
});

describe("a command is refused", () => {
  test.each([
    ["without its call id", { without: "CG-Tool-Call-Id" }, "protocol_violation"],
    ["without its turn id", { without: "CG-Turn-Id" }, "protocol_violation"],
    ["without its depth", { without: "CG-Recursion-Depth" }, "protocol_violation"],
    ["with a negative depth", { headers: { "CG-Recursion-Depth": "-1" } }, "protocol_violation"],
    ["at depth 20", { headers: { "CG-Recursion-Depth": "20" } }, "recursion_depth_exceeded"],
    ["at depth 10^9", { headers: { "CG-Recursion-Depth": "1000000000" } }, "recursion_depth_exceeded"],
    ["with a header of two values", { headers: { "CG-Tool-Call-Id": "tc_1\ntc_2" } }, "protocol_violation"],
    ["with an epoch of 1.5", { headers: { "CG-Turn-Epoch": "1.5" } }, "protocol_violation"],
    ["with a control field", { payload: { ...PAYLOAD, turn_epoch: 2 } }, "protocol_violation"],
    ["with inline arguments", { payload: { ...PAYLOAD, args: {} } }, "protocol_violation"],
    ["with another after_execution", { payload: { ...PAYLOAD, after_execution: "maybe" } }, "bad_request"],
    ["with a list as payload", { payload: [] }, "invalid_payload"],
    ["in version v999", { subject: "cg.v999.p1.c1.cmd.tool.search.query" }, "unsupported_version"],
    ["on a subject of three tokens", { subject: "cg.v1r4.p1" }, "invalid_subject"],
    ["on an event's subject", { subject: "cg.v1r4.p1.c1.evt.agent.a1.task" }, "invalid_subject"],
    ["on a wakeup's subject", { subject: "cg.v1r4.p1.c1.cmd.agent.w.wakeup" }, "invalid_subject"],
    ["from another project", { subject: "cg.v1r4.p2.c1.cmd.tool.search.query" }, "protocol_violation"],
  ])("%s", (_, change, code) => {
    expect(codeOf(() => parse(change))).toBe(code);
  });
});

test("a malformed traceparent does not stop a command", () => {
  expect(parse({ headers: { traceparent: "junk" } }).trace_restarted).toBe(true);
});

test("the PMO needs name, after_execution and step", () => {
  const subject = "cg.v1r4.p1.c1.cmd.sys.pmo.internal.fork_join";
  expect(parse({ subject }).subject.suffix).toBe("internal.fork_join");
  expect(codeOf(() => parse({ subject, payload: { tool_call_card_id: "card_1" } }))).toBe("bad_request");
  expect(codeOf(() => parse({ subject, without: "CG-Step-Id" }))).toBe("protocol_violation");
  expect(parse({ payload: { tool_call_card_id: "card_1" } }).command).toEqual({
    tool_call_card_id: "card_1",
    tool_name: null,
    after_execution: null,
  });
});

describe("a v1r3 command", () => {
  const subject = "cg.v1r3.p1.c1.cmd.tool.search.query";
  test("has the identity of its payload lifted into headers", () => {
    const payload = { ...PAYLOAD, tool_call_id: "tc_1", agent_turn_id: "turn_1", turn_epoch: 2, agent_id: "a1" };
    const lifted = parseToolCommand(
      {
        subject,
        headers: { "CG-Recursion-Depth": "3" },
        data: new TextEncoder().encode(JSON.stringify(payload)),
      },
      { ids },
    );
    expect(lifted.ctx).toMatchObject({ agent_id: "a1", agent_turn_id: "turn_1", turn_epoch: 2, tool_call_id: "tc_1" });
    expect(codeOf(() => parse({ subject, payload }))).toBe("accepted");
  });

  test.each([
    { tool_call_id: "tc_2" },
    { turn_epoch: 9 },
    { agent_id: { a: 1 } },
    { trace_id: "c".repeat(32) },
    { project_id: "p2" },
  ])("is refused when payload and header disagree: %o", (patch) => {
    expect(codeOf(() => parse({ subject, payload: { ...PAYLOAD, ...patch } }))).toBe("protocol_violation");
  });
});
