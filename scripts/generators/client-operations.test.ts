import { describe, expect, it } from "vitest";
import { clientOperations } from "./client-operations.ts";
import type { OpenApiDocument, Schema } from "./openapi-document.ts";
import { typeOf } from "./schema-type.ts";

const ok = (schema: Schema, type = "application/json") => ({ description: "x", content: { [type]: { schema } } });
const project = { name: "project", in: "path", required: true, schema: { type: "string" } };

function documentOf(paths: OpenApiDocument["paths"], schemas: Record<string, Schema> = {}): OpenApiDocument {
  return { openapi: "3.1.0", paths, components: { schemas } };
}

describe("the types of schemas", () => {
  const world = { known: new Set(["Thing"]) };
  it.each<[Schema, string]>([
    [{ type: "string", minLength: 1, description: "x" }, "string"],
    [{ type: "integer" }, "number"],
    [{ type: ["string", "null"] }, "string | null"],
    [{ const: "a" }, '"a"'],
    [{ enum: ["a", 1, null] }, '"a" | 1 | null'],
    [{ $ref: "#/components/schemas/Thing" }, "Thing"],
    [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } }, "readonly (string | null)[]"],
    [{ type: "array", items: { type: "array", items: {} } }, "readonly (readonly unknown[])[]"],
    [{ allOf: [{ $ref: "#/components/schemas/Thing" }, { oneOf: [{ const: 1 }, { const: 2 }] }] }, "Thing & (1 | 2)"],
    [{ type: "object", patternProperties: { "^.*$": { type: "number" } } }, "Readonly<Record<string, number>>"],
    [{ type: "object", additionalProperties: false }, "Readonly<Record<string, never>>"],
    [{ type: "object" }, "Readonly<Record<string, unknown>>"],
    [{}, "unknown"],
    [{ not: {} }, "never"],
    [
      { type: "object", required: ["a"], properties: { a: { type: "boolean" }, "b-c": { description: "of */ b" } } },
      '{\n  readonly a: boolean;\n  /** of *\\/ b */\n  readonly "b-c"?: unknown;\n}',
    ],
    [
      { type: "object", properties: { a: { type: "string" } }, additionalProperties: { type: "string" } },
      "{\n  readonly a?: string;\n} & Readonly<Record<string, string>>",
    ],
  ])("%j", (schema, type) => {
    expect(typeOf(schema, world, "at")).toBe(type);
  });

  it.each<[Schema, string]>([
    [{ if: {} }, "at: the keyword if is not understood"],
    [{ type: "array", prefixItems: [] }, "at: the keyword prefixItems is not understood"],
    [{ $ref: "#/components/schemas/Other" }, "at: #/components/schemas/Other is not among the schemas"],
    [{ type: "object", properties: { a: { type: "file" } } }, 'at/a: the type "file" is not known'],
    [{ const: {} }, "at: only plain values"],
    [{ not: { type: "string" } }, "at: not is understood only as {}"],
  ])("%j is refused with its place", (schema, message) => {
    expect(() => typeOf(schema, world, "at")).toThrow(message);
  });
});

describe("the operations of a document", () => {
  it("become types and a row each", () => {
    const source = clientOperations(
      documentOf(
        {
          "/projects/{project}/things": {
            parameters: [project],
            post: {
              operationId: "makeThing",
              summary: "Makes a thing.",
              parameters: [
                { name: "Idempotency-Key", in: "header", schema: { type: "string" } },
                { name: "limit", in: "query", description: "How many.", schema: { type: "integer" } },
              ],
              requestBody: { required: true, content: { "application/json": { schema: { type: "object" } } } },
              responses: {
                201: ok({ $ref: "#/components/schemas/Thing" }),
                200: ok({ $ref: "#/components/schemas/Thing" }),
                400: ok({}),
                default: ok({}),
              },
            },
          },
        },
        { Thing: { type: "object", required: ["id"], properties: { id: { type: "string" } } } },
      ),
    );
    expect(source).toContain("export type Thing = {\n  readonly id: string;\n};");
    expect(source).toContain(`  /** Makes a thing. */
  readonly makeThing: {
    readonly arguments: {
      readonly project: string;
      readonly idempotencyKey?: string;
      /** How many. */
      readonly limit?: number;
      readonly body: Readonly<Record<string, unknown>>;
    };
    readonly answer: Thing;
  };`);
    expect(source).toContain(`  makeThing: {
    method: "POST",
    path: "/projects/{project}/things",
    query: ["limit"],
    headers: { idempotencyKey: "idempotency-key" },
    body: "application/json",
    answer: "json",
  },`);
  });

  it.each([
    ["none", { 204: { description: "x" } }, "undefined"],
    ["text", { 200: ok({ type: "string" }, "text/plain") }, "string"],
    ["events", { 200: ok({ type: "object" }, "text/event-stream") }, "Readonly<Record<string, unknown>>"],
    ["json", { 200: ok({ type: "number" }), 204: { description: "x" } }, "number | undefined"],
  ])("may answer with %s", (kind, responses, type) => {
    const source = clientOperations(documentOf({ "/x": { get: { operationId: "getX", responses } } }));
    expect(source).toContain(`answer: "${kind}"`);
    expect(source).toContain(`readonly answer: ${type};`);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["a missing id", { responses: { 200: ok({}) } }, "GET /x has no operationId"],
    [
      "a parameter called body",
      { operationId: "getX", parameters: [{ name: "body", in: "query" }], responses: { 200: ok({}) } },
      "cannot be called body",
    ],
    [
      "a body that cannot be sent",
      { operationId: "getX", requestBody: { content: { "image/png": {} } }, responses: { 200: ok({}) } },
      "no body of image/png",
    ],
    ["no success", { operationId: "getX", responses: { 400: ok({}) } }, "no answer that is a success"],
    [
      "an answer of an unknown type",
      { operationId: "getX", responses: { 200: ok({}, "image/png") } },
      "not understood",
    ],
  ])("refuse %s", (_, get, message) => {
    expect(() => clientOperations(documentOf({ "/x": { get } }))).toThrow(message);
  });
});
