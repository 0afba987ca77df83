// An operator's key uploads definitions that name a credential of the host's bundle. What counts is what the API behind it
// was sent.

import type { JsonObject } from "@tessera/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type HostedProject, ToolWorld } from "./tool-world.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const TOKEN = "directory-token-0123456789";
const JINA_KEY = "jina-key-0123456789";
const RESOURCE = `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: directory }
spec:
  openapi:
    document: ./directory.yaml
    hosts: [api.example.com]
    auth: { bearer: DIRECTORY_TOKEN }
`;
const DOCUMENT = `
openapi: 3.1.0
info: { title: Directory, version: "1" }
servers: [{ url: https://api.example.com/v1 }]
security: [{ bearer: [] }]
paths:
  /users/{id}:
    get:
      operationId: showUser
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
        - { name: page, in: query, schema: { type: integer } }
components: { securitySchemes: { bearer: { type: http, scheme: bearer } } }
`;
const BEARER = { header: "authorization", prefix: "Bearer ", env: "DIRECTORY_TOKEN" };
const SHOW: JsonObject = {
  server: "https://api.example.com/v1",
  hosts: ["api.example.com"],
  method: "GET",
  path: "/users/{id}",
  parameters: [{ name: "id", in: "path" }],
  auth: [BEARER],
};

