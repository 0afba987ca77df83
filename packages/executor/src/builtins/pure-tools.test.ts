import { VirtualClock } from "@tessera/testkit";
import { toolPolicy } from "@tessera/tool";
import { checkParameters } from "@tessera/tool/catalog";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Bench, startBench } from "../../test/builtin-bench.ts";

let clock: VirtualClock;
let bench: Bench;
beforeEach(() => {
  clock = new VirtualClock();
  bench = startBench({ clock });
});
afterEach(() => bench[Symbol.asyncDispose]());

describe("builtinTools", () => {
  it("are these, each with a closed schema that the registry accepts, inline, with its effect and error limit", () => {
    const table = bench.tools.map(({ definition }) => {
      checkParameters(definition.parameters);
      expect(definition.parameters.additionalProperties).toBe(false);
      const { placement, effect, error_message_limit, author_id } = toolPolicy(definition);
      expect(placement).toBe("inline");
      expect(author_id).toBe(`tool.${definition.tool_name.split("__")[0]}`);
      return `${definition.tool_name} ${effect} ${error_message_limit}`;
    });
    expect(table).toEqual([
      "bash__exec once 1200",
      "bash__script once 1200",
      "file-system__read read 2000",
      "file-system__write once 2000",
      "file-system__list read 2000",
      "file-system__mkdir idempotent 2000",
      "http-fetch__get read 1000",
      "http-fetch__post once 1000",
      "json-query__query read 1000",
      "json-query__pick read 1000",
      "json-query__count read 1000",
      "json-query__flatten read 1000",
      "text-transform__replace read 1000",
      "text-transform__slice read 1000",
      "text-transform__split read 1000",
      "text-transform__join read 1000",
      "text-transform__trim read 1000",
      "text-transform__case read 1000",
      "agents__request idempotent 1500",
      "agents__send idempotent 1500",
      "agents__spawn idempotent 1500",
      "agents__list read 1500",
      "agents__catalog read 1500",
      "wait__seconds read 600",
    ]);
  });

  it("have a call timeout above the largest timeout their arguments allow", () => {
    for (const { definition } of bench.tools) {
      const properties = definition.parameters.properties as Record<string, { maximum?: number }>;
      const largestMs = properties.timeoutMs?.maximum ?? (properties.seconds?.maximum ?? 0) * 1_000;
      expect(toolPolicy(definition).timeout_ms, definition.tool_name).toBeGreaterThan(largestMs);
    }
  });
});

describe("json-query", () => {
  const data = JSON.stringify({
    a: [{ b: 1 }, { b: null }],
    s: "xyz",
    n: 5,
    t: true,
    "with space": 2,
    "dotted.key": 3,
  });

  it.each([
    ["a[0].b", true, 1],
    [".a[0].b", true, 1],
    [".a[1].b", true, null],
    ["s", true, "xyz"],
    ["with space", true, 2],
    ["a[2]", false, null],
    ["a.b", false, null],
    ["s[0]", false, null],
    ["s.length", false, null],
    ["constructor", false, null],
    ["__proto__.x", false, null],
    ["a.length", false, null],
    ["toString", false, null],
  ])("finds %s", async (path, found, value) => {
    expect(await bench.output("json-query__query", { data, path })).toEqual({ path, found, value });
  });

  it("takes the whole value for a dot, an empty path and none", async () => {
    for (const input of [{ data: "[1]" }, { data: "[1]", path: "." }, { data: "[1]", path: "" }]) {
      expect(await bench.output("json-query__query", input)).toMatchObject({ found: true, value: [1] });
    }
    expect(await bench.output("json-query__query", { data: "[[1,2]]", path: "[0][1]" })).toMatchObject({ value: 2 });
  });

  it.each([
    ["a.0.b", true, 1],
    ["a[-1]", false, null],
    ["a.-1", false, null],
    ["a.0x", false, null],
    ["[dotted.key]", true, 3],
    ["dotted.key", false, null],
    ["a[0]b", true, 1],
    ["a.[0]", true, { b: 1 }],
    ["..a..0.", true, { b: 1 }],
    ["a[0", true, { b: 1 }],
    ["a]", true, [{ b: 1 }, { b: null }]],
    ["a[*]", false, null],
    ['["a"]', false, null],
    ["with space[]", true, 2],
  ])("reads the path %j as Goondan does", async (path, found, value) => {
    expect(await bench.output("json-query__query", { data, path })).toEqual({ path, found, value });
  });

  // T12: there is nothing to evaluate, and a path of a size that no value needs is refused.
  it.each([`a${".a".repeat(200)}`, "[a".repeat(200), "x".repeat(2_000)])("refuses the path %j", async (path) => {
    expect(await bench.code("json-query__query", { data, path })).toBe("bad_request");
  });

  it("refuses what is not JSON, too deep, or poisoned", async () => {
    expect(await bench.code("json-query__query", { data: "{a:1}" })).toBe("invalid_json");
    expect(await bench.code("json-query__query", { data: "[".repeat(5_000) })).toBe("too_deep");
    expect(await bench.code("json-query__query", { data: '{"__proto__":{"x":1}}' })).toBe("forbidden_key");
  });

  it("picks keys", async () => {
    expect(await bench.output("json-query__pick", { data, keys: ["s", "gone", "constructor", "n"] })).toEqual({
      keys: ["s", "gone", "constructor", "n"],
      result: { s: "xyz", n: 5 },
    });
    expect(await bench.code("json-query__pick", { data: "[1]", keys: ["0"] })).toBe("bad_request");
    expect(await bench.code("json-query__pick", { data: "null", keys: ["a"] })).toBe("bad_request");
  });

  it.each([
    [".", 6, "object"],
    ["a", 2, "array"],
    ["s", 3, "string"],
    ["n", 1, "number"],
    ["t", 1, "boolean"],
    ["a[1].b", 0, "null"],
    ["gone", 0, "null"],
  ])("counts %s", async (path, count, type) => {
    expect(await bench.output("json-query__count", { data, path })).toEqual({ path, count, type });
  });

  it("flattens", async () => {
    const nested = { data: "[1,[2,[3,[4]]]]" };
    expect(await bench.output("json-query__flatten", nested)).toEqual({ depth: 1, count: 3, result: [1, 2, [3, [4]]] });
    expect(await bench.output("json-query__flatten", { ...nested, depth: 9 })).toMatchObject({ result: [1, 2, 3, 4] });
    expect(await bench.code("json-query__flatten", { data: "{}" })).toBe("bad_request");
  });
});

