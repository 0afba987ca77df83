import { TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import type { Mistake } from "./place.ts";
import { readToolBundle, type ToolBundle } from "./tool-bundle.ts";
import { parseToolUpload } from "./tool-upload.ts";

const HEAD = "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata:\n  name: petstore\nspec:\n";
/** `openapi` on line 6, its first field on line 7. */
const api = (fields: string, rest = ""): string =>
  `${HEAD}  openapi:\n${fields.replace(/^/gm, "    ")}\n${rest.replace(/^(?=.)/gm, "  ")}\n`;
const read = (text: string): ToolBundle => readToolBundle([{ path: "t.yaml", text }]);
const shortOf = ({ code, line, column, pointer }: Mistake): string =>
  `${code.replace("E_CONFIG_SCHEMA_INVALID", "invalid")} ${line}:${column} ${pointer}`;

const LEAST = "document: ./petstore.yaml\nhosts: [api.example.com]";

describe("a resource with spec.openapi", () => {
  it("is an API with everything it says, at the place of its document", () => {
    const { apis, tools, mistakes, ignored } = read(
      api(
        `document: ./docs/petstore.yaml
hosts: [API.example.com:443, "b.example.com:8443"]
operations: [listPets, { tag: pets }, { method: get, path: "/pets/{id}" }]
auth: { bearerAuth: PETSTORE_TOKEN, X-Api-Key: PETSTORE_KEY }
baseUrl: https://api.example.com/v1`,
        "placement: edge\ntarget: pets",
      ),
    );
    expect({ tools, mistakes, ignored }).toEqual({ tools: [], mistakes: [], ignored: [] });
    expect(apis).toEqual([
      {
        resource: "petstore",
        target: "pets",
        placement: "edge",
        document: "./docs/petstore.yaml",
        hosts: ["api.example.com", "b.example.com:8443"],
        operations: ["listPets", { tag: "pets" }, { method: "GET", path: "/pets/{id}" }],
        auth: { bearerAuth: "PETSTORE_TOKEN", "X-Api-Key": "PETSTORE_KEY" },
        baseUrl: "https://api.example.com/v1",
        file: "t.yaml",
        line: 7,
        column: 15,
      },
    ]);
  });

  it("runs as a service under its own name unless it says otherwise", () => {
    expect(read(api(LEAST)).apis).toEqual([
      {
        resource: "petstore",
        target: "petstore",
        placement: "service",
        document: "./petstore.yaml",
        hosts: ["api.example.com"],
        auth: {},
        file: "t.yaml",
        line: 7,
        column: 15,
      },
    ]);
  });

  it("refuses the fields of spec that are for code", () => {
    const { apis, mistakes } = read(api(LEAST, "errorMessageLimit: 5\nenvs: { k: A_KEY }"));
    expect(apis).toEqual([]);
    expect(mistakes.map(({ pointer, line }) => `${pointer} ${line}`)).toEqual([
      "/spec/errorMessageLimit 9",
      "/spec/envs 10",
    ]);
  });

  it("counts once: a second one of its name is refused, whatever it brings", () => {
    const { apis, tools, mistakes } = read(`${api(LEAST)}---\n${HEAD}  exports: [{ name: a }]\n---\n${api(LEAST)}`);
    expect(apis).toHaveLength(1);
    expect(tools).toEqual([]);
    expect(mistakes.map(({ code }) => code)).toEqual(["E_CONFIG_DUPLICATE_NAME", "E_CONFIG_DUPLICATE_NAME"]);
  });
});

describe("spec.openapi is refused for", () => {
  it.each([
    ["being text", `${HEAD}  openapi: ./petstore.yaml\n`, "invalid 6:12 /spec/openapi"],
    ["no document", api("hosts: [a.example]"), "invalid 7:5 /spec/openapi/document"],
    ["an absolute document", api("document: /etc/passwd\nhosts: [a.example]"), "invalid 7:15 /spec/openapi/document"],
    ["a document outside", api("document: ../a.yaml\nhosts: [a.example]"), "invalid 7:15 /spec/openapi/document"],
    ["a document elsewhere", api("document: https://a.example/a\nhosts: [b]"), "invalid 7:15 /spec/openapi/document"],
    ["a document that is a list", api("document: [a]\nhosts: [a.example]"), "invalid 7:15 /spec/openapi/document"],
    ["no hosts", api("document: a.yaml"), "invalid 7:5 /spec/openapi/hosts"],
    ["an empty list of hosts", api("document: a.yaml\nhosts: []"), "invalid 8:12 /spec/openapi/hosts"],
    [
      "a host with a scheme",
      api("document: a.yaml\nhosts: [a.b, 'https://a.b']"),
      "invalid 8:18 /spec/openapi/hosts/1",
    ],
    ["a host with a wildcard", api("document: a.yaml\nhosts: ['*.a.b']"), "invalid 8:13 /spec/openapi/hosts/0"],
    ["a host that is a number", api("document: a.yaml\nhosts: [1]"), "invalid 8:13 /spec/openapi/hosts/0"],
    ["an empty filter", api(`${LEAST}\noperations: []`), "invalid 9:17 /spec/openapi/operations"],
    ["a filter that is text", api(`${LEAST}\noperations: a`), "invalid 9:17 /spec/openapi/operations"],
    ["a filter of numbers", api(`${LEAST}\noperations: [a, 5]`), "invalid 9:21 /spec/openapi/operations/1"],
    ["a filter with a typo", api(`${LEAST}\noperations: [{ tags: a }]`), "invalid 9:18 /spec/openapi/operations/0"],
    [
      "a filter of both kinds",
      api(`${LEAST}\noperations: [{ tag: a, path: /a, method: get }]`),
      "invalid 9:18 /spec/openapi/operations/0",
    ],
    [
      "an unknown method",
      api(`${LEAST}\noperations: [{ path: /a, method: fetch }]`),
      "invalid 9:18 /spec/openapi/operations/0",
    ],
    [
      "a path without /",
      api(`${LEAST}\noperations: [{ path: a, method: get }]`),
      "invalid 9:18 /spec/openapi/operations/0",
    ],
    ["auth that is a list", api(`${LEAST}\nauth: [A]`), "invalid 9:11 /spec/openapi/auth"],
    ["auth for no header", api(`${LEAST}\nauth: { 'a b': A }`), "invalid 9:13 /spec/openapi/auth/a b"],
    ["auth by a value", api(`${LEAST}\nauth: { a: sk-123 }`), "env_not_allowed 9:16 /spec/openapi/auth/a"],
    ["auth by a number", api(`${LEAST}\nauth: { a: 5 }`), "env_not_allowed 9:16 /spec/openapi/auth/a"],
    [
      "auth by a variable of the process",
      api(`${LEAST}\nauth: { a: DATABASE_URL }`),
      "env_not_allowed 9:16 /spec/openapi/auth/a",
    ],
    ["a base over http", api(`${LEAST}\nbaseUrl: http://api.example.com`), "invalid 9:14 /spec/openapi/baseUrl"],
    [
      "a base with a login",
      api(`${LEAST}\nbaseUrl: https://a:b@api.example.com`),
      "invalid 9:14 /spec/openapi/baseUrl",
    ],
    ["a base that is a path", api(`${LEAST}\nbaseUrl: /v1`), "invalid 9:14 /spec/openapi/baseUrl"],
    ["a base off the hosts", api(`${LEAST}\nbaseUrl: https://evil.example`), "invalid 9:14 /spec/openapi/baseUrl"],
    ["an unknown key", api(`${LEAST}\noperation: [a]`), "invalid 9:5 /spec/openapi/operation"],
    ["code beside it", api(LEAST, "entry: ./a.ts"), "invalid 9:10 /spec/entry"],
    ["exports beside it", api(LEAST, "exports: [{ name: a }]"), "invalid 9:12 /spec/exports"],
    ["a placement of code", api(LEAST, "placement: isolated"), "invalid 9:14 /spec/placement"],
    ["an unknown placement", api(LEAST, "placement: moon"), "invalid 9:14 /spec/placement"],
    ["a target of two tokens", api(LEAST, "target: a.b"), "invalid_target_subject 9:11 /spec/target"],
  ])("%s", (_, text, expected) => {
    const { apis, mistakes } = read(text);
    expect(mistakes.map(shortOf)).toEqual([expected]);
    expect(apis).toEqual([]);
  });

  it("everything at once", () => {
    const text = api(
      "document: /a\nhosts: [a/b]\noperations: [[]]\nauth: { a: PATH }\nbaseUrl: x\nmore: 1",
      "entry: a.ts",
    );
    expect(
      read(text.replace("petstore", "Pet"))
        .mistakes.map(({ pointer }) => pointer)
        .sort(),
    ).toEqual([
      "/metadata/name",
      "/spec/entry",
      "/spec/openapi/auth/a",
      "/spec/openapi/baseUrl",
      "/spec/openapi/document",
      "/spec/openapi/hosts/0",
      "/spec/openapi/more",
      "/spec/openapi/operations/0",
    ]);
  });
});

describe("an upload", () => {
  const errorOfUpload = (text: string): TesseraError => {
    try {
      parseToolUpload(text, { projectId: "p1", file: "t.yaml" });
    } catch (error) {
      if (TesseraError.is(error)) return error;
      throw error;
    }
    throw new Error("the upload was accepted");
  };

  it("with spec.openapi is refused, and says where and why", () => {
    for (const text of [api(LEAST), `${HEAD}  exports: [{ name: a }]\n  openapi: 5\n`]) {
      const error = errorOfUpload(text);
      expect(error.code).toBe("schema_invalid");
      expect(error.details).toMatchObject({ pointer: "/spec/openapi", file: "t.yaml", column: 3 });
      expect(error.message).toContain("openapi names a document, which is not part of an upload");
    }
  });

  it("may bring one whole operation under options.openapi", () => {
    const openapi = { server: "https://api.example.com", hosts: ["api.example.com"], method: "GET", path: "/pets" };
    const { definitions } = parseToolUpload(
      `tool_name: pets\ntarget_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.openapi.pets\nafter_execution: suspend\n` +
        `options: ${JSON.stringify({ openapi })}\n`,
      { projectId: "p1" },
    );
    expect(definitions[0]?.options).toEqual({ openapi });
  });
});
