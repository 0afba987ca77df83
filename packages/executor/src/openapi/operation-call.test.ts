// Definitions made from documents are run, from the definition alone, against a local server in place of their host.

import { systemClock } from "@tessera/engines/system";
import type { JsonObject } from "@tessera/protocol";
import { createTestContext, sessionKey, type ToolDefinition } from "@tessera/tool";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { invocationForTest } from "../../test/invocation.ts";
import { changed, GLASS, GREENHOUSE, LIBRARY, LIBRARY_OPTIONS, tool } from "../../test/openapi-documents.ts";
import { refusalOf } from "../../test/refusal.ts";
import { json, type StandIn, startStandIn, text } from "../../test/stand-in.ts";
import { credentialGrants, readCredentialGrant } from "./credential-grants.ts";
import { openApiTools } from "./document-tools.ts";
import { createOpenApiHost, type OpenApiHostOptions } from "./index.ts";

const CARD = "card-secret-77/aa+bb";
const INVOCATION = invocationForTest({ agent_id: "clerk" });

let standIn: StandIn;
let warnings: string[];
beforeEach(async () => {
  standIn = await startStandIn();
  warnings = [];
});
afterEach(() => standIn[Symbol.asyncDispose]());

async function run(
  definition: ToolDefinition,
  input: JsonObject,
  env: Record<string, string> = { LIBRARY_CARD: CARD },
  more: Partial<Pick<OpenApiHostOptions, "grants">> = {},
) {
  // What a store would give back: the definition alone must be enough.
  const stored = JSON.parse(JSON.stringify(definition)) as ToolDefinition;
  const host = createOpenApiHost({
    grants: async () => credentialGrants(definition),
    ...more,
    dispatcher: standIn.dispatcher,
    env,
    clock: systemClock,
    onWarning: (warning) => warnings.push(warning),
  });
  const invocation = { ...INVOCATION, tool_name: stored.tool_name, effect: stored.options.effect ?? "once" };
  const code = host.codeFor(stored, invocation);
  if (code?.kind !== "function") throw new Error("the definition has no code");
  await using test = createTestContext({ idempotencyKey: "idem_1" });
  return (await code.handler(test.ctx, input)) as JsonObject;
}

