import { type JsonObject, type JsonValue, TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { checkParameters, readParameters } from "./check-parameters.ts";

function pointerOf(parameters: unknown, options?: { readonly pointer: string }): unknown {
  try {
    checkParameters(parameters, options);
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    expect(error.code).toBe("schema_invalid");
    return error.details.pointer;
  }
  return "accepted";
}

function withA(schema: JsonValue, more: JsonObject = {}): JsonObject {
  return { type: "object", properties: { a: schema }, ...more };
}

function nested(levels: number): JsonObject {
  let schema: JsonObject = { type: "string" };
  for (let level = 0; level < levels; level++) schema = { type: "object", properties: { a: schema } };
  return schema;
}

describe("parameters are accepted", () => {
  it.each<[string, JsonObject]>([
    ["{} for any object", {}],
    ["an empty object schema", { type: "object" }],
    ["a dialect of 2020-12", { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" }],
    ["types in a list", withA({ type: ["string", "null"], default: null })],
    ["a local reference", withA({ $ref: "#/$defs/x~1y" }, { $defs: { "x/y": { type: "integer" } } })],
    [
      "a reference to another property",
      withA({ type: "string" }, { properties: { a: {}, b: { $ref: "#/properties/a" } } }),
    ],
    ["conditions on which arguments are there", withA({}, { anyOf: [{ required: ["a"] }, { required: ["b"] }] })],
    [
      "names that objects inherit",
      withA({}, { properties: { constructor: { type: "string" }, toString: {} }, required: ["toString"] }),
    ],
    ["a tuple", withA({ type: "array", prefixItems: [{ type: "string" }] })],
    ["a known format", withA({ type: "string", format: "date-time" })],
    ["booleans as schemas", withA({ type: "array", items: true }, { additionalProperties: false })],
  ])("%s", (_, parameters) => {
    expect(pointerOf(parameters)).toBe("accepted");
  });
});

describe("parameters are refused with schema_invalid and the place", () => {
  it.each<[string, unknown, string]>([
    ["a list", [], ""],
    ["null", null, ""],
    ["text", "object", ""],
    ["another type at the root", { type: "string" }, "/type"],
    ["no type at the root", { properties: {} }, "/type"],
    ["types at the root", { type: ["object", "null"] }, "/type"],
    ["another dialect", { $schema: "http://json-schema.org/draft-07/schema#", type: "object" }, "/$schema"],
    ["a remote reference", withA({ $ref: "https://example.org/s.json" }), "/properties/a/$ref"],
    ["a relative reference", withA({ $ref: "other.json#/a" }), "/properties/a/$ref"],
    ["a reference to the whole", withA({ $ref: "#" }), "/properties/a/$ref"],
    ["a reference to nothing", withA({ $ref: "#/$defs/x" }), "/properties/a/$ref"],
    ["a reference with broken escapes", withA({ $ref: "#/$defs/%E0" }), "/properties/a/$ref"],
    ["a reference to itself", withA({ $ref: "#/properties/a" }), "/properties/a"],
    ["an id that moves references", withA({ $id: "https://example.org/" }), "/properties/a/$id"],
    ["a dynamic reference", withA({ $dynamicRef: "#x" }), "/properties/a/$dynamicRef"],
    ["an unknown keyword", withA({ type: "string", nullable: true }), "/properties/a/nullable"],
    ["an extension keyword", { type: "object", "x-order": 1 }, "/x-order"],
    ["an unknown type", withA({ type: "text" }), "/properties/a/type"],
    ["a type that is no text", withA({ type: 1 }), "/properties/a/type"],
    ["an array without items", withA({ type: "array" }), "/properties/a"],
    ["items as a list", withA({ type: "array", items: [] }), "/properties/a/items"],
    ["an unknown format", withA({ type: "string", format: "iso8601" }), "/properties/a/format"],
    ["a default of another type", withA({ type: "integer", default: "1" }), "/properties/a/default"],
    ["a default outside the enum", withA({ enum: ["x"], default: "y" }), "/properties/a/default"],
    ["a default below the minimum", withA({ type: "integer", minimum: 5, default: 1 }), "/properties/a/default"],
    [
      "a default that misses a reference",
      withA({ $ref: "#/$defs/n", default: "x" }, { $defs: { n: { type: "number" } } }),
      "/properties/a/default",
    ],
    [
      "a nested default of another type",
      withA({ type: "object", properties: { b: { type: "string", default: 1 } } }),
      "/properties/a/properties/b/default",
    ],
    ["a limit that is no number", withA({ type: "integer", minimum: "1" }), "/properties/a/minimum"],
    ["required that is no list", { type: "object", required: "a" }, "/required"],
    ["a subschema that is none", withA("string"), "/properties/a"],
    ["properties that are a list", { type: "object", properties: [] }, "/properties"],
    ["the pattern bomb", withA({ type: "string", pattern: "^(a+)+$" }), "/properties/a/pattern"],
    ["look-ahead", withA({ type: "string", pattern: "(?=a)b" }), "/properties/a/pattern"],
    ["a back reference among names", { type: "object", patternProperties: { "(a)\\1": {} } }, "/patternProperties"],
    [
      "a key that poisons prototypes",
      JSON.parse('{"type":"object","properties":{"__proto__":{}}}'),
      "/properties/__proto__",
    ],
    ["a number that JSON cannot hold", withA({ type: "number", minimum: Number.NaN }), "/properties/a/minimum"],
    ["a function", { type: "object", properties: { a: () => 1 } }, "/properties/a"],
  ])("%s", (_, parameters, pointer) => {
    expect(pointerOf(parameters)).toBe(pointer);
  });

  it("a cyclic reference over several schemas", () => {
    const $defs = { a: withA({ $ref: "#/$defs/b" }), b: { type: "array", items: { $ref: "#/$defs/a" } } };
    expect(pointerOf({ type: "object", $defs, properties: { x: { $ref: "#/$defs/a" } } })).toMatch(/^\/\$defs\//);
  });

  it("a cycle that hides behind names that differ only far to the right", () => {
    const long = "n".repeat(300);
    const $defs = { [`${long}1`]: withA({ $ref: `#/$defs/${long}1` }), [`${long}2`]: { type: "string" } };
    expect(pointerOf({ type: "object", $defs })).toMatch(/^\/\$defs\/nnn/);
  });

  it("5,000 levels, without going down them", () => {
    expect(pointerOf(nested(5_000))).toMatch(/^\/properties\/a\//);
    expect(pointerOf(nested(14))).toBe("accepted");
  });

  it("more than 64 KiB", () => {
    expect(pointerOf({ type: "object", description: "x".repeat(65_536) })).toBe("");
  });

  it("the pointer starts where the caller's document has the schema", () => {
    expect(pointerOf(withA({ type: "text" }), { pointer: "/spec/parameters" })).toBe(
      "/spec/parameters/properties/a/type",
    );
  });
});

const CONSTRAINTS = {
  ...{ minLength: 1, maxLength: 9, minimum: 0, maximum: 9, multipleOf: 3, minItems: 1, maxItems: 4 },
  ...{ minProperties: 1, maxProperties: 4, enum: ["a"] },
};
const object = (count: number, property: (index: number) => JsonValue): JsonObject => ({
  type: "object",
  properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, property(index)])),
});

describe("a hostile schema costs little", () => {
  function bomb(levels: number): JsonObject {
    const $defs: JsonObject = { [`d${levels}`]: { type: "string" } };
    for (let level = 0; level < levels; level++) {
      const next = { $ref: `#/$defs/d${level + 1}` };
      $defs[`d${level}`] = { allOf: [next, next] };
    }
    return { type: "object", $defs, properties: { a: { $ref: "#/$defs/d0" } } };
  }

  function many(count: number, entry: (index: number) => JsonObject): JsonObject[] {
    return Array.from({ length: count }, (_, index) => entry(index));
  }

  it.each<[string, JsonObject]>([
    ["references that double 50 times", bomb(50)],
    [
      "a chain of 1,500 references",
      withA(
        { $ref: "#/$defs/0" },
        { $defs: Object.fromEntries(many(1_500, (i) => ({ $ref: `#/$defs/${i + 1}` })).entries()) },
      ),
    ],
    [
      "3,000 patterns",
      {
        type: "object",
        patternProperties: Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`a${i}`, true])),
      },
    ],
    [
      "50 large patterns",
      {
        type: "object",
        properties: Object.fromEntries(
          Array.from({ length: 50 }, (_, i) => [`a${i}`, { type: "string", pattern: "a{1000}b{900}" }]),
        ),
      },
    ],
    ["1,800 alternatives", { type: "object", oneOf: many(1_800, (i) => ({ required: [`p${i}`] })) }],
    [
      "3,000 dependencies",
      {
        type: "object",
        dependentRequired: Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`p${i}`, ["q"]])),
      },
    ],
  ])("%s is refused within a second", (_, parameters) => {
    const started = process.hrtime.bigint();
    expect(pointerOf(parameters)).not.toBe("accepted");
    expect(Number(process.hrtime.bigint() - started) / 1e6).toBeLessThan(1_000);
  });

  it.each<[string, JsonObject]>([
    [
      "allOf under unevaluatedProperties",
      { type: "object", allOf: many(240, (i) => ({ properties: { [`p${i}`]: true } })), unevaluatedProperties: false },
    ],
    [
      "499 properties",
      { type: "object", properties: Object.fromEntries(many(499, () => ({ type: "string" })).entries()) },
    ],
  ])("the largest that is accepted (%s) compiles in less than half a second of the processor", (_, parameters) => {
    const before = process.threadCpuUsage();
    expect(pointerOf(parameters)).toBe("accepted");
    expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(500); // 45 where nothing else runs
  });

  it.each<[string, JsonObject]>([
    [
      "200 properties with twelve keywords each",
      object(200, () => ({ ...CONSTRAINTS, type: "string", pattern: "^a" })),
    ],
    ["490 patterns", object(490, (i) => ({ type: "string", pattern: `^a${i}` }))],
    [
      "490 dependencies of twenty names",
      {
        type: "object",
        dependentRequired: Object.fromEntries(
          Array.from({ length: 490 }, (_, i) => [`p${i}`, Array.from({ length: 20 }, (_, name) => `q${name}`)]),
        ),
      },
    ],
  ])("%s are refused before anything is compiled, with the limit", (_, parameters) => {
    expect(() => checkParameters(parameters)).toThrow("more than 2000 steps to compile");
  });

  it("notes cost no steps", () => {
    const notes = { title: "t", description: "d", examples: ["x"], default: "x", deprecated: false, format: "uuid" };
    expect(pointerOf(object(490, () => ({ type: "string", ...notes })))).toBe("accepted");
  });
});

it("the caller's schema is copied, not kept or changed", () => {
  const parameters = withA({ type: "string", default: "x" });
  const text = JSON.stringify(parameters);
  const { schema } = readParameters(parameters);
  expect(JSON.stringify(parameters)).toBe(text);
  expect(schema).not.toBe(parameters);
  expect(schema.properties).not.toBe(parameters.properties);
});
