// Older drafts of JSON Schema: what is accepted means what its draft says, and the rest is refused with its keyword.

import type { JsonObject, JsonValue } from "@tessera/protocol";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv } from "ajv/dist/ajv.js";
import { describe, expect, it } from "vitest";
import { compileParameters } from "../arguments/argument-check.ts";
import { checkParameters } from "../arguments/check-parameters.ts";
import { toCurrentDialect } from "./dialect.ts";

const DRAFT_04 = "http://json-schema.org/draft-04/schema#";
const DRAFT_06 = "http://json-schema.org/draft-06/schema#";
const DRAFT_07 = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema";
const DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema";

const withA = ($schema: string, a: JsonValue, more: JsonObject = {}): JsonObject => ({
  $schema,
  type: "object",
  properties: { a },
  ...more,
});

/** Which of the values `{a: value}` the schema accepts, in the language in which tools are checked. */
function accepted(schema: JsonObject, values: readonly JsonValue[]): JsonValue[] {
  const current = toCurrentDialect(schema);
  checkParameters(current);
  const check = compileParameters(current);
  return values.filter((a) => check.issues({ a }).length === 0);
}

function refusal(schema: JsonObject): unknown {
  try {
    checkParameters(toCurrentDialect(schema));
  } catch (error) {
    const { code, message, details } = error as { code: string; message: string; details: { pointer: string } };
    expect(code).toBe("schema_invalid");
    return [details.pointer, message];
  }
  return "accepted";
}

