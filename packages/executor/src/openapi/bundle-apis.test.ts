// A bundle that brings an OpenAPI document, from its files to the result of a call.

import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import { BUNDLE_FILE_BYTES_MAX, targetSubjectFor } from "@tessera/protocol";
import { toolPolicy } from "@tessera/tool";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundle, isolated, useBundleDirectory, write } from "../../test/bundle-directory.ts";
import { startDefinitionRunner } from "../../test/definition-runner.ts";
import { json, type StandIn, startStandIn } from "../../test/stand-in.ts";
import { loadBundleTools } from "../loader/bundle-tools.ts";
import { credentialGrants } from "./credential-grants.ts";

const PETSTORE = `openapi: 3.1.0
info: { title: Petstore, version: "1" }
servers: [{ url: https://api.example.com/v1 }]
security: [{ bearerAuth: [] }]
paths:
  /pets:
    get:
      operationId: listPets
      summary: Lists pets
      tags: [pets]
      parameters:
        - { name: limit, in: query, schema: { type: integer, maximum: 100 } }
    post:
      operationId: createPet
      tags: [pets, writing]
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } }
  /pets/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    get: { operationId: showPet }
    delete: { operationId: removePet }
  /shop/hours:
    get: { operationId: hours, security: [] }
components:
  securitySchemes: { bearerAuth: { type: http, scheme: bearer } }
  schemas:
    Pet:
      type: object
      properties: { name: { type: string }, kind: { type: [string, "null"] } }
      required: [name]
`;
const TOKEN = "petstore-token-0123";

/** `spec.openapi` on line 5, its document on line 6. */
const resource = (openapi: string, rest = ""): string =>
  `apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: { name: petstore }\nspec:\n  openapi:\n    document: ./api/petstore.yaml\n` +
  `    hosts: [api.example.com]\n${openapi.replace(/^(?=.)/gm, "    ")}\n${rest.replace(/^(?=.)/gm, "  ")}\n`;
const AUTH = "auth: { bearerAuth: PETSTORE_TOKEN }";

useBundleDirectory();
let standIn: StandIn;
beforeEach(async () => {
  standIn = await startStandIn();
});
afterEach(async () => await standIn[Symbol.asyncDispose]());

async function load(files: Readonly<Record<string, string | Uint8Array>>) {
  await write(files);
  return await loadBundleTools(bundle, { isolated });
}

const namesOf = ({ tools }: Awaited<ReturnType<typeof load>>) => tools.map(({ definition }) => definition.tool_name);