describe("a call", () => {
  it("puts every argument into its slot", async () => {
    await run(tool(openApiTools(LIBRARY, LIBRARY_OPTIONS), "library__listBooks"), {
      topic: ["a b", "c&d=e"],
      ids: [1, 2],
      shelf: ["x", "y|z"],
      filter: { "lang]=x&y[": "de#" },
      page: 2,
      range: { from: 1, to: 2 },
      "X-Reader": "Ada",
      theme: "dark",
      undeclared: "no",
    });
    expect(standIn.dialed).toEqual(["api.library.example:443"]);
    expect(standIn.seen[0]?.url).toBe(
      "/v2/books?topic=a%20b&topic=c%26d%3De&ids=1,2&shelf=x%7Cy%7Cz&filter%5Blang%5D%3Dx%26y%5B%5D=de%23&page=2&from=1&to=2",
    );
    expect(standIn.seen[0]?.headers).toMatchObject({ "x-reader": "Ada", "x-library-card": CARD });
    expect(standIn.seen[0]?.headers).not.toHaveProperty("cookie");
    expect(standIn.seen[0]?.headers).not.toHaveProperty("idempotency-key");
  });

  it("sends the body from its argument and the call's key with what is no read", async () => {
    const create = tool(openApiTools(LIBRARY, LIBRARY_OPTIONS), "library__books_create");
    await run(create, { body: { title: "Emma", session_id: "s" } });
    expect(standIn.seen[0]).toMatchObject({ method: "POST", url: "/v2/books" });
    const session_id = sessionKey({ project_id: "p1", agent_id: "clerk" }, "s");
    expect(JSON.parse(standIn.seen[0]?.body ?? "")).toEqual({ title: "Emma", session_id });
    expect(standIn.seen[0]?.headers).toMatchObject({ "idempotency-key": "idem_1", "content-type": "application/json" });

    const plain = openApiTools(LIBRARY, { ...LIBRARY_OPTIONS, idempotencyKey: false, scopeSession: false });
    await run(tool(plain, "library__books_create"), { body: { title: "Emma", session_id: "s" } });
    expect(standIn.seen[1]?.headers).not.toHaveProperty("idempotency-key");
    expect(JSON.parse(standIn.seen[1]?.body ?? "")).toEqual({ title: "Emma", session_id: "s" });
  });

  it("sends JSON parameters as JSON and a session's alias scoped", async () => {
    await run(tool(openApiTools(GREENHOUSE, GLASS), "glass__waterings"), {
      bed: "a",
      where: { dry: true },
      session_id: "s",
    });
    const scoped = sessionKey({ project_id: "p1", agent_id: "clerk" }, "s");
    expect(standIn.seen[0]?.url).toBe(`/beds/a/waterings?where=%7B%22dry%22%3Atrue%7D&session_id=${scoped}`);
  });

  it.each([
    ["a b?x=1#y", "/beds/a%20b%3Fx%3D1%23y/waterings"],
    ["é;,:@&=+$!'()*", "/beds/%C3%A9%3B%2C%3A%40%26%3D%2B%24%21%27%28%29%2A/waterings"],
    ["...", "/beds/.../waterings"],
    ["100%", "/beds/100%25/waterings"],
    ["\ud800", "/beds/%EF%BF%BD/waterings"],
  ])("encodes the path argument %j", async (bed, url) => {
    await run(tool(openApiTools(GREENHOUSE, GLASS), "glass__waterings"), { bed });
    expect(standIn.seen[0]?.url).toBe(url);
  });

  it.each([
    "../admin",
    "..",
    ".",
    "a/b",
    "a\\..\\b",
    "%2e%2e",
    "%2E%2E%2Fadmin",
    "a%5Cb",
    "a\r\nX: 1",
    "a\u0000",
    "a%0d%0aX: 1",
    "",
    { a: 1 },
    [],
    ["a", ".."],
    null,
  ])("refuses the path argument %j, and nothing is dialed", async (bed) => {
    const error = await refusalOf(
      run(tool(openApiTools(GREENHOUSE, GLASS), "glass__waterings"), { bed } as JsonObject),
    );
    expect(error.code).toBe("bad_request");
    expect(standIn.dialed).toEqual([]);
  });

  it.each<[string, JsonObject]>([
    ["a header with a line break", { "X-Reader": "a\r\nX-Library-Card: stolen" }],
    ["a header beyond ASCII", { "X-Reader": "ü" }],
    ["a list in a list", { topic: [["a"]] }],
    ["a deep object that is deeper", { filter: { a: { b: "c" } } }],
    ["a list for a deep object", { filter: ["a"] }],
    ["an exploded object that takes another's name", { range: { page: 9 } }],
    ["a query that is too long", { topic: ["x".repeat(9_000)] }],
  ])("refuses %s", async (_, input) => {
    const error = await refusalOf(run(tool(openApiTools(LIBRARY, LIBRARY_OPTIONS), "library__listBooks"), input));
    expect(error.code).toBe("bad_request");
    expect(standIn.dialed).toEqual([]);
  });

  it("fails with the answer's status, and keeps a field that is called error where the resource says so", async () => {
    standIn.answer = (_, response) => json(response, { error: "out of water" });
    const watering = tool(openApiTools(GREENHOUSE, GLASS), "glass__waterings");
    expect((await refusalOf(run(watering, { bed: "a" }))).code).toBe("upstream_unavailable");
    const lenient = tool(openApiTools(GREENHOUSE, { ...GLASS, errorKey: null }), "glass__waterings");
    expect(await run(lenient, { bed: "a" })).toMatchObject({ error: "out of water" });
    standIn.answer = (_, response) => json(response, { message: "no" }, 422);
    expect(await refusalOf(run(lenient, { bed: "a" }))).toMatchObject({
      code: "bad_request",
      details: { status_code: 422 },
    });
  });

  it("whose connection breaks is unknown where it happens once, and can be repeated where it reads", async () => {
    standIn.answer = (_, response) => void response.destroy();
    const tools = openApiTools(GREENHOUSE, GLASS);
    const once = await refusalOf(run(tool(tools, "glass__waterBed"), { bed: "a", body: { litres: 1 } }));
    expect(once).toMatchObject({ code: "outcome_unknown", details: { reason: "upstream_unavailable" } });
    expect((await refusalOf(run(tool(tools, "glass__waterings"), { bed: "a" }))).code).toBe("upstream_unavailable");
  });

  it("of an empty answer succeeds", async () => {
    standIn.answer = (_, response) => void response.writeHead(204).end();
    expect(await run(tool(openApiTools(GREENHOUSE, GLASS), "glass__waterings"), { bed: "a" })).toMatchObject({
      data: "",
    });
  });
});

