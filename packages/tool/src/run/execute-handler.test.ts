import { describe, expect, it } from "vitest";
import { contentOf, cycle, refusing, returning, revoked, runHandler } from "../../test/handler-runs.ts";
import type { JsonObject, ToolReconcile } from "../api.ts";

describe("a handler that returns", () => {
  it("gives its output, awaited", async () => {
    const expected = { toolCallId: "tc_1", toolName: "demo__run", status: "ok", output: { a: 1 } };
    expect(await returning({ a: 1 })).toEqual(expected);
    expect(await returning(Promise.resolve({ a: 1 }))).toEqual(expected);
  });

  it.each([
    [undefined, null],
    [null, null],
    ["text", "text"],
    [-0, 0],
    [
      [1, "a"],
      [1, "a"],
    ],
    [{ a: undefined, b: 1 }, { b: 1 }],
  ])("%j is %j", async (output, expected) => {
    expect(await returning(output)).toMatchObject({ status: "ok", output: expected });
  });

  it("shares nothing with what it returned", async () => {
    const inner = { list: [1] };
    const { output } = await returning(inner);
    inner.list.push(2);
    expect(output).toEqual({ list: [1] });
  });

  const deep = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));
  it.each([
    ["a function", () => () => 1, "result_not_serializable", "function", ""],
    ["a symbol inside", () => ({ a: [Symbol("s")] }), "result_not_serializable", "symbol", "/a/0"],
    ["a bigint", () => 1n, "result_not_serializable", "bigint", ""],
    ["NaN", () => Number.NaN, "result_not_serializable", "number", ""],
    ["a number beyond 2^53", () => ({ n: 2 ** 60 }), "result_not_serializable", "number", "/n"],
    ["a cycle", cycle, "result_not_serializable", "cycle", expect.stringContaining("/self/self")],
    ["a Date", () => new Date(0), "result_not_serializable", "Date", ""],
    ["a Map", () => ({ m: new Map() }), "result_not_serializable", "Map", "/m"],
    ["half a surrogate pair", () => "\ud800", "result_not_serializable", "string", ""],
    ["NUL", () => "a\0b", "result_not_serializable", "string", ""],
    ["a revoked proxy", () => ({ p: revoked() }), "result_not_serializable", "object", "/p"],
    ["a proxy that refuses", () => ({ p: refusing() }), "result_not_serializable", "object", "/p"],
    ["a megabyte", () => "x".repeat(1_000_000), "payload_too_large", "string", ""],
    ["64 lists in each other", () => deep(64), "too_deep", "array", expect.stringContaining("/0/0")],
  ])(
    "%s instead of JSON fails as E_TOOL and keeps the exact code on the card",
    async (_, make, code, type, pointer) => {
      const result = await returning(make());
      expect(result).toMatchObject({ status: "error", error: { code: "E_TOOL" } });
      expect(result.error?.message).toContain("output cannot be used");
      expect(result).not.toHaveProperty("output");
      expect(contentOf(result)).toMatchObject({
        status: "failed",
        result: null,
        error: { code, source: "tool", detail: { type, pointer } },
      });
    },
  );

  it("a promise that cannot even be awaited fails like a throw", async () => {
    expect(await returning(revoked())).toMatchObject({ status: "error", error: { name: "TypeError", code: "E_TOOL" } });
  });

  it("may return 63 lists in each other, and the card takes them", async () => {
    const result = await returning(deep(63));
    expect(result.status).toBe("ok");
    expect(contentOf(result).status).toBe("success");
  });

  it("may fill its share of a card to the byte, and the card takes it", async () => {
    const most = 1024 * 1024 - 97 * 1024 - 2;
    const result = await returning("x".repeat(most));
    expect(contentOf(result).status).toBe("success");
    expect((await returning("x".repeat(most + 1))).wire?.code).toBe("payload_too_large");
  });
});

describe("the schema's own check", () => {
  it("gives the handler what it returned", async () => {
    const seen: unknown[] = [];
    await runHandler({
      parse: async (input) => ({ ...input, more: true }),
      handler: (_, input) => void seen.push(input) as never,
    });
    expect(seen).toEqual([{ text: "a", more: true }]);
  });
});

describe("a run that was cut off", () => {
  function reconciled(reconcile: ToolReconcile | undefined) {
    const seen: { runs: number; call?: unknown } = { runs: 0 };
    const result = runHandler(
      {
        handler: () => ++seen.runs,
        ...(reconcile === undefined
          ? {}
          : {
              reconcile: (ctx, call) => {
                seen.call = call;
                return reconcile(ctx, call);
              },
            }),
      },
      { mode: "reconcile" },
    );
    return result.then((value) => ({ result: value, seen }));
  }

  it("that took effect gives the output that reconcile found, without a second run", async () => {
    const { result, seen } = await reconciled(() => ({ outcome: "done", output: { id: 7 } }));
    expect(result).toMatchObject({ status: "ok", output: { id: 7 } });
    expect(seen).toEqual({
      runs: 0,
      call: { toolCallId: "tc_1", toolName: "demo__run", idempotencyKey: "key_1", input: { text: "a" } },
    });
  });

  it("that took no effect is run", async () => {
    const { result, seen } = await reconciled(async () => ({ outcome: "not_done" }));
    expect(result).toMatchObject({ status: "ok", output: 1 });
    expect(seen.runs).toBe(1);
  });

  it.each<[string, ToolReconcile | undefined, JsonObject]>([
    ["reconcile cannot tell", () => ({ outcome: "unknown" }), { reason: "reconcile_unknown" }],
    ["there is no reconcile", undefined, { reason: "no_reconcile" }],
    ["reconcile answers nothing", () => undefined as never, { reason: "reconcile_unknown" }],
    ["reconcile answers something else", () => ({ outcome: "maybe" }) as never, { reason: "reconcile_unknown" }],
    ["reconcile throws", () => Promise.reject(new Error("503")), { reason: "reconcile_failed", why: "503" }],
    [
      "reconcile's answer cannot be read",
      () => revoked() as never,
      { reason: "reconcile_failed", why: expect.any(String) as never },
    ],
  ])("is of unknown outcome when %s", async (_, reconcile, detail) => {
    const { result, seen } = await reconciled(reconcile);
    expect(seen.runs).toBe(0);
    expect(result.error?.code).toBe("outcome_unknown");
    expect(contentOf(result)).toMatchObject({ status: "failed", error: { code: "outcome_unknown", detail } });
  });

  it("and done, but with an output that is not JSON, fails like any other such output", async () => {
    const { result } = await reconciled(() => ({ outcome: "done", output: 1n as never }));
    expect(contentOf(result).error?.code).toBe("result_not_serializable");
  });
});