describe("text-transform", () => {
  it("replaces the first or every occurrence, and nothing in it is a pattern", async () => {
    const text = "a.b.c $& (a+)+";
    const ask = (input: Record<string, string | boolean>) =>
      bench.output("text-transform__replace", { text, ...input });
    expect(await ask({ search: ".", replacement: "-" })).toEqual({
      original: text,
      result: "a-b.c $& (a+)+",
      replacements: 1,
    });
    expect(await ask({ search: ".", replacement: "$&", all: true })).toMatchObject({
      result: "a$&b$&c $& (a+)+",
      replacements: 2,
    });
    expect(await ask({ search: "(a+)+" })).toMatchObject({ result: "a.b.c $& ", replacements: 1 });
    expect(await ask({ search: "zzz", all: true })).toMatchObject({ result: text, replacements: 0 });
    expect(await bench.code("text-transform__replace", { text, search: "" })).toBe("E_TOOL_INVALID_ARGS");
  });

  it("refuses a result that would not fit, before it is built", async () => {
    const text = "a".repeat(100_000);
    const replacement = "b".repeat(100_000);
    expect(await bench.code("text-transform__replace", { text, search: "a", replacement, all: true })).toBe(
      "payload_too_large",
    );
    const parts = Array<string>(1_000).fill("x");
    expect(await bench.code("text-transform__join", { parts, delimiter: replacement })).toBe("payload_too_large");
  });

  it("slices, and half a character becomes a replacement", async () => {
    expect(await bench.output("text-transform__slice", { text: "hello", start: 1, end: 3 })).toEqual({
      original: "hello",
      result: "el",
      start: 1,
      end: 3,
      length: 2,
    });
    expect(await bench.output("text-transform__slice", { text: "hello" })).toMatchObject({ result: "hello", end: 5 });
    expect(await bench.output("text-transform__slice", { text: "hello", start: 1.7 })).toMatchObject({
      result: "ello",
    });
    expect(await bench.output("text-transform__slice", { text: "hello", start: -2 })).toMatchObject({ result: "lo" });
    expect(await bench.output("text-transform__slice", { text: "😀", end: 1 })).toMatchObject({ result: "\ufffd" });
  });

  it("splits and joins", async () => {
    expect(await bench.output("text-transform__split", { text: "a\nb\nc" })).toEqual({
      delimiter: "\n",
      count: 3,
      parts: ["a", "b", "c"],
    });
    expect(await bench.output("text-transform__split", { text: "a,b,c", delimiter: ",", maxParts: 2 })).toMatchObject({
      count: 2,
      parts: ["a", "b"],
    });
    expect(await bench.output("text-transform__split", { text: "a😀", delimiter: "" })).toMatchObject({
      parts: ["a", "😀"],
    });
    expect(await bench.output("text-transform__join", { parts: ["a", "b"] })).toEqual({
      delimiter: "\n",
      count: 2,
      result: "a\nb",
    });
    expect(await bench.output("text-transform__join", { parts: ["a", 1, 2.5, true], delimiter: "," })).toMatchObject({
      count: 4,
      result: "a,1,2.5,true",
    });
    expect(await bench.code("text-transform__join", { parts: [null] })).toBe("E_TOOL_INVALID_ARGS");
    expect(await bench.output("text-transform__join", { parts: [] })).toMatchObject({ count: 0, result: "" });
  });

  it("trims and changes case", async () => {
    const text = " a ";
    expect(await bench.output("text-transform__trim", { text })).toEqual({
      original: text,
      result: "a",
      mode: "both",
      trimmedLength: 2,
    });
    const atStart = await bench.output("text-transform__trim", { text, mode: "start" });
    expect(atStart).toMatchObject({ result: "a ", trimmedLength: 1 });
    expect(await bench.output("text-transform__trim", { text, mode: "end" })).toMatchObject({ result: " a" });
    expect(await bench.output("text-transform__case", { text: "aß", to: "upper" })).toEqual({
      original: "aß",
      result: "ASS",
      to: "upper",
    });
    expect(await bench.output("text-transform__case", { text: "AB", to: "lower" })).toMatchObject({ result: "ab" });
  });
});

describe("wait", () => {
  it("waits on the clock it was given", async () => {
    const waiting = bench.output("wait__seconds", { seconds: 1.5 });
    await clock.advance(1_499);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(await waiting).toEqual({ waitedSeconds: 1.5, waitedMs: 1_500 });
  });

  it("ends when its call is canceled, and leaves no timer", async () => {
    const waiting = bench.code("wait__seconds", { seconds: 300 });
    await clock.advance(1_000);
    bench.abort();
    expect(await waiting).toBe("canceled");
    expect(clock.pending).toBe(0);
    expect(await bench.code("wait__seconds", { seconds: 1 })).toBe("canceled");
  });

  it.each([-1, 301, 1e9, "5"])("refuses %j seconds", async (seconds) => {
    expect(await bench.code("wait__seconds", { seconds })).toBe("E_TOOL_INVALID_ARGS");
  });
});
