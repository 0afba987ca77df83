// Handlers that throw in every way we could think of, through the two functions that every placement uses: executeHandler,
// then toResultContent.

import { PolicyDenied, TesseraError, UpstreamUnavailable } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { contentOf, cycle, refusing, revoked, runHandler, throwing } from "../../test/handler-runs.ts";
import { ToolError } from "../tool-error.ts";

describe("a handler that throws", () => {
  const frozen = Object.freeze(new Error("frozen"));
  const shout = Object.assign(new Error("x"), { message: 42 });
  const unreadable = new (class extends Error {
    override get message(): string {
      throw new Error("no");
    }
    override get name(): string {
      throw new Error("no");
    }
    get code(): string {
      throw new Error("no");
    }
  })();
  const unknown = "Unknown tool execution error";

  it.each<[string, unknown, Record<string, unknown>]>([
    ["an Error", new Error("boom"), { name: "Error", message: "boom" }],
    ["an error of a class", new TypeError("bad"), { name: "TypeError", message: "bad" }],
    ["an Error without a message", new RangeError(), { name: "RangeError", message: "RangeError" }],
    ["a frozen Error", frozen, { name: "Error", message: "frozen" }],
    ["an Error whose message is a number", shout, { name: "Error", message: `${unknown}: 42` }],
    ["an Error that cannot be read", unreadable, { message: `${unknown}: a value that cannot be shown as JSON` }],
    ["an Error with a number as code", Object.assign(new Error("x"), { code: 23 }), { name: "Error", message: "x" }],
    ["a string", "boom", { message: `${unknown}: boom` }],
    ["an empty string", "", { message: unknown }],
    ["a number", 7, { message: `${unknown}: 7` }],
    ["a bigint", 7n, { message: `${unknown}: 7` }],
    ["a symbol", Symbol("s"), { message: `${unknown}: Symbol(s)` }],
    ["null", null, { message: `${unknown}: null` }],
    ["undefined", undefined, { message: `${unknown}: undefined` }],
    ["a plain object", { a: 1 }, { message: `${unknown}: {"a":1}` }],
    ["an object that looks like an error", { message: "m", name: "N" }, { name: "N", message: "m" }],
    ["a function", function f() {}, { name: "f", message: `${unknown}: a function` }],
    ["a cycle", cycle(), { message: `${unknown}: a value that cannot be shown as JSON` }],
    ["a revoked proxy", revoked(), { message: `${unknown}: a value that cannot be shown as JSON` }],
    ["a proxy that refuses", refusing(), { message: `${unknown}: a value that cannot be shown as JSON` }],
    ["text that no database takes", new Error("a\0b\ud800"), { name: "Error", message: "a\ufffdb\ufffd" }],
  ])("%s gets a safe error", async (_, thrown, expected) => {
    const result = await throwing(thrown);
    expect(result).toEqual({
      toolCallId: "tc_1",
      toolName: "demo__run",
      status: "error",
      error: { code: "E_TOOL", ...expected },
    });
    const content = contentOf(result);
    expect(content.status).toBe("failed");
    expect(content.error).toMatchObject({
      code: "internal_error",
      message: expected.message,
      source: "tool",
      detail: { code: "E_TOOL" },
    });
    expect(content.result).toMatchObject({ error_code: "internal_error", error_message: expected.message });
    expect(JSON.stringify(content)).not.toMatch(/test\.ts/); // no stack
  });

  it("shows the model its code, suggestion and link", async () => {
    const result = await throwing(
      new ToolError("no such city", { code: "E_CITY", suggestion: "use English", helpUrl: "https://e.com/c" }),
    );
    expect(result.error).toEqual({
      name: "ToolError",
      message: "no such city",
      code: "E_CITY",
      suggestion: "use English",
      helpUrl: "https://e.com/c",
    });
    expect(contentOf(result).error).toEqual({
      code: "internal_error",
      message: "no such city",
      source: "tool",
      detail: { name: "ToolError", code: "E_CITY", suggestion: "use English", helpUrl: "https://e.com/c" },
    });
  });

  it.each([
    ["E_TOOL_INVALID_ARGS", "bad_request"],
    ["E_TOOL_NOT_FOUND", "not_found"],
    ["E_TOOL_NOT_IN_CATALOG", "not_found"],
    ["E_TOOL", "internal_error"],
    ["ENOENT", "internal_error"],
    ["toString", "internal_error"],
    ["upstream_unavailable", "upstream_unavailable"],
    ["protocol_violation", "bad_request"],
  ])("with code %s is %s on the card", async (code, expected) => {
    const result = await throwing(Object.assign(new Error("x"), { code }));
    expect(result.error?.code).toBe(code);
    const { error } = contentOf(result);
    expect(error?.code).toBe(expected);
    if (code === "protocol_violation") expect(error?.detail).toEqual({ kind: "protocol_violation" });
    else expect(error?.detail).toEqual(code === expected ? undefined : { code });
  });

  it("keeps whether it may be tried again", async () => {
    for (const retryable of [true, false]) {
      const result = await throwing(new ToolError("busy", { retryable }));
      expect(result.error?.retryable).toBe(retryable);
      expect(contentOf(result).error?.retryable).toBe(retryable);
    }
    expect(contentOf(await throwing(new Error("x"))).error).not.toHaveProperty("retryable");
  });

  it("with an error of the catalogue keeps code, detail and what the catalogue says about retrying", async () => {
    const outside = await throwing(new PolicyDenied("no", { code: "path_outside_workdir", details: { path: "../x" } }));
    expect(outside.error).toEqual({
      name: "PolicyDenied",
      message: "no",
      code: "path_outside_workdir",
      retryable: false,
    });
    expect(contentOf(outside).error).toMatchObject({
      code: "path_outside_workdir",
      detail: { path: "../x", name: "PolicyDenied" },
      retryable: false,
    });
    expect((await throwing(new UpstreamUnavailable("gone"))).error?.retryable).toBe(true);
    const cyclic = await throwing(new TesseraError("conflict", "x", { details: { loop: cycle() } }));
    expect(contentOf(cyclic).error?.code).toBe("conflict");
  });

  it("has its message cut to the tool's limit, marker included", async () => {
    const result = await throwing(new Error("x".repeat(5_000)), 40);
    expect(result.error?.message).toBe(`${"x".repeat(25)}... (truncated)`);
    expect(contentOf(result, 40).error?.message).toBe(result.error?.message);
    expect((await throwing("y".repeat(5_000), 40)).error?.message).toHaveLength(40);
    expect((await throwing(new Error("xyz"), 2)).error?.message).toBe("xy");
  });

  it("cannot make the card too large with the rest of its error", async () => {
    const long = "z".repeat(1_000_000);
    const result = await throwing(
      Object.assign(new Error("x"), { name: long, code: long, suggestion: long, helpUrl: long }),
    );
    expect(JSON.stringify(result).length).toBeLessThan(5_000);
    expect(result.error).not.toHaveProperty("helpUrl");
    expect(contentOf(result).error?.code).toBe("internal_error");
  });

  it("before it awaits, after, or in its parse, is reported alike", async () => {
    const rejected = await runHandler({ handler: () => Promise.reject(new Error("boom")) });
    const parse = () => {
      throw new Error("boom");
    };
    expect(rejected).toEqual(await throwing(new Error("boom")));
    expect(await runHandler({ parse })).toEqual(rejected);
  });
});
