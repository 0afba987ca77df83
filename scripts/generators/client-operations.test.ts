import { describe, expect, it } from "vitest";
import { clientOperations } from "./client-operations.ts";
import type { OpenApiDocument, Schema } from "./openapi-document.ts";
import { typeOf } from "./schema-type.ts";
import { createWireShapes } from "./wire-shapes.ts";

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
    query: { limit: "limit" },
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

describe("the spelling of TypeScript", () => {
  const id = { type: "string" };
  const wait: Schema = { type: "object", required: ["tool_call_id"], properties: { tool_call_id: id, says: id } };
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

  it("is that of types, arguments of the query and bodies; the table says what each is on the wire", () => {
    const parameters = [{ name: "agent_turn_id", in: "query" as const, schema: id }];
    const requestBody = { required: true, content: { "application/json": { schema: wait } } };
    const responses = {
      200: ok({ type: "object", properties: { waiting_for: { type: "array", items: ref("Wait") } } }),
    };
    const source = clientOperations(
      documentOf({ "/x": { post: { operationId: "waitX", parameters, requestBody, responses } } }, { Wait: wait }),
    );
    expect(source).toContain("export type Wait = {\n  readonly toolCallId: string;\n  readonly says?: string;\n};");
    expect(source).toContain("readonly agentTurnId?: string;");
    expect(source).toContain("readonly waitingFor?: readonly Wait[];");
    expect(source).toContain('  Wait: {"fields":["tool_call_id"]},');
    expect(source).toContain('query: { agentTurnId: "agent_turn_id" },');
    expect(source).toContain('bodyShape: {"fields":["tool_call_id"]},');
    expect(source).toContain('answerShape: {"fields":["waiting_for"],"within":{"waiting_for":["Wait"]}},');
  });

  it.each<[string, Schema, unknown]>([
    ["a place for anything", {}, undefined],
    ["an object whose keys are its own", { type: "object" }, undefined],
    ["a map of words", { type: "object", additionalProperties: id }, undefined],
    ["an object of which no name differs", { type: "object", properties: { says: id, at: {} } }, undefined],
    ["a list of anything", { type: "array", items: {} }, undefined],
    ["a map of documents", { type: "object", additionalProperties: ref("Wait") }, { values: "Wait" }],
    ["what may be null", { anyOf: [ref("Wait"), { type: "null" }] }, "Wait"],
    ["a name in an open object", { ...wait, additionalProperties: true }, { fields: ["tool_call_id"] }],
    [
      "either of two documents",
      { oneOf: [ref("Wait"), { type: "object", properties: { in_list: { type: "array", items: ref("Wait") } } }] },
      { fields: ["tool_call_id", "in_list"], within: { in_list: ["Wait"] } },
    ],
    ["a document that holds itself", ref("Tree"), "Tree"],
  ])("of %s", (_, schema, shape) => {
    const tree: Schema = { type: "object", properties: { of_it: { type: "array", items: ref("Tree") } } };
    const shapes = createWireShapes({ Wait: wait, Tree: tree });
    expect(shapes.shapeOf(schema, "at")).toEqual(shape);
    expect(shapes.named.Tree).toEqual({ fields: ["of_it"], within: { of_it: ["Tree"] } });
  });

  it.each<[string, Schema, string]>([
    ["a document or anything", { anyOf: [wait, {}] }, "at: one member of a union names fields where another takes"],
    [
      "a field that one member names and another leaves open",
      {
        oneOf: [
          { type: "object", properties: { result: wait } },
          { type: "object", properties: { result: {}, why_not: id } },
        ],
      },
      "at/result: one member of a union names fields",
    ],
    [
      "two fields that would have one name",
      { type: "object", properties: { tool_name: id, toolName: id } },
      "at: two fields have the same name in TypeScript",
    ],
    ["a schema that is not there", ref("Other"), "at: Other is not among the schemas of the document"],
  ])("is refused for %s", (_, schema, message) => {
    expect(() => createWireShapes({}).shapeOf(schema, "at")).toThrow(message);
  });
});
