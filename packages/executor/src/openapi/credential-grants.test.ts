import type { JsonObject } from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import { describe, expect, it } from "vitest";
import { LIBRARY, LIBRARY_OPTIONS, tool } from "../../test/openapi-documents.ts";
import { type CredentialedRequest, credentialGrants, jinaKeyGrants, readCredentialGrant } from "./credential-grants.ts";
import { openApiTools } from "./document-tools.ts";

const definition = (options: unknown): ToolDefinition => ({
  tool_name: "t",
  description: "",
  parameters: {},
  target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.t.run",
  after_execution: "suspend",
  options: options as ToolDefinition["options"],
});
const OPERATION = { server: "https://a.example/v1", hosts: ["a.example", "b.example"], method: "GET", path: "/x" };

const asked = (options: unknown) => credentialGrants(definition(options)).map(({ variable, host }) => [variable, host]);

describe("a definition asks for", () => {
  it("each credential of its operation, for its server's host and no other of its list", () => {
    const auth = [
      { header: "authorization", env: "A_TOKEN" },
      { header: "x-key", env: "A_KEY" },
      { header: "x-again", env: "A_KEY" },
    ];
    expect(asked({ openapi: { ...OPERATION, auth } })).toEqual([
      ["A_TOKEN", "a.example"],
      ["A_KEY", "a.example"],
      ["A_KEY", "a.example"],
    ]);
  });

  it("what a document's scheme became", () => {
    const books = tool(openApiTools(LIBRARY, LIBRARY_OPTIONS), "library__listBooks");
    expect(asked(books.options)).toEqual([["LIBRARY_CARD", "api.library.example"]]);
  });

  it("its own in time that is in proportion to the slashes of its address, at an operation and at Jina", () => {
    const path = `${"/".repeat(60_000)}x`;
    const auth = [{ header: "authorization", env: "A_TOKEN" }];
    const started = performance.now();
    expect(asked({ openapi: { ...OPERATION, server: `https://a.example${path}`, auth } })).toHaveLength(1);
    expect(asked({ jina: { mode: "search", base_url: `https://s.jina.ai${path}` } })).toHaveLength(1);
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  it.each([
    [{ jina: { mode: "search" } }, ["JINA_API_KEY", "s.jina.ai"]],
    [{ jina: { mode: "crawl", auth_env: "MY_JINA" } }, ["MY_JINA", "r.jina.ai"]],
    [{ openapi: { base_url: "https://r.jina.ai", auth: { env: "OLD_KEY" } } }, ["OLD_KEY", "r.jina.ai"]],
  ])("Jina's key for the host of its mode: %j", (options, expected) => {
    expect(asked(options)).toEqual([expected]);
  });
});

describe("nothing is granted to", () => {
  it.each([
    ["a definition of another kind", {}],
    ["an operation without credentials", { openapi: OPERATION }],
    [
      "a server off its own list",
      { openapi: { ...OPERATION, hosts: ["b.example"], auth: [{ header: "a", env: "K" }] } },
    ],
    ["a variable that is none", { openapi: { ...OPERATION, auth: [{ header: "a", env: "K=1" }] } }],
    ["a Jina of a third host", { jina: { mode: "search", base_url: "https://evil.example" } }],
    ["a Jina without a mode", { jina: {} }],
    ["options that are null", null],
    ["settings of other types", { jina: 5, openapi: [] }],
  ])("%s", (_, options) => {
    expect(credentialGrants(definition(options))).toEqual([]);
  });
});

const BEARER = { header: "authorization", env: "TOKEN", prefix: "Bearer ", base64: false };
const get = (url: string, more: Partial<CredentialedRequest> = {}): CredentialedRequest => {
  return { url: new URL(url), method: "GET", headers: { accept: "text/plain" }, hasBody: false, ...more };
};
const GRANTED = {
  server: "https://api.example/v1",
  hosts: ["api.example"],
  method: "POST",
  path: "/users/{id}/notes",
  parameters: [
    { name: "id", in: "path" },
    { name: "page", in: "query" },
    { name: "filter", in: "query", style: "deepObject" },
    { name: "X-Reason", in: "header" },
  ],
  body: { arg: "body" },
  auth: [{ header: "authorization", prefix: "Bearer ", env: "TOKEN" }],
  headers: { "x-tenant": "ours" },
};

const OVERRIDES = [
  "_method",
  "_METHOD",
  "%5FMethod",
  ".method",
  "+_method",
  "X-HTTP-Method",
  "x-http-method-override",
  "X-Method-Override",
];

describe("the grant of an operation", () => {
  const parameters = { type: "object", properties: { page: { type: "integer" } } };
  const [grant] = credentialGrants({ ...definition({ openapi: GRANTED }), parameters });
  const post = (url: string, more: Partial<CredentialedRequest> = {}) =>
    get(url, {
      method: "POST",
      headers: { accept: "text/plain", "x-tenant": "ours", "content-type": "application/json" },
      hasBody: true,
      ...more,
    });
  const covers = (request: CredentialedRequest, wanted = BEARER) => grant?.covers(wanted, request);
  const USUAL = "https://api.example/v1/users/7/notes";
  const HEADERS = post(USUAL).headers;

  it.each([
    USUAL,
    "https://API.example:443/v1/users/a%20b%3Fc/notes?page=2&filter%5Bby%5D=x",
    "https://api.example/v1/users/..a/notes",
  ])("covers %s", (url) => {
    expect(covers(post(url))).toBe(true);
    expect(covers(post(url, { headers: { ...HEADERS, "x-reason": "any", "idempotency-key": "k" } }))).toBe(true);
  });

  it.each([
    "https://api.example/v1/admin/7",
    "https://api.example/v1/users/7/notes/",
    "https://api.example/v1//users/7/notes",
    "https://api.example/v1/users//notes",
    "https://api.example/v1/users/7/x/notes",
    "https://api.example/V1/users/7/notes",
    "https://api.example/v1/users/7/Notes",
    "https://api.example/v1/users/7%2f..%2fadmin/notes",
    "https://api.example/v1/users/7%2F8/notes",
    "https://api.example/v1/users/7%5c8/notes",
    "https://api.example/v1/users/%2e%2e/notes",
    "https://api.example/v1/users/%252e%252e/notes",
    "https://api.example/v1/users/7%252fadmin/notes",
    "https://api.example/v1/users/..;/notes",
    "https://api.example/v1/users/..%3Bx/notes",
    "https://api.example/v1/users/7;x=1/notes",
    "https://api.example/v1/users/7%00/notes",
    "https://api.example/v1/users/7%0a/notes",
    "https://api.example/v1/users/%ff/notes",
    "https://api.example/v1/users/%/notes",
    "https://api.example/v1/users/7/%6eotes",
    "https://api.example/v1/users/../admin/notes",
    "https://api.example./v1/users/7/notes",
    "https://api.example:8443/v1/users/7/notes",
    "https://x.api.example/v1/users/7/notes",
    "https://me@api.example/v1/users/7/notes",
    "http://api.example/v1/users/7/notes",
    "https://api.example/v1/users/7/notes?admin=1",
    "https://api.example/v1/users/7/notes?page=1&_method=DELETE",
    "https://api.example/v1/users/7/notes?filter=1",
  ])("does not cover %s", (url) => {
    expect(covers(post(url))).toBe(false);
  });

  it.each<[string, Partial<CredentialedRequest>]>([
    ["another method", { method: "DELETE" }],
    ["a header that the operation does not have", { headers: { ...HEADERS, "x-http-method-override": "DELETE" } }],
    ["another value of its fixed header", { headers: { ...HEADERS, "x-tenant": "theirs" } }],
    ["none of its fixed header", { headers: { "content-type": "application/json" } }],
    ["another type of body", { headers: { ...HEADERS, "content-type": "application/xml" } }],
  ])("does not cover %s", (_, change) => {
    expect(covers(post(USUAL, change))).toBe(false);
  });

  it("is for its header, prefix and form only, and for no body where the operation has none", () => {
    for (const change of [{ header: "x-log" }, { prefix: "" }, { base64: true }]) {
      expect(covers(post(USUAL), { ...BEARER, ...change })).toBe(false);
    }
    const [bare] = credentialGrants(definition({ openapi: { ...GRANTED, body: null } }));
    expect(bare?.covers(BEARER, post(USUAL))).toBe(false);
    expect(bare?.covers(BEARER, post(USUAL, { hasBody: false }))).toBe(true);
  });

  it("covers any name in a query only where an argument of the operation may bring its own", () => {
    const covered = (page: JsonObject) => {
      const parameters: JsonObject = { type: "object", properties: { page } };
      const [one] = credentialGrants({ ...definition({ openapi: GRANTED }), parameters });
      return one?.covers(BEARER, post(`${USUAL}?from=1`));
    };
    const schemas: JsonObject[] = [{ type: ["object", "null"] }, {}, { type: "array", items: {} }, { type: "string" }];
    expect(schemas.map(covered)).toEqual([true, true, false, false]);
  });

  it("covers no method override in a query that an argument of the operation brings", () => {
    const parameters: JsonObject = { type: "object", properties: { page: { type: "object" } } };
    const [one] = credentialGrants({ ...definition({ openapi: GRANTED }), parameters });
    for (const name of OVERRIDES)
      expect([name, one?.covers(BEARER, post(`${USUAL}?${name}=DELETE`))]).toEqual([name, false]);
  });

  it("takes stars of a document's path for stars", () => {
    const auth = GRANTED.auth;
    const of = (path: string) => credentialGrants(definition({ openapi: { ...OPERATION, path, auth } }))[0];
    expect(of("/*")?.covers(BEARER, get("https://a.example/v1/anything"))).toBe(false);
    expect(of("/*")?.covers(BEARER, get("https://a.example/v1/*"))).toBe(true);
    expect(of("/x/**")?.covers(BEARER, get("https://a.example/v1/x/y/z"))).toBe(false);
  });
});

const FORMS: readonly [string, Partial<typeof BEARER>][] = [
  ["another header", { header: "x-set-cookie" }],
  ["another header without a prefix", { header: "x-referer", prefix: "" }],
  ["a prefix that is no scheme", { prefix: "k=" }],
  ["a prefix of two words", { prefix: "Bearer a " }],
  ["base64 after a scheme that has none", { base64: true }],
];

describe("Jina's own key", () => {
  const URLS = [
    "https://s.jina.ai/?q=x",
    "https://s.jina.ai/search?q=x",
    "https://r.jina.ai/https%3A%2F%2Fx.example%2F",
  ];
  const wanted = { ...BEARER, env: "JINA_API_KEY" };
  const coversAny = (url: string, change: object) =>
    jinaKeyGrants().some(
      (grant) => grant.variable === "JINA_API_KEY" && grant.covers({ ...wanted, ...change }, get(url)),
    );

  it.each(URLS)("goes to %s as a bearer token, and in no other form", (url) => {
    expect(coversAny(url, {})).toBe(true);
    expect(coversAny(url, { header: "Authorization" })).toBe(true);
    const forms: typeof FORMS = [...FORMS, ["no prefix", { prefix: "" }], ["another scheme", { prefix: "Token " }]];
    expect(forms.filter(([, change]) => coversAny(url, change))).toEqual([]);
  });

  it("is bound to the same form by the definition of a bundle", () => {
    const [grant] = credentialGrants(definition({ jina: { mode: "crawl", auth_env: "TOKEN" } }));
    const url = "https://r.jina.ai/https%3A%2F%2Fx.example%2F";
    expect(grant?.covers(BEARER, get(url))).toBe(true);
    expect(FORMS.filter(([, change]) => grant?.covers({ ...BEARER, ...change }, get(url)))).toEqual([]);
  });
});

describe("a grant that an operator wrote", () => {
  it.each(FORMS)("without a header covers no %s", (_, change) => {
    const grant = readCredentialGrant("TOKEN GET api.example/a");
    expect(grant.covers({ ...BEARER, ...change }, get("https://api.example/a"))).toBe(false);
  });

  it("without a header is for authorization, with any scheme or none", () => {
    const grant = readCredentialGrant("TOKEN GET api.example/a");
    const forms = [{}, { prefix: "" }, { prefix: "Token " }, { prefix: "Basic ", base64: true }];
    for (const form of forms) expect(grant.covers({ ...BEARER, ...form }, get("https://api.example/a"))).toBe(true);
  });

  it("with a header is for that one and no other, in any case of its letters", () => {
    const grant = readCredentialGrant("TOKEN GET api.example/a in X-Api-Key");
    const covers = (header: string, prefix = "") =>
      grant.covers({ ...BEARER, header, prefix }, get("https://api.example/a"));
    expect([covers("x-api-key"), covers("X-API-KEY"), covers("x-api-key", "Key ")]).toEqual([true, true, true]);
    expect([covers("authorization"), covers("x-api-key2"), covers("x-api-key", "k=")]).toEqual([false, false, false]);
  });

  it.each(OVERRIDES)("covers no query named %s", (name) => {
    const grant = readCredentialGrant("TOKEN GET api.example/**");
    expect(grant.covers(BEARER, get(`https://api.example/a?page=1&${name}=DELETE`))).toBe(false);
    expect(grant.covers(BEARER, get(`https://api.example/a?page=${name}&method=x`))).toBe(true);
  });

  it.each([
    "cookie",
    "Cookie",
    "set-cookie",
    "x-set-cookie",
    "host",
    "proxy-authorization",
    "proxy-x",
    "x-forwarded-for",
    "X-Forwarded-Host",
    "forwarded",
    "x-real-ip",
    "connection",
    "x-http-method-override",
    "x-original-url",
    "accept",
    "content-type",
    "traceparent",
    "x-a:b",
  ])("cannot name the header %s", (name) => {
    expect(() => readCredentialGrant(`TOKEN GET api.example/a in ${name}`)).toThrow("is no grant");
  });

  it.each([
    ["TOKEN GET api.example/users/{id}", "https://api.example/users/7", true],
    ["TOKEN GET api.example/users/*", "https://api.example/users/7", true],
    ["TOKEN get|post api.example/users/*.json", "https://api.example/users/7.json", true],
    ["TOKEN * api.example:8443/v1/**", "https://api.example:8443/v1/a/b:c", true],
    ["TOKEN GET api.example/", "https://api.example/", true],
    ["TOKEN GET r.example/{+url}", "https://r.example/https%3A%2F%2Fx.example%2F", true],
    ["TOKEN GET api.example/users/*", "https://api.example/users/7/keys", false],
    ["TOKEN GET api.example/users/*.json", "https://api.example/users/.json", false],
    ["TOKEN POST api.example/users/*", "https://api.example/users/7", false],
    ["TOKEN GET api.example/v1/**", "https://api.example/v1", false],
    ["TOKEN GET api.example/v1/**", "https://api.example/v1/", false],
    ["TOKEN GET api.example/v1/**", "https://api.example/v1/a//b", false],
    ["TOKEN GET api.example/v1/**", "https://api.example/v1/a/%2e%2e%2fb", false],
    ["TOKEN GET api.example/v1/**", "https://api.example/v1/a/..;/b", false],
    ["TOKEN GET api.example/v1/**", "https://api.example/v1/a?_method=DELETE", false],
    ["TOKEN GET r.example/{+url}", "https://r.example/%2e%2e", false],
  ])("%s and %s: %s", (line, url, isCovered) => {
    expect(readCredentialGrant(line).covers(BEARER, get(url))).toBe(isCovered);
  });

  it("covers no request that tells a server another method, path or host by a header", () => {
    const grant = readCredentialGrant("TOKEN GET api.example/**");
    const names = ["x-http-method-override", "x-method-override", "x-original-url", "x-forwarded-prefix", "forwarded"];
    for (const name of names) {
      expect(grant.covers(BEARER, get("https://api.example/a", { headers: { [name]: "x" } }))).toBe(false);
    }
    expect(grant.covers(BEARER, get("https://api.example/a", { headers: { "x-page": "2" } }))).toBe(true);
  });

  it.each([
    "",
    "TOKEN",
    "TOKEN GET api.example",
    "TOKEN GET https://api.example/",
    "TOKEN TRACE api.example/",
    "TOKEN GET| api.example/",
    "T-K GET api.example/",
    "TOKEN GET api.example./",
    "TOKEN GET me@api.example/",
    "TOKEN GET api.example/a?b",
    "TOKEN GET api.example/**/a",
    "TOKEN GET api.example/a**",
    "TOKEN GET api.example/{a",
    "TOKEN GET api.example/ more",
    "TOKEN GET api.example/ in",
    "TOKEN GET api.example/ as x-key",
    "TOKEN GET api.example/ IN x-key",
    "TOKEN GET api.example/ x-key",
    "TOKEN GET api.example/ in x-key Bearer",
  ])("must be one: %j", (line) => {
    expect(() => readCredentialGrant(line)).toThrow("is no grant: write VARIABLE METHODS HOST/PATH");
  });
});
