import type { JsonObject, JsonValue } from "@tessera/protocol";
import { parseJson } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { compileParameters } from "./argument-check.ts";

function issues(schema: JsonObject, args: JsonValue): readonly string[] {
  // As in production: arguments come out of the JSON gate, without prototypes.
  const gated = parseJson(JSON.stringify(args), { bytesMax: 10_000_000 }) as JsonObject;
  return compileParameters(schema).issues(gated);
}

function withA(a: JsonObject): JsonObject {
  return { type: "object", properties: { a } };
}

describe("issues are sentences that say where, what was expected and what was found", () => {
  it.each<[string, JsonObject, JsonValue, string]>([
    ["type", withA({ type: "integer" }), "x", '/a must be of type integer; found "x"'],
    ["types", withA({ type: ["integer", "null"] }), true, "/a must be of type integer or null; found true"],
    ["enum", withA({ enum: ["x", "y"] }), "z", '/a must be one of "x", "y"; found "z"'],
    ["const", withA({ const: 1 }), 2, "/a must be 1; found 2"],
    ["minimum", withA({ type: "integer", minimum: 3 }), 2, "/a must be >= 3; found 2"],
    ["multipleOf", withA({ type: "integer", multipleOf: 3 }), 2, "/a must be a multiple of 3; found 2"],
    ["maxLength", withA({ type: "string", maxLength: 1 }), "ab", '/a must have at most 1 characters; found "ab"'],
    [
      "minItems",
      withA({ type: "array", items: {}, minItems: 1 }),
      [],
      "/a must have at least 1 items; found an array of 0",
    ],
    [
      "uniqueItems",
      withA({ type: "array", items: {}, uniqueItems: true }),
      [
        { x: 1, y: 2 },
        { y: 2, x: 1 },
      ],
      "/a must not hold the same item twice; found an array of 2",
    ],
    ["pattern", withA({ type: "string", pattern: "^b$" }), "c", '/a must match the pattern ^b$; found "c"'],
    [
      "anyOf",
      withA({ anyOf: [{ type: "string" }, { type: "null" }] }),
      1,
      "/a must be of type string or null and fit its schema; found 1",
    ],
    ["not", withA({ not: { type: "string" } }), "x", '/a does not fit "not" of its schema; found "x"'],
    ["nested required", withA({ type: "object", properties: { b: {} }, required: ["b"] }), {}, '"b" is required in /a'],
    ["nested additional", withA({ type: "object", additionalProperties: false }), { c: 1 }, '"c" is not allowed in /a'],
    [
      "a reference",
      { ...withA({ $ref: "#/$defs/n" }), $defs: { n: { type: "number" } } },
      "x",
      '/a must be of type number; found "x"',
    ],
  ])("%s", (_, schema, a, sentence) => {
    expect(issues(schema, { a })).toEqual([sentence]);
  });

  it("lists five and counts the rest", () => {
    const required = ["a", "b", "c", "d", "e", "f", "g"];
    const found = issues({ type: "object", required }, {});
    expect(found).toHaveLength(6);
    expect(found[0]).toBe('"a" is required');
    expect(found[5]).toBe("+2 more issues");
  });

  it("an inherited name is no argument", () => {
    expect(issues({ type: "object", required: ["toString", "constructor"] }, {})).toHaveLength(2);
  });

  it("long values are cut", () => {
    expect(issues(withA({ type: "integer" }), { a: "x".repeat(10_000) })[0]?.length).toBeLessThan(120);
  });
});

it("every pattern is its own, also among many", () => {
  const schema = {
    type: "object",
    properties: { a: { pattern: "^a$" }, b: { pattern: "^b$" } },
    patternProperties: { "^x": { pattern: "^x$" } },
  };
  expect(issues(schema, { a: "a", b: "b", x1: "x" })).toEqual([]);
  expect(issues(schema, { a: "b", b: "a", x1: "y" })).toHaveLength(3);
});

describe("equality is JSON's", () => {
  it.each<[JsonObject, JsonValue]>([
    [withA({ const: { x: [1, { y: null }] } }), { x: [1, { y: null }] }],
    [withA({ enum: [{ x: 1, y: 2 }] }), { y: 2, x: 1 }],
    [withA({ enum: [[1, 2]] }), [1, 2]],
  ])("%j accepts %j", (schema, a) => {
    expect(issues(schema, { a })).toEqual([]);
  });

  it("values of different types are different", () => {
    expect(issues(withA({ enum: ["1", true, [1]] }), { a: 1 })).toHaveLength(1);
    expect(
      issues(withA({ type: "array", items: {}, uniqueItems: true }), { a: [1, "1", [1], { 1: 1 }, null] }),
    ).toEqual([]);
  });
});

describe("checking is bounded", () => {
  function within(ms: number, work: () => unknown): unknown {
    const started = process.hrtime.bigint();
    const result = work();
    expect(Number(process.hrtime.bigint() - started) / 1e6).toBeLessThan(ms);
    return result;
  }

  it("20,000 objects that must differ", () => {
    const schema = withA({ type: "array", items: {}, uniqueItems: true });
    const a = Array.from({ length: 20_000 }, (_, index) => ({ i: index }));
    expect(within(1_000, () => issues(schema, { a }))).toEqual([]);
  });

  it("many alternatives against many items are refused, not tried", () => {
    const anyOf = Array.from({ length: 400 }, (_, index) => ({ const: index }));
    const schema = withA({ type: "array", items: { anyOf } });
    const a = Array.from({ length: 100_000 }, () => "x");
    expect(within(1_000, () => issues(schema, { a }))).toEqual([
      expect.stringContaining("too large for so many rules"),
    ]);
  });

  it("large patterns against a long text are refused, small ones are run", () => {
    const text = "a".repeat(200_000);
    expect(within(1_000, () => issues(withA({ type: "string", pattern: "[ab]{900}c$" }), { a: text }))).toHaveLength(1);
    expect(within(1_000, () => issues(withA({ type: "string", pattern: "^a+$" }), { a: text }))).toEqual([]);
  });

  it("a hundred thousand mistakes cost no list of them", () => {
    const schema = withA({ type: "array", items: { type: "integer" } });
    const a = Array.from({ length: 100_000 }, () => "x");
    expect(within(1_000, () => issues(schema, { a }))).toEqual(['/a/0 must be of type integer; found "x"']);
  });
});

it("a schema is compiled once, for the same object and for the same text", () => {
  const schema = withA({ type: "string", title: "compiled once" });
  const check = compileParameters(schema);
  expect(compileParameters(schema)).toBe(check);
  expect(compileParameters(structuredClone(schema))).toBe(check);
  expect(compileParameters(withA({ type: "string", title: "another" }))).not.toBe(check);
});

it("more schemas than one compiler takes are compiled all the same", () => {
  for (let index = 0; index < 600; index++) {
    expect(issues(withA({ const: index }), { a: index })).toEqual([]);
    expect(issues(withA({ const: index }), { a: -1 })).toHaveLength(1);
  }
});