describe("a redirect", () => {
  const redirectTo = (location: string) => {
    standIn.answer = (request, response) =>
      request.url === "/moved" ? text(response, "there") : void response.writeHead(302, { location }).end();
  };

  it("is followed to a host of the list, and refused to any other", async () => {
    const watering = tool(openApiTools(GREENHOUSE, GLASS), "glass__waterings");
    redirectTo("https://mirror.example/moved");
    expect(await run(watering, { bed: "a" })).toMatchObject({ data: "there" });
    for (const location of [
      "https://evil.example/moved",
      "http://mirror.example/moved",
      "https://mirror.example:444/moved",
    ]) {
      redirectTo(location);
      expect((await refusalOf(run(watering, { bed: "a" }))).code).toBe("url_not_allowed");
    }
    expect(new Set(standIn.dialed)).toEqual(new Set(["glass.example:443", "mirror.example:443"]));
  });

  it("that is refused leaves the outcome unknown where the answered request happens once", async () => {
    const tools = openApiTools(GREENHOUSE, GLASS);
    redirectTo("https://evil.example/moved");
    const once = await refusalOf(run(tool(tools, "glass__waterBed"), { bed: "a", body: { litres: 1 } }));
    expect(once).toMatchObject({ code: "outcome_unknown", details: { reason: "url_not_allowed" } });
    expect(standIn.dialed).toEqual(["glass.example:443"]);
  });

  it("to another operation of the same host is refused while a credential is attached", async () => {
    const list = tool(openApiTools(LIBRARY, LIBRARY_OPTIONS), "library__listBooks");
    redirectTo("/moved");
    expect((await refusalOf(run(list, {}))).code).toBe("env_not_allowed");
    expect(standIn.seen).toHaveLength(1);
    const grants = ["/v2/books", "/moved"].map((path) =>
      readCredentialGrant(`LIBRARY_CARD GET api.library.example${path} in x-library-card`),
    );
    expect(await run(list, {}, { LIBRARY_CARD: CARD }, { grants: async () => grants })).toMatchObject({
      data: "there",
    });
    expect(standIn.seen.at(-1)?.headers["x-library-card"]).toBe(CARD);
  });

  it("with a credential stays on its origin, whatever the list says", async () => {
    const tools = openApiTools(LIBRARY, { ...LIBRARY_OPTIONS, hosts: ["api.library.example", "mirror.example"] });
    redirectTo("https://mirror.example/moved");
    expect((await refusalOf(run(tool(tools, "library__listBooks"), {}))).code).toBe("url_not_allowed");
    expect(standIn.dialed).toEqual(["api.library.example:443"]);
  });
});

