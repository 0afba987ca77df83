import { describe, expect, test } from "vitest";
import { type InboxRow, replayInboxRow } from "./replay.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const row: InboxRow = {
  inbox_id: "inbox_1",
  project_id: "p1",
  agent_id: "a1",
  channel_id: "c1",
  message_type: "turn",
  correlation_id: "corr_1",
  agent_turn_id: "turn_1",
  turn_epoch: 5,
  context_headers: {
    traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
    "CG-Recursion-Depth": "2",
    "CG-Step-Id": "step_1",
  },
  payload: { profile_box_id: "box_1" },
};
const headers = row.context_headers as Record<string, string>;

test("a row becomes the context that was stored", () => {
  const { ctx, payload } = replayInboxRow(row);
  expect(ctx).toMatchObject({
    agent_turn_id: "turn_1",
    turn_epoch: 5,
    recursion_depth: 2,
    step_id: "step_1",
    trace_id: TRACE,
  });
  expect(payload).toEqual({ profile_box_id: "box_1" });
});

test("columns win over headers", () => {
  const lying = {
    ...headers,
    "CG-Project-Id": "p9",
    "CG-Agent-Id": "a9",
    "CG-Turn-Id": "turn_9",
    "CG-Turn-Epoch": "9",
  };
  const { ctx } = replayInboxRow({ ...row, context_headers: lying });
  expect(ctx).toMatchObject({ project_id: "p1", agent_id: "a1", agent_turn_id: "turn_1", turn_epoch: 5 });
});

test("a turn without a turn id is named by its correlation, else by its row", () => {
  expect(replayInboxRow({ ...row, agent_turn_id: null }).ctx.agent_turn_id).toBe("corr_1");
  expect(replayInboxRow({ ...row, agent_turn_id: "", correlation_id: null }).ctx.agent_turn_id).toBe("inbox_1");
  expect(replayInboxRow({ ...row, agent_turn_id: null, message_type: "stop" }).ctx.agent_turn_id).toBe("");
});

describe("a row cannot be replayed", () => {
  test.each([
    ["without headers", { context_headers: null }, "protocol_violation"],
    ["with headers as a list", { context_headers: [] }, "protocol_violation"],
    ["without a traceparent", { context_headers: { "CG-Recursion-Depth": "2" } }, "protocol_violation"],
    ["with a broken traceparent", { context_headers: { ...headers, traceparent: "x" } }, "protocol_violation"],
    ["with an object as a header", { context_headers: { ...headers, x: { toString: 1 } } }, "protocol_violation"],
    ["without a depth", { context_headers: { traceparent: headers.traceparent } }, "protocol_violation"],
    ["with a control field in its payload", { payload: { agent_turn_id: "turn_1" } }, "protocol_violation"],
    ["with a sender in its payload", { payload: { source_agent_id: "a0" } }, "protocol_violation"],
    ["with a payload that is no object", { payload: [1] }, "invalid_payload_type"],
  ])("%s", (_, patch, code) => {
    expect(() => replayInboxRow({ ...row, ...patch })).toThrow(expect.objectContaining({ code }));
  });
});
