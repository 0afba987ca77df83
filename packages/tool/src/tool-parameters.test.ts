// What an author may write as parameters, and the type that the handler's input gets from it.

import type { StandardJSONSchemaV1 } from "@standard-schema/spec";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { mistakeOf } from "../test/mistake.ts";
import type { JsonObject, JsonSchemaObject, JsonValue } from "./api.ts";
import { defineTool } from "./define-tool.ts";
import type { InferToolInput } from "./infer-input.ts";
import { createTestContext } from "./test-context.ts";
import { ToolError } from "./tool-error.ts";

const handler = () => null;

describe("parameters in zod", () => {
  const schema = z.object({
    city: z.string().min(1),
    days: z.number().int().default(3),
    at: z
      .string()
      .transform((text) => text.length)
      .optional(),
  });

  it("are stored as plain JSON Schema of the input", () => {
    const { definition } = defineTool({ name: "forecast", parameters: schema, handler });
    expect(JSON.parse(JSON.stringify(definition.parameters))).toMatchObject({
      type: "object",
      properties: {
        city: { type: "string", minLength: 1 },
        days: { type: "integer", default: 3 },
        at: { type: "string" },
      },
      required: ["city"],
    });
    expect(definition.parameters).not.toHaveProperty("$schema");
  });

  it("give the handler the parsed input, and its type", async () => {
    await using test = createTestContext();
    const tool = defineTool({
      name: "forecast",
      parameters: schema,
      handler: (_ctx, input) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string; days: number; at?: number | undefined }>();
        return { ...input, at: input.at ?? null };
      },
    });
    expect(await test.call(tool, { city: "Oslo", at: "noon" })).toEqual({
      toolCallId: "tc_test",
      toolName: "forecast",
      status: "ok",
      output: { city: "Oslo", days: 3, at: 4 },
    });
  });

  it("turn issues into arguments that the model can correct", async () => {
    let runs = 0;
    const tool = defineTool({ name: "forecast", parameters: schema, handler: () => ++runs });
    await using test = createTestContext();
    const { status, error } = await test.call(tool, { city: "", days: "x" });
    expect(status).toBe("error");
    expect(error).toMatchObject({ name: "ToolError", code: "E_TOOL_INVALID_ARGS" });
    expect(error?.message).toContain("/city: ");
    expect(error?.message).toContain("/days: ");
    expect(error?.suggestion).toContain("Correct the arguments");
    expect(runs).toBe(0);
  });

  it("list the first five issues and count the rest", async () => {
    const many = z.object(Object.fromEntries([..."abcdefg"].map((name) => [name, z.string()])));
    const tool = defineTool({ name: "t", parameters: many, handler });
    await expect(tool.code.parse?.({})).rejects.toSatisfy(
      (error) => ToolError.is(error) && error.message.includes("/e: ") && error.message.endsWith("(+2 more issues)"),
    );
  });

  it("may be a union of objects, and say then that they are objects", () => {
    const union = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), a: z.string() }),
      z.object({ kind: z.literal("b"), b: z.number() }),
    ]);
    const tool = defineTool({
      name: "t",
      parameters: union,
      handler: (_ctx, input) => {
        expectTypeOf(input).toEqualTypeOf<{ kind: "a"; a: string } | { kind: "b"; b: number }>();
        return input.kind;
      },
    });
    expect(tool.definition.parameters.type).toBe("object");
  });

  it("are refused when JSON Schema cannot say them", () => {
    const mistake = mistakeOf(() => defineTool({ name: "t", parameters: z.object({ at: z.date() }), handler }));
    expect(mistake.code).toBe("schema_invalid");
    expect(mistake.message).toContain("cannot be written as JSON Schema");
    expect(mistakeOf(() => defineTool({ name: "t", parameters: z.string(), handler })).message).toContain('"string"');
  });
});

