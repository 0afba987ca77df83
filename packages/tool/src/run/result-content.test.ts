import { validateToolResultContent } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../api.ts";
import {
  canceledContent,
  crashContent,
  timeoutContent,
  toResultContent,
  unknownOutcomeContent,
} from "./result-content.ts";

const options = { afterExecution: "suspend", errorMessageLimit: 1_000 } as const;
const ok = (output: JsonValue) => ({ toolCallId: "tc_1", toolName: "t", status: "ok", output }) as const;
/** What is stored: plain JSON, in its order. */
const stored = (content: unknown): unknown => JSON.parse(JSON.stringify(validateToolResultContent(content)));

describe("the card of an answer", () => {
  it("holds an object as it is", () => {
    expect(stored(toResultContent(ok({ a: 1 }), options))).toEqual({
      status: "success",
      after_execution: "suspend",
      result: { a: 1 },
      error: null,
    });
  });

  it.each<[JsonValue]>([["text"], [0], [false], [null], [[1, 2]]])("wraps %j as a value", (output) => {
    expect(stored(toResultContent(ok(output), options))).toMatchObject({
      status: "success",
      result: { value: output },
    });
  });

  it("follows the definition, unless the output steers itself", () => {
    expect(toResultContent(ok({}), { ...options, afterExecution: "terminate" }).after_execution).toBe("terminate");
    const steering = ok({ a: 1, __cg_control: { after_execution: "terminate" } });
    expect(toResultContent(steering, options)).toMatchObject({ status: "success", after_execution: "terminate" });
  });

  it("fails when the output asks for an unknown after_execution", () => {
    const content = toResultContent(ok({ a: 1, __cg_control: { after_execution: "loop" } }), options);
    expect(stored(content)).toMatchObject({
      status: "failed",
      result: { a: 1 },
      error: { code: "invalid_after_execution" },
    });
  });

  it("of a failure without an error still says something", () => {
    const content = toResultContent({ toolCallId: "tc_1", toolName: "t", status: "error" }, options);
    expect(stored(content)).toMatchObject({
      status: "failed",
      error: { code: "internal_error", detail: { code: "E_TOOL" } },
    });
  });
});

describe("the card of a run without an answer", () => {
  it.each(["read", "idempotent"] as const)("says that a %s tool took too long", (effect) => {
    expect(stored(timeoutContent(effect, { ...options, timeoutMs: 250 }))).toEqual({
      status: "timeout",
      after_execution: "suspend",
      result: {
        error_code: "tool_timeout",
        error_message: "the tool gave no result within 250 ms",
        error: { code: "tool_timeout", message: "the tool gave no result within 250 ms", source: "tool" },
      },
      error: { code: "tool_timeout", message: "the tool gave no result within 250 ms", source: "tool" },
    });
  });

  it("does not know what became of a `once` tool that took too long", () => {
    expect(stored(timeoutContent("once", { ...options, timeoutMs: 250 }))).toMatchObject({
      status: "timeout",
      error: { code: "outcome_unknown", detail: { reason: "tool_timeout" } },
    });
  });

  it.each(["read", "idempotent"] as const)("lets a %s tool that crashed be run again", (effect) => {
    expect(stored(crashContent(effect, { ...options, detail: { signal: "SIGKILL" } }))).toMatchObject({
      status: "failed",
      error: { code: "tool_crashed", retryable: true, detail: { signal: "SIGKILL" } },
    });
  });

  it("never lets a `once` tool that crashed be run again", () => {
    const content = crashContent("once", { ...options, detail: { exit_code: 1 } });
    expect(stored(content)).toMatchObject({
      status: "failed",
      error: { code: "outcome_unknown", detail: { exit_code: 1, reason: "tool_crashed" } },
    });
    expect(content.error).not.toHaveProperty("retryable");
  });

  it("says that it was canceled", () => {
    expect(stored(canceledContent({ ...options, afterExecution: "terminate" }))).toMatchObject({
      status: "canceled",
      after_execution: "terminate",
      error: { code: "canceled", message: "the call was canceled" },
    });
  });

  it("says that the outcome is unknown", () => {
    expect(stored(unknownOutcomeContent({ ...options, reason: "executor_lost" }))).toMatchObject({
      status: "failed",
      error: { code: "outcome_unknown", detail: { reason: "executor_lost" } },
    });
  });

  it("keeps its message within the tool's limit", () => {
    const tight = { afterExecution: "suspend", errorMessageLimit: 20 } as const;
    for (const content of [
      timeoutContent("once", { ...tight, timeoutMs: 1 }),
      crashContent("read", tight),
      canceledContent(tight),
      unknownOutcomeContent({ ...tight, reason: "x" }),
    ]) {
      expect(content.error?.message.length).toBeLessThanOrEqual(20);
    }
  });
});