describe("a schema of an older draft", () => {
  it.each([DRAFT_04, DRAFT_06, DRAFT_07, DRAFT_2019, DRAFT_07.replace("#", ""), DRAFT_07.replace("http", "https")])(
    "that says what all drafts say is the same without its name: %s",
    (draft) => {
      const schema = withA(draft, { type: "array", items: { type: "string", minLength: 1 } }, { required: ["a"] });
      const { $schema: _, ...rest } = schema;
      expect(toCurrentDialect(schema)).toEqual(rest);
      checkParameters(toCurrentDialect(schema));
    },
  );

  it("has its list of items one by one, and additionalItems for the rest", () => {
    const pair = { type: "array", items: [{ type: "string" }, { type: "number" }] };
    const values = [[], ["x"], ["x", 1], ["x", "y"], ["x", 1, null], ["x", 1, "z"]];
    expect(accepted(withA(DRAFT_07, pair), values)).toEqual([[], ["x"], ["x", 1], ["x", 1, null], ["x", 1, "z"]]);
    expect(accepted(withA(DRAFT_04, { ...pair, additionalItems: false }), values)).toEqual([[], ["x"], ["x", 1]]);
    expect(accepted(withA(DRAFT_2019, { ...pair, additionalItems: { type: "null" } }), values)).toEqual([
      ...[[], ["x"], ["x", 1], ["x", 1, null]],
    ]);
  });

  it("ignores additionalItems beside one schema for all items, as its draft does", () => {
    const schema = withA(DRAFT_07, { type: "array", items: { type: "string" }, additionalItems: false });
    expect(accepted(schema, [["x", "y"], [1]])).toEqual([["x", "y"]]);
  });

  it("may leave open what is in a list, as zod 3 does for lists of anything", () => {
    const values = [[], [1, "x"], "x", null];
    expect(accepted(withA(DRAFT_07, { type: "array", maxItems: 2 }), values)).toEqual([[], [1, "x"]]);
    expect(accepted(withA(DRAFT_04, { type: ["array", "null"], additionalItems: false }), values)).toEqual([
      ...[[], [1, "x"], null],
    ]);
    expect(
      accepted(withA(DRAFT_07, { type: "object", properties: { list: { type: "array" } } }), [{ list: [1] }]),
    ).toEqual([{ list: [1] }]);
    expect(refusal(withA(DRAFT_2019, { type: "array" }))).toEqual([
      "/properties/a",
      expect.stringMatching(/its items/),
    ]);
  });

  it("has dependencies of both kinds", () => {
    const dependencies = {
      b: ["c"],
      d: { required: ["e"], properties: { e: { type: "array", items: [{ const: 1 }] } } },
    };
    const inner = { type: "object", dependencies };
    const values = [{ b: 1 }, { b: 1, c: 1 }, { d: 1 }, { d: 1, e: [1] }, { d: 1, e: [2] }];
    expect(accepted(withA(DRAFT_07, inner), values)).toEqual([
      { b: 1, c: 1 },
      { d: 1, e: [1] },
    ]);
  });

  it("has bounds that its draft-04 excludes with a boolean", () => {
    const values = [1, 2, 3];
    expect(accepted(withA(DRAFT_04, { type: "number", minimum: 1, exclusiveMinimum: true }), values)).toEqual([2, 3]);
    expect(accepted(withA(DRAFT_04, { type: "number", maximum: 3, exclusiveMaximum: true }), values)).toEqual([1, 2]);
    const inclusive = { type: "number", minimum: 2, exclusiveMinimum: false };
    expect(accepted(withA(DRAFT_04, inclusive), values)).toEqual([2, 3]);
    expect(accepted(withA(DRAFT_06, { type: "number", exclusiveMinimum: 1 }), values)).toEqual([2, 3]);
  });

  it("follows a reference alone, without what constrains beside it; since 2019-09 both hold", () => {
    const definitions = { word: { type: "string", description: "a word" } };
    const a = { $ref: "#/definitions/word", minLength: 3, default: "x", description: "shown" };
    expect(accepted(withA(DRAFT_07, a, { definitions }), ["ab", "abc", 1])).toEqual(["ab", "abc"]);
    const { properties } = toCurrentDialect(withA(DRAFT_07, a, { definitions }));
    expect(properties).toEqual({ a: { $ref: "#/definitions/word", description: "shown" } });
    const both = { $ref: "#/definitions/word", minLength: 3 };
    expect(accepted(withA(DRAFT_2019, both, { definitions }), ["ab", "abc"])).toEqual(["abc"]);
  });

  it("may have properties and values that are called like keywords", () => {
    const named = { type: "object", properties: { items: { type: "string" }, dependencies: { type: "number" } } };
    const a = { ...named, default: { items: ["x"], additionalItems: 1 }, enum: [{ items: ["y"], dependencies: 1 }] };
    const { properties } = toCurrentDialect(withA(DRAFT_07, a));
    expect(properties).toEqual({ a });
  });

  it.each<[string, JsonObject, string, RegExp]>([
    ["a keyword of a later draft", withA(DRAFT_04, { const: 1 }), "/properties/a/const", /not a keyword of draft-04/],
    ["if in draft-06", withA(DRAFT_06, { if: {} }), "/properties/a/if", /draft-06/],
    ["prefixItems in draft-07", withA(DRAFT_07, { prefixItems: [{}] }), "/properties/a/prefixItems", /draft-07/],
    ["dependencies in 2019-09", withA(DRAFT_2019, { dependencies: {} }), "/properties/a/dependencies", /2019-09/],
    ["an unknown keyword", withA(DRAFT_07, { minimun: 1 }), "/properties/a/minimun", /not a keyword/],
    [
      "an exclusive bound without one",
      withA(DRAFT_04, { exclusiveMinimum: true }),
      "/properties/a/exclusiveMinimum",
      /minimum/,
    ],
    [
      "a recursive reference",
      withA(DRAFT_2019, { $recursiveRef: "#" }),
      "/properties/a/$recursiveRef",
      /not a keyword/,
    ],
    [
      "unevaluatedItems beside contains",
      withA(DRAFT_2019, { type: "array", items: {}, contains: {}, unevaluatedItems: false }),
      "/properties/a/unevaluatedItems",
      /contains/,
    ],
    [
      "deep inside",
      withA(DRAFT_07, { anyOf: [{ not: { minContains: 1 } }] }),
      "/properties/a/anyOf/0/not/minContains",
      /draft-07/,
    ],
    ["a draft that there is not", withA("http://json-schema.org/draft-03/schema#", {}), "/$schema", /draft-04/],
    ["another language", withA("https://example.org/schema", {}), "/$schema", /drafts/],
    ["a $schema that is no text", withA(DRAFT_07, {}, { $schema: 7 }), "/$schema", /drafts/],
  ])("is refused for %s", (_, schema, pointer, message) => {
    expect(refusal(schema)).toEqual([pointer, expect.stringMatching(message)]);
  });

  // The drafts' own validators, of the same library: what is accepted means the same (D1).
  it.each([
    [DRAFT_07, () => new Ajv({ strict: false, validateFormats: false })],
    [DRAFT_2019, () => new Ajv2019({ strict: false, validateFormats: false })],
  ] as const)("judges values as a validator of its draft does: %s", (draft, newAjv) => {
    const items = [{ type: "number" }, [{ type: "number" }], [{ type: "number" }, { const: "x" }]];
    const rest = [undefined, true, false, { type: "string" }];
    const contains = { contains: { const: "x" } };
    // Beside a reference this library applies what draft-07 ignores, so only the later draft can be compared.
    const more: JsonObject[] = [{}, contains, ...(draft === DRAFT_07 ? [] : [{ $ref: "#/definitions/short" }])];
    const values: JsonValue[] = [[], [1], ["x"], [1, "x"], [1, "y"], [1, "x", "z"], [1, "x", 2], [1, 2, 3, 4]];
    let compared = 0;
    for (const one of items) {
      for (const additionalItems of rest) {
        for (const extra of more) {
          const a = {
            type: "array",
            items: one,
            ...(additionalItems !== undefined && { additionalItems }),
            ...extra,
          };
          const definitions = { short: { type: "array", items: {}, maxItems: 2 } };
          const schema = withA(draft, a as JsonObject, { definitions });
          const validate = newAjv().compile(schema);
          expect(accepted(schema, values), JSON.stringify(a)).toEqual(values.filter((value) => validate({ a: value })));
          compared += 1;
        }
      }
    }
    expect(compared).toBeGreaterThan(20);
  });

  it("without its name is 2020-12, whatever it looks like", () => {
    const { $schema: _, ...unnamed } = withA(DRAFT_07, { type: "array", items: [{}] });
    expect(toCurrentDialect(unnamed)).toBe(unnamed);
    expect(refusal(unnamed)).not.toBe("accepted");
    const current = withA(DRAFT_2020, { type: "array", prefixItems: [{}] });
    expect(toCurrentDialect(current)).toBe(current);
    expect(refusal(current)).toBe("accepted");
  });
});