describe("a credential", () => {
  it("is missing with a warning, and not asked for where the operation needs none", async () => {
    const tools = openApiTools(LIBRARY, LIBRARY_OPTIONS);
    await run(tool(tools, "library__listBooks"), {}, {});
    expect(standIn.seen[0]?.headers).not.toHaveProperty("x-library-card");
    expect(warnings).toEqual([
      "library__listBooks is called without a credential: the variable LIBRARY_CARD is not set",
    ]);
    await run(tool(tools, "library__delete_books_book_id_copies_copy"), { book_id: "1", copy: "2" });
    expect(standIn.seen[1]?.headers).not.toHaveProperty("x-library-card");
  });

  it("of user and password is sent in base64, and comes back in no form", async () => {
    const document = changed(LIBRARY, ["security"], [{ desk: [] }]);
    const tools = openApiTools(document, { ...LIBRARY_OPTIONS, auth: { desk: "DESK" } });
    const password = "pass-word-9876";
    standIn.answer = (request, response) => json(response, { seen: request.headers, password, url: request.url });
    const output = await run(tool(tools, "library__listBooks"), { page: 1 }, { DESK: `ada:${password}` });
    const basic = Buffer.from(`ada:${password}`).toString("base64");
    expect(standIn.seen[0]?.headers.authorization).toBe(`Basic ${basic}`);
    expect(JSON.stringify([output, warnings, standIn.seen[0]?.url])).not.toMatch(new RegExp(`${password}|${basic}`));
    expect(JSON.stringify(tools)).not.toContain(password);
  });

  it("goes to no host that its variable was not granted for", async () => {
    const definition = tool(openApiTools(LIBRARY, LIBRARY_OPTIONS), "library__listBooks");
    const granted = (host: string) =>
      run(
        definition,
        {},
        { LIBRARY_CARD: CARD },
        { grants: async () => [readCredentialGrant(`LIBRARY_CARD GET ${host}/** in x-library-card`)] },
      );
    expect((await refusalOf(granted("library.example"))).code).toBe("env_not_allowed");
    expect(standIn.dialed).toEqual([]);
    await granted("api.library.example");
    expect(standIn.seen[0]?.headers["x-library-card"]).toBe(CARD);
  });

  it("can be a header of its own name", async () => {
    const tools = openApiTools(GREENHOUSE, { ...GLASS, auth: { "X-Glass-Key": "GLASS" } });
    await run(tool(tools, "glass__waterings"), { bed: "a" }, { GLASS: "shiny-key" });
    expect(standIn.seen[0]?.headers["x-glass-key"]).toBe("shiny-key");
  });
});

describe("a definition that was written manually", () => {
  const base = tool(openApiTools(GREENHOUSE, { ...GLASS, auth: { "X-Glass-Key": "GLASS" } }), "glass__waterings");
  const openapi = base.options.openapi as JsonObject;
  const slots = openapi.parameters as JsonObject[];
  it.each<[string, JsonObject]>([
    ["a server off its own hosts", { server: "https://evil.example" }],
    ["a server over http", { server: "http://glass.example" }],
    ["no hosts", { hosts: [] }],
    ["a URL for a host", { hosts: ["https://glass.example"] }],
    ["an unknown method", { method: "TRACE" }],
    ["a placeholder without a slot", { path: "/beds/{bed}/{other}" }],
    ["a query in its path", { path: "/beds/{bed}?admin=1" }],
    ["a cookie slot", { parameters: [...slots, { name: "c", in: "cookie" }] }],
    ["a credential in a cookie", { auth: [{ header: "Cookie", env: "GLASS" }] }],
    ["a credential in a cookie that is passed on", { auth: [{ header: "X-Set-Cookie", env: "GLASS" }] }],
    ["a slot for the authorization header", { parameters: [...slots, { name: "Authorization", in: "header" }] }],
    ["a slot for its credential's header", { parameters: [...slots, { name: "x-glass-key", in: "header" }] }],
    ["a credential among its headers", { headers: { authorization: "Bearer x" } }],
    ["a credential without a variable", { auth: [{ header: "x-key", value: "x" }] }],
    ["a style of another place", { parameters: [{ name: "bed", in: "path", style: "matrix" }] }],
  ])("with %s fails its call and dials nothing", async (_, change) => {
    const definition = { ...base, options: { ...base.options, openapi: { ...openapi, ...change } } };
    expect((await refusalOf(run(definition, { bed: "a" }))).code).toBe("bad_request");
    expect(standIn.dialed).toEqual([]);
  });

  it("does not send an argument that comes from the environment, even where it has a slot", async () => {
    const definition = { ...base, options: { ...base.options, envs: { where: "SECRET" } } };
    standIn.answer = (_, response) => json(response, { echo: "env-secret-1" });
    const output = await run(definition, { bed: "a", where: "env-secret-1" }, {});
    expect(standIn.seen[0]?.url).toBe("/beds/a/waterings");
    expect(output.echo).toBe("***");
  });
});
