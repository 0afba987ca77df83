import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BadRequest } from "../errors/errors.ts";
import { validateCardContent } from "./card.ts";
import { validateToolResultContent } from "./card-content.ts";
import { buildToolResultContent } from "./tool-result.ts";

describe("building a result", () => {
  test("a plain value is a success that suspends", () => {
    expect(buildToolResultContent({ result: { n: 1 } })).toEqual({
      status: "success",
      after_execution: "suspend",
      result: { n: 1 },
      error: null,
    });
    expect(buildToolResultContent({}).result).toBeNull();
  });

  test.each([
    ["an unknown status", { status: "ok" }, "failed", "invalid_status"],
    ["a status that is no text", { status: Object.create(null) }, "failed", "invalid_status"],
    ["an error beside success", { status: "success", error: { code: "x", message: "y" } }, "failed", "x"],
    ["an error alone", { error: new BadRequest("no") }, "failed", "bad_request"],
    [
      "a failure that says why in its result",
      { status: "partial", result: { error_code: "half", error_message: "m" } },
      "partial",
      "half",
    ],
    ["a failure that says nothing", { status: "canceled" }, "canceled", "unknown_error"],
    [
      "an error that is not JSON",
      { status: "failed", error: { code: "x", message: "y", detail: 1n } },
      "failed",
      "error_not_serializable",
    ],
    ["a result that is not JSON", { result: () => 1 }, "failed", "result_not_serializable"],
    ["a result that is too large", { result: "x".repeat(2_000_000) }, "failed", "payload_too_large"],
    ["a result that is too deep", { result: JSON.parse(`${"[".repeat(65)}${"]".repeat(65)}`) }, "failed", "too_deep"],
    [
      "another after_execution",
      { after_execution: "maybe", command_after_execution: "terminate" },
      "failed",
      "invalid_after_execution",
    ],
    [
      "a control that is not valid",
      { result: { __cg_control: { after_execution: "loop" } } },
      "failed",
      "invalid_after_execution",
    ],
  ])("%s", (_, input, status, code) => {
    const content = buildToolResultContent(input);
    expect([content.status, content.error?.code]).toEqual([status, code]);
    expect(content.after_execution).toBe("suspend");
    expect(() => validateCardContent("tool.result", content)).not.toThrow();
  });

  test("a result that is not JSON says what it was and keeps the error that came with it", () => {
    const content = buildToolResultContent({ result: new Date(0), error: { code: "x", message: "y" } });
    expect(content).toMatchObject({
      result: null,
      error: { detail: { type: "Date", original_error: { code: "x", message: "y" } } },
    });
  });

  test("whatever a tool hands over, the kernel accepts what is built", () => {
    const anything = fc.oneof(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withSparseArray: true }),
      fc.constantFrom(
        "success",
        "failed",
        "terminate",
        "suspend",
        new Error("boom"),
        { code: "x", message: "y" },
        { __cg_control: 1 },
      ),
    );
    const input = fc.record(
      {
        status: anything,
        result: anything,
        error: anything,
        after_execution: anything,
        definition_after_execution: anything,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(input, (value) => {
        const content = buildToolResultContent(value);
        validateToolResultContent(content);
        validateCardContent("tool.result", content);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("the kernel refuses a result", () => {
  const good = { status: "success", after_execution: "suspend", result: {}, error: null };
  const error = { code: "x", message: "y", source: "tool" };
  test.each([
    ["status ok", { ...good, status: "ok" }],
    ["status SUCCESS", { ...good, status: "SUCCESS" }],
    ["no status", { after_execution: "suspend", result: {} }],
    ["success with an error", { ...good, error }],
    ["failure without an error", { ...good, status: "failed" }],
    ["failure without a code", { ...good, status: "failed", error: { message: "y", source: "tool" } }],
    ["no result", { status: "success", after_execution: "suspend" }],
    ["an unknown key", { ...good, tool_result_card_id: "c" }],
    ["a control that is not valid", { ...good, result: { __cg_control: { after_execution: "loop" } } }],
    ["text", "done"],
  ])("%s", (_, content) => {
    expect(() => validateToolResultContent(content)).toThrow(expect.objectContaining({ code: "schema_invalid" }));
  });

  test("but not one with a valid control, or with one deeper down", () => {
    const result = { __cg_control: { after_execution: "terminate" }, deep: { __cg_control: "x" } };
    expect(validateToolResultContent({ ...good, result })).toMatchObject({ status: "success" });
    expect(validateToolResultContent({ ...good, status: "timeout", error })).toMatchObject({ error });
  });
});

test("a revoked proxy, as result or as error, is a failed result like any other thing that is not JSON", () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(buildToolResultContent({ result: proxy })).toMatchObject({ error: { code: "result_not_serializable" } });
  expect(buildToolResultContent({ error: proxy })).toMatchObject({ status: "failed" });
});
