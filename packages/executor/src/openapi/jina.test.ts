// Jina's two hosts, stood in for by a local server behind the dispatcher. The allow-list is production's.

import { once } from "node:events";
import { gzipSync } from "node:zlib";
import { systemClock } from "@tessera/engines/system";
import type { JsonObject, TesseraError } from "@tessera/protocol";
import { VirtualClock } from "@tessera/testkit";
import {
  createTestContext,
  sessionKey,
  type ToolDefinition,
  type ToolInvocation,
  type ToolOptions,
} from "@tessera/tool";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { invocationForTest, TRACE_ID } from "../../test/invocation.ts";
import { refusalOf } from "../../test/refusal.ts";
import { json, type StandIn, startStandIn, text } from "../../test/stand-in.ts";
import { credentialGrants } from "./credential-grants.ts";
import { createOpenApiHost } from "./index.ts";

const KEY = "jina-k3y/with+marks=and%more";
const SEARCH_KEY = "search-secret-0123456789";
const SEARCH: JsonObject = {
  mode: "search",
  base_url: "https://s.jina.ai",
  path: "/search",
  method: "GET",
  auth_env: "JINA_API_KEY",
};
const READER: JsonObject = { mode: "reader" };

const INVOCATION = invocationForTest({ agent_id: "scout", tool_name: "web_search", effect: "read" });

let standIn: StandIn;
let warnings: string[];
const disposals: (() => Promise<void>)[] = [];

beforeEach(async () => {
  standIn = await startStandIn();
  warnings = [];
});
afterEach(async () => {
  await standIn[Symbol.asyncDispose]();
  for (const dispose of disposals.splice(0)) await dispose();
});

function definitionWith(options: ToolOptions, properties: JsonObject = {}): ToolDefinition {
  return {
    tool_name: "web_search",
    description: "Searches.",
    parameters: { type: "object", properties },
    target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.query",
    after_execution: "suspend",
    options,
  };
}

interface RunOptions {
  readonly properties?: JsonObject;
  readonly env?: Record<string, string | undefined>;
  readonly service?: JsonObject;
  readonly invocation?: Partial<ToolInvocation>;
  readonly clock?: VirtualClock;
  readonly onAbort?: (abort: () => void) => void;
}

async function run(options: ToolOptions, input: JsonObject, more: RunOptions = {}): Promise<JsonObject> {
  const definition = definitionWith(options, more.properties);
  const host = createOpenApiHost({
    dispatcher: standIn.dispatcher,
    env: more.env ?? { JINA_API_KEY: KEY },
    grants: async () => credentialGrants(definition),
    clock: more.clock ?? systemClock,
    ...(more.service === undefined ? {} : { service: more.service }),
    onWarning: (warning) => warnings.push(warning),
  });
  const code = host.codeFor(definition, { ...INVOCATION, ...more.invocation });
  if (code?.kind !== "function") throw new Error("the definition has no code");
  const test = createTestContext();
  disposals.push(() => test.dispose());
  more.onAbort?.(() => test.abort());
  return (await code.handler(test.ctx, input)) as JsonObject;
}

describe("a definition", () => {
  it("has code only when it carries jina or openapi options", () => {
    const host = createOpenApiHost({
      dispatcher: standIn.dispatcher,
      env: {},
      grants: async () => [],
      clock: systemClock,
      onWarning: () => {},
    });
    expect(host.codeFor(definitionWith({}), INVOCATION)).toBeNull();
    expect(host.codeFor(definitionWith({ jina: SEARCH }), INVOCATION)?.kind).toBe("function");
    expect(host.codeFor(definitionWith({ openapi: { path: "/search" } }), INVOCATION)?.kind).toBe("function");
  });
});

