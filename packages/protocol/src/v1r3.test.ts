// Ids in the payloads of v1r3 peers: sent to them, and believed from them only as far as they are the call's.

import { describe, expect, test } from "vitest";
import { stripReportIdentity, v1r3PayloadIdentity } from "./v1r3.ts";

const call = {
  tool_call_id: "tc_1",
  agent_turn_id: "turn_1",
  turn_epoch: 3,
  agent_id: "a1",
  step_id: "step_1",
  project_id: "p1",
  channel_id: "public",
};

describe("a v1r3 report", () => {
  test("loses ids that are the call's", () => {
    const report = { ...v1r3PayloadIdentity(call), status: "success", tool_result_card_id: "tr_1" };
    expect(stripReportIdentity(report, call)).toEqual({ status: "success", tool_result_card_id: "tr_1" });
  });

  test("may write the epoch as text and the channel by its older name", () => {
    expect(stripReportIdentity({ turn_epoch: "3", channel: "public", status: "failed" }, call)).toEqual({
      status: "failed",
    });
  });

  test.each([
    ["tool_call_id", "tc_2"],
    ["agent_turn_id", "turn_2"],
    ["turn_epoch", 4],
    ["agent_id", "a2"],
    ["step_id", "step_2"],
    ["project_id", "p2"],
    ["trace_id", "a".repeat(32)],
    ["agent_id", { id: "a1" }],
  ])("that names another %s is refused", (field, value) => {
    expect(() => stripReportIdentity({ [field]: value, status: "success" }, call)).toThrow(/payload/);
  });
});
