// A server that repeats what it was sent: the credential of a definition comes back in no result, error, log or warning.

import { systemClock } from "@tessera/engines/system";
import type { JsonObject } from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startDefinitionRunner } from "../../test/definition-runner.ts";
import { type Answer, json, type StandIn, startStandIn, text } from "../../test/stand-in.ts";

const TOKEN = "Tok-77/aa+bb?e=Zz";
const PASSWORD = "pa55:Word/++x";
const LOGIN = `ada:${PASSWORD}`;
const ENV = { A_TOKEN: TOKEN, A_LOGIN: LOGIN };

const BEARER: JsonObject = { header: "authorization", prefix: "Bearer ", env: "A_TOKEN" };
const API_KEY: JsonObject = { header: "x-api-key", env: "A_TOKEN" };
const BASIC: JsonObject = { header: "authorization", prefix: "Basic ", base64: true, env: "A_LOGIN" };
const KINDS: readonly [string, JsonObject, readonly string[]][] = [
  ["a bearer token", BEARER, [TOKEN]],
  ["an API key", API_KEY, [TOKEN]],
  ["a login", BASIC, [LOGIN, PASSWORD, Buffer.from(LOGIN).toString("base64")]],
];
const WAYS: Readonly<Record<string, (value: string) => string>> = {
  raw: (value) => value,
  "in base64": (value) => Buffer.from(value).toString("base64"),
  "in base64url": (value) => Buffer.from(value).toString("base64url"),
  "in hex": (value) => Buffer.from(value).toString("hex"),
  "URL-encoded": encodeURIComponent,
  "as a form": (value) => new URLSearchParams({ v: value }).toString(),
  "in JSON in a string": (value) => JSON.stringify({ v: value }),
};

let standIn: StandIn;
beforeEach(async () => {
  standIn = await startStandIn();
});
afterEach(() => standIn[Symbol.asyncDispose]());

function definition(options: ToolDefinition["options"]): ToolDefinition {
  return {
    tool_name: "echo__get",
    description: "",
    parameters: { type: "object", properties: { q: { type: "string" } } },
    target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.echo.get",
    after_execution: "suspend",
    options,
  };
}

function operation(auth: JsonObject): ToolDefinition {
  const openapi = { server: "https://a.example", hosts: ["a.example"], method: "GET", path: "/x", auth: [auth] };
  return definition({ effect: "read", openapi });
}

/** Everything that a call leaves behind, as one text. */
async function traceOf(tool: ToolDefinition, answer: Answer, env: Record<string, string> = ENV) {
  standIn.answer = answer;
  const { dispatcher } = standIn;
  await using runner = await startDefinitionRunner([{ definition: tool, code: null }], {
    clock: systemClock,
    dispatcher,
    env,
  });
  const content = await runner.run("echo__get", { q: "x" });
  return { content, trace: JSON.stringify([content, runner.warnings, runner.logged]) };
}

/** What must not be found: each secret in each way of writing it, whole. */
function expectNothing(trace: string, secrets: readonly string[]): void {
  for (const secret of [...secrets, ...secrets.map((value) => value.toLowerCase())]) {
    for (const written of Object.values(WAYS).map((way) => way(secret))) {
      expect(trace).not.toContain(written.replace(/=+$/, ""));
      expect(trace).not.toContain(JSON.stringify(written).slice(1, -1));
    }
  }
}

describe.each(KINDS)("%s that the server repeats", (_, auth, secrets) => {
  const echo = (status: number, wrap: (body: JsonObject) => JsonObject): Answer => {
    return (request, response) => {
      const sent = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const);
      const written = Object.values(WAYS).map((way) => sent.map(([name, value]) => [name, way(value)]));
      const bare = Object.values(WAYS).map((way) => secrets.map(way));
      const asKeys = Object.fromEntries(secrets.map((secret) => [secret, 1]));
      json(response, wrap({ headers: request.headers, written, bare, asKeys } as JsonObject), status);
    };
  };

  it("in the body of its answer is masked in the result", async () => {
    const { content, trace } = await traceOf(
      operation(auth),
      echo(200, (body) => body),
    );
    expect(content.status).toBe("success");
    expect(content.result).toMatchObject({ headers: { host: "a.example" } });
    expect(trace).toContain("***");
    expectNothing(trace, secrets);
  });

  it.each([401, 404, 500, 503])("in the body of an error of status %i is masked in the error", async (status) => {
    const { content, trace } = await traceOf(
      operation(auth),
      echo(status, (body) => ({ error: body })),
    );
    expect(content.status).toBe("failed");
    expect(content.error?.detail).toMatchObject({ status_code: status });
    expect(trace).toContain("***");
    expectNothing(trace, secrets);
  });

  it("as an error with status 200 is masked in the error", async () => {
    const { content, trace } = await traceOf(
      operation(auth),
      echo(200, (error) => ({ error })),
    );
    expect(content.status).toBe("failed");
    expect(trace).toContain("***");
    expectNothing(trace, secrets);
  });

  it.each(Object.entries(WAYS))("in plain text, %s, is masked", async (_way, way) => {
    for (const status of [200, 400]) {
      const { trace } = await traceOf(operation(auth), ({ headers }, response) => {
        text(response, `sent ${way(String(headers.authorization ?? headers["x-api-key"]))} end`, status);
      });
      expect(trace).toContain("***");
      expectNothing(trace, secrets);
    }
  });
});

it("a token that the server puts into the host of a redirect is masked in the refusal", async () => {
  const { content, trace } = await traceOf(
    operation(BEARER),
    ({ headers }, response) => {
      const host = String(headers.authorization).replace("Bearer ", "");
      response.writeHead(302, { location: `https://${host}.evil.example/` }).end();
    },
    { A_TOKEN: "Tok-Abc-123-xyz" },
  );
  expect(content.error?.code).toBe("url_not_allowed");
  expect(trace).toContain("***.evil.example");
  expect(trace.toLowerCase()).not.toContain("tok-abc-123-xyz");
  expect(standIn.dialed).toEqual(["a.example:443"]);
});

it("a token that the server puts into its content type is masked", async () => {
  const { trace } = await traceOf(
    operation(API_KEY),
    ({ headers }, response) => text(response, "x", 200, `image/${String(headers["x-api-key"])}`),
    { A_TOKEN: "Tok-Abc-123-xyz" },
  );
  expect(trace).toContain("image/***");
  expect(trace.toLowerCase()).not.toContain("tok-abc-123-xyz");
});

it("a credential that cannot stand in a header is refused without being shown", async () => {
  const { content, trace } = await traceOf(operation(API_KEY), (_, response) => json(response, {}), {
    A_TOKEN: "first-line\nsecond-line",
  });
  expect(content.status).toBe("failed");
  expect(trace).toContain("x-api-key");
  expect(trace).not.toMatch(/first-line|second-line/);
  expect(standIn.seen).toEqual([]);
});

it("Jina's key that the server repeats is masked in result and error", async () => {
  for (const status of [200, 402]) {
    const { content, trace } = await traceOf(
      definition({ effect: "read", jina: { mode: "search" } }),
      ({ headers }, response) => json(response, { headers, again: WAYS["in base64"]?.(TOKEN) }, status),
      { JINA_API_KEY: TOKEN },
    );
    expect(content.status).toBe(status === 200 ? "success" : "failed");
    expect(standIn.seen.at(-1)?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(trace).toContain("***");
    expectNothing(trace, [TOKEN]);
  }
});
