import { buildErrorResultFromException, buildToolResultContent, errorOf } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { CAPTURED_OUTPUT_CHARS_MAX, resultOutput } from "./result-output.ts";

const built = (input: Parameters<typeof buildToolResultContent>[0]) =>
  resultOutput(buildToolResultContent(input) as Record<string, unknown>);

describe("a result as the model reads it", () => {
  it("is the tool's own JSON on success, also a wrapped value and null", () => {
    expect(built({ result: { city: "Rome" } })).toEqual({ type: "json", value: { city: "Rome" } });
    expect(built({ result: { value: 7 } })).toEqual({ type: "json", value: { value: 7 } });
    expect(built({})).toEqual({ type: "json", value: null });
  });

  it("never shows the control key", () => {
    const result = { done: true, __cg_control: { after_execution: "terminate" } };
    expect(built({ result })).toEqual({ type: "json", value: { done: true } });
    expect(JSON.stringify(built({ status: "partial", result }))).not.toContain("__cg_control");
    expect(JSON.stringify(built({ status: "failed", result }))).not.toContain("__cg_control");
  });

  it("keeps a partial result where a success has it, with the error beside it", () => {
    const error = { code: "batch_failed", message: "one of two failed" };
    expect(built({ status: "partial", result: { results: [1] }, error })).toEqual({
      type: "json",
      value: { status: "partial", results: [1], error },
    });
    expect(built({ status: "partial", result: [1], error })).toEqual({
      type: "json",
      value: { status: "partial", value: [1], error },
    });
    expect(built({ status: "partial", result: { error: "mine" }, error })).toEqual({
      type: "json",
      value: { status: "partial", value: { error: "mine" }, error },
    });
  });

  it("is a typed error with suggestion, help and detail, said once", () => {
    const thrown = errorOf("bad_request", "the city is missing", {
      details: { code: "E_TOOL_INVALID_ARGS", suggestion: "Give a city.", helpUrl: "https://example.org/city" },
    });
    const { result, error } = buildErrorResultFromException(thrown);
    expect(built({ status: "failed", result, error })).toEqual({
      type: "error-json",
      value: {
        status: "failed",
        code: "bad_request",
        message: "the city is missing",
        suggestion: "Give a city.",
        help_url: "https://example.org/city",
        retryable: false,
        detail: { code: "E_TOOL_INVALID_ARGS" },
      },
    });
  });

  it("keeps what a failed tool returned besides its error", () => {
    const error = { code: "batch_failed", message: "no task succeeded" };
    expect(built({ status: "failed", result: { results: [] }, error })).toMatchObject({
      value: { status: "failed", code: "batch_failed", result: { results: [] } },
    });
    const both = { error_code: "batch_failed", error_message: "no", exit: 2 };
    expect(built({ status: "failed", result: both, error })).toMatchObject({ value: { result: { exit: 2 } } });
  });

  it.each([
    ["timeout", "tool_timeout"],
    ["failed", "outcome_unknown"],
    ["failed", "tool_crashed"],
    ["canceled", "canceled"],
  ])("names a %s that the kernel settled by its code %s", (status, code) => {
    const error = { code, message: "m", source: "kernel" };
    const output = resultOutput({ status, after_execution: "suspend", result: null, error });
    expect(output).toMatchObject({ type: "error-json", value: { status, code, message: "m" } });
  });

  it("asks the model to look before it repeats a call whose outcome is unknown, and when a repeat is allowed", () => {
    const unknown = built({ status: "timeout", error: { code: "outcome_unknown", message: "m" } });
    expect(unknown).toMatchObject({ value: { action: expect.stringContaining("before you call it again") } });
    const crashed = built({ status: "failed", error: { code: "tool_crashed", message: "m", retryable: true } });
    expect(crashed).toMatchObject({ value: { retryable: true, action: "The same call may be tried again." } });
  });

  it("cuts captured output and nothing else", () => {
    const long = "x".repeat(CAPTURED_OUTPUT_CHARS_MAX + 1);
    const output = built({ result: { stdout: long, stderr: "short", text: long } });
    const value = (output as { value: Record<string, string> }).value;
    expect(value.stdout).toHaveLength(CAPTURED_OUTPUT_CHARS_MAX);
    expect(value.stdout).toMatch(/\(truncated\)$/);
    expect(value).toMatchObject({ stderr: "short", text: long });
  });

  it("is a failure also where a card breaks its own rules", () => {
    expect(resultOutput({ status: "SUCCESS", result: 1 })).toEqual({
      type: "error-json",
      value: { status: "failed", code: "unknown_error", message: "The tool gave no reason.", result: 1 },
    });
  });
});
