// For tests: two small OpenAPI documents, one of each way to write schemas, and how they are registered.

import type { JsonObject } from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import type { OpenApiToolsOptions } from "../src/openapi/document-tools.ts";

/** A lending library, in the words of 3.0. */
export const LIBRARY: JsonObject = {
  openapi: "3.0.3",
  info: { title: "Town library", version: "2" },
  servers: [
    {
      url: "https://{region}.library.example/v{version}/",
      variables: { region: { default: "api", enum: ["api", "eu"] }, version: { default: "2" } },
    },
  ],
  security: [{ card: [] }],
  tags: [{ name: "books" }],
  paths: {
    "/books": {
      get: {
        operationId: "listBooks",
        summary: "List books",
        tags: ["books"],
        parameters: [
          { name: "topic", in: "query", schema: { type: "array", items: { type: "string" } } },
          {
            name: "ids",
            in: "query",
            style: "form",
            explode: false,
            schema: { type: "array", items: { type: "integer" } },
          },
          {
            name: "shelf",
            in: "query",
            style: "pipeDelimited",
            explode: false,
            schema: { type: "array", items: { type: "string" } },
          },
          {
            name: "filter",
            in: "query",
            style: "deepObject",
            schema: { type: "object", additionalProperties: { type: "string" } },
          },
          { name: "page", in: "query", schema: { type: "integer", minimum: 0, exclusiveMinimum: true } },
          { name: "range", in: "query", schema: { type: "object", additionalProperties: { type: "integer" } } },
          { name: "X-Reader", in: "header", schema: { type: "string" } },
          { name: "theme", in: "cookie", schema: { type: "string" } },
        ],
      },
      post: {
        operationId: "books.create!",
        tags: ["books"],
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Book" } } },
        },
      },
    },
    "/books/{book_id}/copies/{copy}": {
      parameters: [{ $ref: "#/components/parameters/BookId" }],
      put: {
        operationId: "books__create",
        parameters: [
          { name: "copy", in: "path", required: true, schema: { type: "string" } },
          { name: "book_id", in: "query", schema: { type: "boolean" } },
        ],
      },
      delete: { parameters: [{ name: "copy", in: "path", required: true, schema: { type: "string" } }], security: [] },
    },
  },
  components: {
    parameters: {
      BookId: { name: "book_id", in: "path", required: true, description: "Its number.", schema: { type: "string" } },
    },
    securitySchemes: {
      card: { type: "apiKey", in: "header", name: "X-Library-Card" },
      desk: { type: "http", scheme: "basic" },
      link: { type: "apiKey", in: "query", name: "key" },
    },
    schemas: {
      Book: {
        type: "object",
        required: ["id", "title"],
        properties: {
          id: { type: "string", readOnly: true },
          title: { type: "string", example: "Emma" },
          year: { type: "integer", nullable: true, format: "int32" },
          genre: { type: "string", nullable: true, enum: ["novel", "poem"] },
          author: { $ref: "#/components/schemas/Author" },
          session_id: { type: "string" },
        },
        xml: { name: "book" },
        "x-internal": true,
      },
      Author: {
        type: "object",
        properties: { name: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
      },
    },
  },
};

/** A greenhouse, in the words of 3.1. */
export const GREENHOUSE: JsonObject = {
  openapi: "3.1.0",
  info: { title: "Greenhouse", version: "1" },
  servers: [{ url: "https://glass.example" }],
  paths: {
    "/beds/{bed}/waterings": {
      post: {
        operationId: "waterBed",
        description: "Waters one bed.",
        parameters: [
          { name: "bed", in: "path", required: true, schema: { $ref: "#/$defs/Bed", description: "Which bed." } },
        ],
        requestBody: {
          content: {
            "application/vnd.glass+json": {
              schema: { type: ["object", "null"], properties: { litres: { type: "number", exclusiveMinimum: 0 } } },
            },
          },
        },
      },
      get: {
        operationId: "waterings",
        parameters: [
          { name: "bed", in: "path", required: true, schema: { type: "string" } },
          { name: "where", in: "query", content: { "application/json": { schema: { type: "object" } } } },
          { name: "session_id", in: "query", schema: { type: "string" } },
        ],
      },
    },
  },
  $defs: { Bed: { type: "string", minLength: 1, $comment: "a label" } },
};

export const LIBRARY_OPTIONS: OpenApiToolsOptions = {
  resource: "library",
  hosts: ["api.library.example"],
  auth: { card: "LIBRARY_CARD" },
};
export const GLASS: OpenApiToolsOptions = { resource: "glass", hosts: ["glass.example", "mirror.example"] };

/** The document with a value put at a path of keys. */
export function changed(document: JsonObject, path: readonly string[], value: unknown): JsonObject {
  const copy = structuredClone(document);
  let at = copy;
  for (const key of path.slice(0, -1)) at = at[key] as JsonObject;
  at[path.at(-1) as string] = value as JsonObject;
  return copy;
}

export function tool(tools: readonly ToolDefinition[], name: string): ToolDefinition {
  const found = tools.find((definition) => definition.tool_name === name);
  if (found === undefined) throw new Error(`no ${name} among ${tools.map((one) => one.tool_name).join(", ")}`);
  return found;
}