describe("a credential of the bundle and definitions that an operator's key uploads", () => {
  let world: ToolWorld;
  let upstream: Upstream;
  let strict: HostedProject;
  let lenient: HostedProject;
  const keys = new Map<string, string>();

  beforeAll(async () => {
    world = await ToolWorld.open("pglite");
    upstream = await startUpstream(({ url }) => ({ body: { url } }));
    world.closeFirst(() => upstream.close());
    const { dispatcher } = upstream;
    const usual = {
      dispatcher,
      bundle: world.bundle({ "tessera.yaml": RESOURCE, "directory.yaml": DOCUMENT }),
      env: { DIRECTORY_TOKEN: TOKEN, JINA_API_KEY: JINA_KEY },
      openApiTargets: ["openapi"],
    };
    strict = await world.host(usual);
    lenient = await world.host({
      ...usual,
      credentials: [
        "DIRECTORY_TOKEN GET|DELETE api.example.com/v1/admin/users/{id}",
        "DIRECTORY_TOKEN GET api.example.com/v1/reports/{id} in X-Api-Key",
      ],
    });
    for (const { project } of [strict, lenient]) {
      const key = await world.node.kernel.createApiKey({ role: "operator", project_id: project });
      if (key.outcome === "rejected") throw new Error(key.code);
      keys.set(project, key.text);
    }
  });
  afterAll(() => world.close());
  beforeEach(() => void upstream.seen.splice(0));

  /** Uploads a definition over HTTP and calls it. */
  async function callUploaded(hosted: HostedProject, openapi: JsonObject, args: JsonObject, more: JsonObject = {}) {
    const { url } = await world.api();
    const response = await fetch(`${url}/projects/${hosted.project}/tools`, {
      method: "POST",
      headers: { authorization: `Bearer ${keys.get(hosted.project)}`, "content-type": "application/yaml" },
      body: JSON.stringify({
        tool_name: "uploaded__call",
        description: "Uploaded.",
        target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.openapi.run",
        after_execution: "suspend",
        parameters: { type: "object" },
        options: { openapi, ...more },
      }),
    });
    expect([200, 201]).toContain(response.status);
    return await world.call(hosted, "uploaded__call", args);
  }

  it("serves the bundle's own tools", async () => {
    const answer = await world.call(strict, "directory__showUser", { id: "42", page: 2 });
    expect(answer).toMatchObject({ status: "success", result: { url: "/v1/users/42?page=2" } });
    expect(upstream.seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it("serves an uploaded definition of the same operation", async () => {
    expect(await callUploaded(strict, SHOW, { id: "42" })).toMatchObject({ status: "success" });
    expect(upstream.seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["another path", { method: "DELETE", path: "/admin/users/42", parameters: [] }, {}],
    ["another method", { method: "DELETE" }, { id: "42" }],
    ["a path with an escaped slash", { path: "/users/..%2fadmin%2fusers", parameters: [] }, {}],
    ["a path with escaped dots", { path: "/users/%2e%2e", parameters: [] }, {}],
    ["a path with a second slash", { path: "//users/42", parameters: [] }, {}],
    ["a path in other letters", { path: "/Users/42", parameters: [] }, {}],
    ["a path below", { path: "/users/{id}/keys" }, { id: "42" }],
    ["another server path", { server: "https://api.example.com/v1/users", path: "/x/y", parameters: [] }, {}],
    [
      "a query of its own",
      {
        parameters: [
          { name: "id", in: "path" },
          { name: "as", in: "query" },
        ],
      },
      { id: "4", as: "root" },
    ],
    ["a header of its own", { headers: { "x-http-method-override": "DELETE" } }, { id: "42" }],
    ["another header for the credential", { auth: [{ ...BEARER, header: "x-log" }] }, { id: "42" }],
    [
      "a host with a dot at its end",
      { server: "https://api.example.com./v1", hosts: ["api.example.com."] },
      { id: "42" },
    ],
    ["another port", { server: "https://api.example.com:8443/v1", hosts: ["api.example.com:8443"] }, { id: "42" }],
  ])("sends nothing for %s", async (_, change, args) => {
    const answer = await callUploaded(strict, { ...SHOW, ...change }, args);
    expect(answer).toMatchObject({ status: "failed" });
    expect(["env_not_allowed", "bad_request"]).toContain(answer.error?.code);
    expect(upstream.seen).toEqual([]);
  });

  it("sends what the operator wrote a grant for, and no more", async () => {
    const admin = { ...SHOW, method: "DELETE", path: "/admin/users/{id}" };
    expect(await callUploaded(lenient, admin, { id: "42" })).toMatchObject({ status: "success" });
    expect(upstream.seen).toMatchObject([{ method: "DELETE", url: "/v1/admin/users/42" }]);
    expect(upstream.seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    for (const more of [{ method: "POST" }, { path: "/admin/groups/{id}" }]) {
      const answer = await callUploaded(lenient, { ...admin, ...more }, { id: "42" });
      expect(answer).toMatchObject({ status: "failed", error: { code: "env_not_allowed" } });
    }
    expect(upstream.seen).toHaveLength(1);
  });

  const READ: JsonObject = { ...SHOW, server: "https://r.jina.ai", hosts: ["r.jina.ai"], path: "/{id}" };
  const JINA_BEARER = { ...BEARER, env: "JINA_API_KEY" };

  it.each<[string, JsonObject]>([
    ["a cookie that the reader passes on", { header: "x-set-cookie", prefix: "k=" }],
    ["another header", { header: "x-referer", prefix: "" }],
    ["another prefix", { prefix: "k=" }],
    ["base64", { base64: true }],
  ])("sends Jina's key in no form but its own: %s", async (_, change) => {
    const answer = await callUploaded(
      strict,
      { ...READ, auth: [{ ...JINA_BEARER, ...change }] },
      { id: "evil.example" },
    );
    expect(answer).toMatchObject({ status: "failed" });
    expect(["env_not_allowed", "bad_request"]).toContain(answer.error?.code);
    expect(upstream.seen).toEqual([]);
    const usual = await callUploaded(strict, { ...READ, auth: [JINA_BEARER] }, { id: "page.example" });
    expect(usual).toMatchObject({ status: "success" });
    expect(upstream.seen[0]?.headers.authorization).toBe(`Bearer ${JINA_KEY}`);
  });

  it("sends a credential in the header that the operator's grant names, and in no other", async () => {
    const report = { ...SHOW, path: "/reports/{id}" };
    for (const auth of [BEARER, { ...BEARER, header: "x-log" }, { ...BEARER, header: "x-api-key", prefix: "k=" }]) {
      const answer = await callUploaded(lenient, { ...report, auth: [auth] }, { id: "7" });
      expect(answer).toMatchObject({ status: "failed", error: { code: "env_not_allowed" } });
    }
    expect(upstream.seen).toEqual([]);
    const auth = [{ header: "x-api-key", env: "DIRECTORY_TOKEN" }];
    expect(await callUploaded(lenient, { ...report, auth }, { id: "7" })).toMatchObject({ status: "success" });
    expect(upstream.seen[0]?.headers["x-api-key"]).toBe(TOKEN);
  });
});
