// The tool registry: uploads of both forms, every refusal of docs/reference/security.md#y-uploaded-documents (Y1 to Y17) through
// the route, H22, and the versions.

import { readdirSync } from "node:fs";
import { UPLOAD_YAML_BYTES_MAX } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { tarOf, zipOf } from "../../test/archives.ts";
import { type Answer, LEAK, OTHER, PROJECT, timed, useServer } from "../../test/fixture.ts";

const fx = useServer();
const TOOLS = `/projects/${PROJECT}/tools`;
const YAML = { "content-type": "application/yaml" };
const upload = (payload: string | Buffer, key = "operator") => fx.send("POST", TOOLS, { key, headers: YAML, payload });

const definition = (name: string, more = "") => `tool_name: ${name}
description: Searches the web.
target_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.web
after_execution: suspend
parameters:
  type: object
  properties:
    q: { type: string }
${more}`;

function form(parts: readonly { name: string; filename?: string; body: string }[]) {
  const boundary = "----tessera";
  const text = parts
    .map(({ name, filename, body }) => {
      const file = filename === undefined ? "" : `; filename="${filename}"\r\nContent-Type: application/octet-stream`;
      return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${body}\r\n`;
    })
    .join("");
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    payload: `${text}--${boundary}--\r\n`,
  };
}

const nested = (levels: number) => `${"{a: ".repeat(levels)}1${"}".repeat(levels)}`;
const laughs = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]";
const replaced = (from: string, to: string) => definition("bad").replace(from, to);
const withParameters = (schema: string) =>
  replaced(/parameters:[\s\S]*/.exec(definition("bad"))?.[0] ?? "", `parameters: ${schema}`);
const withA = (schema: string) => withParameters(`{ type: object, properties: { a: ${schema} } }`);
const options = (text: string) => definition("bad", `options: ${text}\n`);

/** Row, what, document, code. */
// biome-ignore format: one row per line
const REFUSED: readonly (readonly [string, string, string, string])[] = [
  ["Y1", "an empty document", "", "root_must_be_mapping"],
  ["Y1", "only comments", "# nothing\n", "root_must_be_mapping"],
  ["Y1", "null", "null", "root_must_be_mapping"],
  ["Y1", "a list", "- a", "root_must_be_mapping"],
  ["Y2", "a tab", "tool_name:\n\tx: 1", "bad_request"],
  ["Y2", "a bad indent", "a:\n  b: 1\n c: 2", "bad_request"],
  ["Y3", "billion laughs", laughs, "aliases_not_allowed"],
  ["Y3", "a single alias", "a: &a x\nb: *a", "aliases_not_allowed"],
  ["Y4", "an alias of itself", "a: &x [*x]", "aliases_not_allowed"],
  ["Y5", "a merge key", `${definition("bad")}<<: { description: x }\n`, "aliases_not_allowed"],
  ["Y6", "a duplicate key", `${definition("bad")}tool_name: again\n`, "bad_request"],
  ["Y6", "two documents", `${definition("bad")}---\n${definition("worse")}`, "bad_request"],
  ["Y7", "a function tag", replaced("Searches the web.", "!!js/function 'x'"), "tag_not_allowed"],
  ["Y7", "a binary tag", replaced("Searches the web.", "!!binary aGk="), "tag_not_allowed"],
  ["Y7", "a custom tag", replaced("Searches the web.", "!custom x"), "tag_not_allowed"],
  ["Y8", "a depth of 5,000", `a: ${nested(5_000)}`, "too_deep"],
  ["Y9", "after_execution: yes", replaced("after_execution: suspend", "after_execution: yes"), "invalid_after_execution"],
  ["Y9", "a timeout of 1e999", options("{ timeoutMs: 1e999 }"), "schema_invalid"],
  ["Y9", "a timeout of infinity", options("{ timeoutMs: .inf }"), "schema_invalid"],
  ["Y9", "a timeout below zero", options("{ timeoutMs: -5 }"), "schema_invalid"],
  ["Y9", "a timeout in words", options('{ timeoutMs: "10s" }'), "schema_invalid"],
  ["Y10", "the subject of another project", replaced("{project_id}", "OTHER"), "invalid_target_subject"],
  ["Y10", "another version of the subject", replaced("cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.web", "cg.v1.OTHER.public.cmd.tool.x"), "invalid_target_subject"],
  ["Y10", "a wildcard", replaced("search.web", ">"), "invalid_target_subject"],
  ["Y10", "a system subject", replaced("cmd.tool.search", "cmd.sys.tool"), "invalid_target_subject"],
  ["Y10", "a subject that only contains the words", replaced("cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.web", "x.cmd.sys.tool.y"), "invalid_target_subject"],
  ["Y11", "a reserved name", definition("fork_join"), "reserved_name"],
  ["Y11", "a reserved name in capitals", definition("Fork_Join"), "reserved_name"],
  ["Y11", "a reserved name with a blank", definition("'fork_join '"), "reserved_name"],
  ["Y11", "a homoglyph", definition("f\u043erk_join"), "invalid_name"],
  ["Y11", "a name of three parts", definition("a__b__c"), "invalid_name"],
  ["Y12", "parameters that are no object", withParameters("{ type: string }"), "schema_invalid"],
  ["Y12", "a remote reference", withA('{ $ref: "https://x/y" }'), "schema_invalid"],
  ["Y12", "a cyclic reference", withA('{ $ref: "#/properties/a" }'), "schema_invalid"],
  ["Y12", "the pattern ^(a+)+$", withA('{ type: string, pattern: "^(a+)+$" }'), "schema_invalid"],
  ["Y12", "5,000 nested schemas", withParameters(`${"{ not: ".repeat(5_000)}{}${" }".repeat(5_000)}`), "too_deep"],
  ["Y12", "an unknown keyword", withA("{ type: string, lenght: 3 }"), "schema_invalid"],
  ["Y12", "a default of the wrong type", withA("{ type: integer, default: x }"), "schema_invalid"],
  ["Y12", "an array without items", withA("{ type: array }"), "schema_invalid"],
  ["Y13", "the variable PATH", options("{ envs: { q: PATH } }"), "env_not_allowed"],
  ["Y13", "the variable LD_PRELOAD", options("{ envs: { q: LD_PRELOAD } }"), "env_not_allowed"],
  ["Y13", "the variable NODE_OPTIONS", options("{ envs: { q: NODE_OPTIONS } }"), "env_not_allowed"],
  ["Y14", "an argument that is fixed and a default", options("{ args: { defaults: { q: a }, fixed: { q: b } } }"), "conflicting_arg"],
  ["Y14", "an argument from all three", options("{ args: { defaults: { q: a }, fixed: { q: b } }, envs: { q: A_KEY } }"), "conflicting_arg"],
  ["Y15", "an unknown template variable", options('{ args: { fixed: { q: "{project_id}{evil}" } } }'), "unknown_template_var"],
  ["Y15", "empty braces", options('{ args: { fixed: { q: "{{}}" } } }'), "unknown_template_var"],
  ["Y15", "{__proto__}", options('{ args: { fixed: { q: "{__proto__}" } } }'), "unknown_template_var"],
  ["Y15", "braces in braces", options('{ args: { fixed: { q: "{project_{agent_id}}" } } }'), "unknown_template_var"],
  ["Y16", "a description of 10 KB", replaced("Searches the web.", "x".repeat(10_000)), "schema_invalid"],
  ["Y16", "text that runs backwards", replaced("Searches the web.", '"a\\u202eb"'), "schema_invalid"],
  ["Y16", "zero-width characters", replaced("Searches the web.", '"a\\u200bb"'), "schema_invalid"],
  ["Y16", "tag characters", replaced("Searches the web.", '"a\\U000E0041"'), "schema_invalid"],
  ["H9", "a key __proto__", `${definition("bad")}__proto__: { a: 1 }\n`, "forbidden_key"],
];

function expectProblem(answer: Answer, status: number): void {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
  expect(answer.body.error_message.length).toBeLessThanOrEqual(1_000);
  expect(answer.text).not.toMatch(LEAK);
}

describe("an upload that is refused", () => {
  for (const [row, what, document, code] of REFUSED) {
    it(`${row}: ${what} is answered 400 ${code}, and nothing is stored`, async () => {
      const before = await fx.everything();
      const { answer, cpuMs } = await timed(() => upload(document));
      expectProblem(answer, 400);
      expect(answer.body.error_code).toBe(code);
      expect(cpuMs).toBeLessThan(1_000);
      expect(await fx.everything()).toBe(before);
    });
  }

  it("Y2: says the line and the column", async () => {
    const answer = await upload("a:\n  b: 1\n c: 2");
    expect(answer.body.error_message).toMatch(/:\d+:\d+/);
  });

  it("Y8: more than 256 KiB is answered 413", async () => {
    const large = `${definition("bad")}# ${"x".repeat(300_000)}`;
    expectProblem(await upload(large), 413);
    const just = `${definition("bad")}# ${"x".repeat(UPLOAD_YAML_BYTES_MAX)}`;
    expectProblem(await upload(just), 413);
  });

  it("H5: text/plain is answered 415", async () => {
    const answer = await fx.send("POST", TOOLS, {
      key: "operator",
      headers: { "content-type": "text/plain" },
      payload: definition("x"),
    });
    expectProblem(answer, 415);
    expect(answer.body.error_detail.accepted).toContain("application/yaml");
    expect(answer.headers.accept).toMatch(/application\/yaml, .*multipart\/form-data$/);
    expect(answer.body.error_message).toContain("application/yaml or");
    const call = await fx.send("POST", `${TOOLS}/x:call`, {
      key: "operator",
      headers: { "content-type": "text/plain" },
      payload: "{}",
    });
    expect([call.status, call.headers.accept]).toEqual([415, "application/json"]);
    expect(call.body.error_message).toBe("send the body with the Content-Type application/json");
  });

  for (const filename of [
    "../../x",
    "..",
    "a/b.yaml",
    "C:\\\\x.yaml",
    "%0d%0aX: y",
    "a%00b".replace("%00", "\u0001"),
    "x".repeat(300),
  ]) {
    it(`H22, H21: the file name ${JSON.stringify(filename.slice(0, 20))} is answered 400, and nothing is stored`, async () => {
      const before = await fx.everything();
      const answer = await fx.send("POST", TOOLS, {
        key: "operator",
        ...form([{ name: "file", filename, body: definition("bad") }]),
      });
      expectProblem(answer, 400);
      expect(await fx.everything()).toBe(before);
    });
  }

  it.each([
    ["a zip with an entry ../../x", zipOf("../../x", 0)],
    ["a zip with a symbolic link", zipOf("link", 0o120777)],
    ["a tar with an entry ../../x", tarOf("../../x", "0")],
    ["a tar with a symbolic link", tarOf("link", "2")],
  ])("H22: %s is no document, alone or in a form, and nothing is stored or written", async (_, archive) => {
    const before = [await fx.everything(), readdirSync(".").join()];
    expectProblem(await upload(archive), 400);
    const file = { name: "file", filename: "tools.zip", body: archive.toString("latin1") };
    expectProblem(await fx.send("POST", TOOLS, { key: "operator", ...form([file]) }), 400);
    expect([await fx.everything(), readdirSync(".").join()]).toEqual(before);
  });

  it("a form with other fields, two files, or a broken boundary is answered 400", async () => {
    const file = { name: "file", filename: "a.yaml", body: definition("bad") };
    for (const parts of [[{ ...file, name: "document" }], [file, file], [file, { name: "note", body: "x" }], []]) {
      expectProblem(await fx.send("POST", TOOLS, { key: "operator", ...form(parts) }), 400);
    }
    const broken = { headers: { "content-type": "multipart/form-data; boundary=x" }, payload: "--y\r\n" };
    expectProblem(await fx.send("POST", TOOLS, { key: "operator", ...broken }), 400);
    const none = { headers: { "content-type": "multipart/form-data" }, payload: "--y\r\n" };
    expectProblem(await fx.send("POST", TOOLS, { key: "operator", ...none }), 400);
  });
});