describe("the search", () => {
  it("asks s.jina.ai with the query encoded and the key in its header alone", async () => {
    standIn.answer = (_, response) => json(response, { data: [{ title: "a" }] });
    const output = await run({ jina: SEARCH }, { query: "a&b=c #d/../e" });
    expect(standIn.dialed).toEqual(["s.jina.ai:443"]);
    expect(standIn.seen).toHaveLength(1);
    expect(standIn.seen[0]).toMatchObject({
      host: "s.jina.ai",
      method: "GET",
      url: "/search?q=a%26b%3Dc%20%23d%2F..%2Fe",
    });
    expect(standIn.seen[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, accept: "text/plain" });
    expect(output).toMatchObject({ data: [{ title: "a" }] });
    expect(output.latency_ms).toBeTypeOf("number");
  });

  it("goes on with the trace under a span of its own that differs between attempts", async () => {
    await run({ jina: SEARCH }, { q: "x" });
    await run({ jina: SEARCH }, { q: "x" }, { invocation: { attempt: 2 } });
    const [first, second] = standIn.seen.map((request) => String(request.headers.traceparent));
    expect(first).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-01$`));
    expect(first).not.toContain(INVOCATION.span_id);
    expect(second).not.toBe(first);
  });

  it("sends declared arguments and keeps the sample's project_id, session_id and api_key at home", async () => {
    const options: ToolOptions = {
      args: { defaults: { session_id: "{agent_turn_id}" }, fixed: { project_id: "{project_id}" } },
      envs: { api_key: "SEARCH_API_KEY" },
      jina: SEARCH,
    };
    const input = {
      q: "x",
      num: 3,
      tags: ["a", "b"],
      session_id: "turn_1",
      project_id: "p1",
      api_key: SEARCH_KEY,
      other: 1,
    };
    const properties = { q: {}, num: {}, tags: {}, project_id: {}, api_key: {} };
    await run(options, input, { properties });
    expect(standIn.seen[0]?.url).toBe("/search?q=x&num=3&tags=a&tags=b");
  });

  it("sends a session's alias scoped by project and agent, once it is declared", async () => {
    const properties = { q: {}, session_id: {} };
    await run({ jina: SEARCH }, { q: "x", session_id: "main" }, { properties });
    const sent = new URLSearchParams(standIn.seen[0]?.url.split("?")[1]).get("session_id");
    expect(sent).toBe(sessionKey({ project_id: "p1", agent_id: "scout" }, "main"));
    await run({ jina: SEARCH }, { q: "x", session_id: "main" }, { properties, invocation: { agent_id: "other" } });
    expect(standIn.seen[1]?.url).not.toBe(standIn.seen[0]?.url);
  });

  it("sends a fixed argument when jina.forward lists it, and an environment argument never", async () => {
    const options: ToolOptions = {
      args: { fixed: { gl: "de" } },
      envs: { api_key: "SEARCH_API_KEY" },
      jina: { ...SEARCH, forward: ["gl", "api_key", "undeclared"] },
    };
    const input = { q: "x", gl: "de", api_key: SEARCH_KEY, undeclared: 1, hl: "fr" };
    await run(options, input, { properties: { q: {}, gl: {}, api_key: {}, hl: {} } });
    expect(standIn.seen[0]?.url).toBe("/search?q=x&gl=de");
  });

  it("knows an environment argument that only the service's configuration names", async () => {
    const service = { tools: { jina: { services: { search: { envs: { token: "OTHER" } } } } } };
    await run({ jina: SEARCH }, { q: "x", token: SEARCH_KEY }, { properties: { q: {}, token: {} }, service });
    expect(standIn.seen[0]?.url).toBe("/search?q=x");
  });

  it("puts the arguments of another method into a JSON body", async () => {
    await run({ jina: { ...SEARCH, method: "post", defaults: { num: 5 } } }, { q: "x" });
    expect(standIn.seen[0]).toMatchObject({ method: "POST", url: "/search" });
    expect(JSON.parse(standIn.seen[0]?.body ?? "")).toEqual({ q: "x", num: 5 });
    expect(standIn.seen[0]?.headers["content-type"]).toBe("application/json");
  });

  it("is anonymous without the variable, and says which one is missing", async () => {
    await run({ jina: { ...SEARCH, auth_env: "MY_KEY" } }, { q: "x" }, { env: { JINA_API_KEY: KEY } });
    expect(standIn.seen[0]?.headers.authorization).toBeUndefined();
    expect(warnings).toEqual(["web_search calls Jina without a key: the variable MY_KEY is not set"]);
  });

  it("reads the older openapi options behind the jina ones", async () => {
    const openapi = { path: "/search", method: "POST", headers: { "X-A": "1", "x-b": "1" }, auth: { env: "OLD_KEY" } };
    const env = { OLD_KEY: "old-secret-value", JINA_API_KEY: KEY };
    await run({ openapi }, { q: "x" }, { env });
    expect(standIn.seen[0]).toMatchObject({ host: "s.jina.ai", method: "POST", url: "/search" });
    expect(standIn.seen[0]?.headers).toMatchObject({
      authorization: "Bearer old-secret-value",
      "x-a": "1",
      "x-b": "1",
    });
    await run(
      { openapi, jina: { mode: "search", method: "GET", headers: { "X-B": "2" }, auth_env: "JINA_API_KEY" } },
      { q: "x" },
      { env },
    );
    expect(standIn.seen[1]?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, "x-a": "1", "x-b": "2" });
    expect(standIn.seen[1]?.method).toBe("GET");
  });
});

describe("the reader", () => {
  it.each([
    ["https://example.com/a/../b?c=d#e", "/https%3A%2F%2Fexample.com%2Fa%2F..%2Fb%3Fc%3Dd%23e"],
    ["https://example.com/\r\nX: 1", "/https%3A%2F%2Fexample.com%2F%0D%0AX%3A%201"],
    ["../../admin", "/..%2F..%2Fadmin"],
    ["//evil.example/x", "/%2F%2Fevil.example%2Fx"],
    ["example.com", "/example.com"],
  ])("keeps the target %j inside one segment", async (target, url) => {
    await run({ jina: READER }, { target_url: target }, { properties: { target_url: {} } });
    expect(standIn.seen[0]).toMatchObject({ host: "r.jina.ai", url });
  });

  it.each([[".."], ["."], ["..\\admin"], ["%2e%2e"], [""]])("refuses the target %j", async (target) => {
    const error = await refusalOf(run({ jina: READER }, { url: target }));
    expect(error.code).toBe("bad_request");
    expect(standIn.dialed).toEqual([]);
  });

  it("takes its place in an endpoint template", async () => {
    await run({ jina: { ...READER, endpoint_template: "/v1/{url}/text" } }, { url: "https://a.b" });
    expect(standIn.seen[0]?.url).toBe("/v1/https%3A%2F%2Fa.b/text");
  });

  it("answers text as data", async () => {
    standIn.answer = (_, response) => text(response, "# Title\n");
    expect(await run({ jina: READER }, { url: "https://a.b" })).toMatchObject({ data: "# Title\n" });
  });
});

describe("a definition that is wrong", () => {
  it.each<[string, ToolOptions]>([
    ["another host", { jina: { mode: "search", base_url: "https://evil.example" } }],
    ["another host without a mode", { jina: { base_url: "https://evil.example" } }],
    ["the host of the other mode", { jina: { mode: "search", base_url: "https://r.jina.ai" } }],
    ["the host of the other mode, reversed", { jina: { mode: "crawl", base_url: "https://s.jina.ai" } }],
    ["plain http", { jina: { mode: "search", base_url: "http://s.jina.ai" } }],
    ["another port", { jina: { mode: "search", base_url: "https://s.jina.ai:8443" } }],
    ["credentials in the URL", { jina: { mode: "search", base_url: "https://a:b@s.jina.ai" } }],
    ["a longer name", { jina: { mode: "search", base_url: "https://s.jina.ai.evil.example" } }],
    ["a name with a dot", { jina: { mode: "search", base_url: "https://s.jina.ai." } }],
    ["an unknown mode", { jina: { mode: "rerank" } }],
    ["nothing that tells the mode", { jina: {} }],
    ["an old path that tells no mode", { openapi: { path: "/other" } }],
    ["a key in its headers", { jina: { ...SEARCH, headers: { Authorization: "Bearer x" } } }],
    ["a path with a query", { jina: { ...SEARCH, path: "/search?x=1" } }],
    ["a path that leaves", { jina: { ...SEARCH, path: "/a/../../b" } }],
    ["a template without a target", { jina: { ...READER, endpoint_template: "/all" } }],
    ["a template with a secret's place", { jina: { ...READER, endpoint_template: "/{url}/{api_key}" } }],
  ])("with %s is a bad_request, and nothing is dialed", async (_, options) => {
    const error = await refusalOf(run(options, { q: "x", url: "https://a.b" }));
    expect(error.code).toBe("bad_request");
    expect(standIn.dialed).toEqual([]);
  });

  it("needs its one argument", async () => {
    expect((await refusalOf(run({ jina: SEARCH }, {}))).message).toContain("q or query");
    expect((await refusalOf(run({ jina: READER }, { q: "x" }))).message).toContain("url or target_url");
  });
});

describe("a redirect", () => {
  const redirectTo = (location: string) => {
    standIn.answer = (request, response) =>
      request.url.includes("moved") ? json(response, { ok: true }) : void response.writeHead(302, { location }).end();
  };

  it("is followed on the same host: within the operation with the key, elsewhere without one", async () => {
    redirectTo("/search?q=moved");
    expect(await run({ jina: SEARCH }, { q: "x" })).toMatchObject({ ok: true });
    redirectTo("/moved?q=x");
    expect(await run({ jina: SEARCH }, { q: "x" }, { env: {} })).toMatchObject({ ok: true });
    expect(standIn.seen.map(({ host, headers }) => [host, headers.authorization !== undefined])).toEqual([
      ["s.jina.ai", true],
      ["s.jina.ai", true],
      ["s.jina.ai", false],
      ["s.jina.ai", false],
    ]);
  });

  it("to another operation of the host is refused while the key is attached", async () => {
    redirectTo("/admin/moved");
    expect((await refusalOf(run({ jina: SEARCH }, { q: "x" }))).code).toBe("env_not_allowed");
    expect(standIn.seen).toHaveLength(1);
  });

  it.each([
    "https://evil.example/moved",
    "https://r.jina.ai/moved",
    "http://s.jina.ai/moved",
    "https://s.jina.ai:8443/moved",
    "https://x@s.jina.ai/moved",
    "https://169.254.169.254/moved",
  ])("to %s is refused before it is dialed", async (location) => {
    redirectTo(location);
    expect((await refusalOf(run({ jina: SEARCH }, { q: "x" }))).code).toBe("url_not_allowed");
    expect(standIn.dialed).toEqual(["s.jina.ai:443"]);
    expect(standIn.seen).toHaveLength(1);
  });
});

describe("an answer", () => {
  it("loses the control key at its top level and keeps it where it is data", async () => {
    const control = { after_execution: "terminate" };
    standIn.answer = (_, response) => json(response, { __cg_control: control, data: { __cg_control: control } });
    const output = await run({ jina: SEARCH }, { q: "x" });
    expect(output).not.toHaveProperty("__cg_control");
    expect(output.data).toEqual({ __cg_control: control });
  });

  it("that is no object is wrapped, so that nothing of it stands at the top", async () => {
    standIn.answer = (_, response) => json(response, [{ __cg_control: { after_execution: "terminate" } }]);
    const output = await run({ jina: SEARCH }, { q: "x" });
    expect(Object.keys(output).sort()).toEqual(["latency_ms", "value"]);
  });

  it("keeps a latency of its own", async () => {
    standIn.answer = (_, response) => json(response, { latency_ms: "fast" });
    expect(await run({ jina: SEARCH }, { q: "x" })).toEqual({ latency_ms: "fast" });
  });

  it("that claims to be JSON and cannot be stored as such is kept as text", async () => {
    standIn.answer = (_, response) => text(response, '{"id": 12345678901234567890}', 200, "application/json");
    expect((await run({ jina: SEARCH }, { q: "x" })).data).toBe('{"id": 12345678901234567890}');
  });

  it("that is no text is described, not decoded", async () => {
    standIn.answer = (_, response) => text(response, Buffer.from([0xff, 0xd8, 0]), 200, "image/jpeg");
    expect(await run({ jina: SEARCH }, { q: "x" })).toMatchObject({
      data: null,
      content_type: "image/jpeg",
      body_bytes: 3,
    });
  });

  it.each([
    [404, "bad_request"],
    [429, "bad_request"],
    [500, "upstream_unavailable"],
    [503, "upstream_unavailable"],
  ])("with status %i is %s and says what came back", async (status, code) => {
    standIn.answer = (_, response) => text(response, `no: ${"z".repeat(5_000)}`, status);
    const error = await refusalOf(run({ jina: SEARCH }, { q: "x" }));
    expect(error.code).toBe(code);
    expect(error.details).toMatchObject({ status_code: status, tool_name: "web_search", tool_call_id: "tc_1" });
    expect(String(error.details.details)).toMatch(/^no: z+/);
    expect(String(error.details.details).length).toBeLessThanOrEqual(2_000);
  });

  it("with an error in its body is a failure, with a null one it is not", async () => {
    standIn.answer = (_, response) => json(response, { error: { message: "quota" } });
    const error = await refusalOf(run({ jina: SEARCH }, { q: "x" }));
    expect(error).toMatchObject({ code: "upstream_unavailable", details: { status_code: 200 } });
    expect(error.details.details).toContain("quota");
    standIn.answer = (_, response) => json(response, { error: null, ok: true });
    expect(await run({ jina: SEARCH }, { q: "x" })).toMatchObject({ ok: true });
  });

  it("that does not come is upstream_unavailable", async () => {
    standIn.answer = (_, response) => void response.destroy();
    const error = await refusalOf(run({ jina: SEARCH }, { q: "x" }));
    expect(error).toMatchObject({ code: "upstream_unavailable", details: { status_code: null, tool_call_id: "tc_1" } });
  });

  it("of more than the cap is cut and marked", async () => {
    standIn.answer = (_, response) => text(response, "a".repeat(3_000_000));
    const output = await run({ jina: SEARCH }, { q: "x" });
    expect(output.truncated).toBe(true);
    expect(String(output.data).length).toBeLessThan(700_000);
  });

  it("that never ends is cut too", async () => {
    standIn.answer = (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const chunk = "b".repeat(65_536);
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", more);
      more();
    };
    expect((await run({ jina: SEARCH }, { q: "x" })).truncated).toBe(true);
  });

  it("that unpacks a thousandfold is unpacked to the cap and no further", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, "c"));
    standIn.answer = (_, response) =>
      void response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" }).end(bomb);
    const output = await run({ jina: SEARCH }, { q: "x" });
    expect(bomb.length).toBeLessThan(100_000);
    expect(output.truncated).toBe(true);
    expect(String(output.data).length).toBeLessThan(700_000);
  });
});

describe("time", () => {
  it.each<[string, JsonObject, number]>([
    ["thirty seconds when nothing is set", {}, 30_000],
    ["timeout_s of jina first", { timeout_s: 2, timeout: 9 }, 2_000],
    ["the first positive one", { timeout_s: 0, timeout: 9 }, 9_000],
  ])("runs out after %s", async (_, settings, ms) => {
    const clock = new VirtualClock();
    const arrived = new Promise<void>((resolve) => {
      standIn.answer = () => resolve();
    });
    let isOver = false;
    const refusal = refusalOf(run({ jina: { ...SEARCH, ...settings } }, { q: "x" }, { clock })).finally(() => {
      isOver = true;
    });
    await arrived;
    await clock.advance(ms - 1);
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect((await refusal).code).toBe("tool_timeout");
  });

  it("ends at once when the call is canceled, and the connection with it", async () => {
    let abort = () => {};
    let closed: Promise<unknown> = Promise.resolve();
    const arrived = new Promise<void>((resolve) => {
      standIn.answer = (_, response) => {
        closed = once(response, "close");
        resolve();
      };
    });
    const refusal = refusalOf(run({ jina: SEARCH }, { q: "x" }, { onAbort: (end) => (abort = end) }));
    await arrived;
    abort();
    expect((await refusal).code).toBe("canceled");
    await closed;
  });
});

describe("a secret", () => {
  const forms = (secret: string) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString("base64").replace(/=+$/, ""),
    Buffer.from(secret).toString("base64url"),
  ];
  const options: ToolOptions = { envs: { api_key: "SEARCH_API_KEY" }, jina: SEARCH };
  const input = { q: "x", api_key: SEARCH_KEY };
  const more = { properties: { q: {}, api_key: {} } };

  function expectNoSecret(recorded: unknown): void {
    const haystack = JSON.stringify(recorded);
    for (const form of [...forms(KEY), ...forms(SEARCH_KEY)]) expect(haystack).not.toContain(form);
  }

  it.each([200, 400, 500])("that the server repeats in every form with status %i is found nowhere", async (status) => {
    standIn.answer = (request, response) => {
      const echoed = [...forms(KEY), ...forms(SEARCH_KEY)];
      json(response, { headers: request.headers, echoed, [KEY]: 1, nested: { deep: [`x${KEY}y`] } }, status);
    };
    const outcome = await run(options, input, more).catch((error: TesseraError) => ({
      message: error.message,
      details: error.details,
      code: error.code,
    }));
    expect(JSON.stringify(outcome)).toContain("***");
    expectNoSecret([outcome, warnings, standIn.dialed]);
    const seen = standIn.seen.map(({ headers: { authorization, ...headers }, ...rest }) => ({ headers, ...rest }));
    expect(standIn.seen[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expectNoSecret(seen);
  });

  it("that a cut body ends in the middle of is masked as well", async () => {
    standIn.answer = (_, response) => text(response, "a".repeat(640 * 1024 - 20) + KEY + "b".repeat(1_000));
    const output = await run(options, input, more);
    expect(output.truncated).toBe(true);
    expect(String(output.data)).not.toContain(KEY.slice(0, 12));
  });
});