describe("a bundle with a document", () => {
  it("gives tools that a service runs from their definitions alone", async () => {
    const loaded = await load({ "tools.yaml": resource(AUTH), "api/petstore.yaml": PETSTORE });
    expect({ mistakes: loaded.mistakes, ignored: loaded.ignored }).toEqual({ mistakes: [], ignored: [] });
    expect(namesOf(loaded)).toEqual(
      ["listPets", "createPet", "showPet", "removePet", "hours"].map((x) => `petstore__${x}`),
    );
    expect(loaded.tools.map(({ definition }) => toolPolicy(definition).placement)).toEqual(Array(5).fill("service"));
    expect(loaded.tools.flatMap(({ definition }) => credentialGrants(definition))).toEqual(
      Array(4).fill(expect.objectContaining({ variable: "PETSTORE_TOKEN", host: "api.example.com" })),
    );

    standIn.answer = ({ method, url, headers, body }, response) => {
      if (url === "/v1/pets/none") return json(response, { error: `no pet for ${headers.authorization}` }, 404);
      json(response, { method, url, seen: headers.authorization ?? null, body: body === "" ? null : JSON.parse(body) });
    };
    await using runner = await startDefinitionRunner(loaded.tools, {
      clock: systemClock,
      dispatcher: standIn.dispatcher,
      env: { PETSTORE_TOKEN: TOKEN },
    });
    const list = await runner.run("petstore__listPets", { limit: 2 });
    expect(list).toEqual({
      status: "success",
      after_execution: "suspend",
      result: {
        method: "GET",
        url: "/v1/pets?limit=2",
        seen: "Bearer ***",
        body: null,
        latency_ms: expect.any(Number),
      },
      error: null,
    });
    expect(standIn.seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(standIn.dialed).toEqual(["api.example.com:443"]);

    const created = await runner.run("petstore__createPet", { body: { name: "Rex", kind: null } });
    expect(created.result).toMatchObject({ method: "POST", url: "/v1/pets", body: { name: "Rex", kind: null } });
    expect((await runner.run("petstore__hours", {})).result).toMatchObject({ url: "/v1/shop/hours", seen: null });

    const missing = await runner.run("petstore__showPet", { id: "none" });
    expect(missing).toMatchObject({
      status: "failed",
      error: {
        code: "bad_request",
        detail: { status_code: 404, details: expect.stringContaining("no pet for Bearer ***") },
      },
    });

    const sent = standIn.seen.length;
    expect(await runner.run("petstore__listPets", { limit: 101 })).toMatchObject({ error: { code: "bad_request" } });
    expect(await runner.run("petstore__createPet", { body: {} })).toMatchObject({ error: { code: "bad_request" } });
    expect(standIn.seen.length).toBe(sent);
    expect(runner.warnings).toEqual([]);
  });

  it.each([
    ["operations: [listPets]", ["listPets"]],
    ["operations: [{ tag: pets }]", ["listPets", "createPet"]],
    ["operations: [{ method: get, path: '/pets/{id}' }, hours]", ["showPet", "hours"]],
    ["operations: ['DELETE /pets/{id}', { tag: writing }, createPet]", ["createPet", "removePet"]],
  ])("gives only the operations of its filter: %s", async (filter, expected) => {
    const loaded = await load({ "tools.yaml": resource(`${filter}\n${AUTH}`), "api/petstore.yaml": PETSTORE });
    expect(loaded.mistakes).toEqual([]);
    expect(namesOf(loaded)).toEqual(expected.map((name) => `petstore__${name}`));
  });

  it("may be JSON, with another base, target and placement", async () => {
    const paths = { "/x": { get: { operationId: "x" } } };
    const yaml = resource("baseUrl: https://api.example.com/v9", "placement: edge\ntarget: shop");
    const loaded = await load({
      "tools.yaml": yaml.replace("./api/petstore.yaml", "api/petstore.json"),
      "api/petstore.json": JSON.stringify(
        { openapi: "3.1.0", servers: [{ url: "https://other.example" }], paths },
        null,
        "\t",
      ),
    });
    expect(loaded.mistakes).toEqual([]);
    expect(loaded.tools[0]?.definition).toMatchObject({
      tool_name: "petstore__x",
      target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.shop.x",
      options: { placement: "edge", openapi: { server: "https://api.example.com/v9", hosts: ["api.example.com"] } },
    });
  });

  it("keeps its names against the tools of a config", async () => {
    const definition = JSON.stringify({
      ...{ tool_name: "petstore__hours", description: "Hours.", parameters: { type: "object" } },
      ...{ target_subject: targetSubjectFor("petstore", "hours"), after_execution: "suspend", options: {} },
    });
    const tool = `{ definition: ${definition}, code: { kind: "function", handler: () => 1 } }`;
    const loaded = await load({
      "tools.yaml": resource(AUTH),
      "api/petstore.yaml": PETSTORE,
      "tessera.config.mjs": `export default { tools: [${tool}] };`,
    });
    expect(loaded.mistakes.map(({ code, file }) => `${code} ${file}`)).toEqual([
      "E_CONFIG_DUPLICATE_NAME tessera.config.mjs",
    ]);
    expect(namesOf(loaded)).toHaveLength(5);
  });
});

describe("a document is a mistake at the place that names it when", () => {
  it.each<[string, string, string | Uint8Array, string, string]>([
    ["it is no YAML", AUTH, "openapi: [3.1.0\npaths: {}", "E_CONFIG_PARSE_ERROR", "./api/petstore.yaml:2:1: "],
    [
      "a key stands twice",
      AUTH,
      "openapi: 3.1.0\nopenapi: 3.1.0\n",
      "E_CONFIG_PARSE_ERROR",
      "./api/petstore.yaml:2:1: ",
    ],
    ["it holds two documents", AUTH, `${PETSTORE}---\n{}\n`, "E_CONFIG_SCHEMA_INVALID", "holds 2 documents"],
    ["it is empty", AUTH, "", "E_CONFIG_SCHEMA_INVALID", "holds 0 documents"],
    ["it is of version 2", AUTH, "swagger: '2.0'\npaths: {}\n", "E_CONFIG_SCHEMA_INVALID", "3.0, 3.1 or 3.2"],
    ["it has no operations", AUTH, "openapi: 3.1.0\npaths: {}\n", "E_CONFIG_SCHEMA_INVALID", "no operations"],
    ["its server is off the hosts", AUTH, PETSTORE.replace("api.ex", "evil.ex"), "url_not_allowed", "evil.example.com"],
    [
      "a reference leads out",
      AUTH,
      PETSTORE.replace('"#/comp', '"https://evil.example/#/comp'),
      "E_CONFIG_SCHEMA_INVALID",
      "leads out",
    ],
    [
      "the filter finds nothing",
      `${AUTH}\noperations: [{ tag: cats }]`,
      PETSTORE,
      "E_CONFIG_SCHEMA_INVALID",
      '{"tag":"cats"}',
    ],
    ["a credential is missing", "", PETSTORE, "E_CONFIG_SCHEMA_INVALID", "needs bearerAuth"],
    ["it is too large", AUTH, Buffer.alloc(BUNDLE_FILE_BYTES_MAX + 1, "#"), "E_CONFIG_FILE_TOO_LARGE", "at most"],
    ["it is not UTF-8", AUTH, Buffer.from([0x61, 0xff, 0xfe]), "invalid_encoding", "UTF-8"],
  ])("%s", async (_, openapi, document, code, message) => {
    const loaded = await load({ "tools.yaml": resource(openapi), "api/petstore.yaml": document });
    expect(loaded.tools).toEqual([]);
    expect(loaded.mistakes).toHaveLength(1);
    expect(loaded.mistakes[0]).toMatchObject({
      code,
      file: "tools.yaml",
      line: 6,
      column: 15,
      pointer: "/spec/openapi/document",
    });
    expect(loaded.mistakes[0]?.message).toContain("tools.yaml:6:15: ./api/petstore.yaml");
    expect(loaded.mistakes[0]?.message).toContain(message);
  });

  it.each(["invalid", '{"openapi": "3.1.0", "openapi": "3.1.0"}'])("it is called JSON and is %s", async (text) => {
    const yaml = resource(AUTH).replace("petstore.yaml", "petstore.json");
    const loaded = await load({ "tools.yaml": yaml, "api/petstore.json": text });
    expect(loaded.mistakes.map(({ message }) => message.slice(0, 38))).toEqual([
      "tools.yaml:6:15: ./api/petstore.json: ",
    ]);
  });

  it("it is missing, a directory, or outside the bundle behind a link", async () => {
    const messages = async () => (await load({ "tools.yaml": resource(AUTH) })).mistakes.map(({ message }) => message);
    expect(await messages()).toEqual(["tools.yaml:6:15: ./api/petstore.yaml: the document does not exist"]);
    await mkdir(join(bundle, "api/petstore.yaml"), { recursive: true });
    expect(await messages()).toEqual(["tools.yaml:6:15: ./api/petstore.yaml: the document is not a file"]);
    await rm(join(bundle, "api/petstore.yaml"), { recursive: true });
    const outside = await mkdtemp(join(tmpdir(), "tessera-outside-"));
    try {
      await writeFile(join(outside, "p.yaml"), PETSTORE);
      await symlink(join(outside, "p.yaml"), join(bundle, "api/petstore.yaml"));
      expect(await messages()).toEqual(["tools.yaml:6:15: ./api/petstore.yaml: the document lies outside the bundle"]);
    } finally {
      await rm(outside, { recursive: true, force: true });
    }
  });
});

it("one bad document hides neither another one nor what is wrong elsewhere", async () => {
  const other = resource(AUTH).replace("name: petstore", "name: second").replace("petstore.yaml", "second.yaml");
  const loaded = await load({
    "tools.yaml": `${resource(AUTH)}---\n${other}`,
    "resources.yaml": resource("hots: [x]").replace("name: petstore", "name: third"),
    "api/petstore.yaml": "openapi: 1",
    "api/second.yaml": PETSTORE,
  });
  expect(namesOf(loaded)).toContain("second__listPets");
  expect(loaded.mistakes.map(({ file, line, column }) => `${file}:${line}:${column}`).sort()).toEqual([
    "resources.yaml:8:5",
    "tools.yaml:6:15",
  ]);
});