describe("a tool", () => {
  it("is stored with its digest and version, 201; the same again is 200; a change is a new version", async () => {
    const first = await upload(definition("search"));
    expect(first.status, first.text).toBe(201);
    const [stored] = first.body.tools;
    expect(stored).toMatchObject({ project_id: PROJECT, tool_name: "search", version: 1, after_execution: "suspend" });
    expect(stored.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(await upload(definition("search"))).toMatchObject({ status: 200, body: { tools: [{ version: 1 }] } });
    const changed = await upload(definition("search").replace("the web", "everything"));
    expect(changed).toMatchObject({ status: 201, body: { tools: [{ version: 2 }] } });

    const current = await fx.send("GET", `${TOOLS}/search`, { key: "viewer" });
    expect(current).toMatchObject({ status: 200, body: { version: 2, description: "Searches everything." } });
    const earlier = await fx.send("GET", `${TOOLS}/search?digest=${stored.digest}`, { key: "viewer" });
    expect(earlier).toMatchObject({ status: 200, body: { version: 1, description: "Searches the web." } });
    const none = await fx.send("GET", `${TOOLS}/search?digest=${"0".repeat(64)}`, { key: "viewer" });
    expectProblem(none, 404);
    expectProblem(await fx.send("GET", `${TOOLS}/search?digest=x`, { key: "viewer" }), 400);
  });

  it("may come as the file of a form", async () => {
    const byForm = await fx.send("POST", TOOLS, {
      key: "operator",
      ...form([{ name: "file", filename: "tool.yaml", body: definition("by_form") }]),
    });
    expect(byForm.status, byForm.text).toBe(201);
    const listed = await fx.send("GET", TOOLS, { key: "viewer" });
    expect(listed.body.tools.map((tool: { tool_name: string }) => tool.tool_name)).toContain("by_form");
  });

  it.each([
    ["tessera/v1", "weather"],
    ["goondan.ai/v1", "climate"],
  ])("may come as a resource of %s", async (apiVersion, name) => {
    const resource = `apiVersion: ${apiVersion}
kind: Tool
metadata: { name: ${name} }
spec:
  placement: edge
  exports:
    - { name: now, description: Now., parameters: { type: object } }
    - { name: week, description: Then., parameters: { type: object } }
`;
    const answer = await upload(resource);
    expect(answer.status, answer.text).toBe(201);
    const names = answer.body.tools.map((tool: { tool_name: string }) => tool.tool_name);
    expect(names).toEqual([`${name}__now`, `${name}__week`]);
    const listed = await fx.send("GET", TOOLS, { key: "viewer" });
    expect(listed.body.tools.map((tool: { tool_name: string }) => tool.tool_name)).toEqual(
      expect.arrayContaining(names),
    );
  });

  it("belongs to its project", async () => {
    await upload(definition("mine"));
    expectProblem(await fx.send("GET", `/projects/${OTHER}/tools/mine`, { key: "admin" }), 404);
    expectProblem(
      await fx.send("POST", "/projects/p_none/tools", { key: "admin", headers: YAML, payload: definition("x") }),
      404,
    );
  });

  it("is removed, 204, once; a reserved name is never one", async () => {
    await upload(definition("gone"));
    const remove = (name: string) => fx.send("DELETE", `${TOOLS}/${name}`, { key: "operator" });
    expect(await remove("gone")).toMatchObject({ status: 204, text: "" });
    expectProblem(await remove("gone"), 404);
    expect(await remove("fork_join")).toMatchObject({ status: 400, body: { error_code: "reserved_name" } });
    expectProblem(await fx.send("DELETE", `${TOOLS}/search`, { key: "viewer" }), 403);
  });

  it("Y17: with open calls is not removed until they are done", async () => {
    const { body } = await upload(definition("busy"));
    const call = await fx.held({ tool_name: "busy", tool_digest: body.tools[0].digest });
    const remove = () => fx.send("DELETE", `${TOOLS}/busy`, { key: "operator" });
    expect(await remove()).toMatchObject({ status: 409, body: { error_code: "conflict" } });
    await fx.about(call, "report", { status: "success", result: {} });
    expect((await remove()).status).toBe(204);
  });
});
