// OpenAPI documents become definitions, or are refused.

import { type JsonObject, TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { changed, GLASS, GREENHOUSE, LIBRARY, LIBRARY_OPTIONS, tool } from "../../test/openapi-documents.ts";
import { type OpenApiToolsOptions, openApiTools } from "./document-tools.ts";

function refusal(make: () => unknown): TesseraError {
  try {
    make();
  } catch (error) {
    if (TesseraError.is(error)) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("a document", () => {
  it("becomes one tool per operation, with legal unique names and the effect of its method", () => {
    const tools = openApiTools(LIBRARY, LIBRARY_OPTIONS);
    expect(tools.map((one) => [one.tool_name, one.options.effect])).toEqual([
      ["library__listBooks", "read"],
      ["library__books_create", "once"],
      ["library__books_create_2", "idempotent"],
      ["library__delete_books_book_id_copies_copy", "idempotent"],
    ]);
    expect(tools[0]?.target_subject).toBe("cg.v1r4.{project_id}.{channel_id}.cmd.tool.library.listBooks");
    expect(tools[0]?.description).toBe("List books");
  });

  it.each([
    [["listBooks"], ["library__listBooks"]],
    [["books"], ["library__listBooks", "library__books_create"]],
    [["delete /books/{book_id}/copies/{copy}"], ["library__delete_books_book_id_copies_copy"]],
  ])("is filtered by %j", (operations, names) => {
    expect(openApiTools(LIBRARY, { ...LIBRARY_OPTIONS, operations }).map((one) => one.tool_name)).toEqual(names);
  });

  it("turns the schemas of 3.0 into JSON Schema 2020-12", () => {
    const tools = openApiTools(LIBRARY, LIBRARY_OPTIONS);
    expect(tool(tools, "library__books_create").parameters).toEqual({
      type: "object",
      additionalProperties: false,
      required: ["body"],
      properties: {
        body: {
          type: "object",
          required: ["title"],
          properties: {
            title: { type: "string" },
            year: { type: ["integer", "null"], format: "int32" },
            genre: { type: ["string", "null"], enum: ["novel", "poem", null] },
            author: {
              type: "object",
              properties: { name: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
            },
            session_id: { type: "string" },
          },
        },
      },
    });
    const { properties } = tool(tools, "library__listBooks").parameters as { properties: JsonObject };
    expect(properties.page).toEqual({ type: "integer", exclusiveMinimum: 0 });
    expect(properties).not.toHaveProperty("theme");
  });

  it("keeps two parameters of one name apart", () => {
    const { properties, required } = tool(openApiTools(LIBRARY, LIBRARY_OPTIONS), "library__books_create_2").parameters;
    expect(properties).toEqual({
      book_id: { type: "string", description: "Its number." },
      copy: { type: "string" },
      book_id_2: { type: "boolean" },
    });
    expect(required).toEqual(["book_id", "copy"]);
  });

  it("keeps the schemas of 3.1, with notes beside a reference", () => {
    const { properties } = tool(openApiTools(GREENHOUSE, GLASS), "glass__waterBed").parameters as {
      properties: JsonObject;
    };
    expect(properties.bed).toEqual({ type: "string", minLength: 1, description: "Which bed." });
    expect(properties.body).toEqual({
      type: ["object", "null"],
      properties: { litres: { type: "number", exclusiveMinimum: 0 } },
    });
  });

  const author = ["components", "schemas", "Author"];
  it.each<[string, JsonObject, Partial<OpenApiToolsOptions>, string]>([
    ["of another version", { ...LIBRARY, openapi: "2.0" }, {}, "OpenAPI document"],
    ["with a server off the hosts", LIBRARY, { hosts: ["library.example"] }, "not among the hosts"],
    ["with a server over http", changed(LIBRARY, ["servers"], [{ url: "http://api.library.example" }]), {}, "https"],
    ["with a relative server", changed(LIBRARY, ["servers"], [{ url: "/v2" }]), {}, "baseUrl"],
    ["with a server variable outside its enum", LIBRARY, { serverVariables: { region: "evil" } }, "enum"],
    ["without the filtered operation", LIBRARY, { operations: ["lisBooks"] }, "lisBooks"],
    ["with a remote reference", changed(LIBRARY, author, { $ref: "https://evil.example/a.json" }), {}, "leads out"],
    ["with a file reference", changed(LIBRARY, author, { $ref: "a.json#/A" }), {}, "leads out"],
    ["with a reference to nothing", changed(LIBRARY, author, { $ref: "#/components/none" }), {}, "names nothing"],
    [
      "with a circle of references",
      changed(LIBRARY, author, { properties: { book: { $ref: "#/components/schemas/Book" } } }),
      {},
      "leads to itself",
    ],
    [
      "with a required cookie",
      changed(LIBRARY, ["components", "parameters", "BookId"], { name: "c", in: "cookie", required: true }),
      {},
      "cookies",
    ],
    ["whose credential is missing", LIBRARY, { auth: {} }, "needs card"],
    [
      "with a key in the query",
      changed(LIBRARY, ["security"], [{ link: [] }]),
      { auth: { link: "KEY" } },
      "headers only",
    ],
    ["under a name with two underscores", LIBRARY, { resource: "a__b" }, "not a name"],
  ])("%s is refused", (_, document, options, message) => {
    expect(refusal(() => openApiTools(document, { ...LIBRARY_OPTIONS, ...options })).message).toContain(message);
  });

  it("cannot make a million schemas out of a few references", () => {
    const schemas: JsonObject = { L0: { type: "string" } };
    for (let level = 1; level <= 20; level++) {
      const $ref = `#/components/schemas/L${level - 1}`;
      schemas[`L${level}`] = { type: "object", properties: { a: { $ref }, b: { $ref }, c: { $ref } } };
    }
    const book = { $ref: "#/components/schemas/L20" };
    const document = changed(LIBRARY, ["components", "schemas"], { ...schemas, Book: book });
    expect(refusal(() => openApiTools(document, LIBRARY_OPTIONS)).message).toContain("more than 2000");
  });
});
