import { describe, expect, test } from "vitest";
import { buildCallbackPayload, parseCallbackPayload } from "../cards/callback-payload.ts";
import { buildCommandPayload, parseCommandPayload } from "./command-payload.ts";
import { CONTROL_FIELDS } from "./control-fields.ts";

describe("a command payload", () => {
  test("reads back what was built, and empty text as nothing", () => {
    const command = { tool_call_card_id: "card_1", tool_name: null, after_execution: "terminate" as const };
    expect(parseCommandPayload(buildCommandPayload(command))).toEqual({ command, dropped: [] });
    expect(parseCommandPayload({ tool_call_card_id: "card_1", tool_name: "", after_execution: "" }).command).toEqual({
      tool_call_card_id: "card_1",
      tool_name: null,
      after_execution: null,
    });
  });

  test("drops and names keys that it does not know", () => {
    expect(
      parseCommandPayload({ tool_call_card_id: "card_1", context_box_id: "b", dispatch_requested_at: 1 }).dropped,
    ).toEqual(["context_box_id", "dispatch_requested_at"]);
  });

  test.each([...CONTROL_FIELDS, "args", "arguments", "result"])("is refused by name for holding %s", (field) => {
    expect(() => parseCommandPayload({ tool_call_card_id: "card_1", [field]: null })).toThrow(
      expect.objectContaining({ code: "protocol_violation", message: expect.stringContaining(field) }),
    );
  });

  test.each([
    ["no card", {}, "tool_call_card_id"],
    ["a card id that is no string", { tool_call_card_id: 5 }, "tool_call_card_id"],
    ["a card id that is no id", { tool_call_card_id: "../x" }, "tool_call_card_id"],
    ["a tool name that is no string", { tool_call_card_id: "c", tool_name: {} }, "tool_name"],
    ["another after_execution", { tool_call_card_id: "c", after_execution: "maybe" }, "after_execution"],
  ])("is a bad request with %s", (_, payload, field) => {
    expect(() => parseCommandPayload(payload)).toThrow(
      expect.objectContaining({ code: "bad_request", message: expect.stringContaining(field) }),
    );
  });

  test("lists what a service needs and did not get", () => {
    expect(() =>
      parseCommandPayload({ tool_call_card_id: "c" }, { required: ["tool_name", "after_execution"] }),
    ).toThrow("missing required fields: tool_name, after_execution");
  });
});

describe("a callback payload", () => {
  const callback = { after_execution: "suspend", status: "success", tool_result_card_id: "card_2" } as const;
  test("has exactly its three fields", () => {
    expect(Object.keys(buildCallbackPayload(callback))).toEqual(["after_execution", "status", "tool_result_card_id"]);
    expect(parseCallbackPayload({ ...callback, later: 1 })).toEqual({ callback, dropped: ["later"] });
    expect(parseCallbackPayload({ status: "failed", tool_result_card_id: "c" }).callback.after_execution).toBeNull();
  });

  test.each([
    ["status ok", { ...callback, status: "ok" }, "schema_invalid"],
    ["status SUCCESS", { ...callback, status: "SUCCESS" }, "schema_invalid"],
    ["no status", { tool_result_card_id: "c" }, "schema_invalid"],
    ["another after_execution", { ...callback, after_execution: "loop" }, "schema_invalid"],
    ["no card", { status: "success" }, "missing_tool_result_card"],
    ["an inline result", { ...callback, result: {} }, "protocol_violation"],
    ["a control field", { ...callback, tool_call_id: "tc_1" }, "protocol_violation"],
    ["a sender", { ...callback, source_agent_id: "a" }, "protocol_violation"],
  ])("is refused with %s", (_, payload, code) => {
    expect(() => parseCallbackPayload(payload)).toThrow(expect.objectContaining({ code }));
  });
});