describe("parameters of other libraries", () => {
  const schema = v.object({ text: v.pipe(v.string(), v.trim()) });

  it("are refused with the library's name when they cannot describe themselves", () => {
    // Valibot checks, but writes JSON Schema only with another package.
    const mistake = mistakeOf(() => defineTool({ name: "t", parameters: schema as never, handler }));
    expect(mistake.code).toBe("schema_invalid");
    expect(mistake.message).toContain("valibot");
    expect(mistake.message).toContain("Standard JSON Schema");
  });

  it("work when a description is put beside the check", async () => {
    const described = {
      "~standard": {
        ...schema["~standard"],
        jsonSchema: {
          input: ({ target }: { target: string }) => ({ type: "object", title: target, properties: { text: {} } }),
          output: () => ({}),
        },
      },
    };
    const tool = defineTool({
      name: "t",
      parameters: described,
      handler: (_ctx, input) => {
        expectTypeOf(input).toEqualTypeOf<{ text: string }>();
        return input;
      },
    });
    expect(tool.definition.parameters.title).toBe("draft-2020-12");
    await using test = createTestContext();
    expect((await test.call(tool, { text: "  a " })).output).toEqual({ text: "a" });
    expect((await test.call(tool, {})).error?.message).toContain("/text: ");
  });

  it("may only describe, and the input then stays as it is", () => {
    const described: StandardJSONSchemaV1<{ n: number }, { n: string }> = {
      "~standard": {
        version: 1,
        vendor: "hand",
        jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
      },
    };
    const tool = defineTool({
      name: "t",
      parameters: described,
      handler: (_ctx, input) => {
        expectTypeOf(input).toEqualTypeOf<{ n: number }>();
        return input.n;
      },
    });
    expect(tool.code.parse).toBeUndefined();
  });

  it("may be functions, as some libraries make them", () => {
    const schemaFunction = Object.assign(() => true, {
      "~standard": {
        version: 1 as const,
        vendor: "hand",
        jsonSchema: { input: () => ({ type: "object", title: "f" }), output: () => ({}) },
      },
    });
    expect(defineTool({ name: "t", parameters: schemaFunction, handler }).definition.parameters.title).toBe("f");
  });
});

describe("parameters as JSON Schema", () => {
  it("of an older draft are stored as 2020-12, or refused with the tool's name and the keyword", () => {
    const $schema = "http://json-schema.org/draft-07/schema#";
    const draft = { $schema, type: "object", properties: { pair: { type: "array", items: [{ type: "string" }] } } };
    const define = (parameters: object) =>
      defineTool({ name: "old__one", parameters: parameters as never, handler: () => null });
    expect(define(draft).definition.parameters).toEqual({
      type: "object",
      properties: { pair: { type: "array", prefixItems: [{ type: "string" }] } },
    });
    const newer = { ...draft, properties: { a: { unevaluatedItems: false } } };
    expect(() => define(newer)).toThrow(/tool old__one .*\/properties\/a\/unevaluatedItems .*draft-07/);
  });

  it("give the input its type without `as const`", () => {
    const tool = defineTool({
      name: "t",
      parameters: {
        type: "object",
        properties: {
          city: { type: "string" },
          days: { type: "integer", default: 1 },
          unit: { enum: ["C", "F"] },
          tags: { type: "array", items: { type: "string" } },
          place: {
            type: "object",
            properties: {
              lat: { type: "number" },
              name: { type: ["string", "null"] },
              level: { type: "number", default: 0 },
            },
            required: ["lat"],
          },
          anything: {},
          open: { type: "object" },
          yes: { const: true },
        },
        required: ["city", "unit"],
      },
      handler: (ctx, input) => {
        expectTypeOf(ctx.attempt).toEqualTypeOf<number>();
        expectTypeOf(input).toEqualTypeOf<{
          city: string;
          days: number;
          unit: "C" | "F";
          tags?: string[];
          place?: { lat: number; name?: string | null; level?: number };
          anything?: JsonValue;
          open?: JsonObject;
          yes?: true;
        }>();
        return { city: input.city };
      },
    });
    expectTypeOf(tool.handler).returns.toEqualTypeOf<{ city: string }>();
    expect(tool.definition.parameters.required).toEqual(["city", "unit"]);
  });

  it("of unknown content make the input a JsonObject", () => {
    expectTypeOf<InferToolInput<JsonObject>>().toEqualTypeOf<JsonObject>();
    expectTypeOf<InferToolInput<JsonSchemaObject>>().toEqualTypeOf<JsonObject>();
    expectTypeOf<InferToolInput<{ type: "object" }>>().toEqualTypeOf<JsonObject>();
    const tool = defineTool({ name: "t", handler: (_ctx, input) => input });
    expectTypeOf(tool.handler).parameter(1).toEqualTypeOf<JsonObject>();
  });
});
