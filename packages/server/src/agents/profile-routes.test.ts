// Profiles over HTTP, with the real reader: uploads of both forms, every refusal of
// docs/reference/security.md#y-uploaded-documents that a profile can have, versions.

import { UPLOAD_YAML_BYTES_MAX } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";

const fx = useManagement();
const PROFILES = `/projects/${PROJECT}/profiles`;
const YAML = { "content-type": "application/yaml" };
const upload = (payload: string | Buffer, key = "operator") =>
  fx.send("POST", PROFILES, { key, headers: YAML, payload });
const put = (name: string, payload: string, headers = {}) =>
  fx.send("PUT", `${PROFILES}/${name}`, { key: "operator", headers: { ...YAML, ...headers }, payload });

const profile = (name: string, prompt = "You plan.") => `name: ${name}
worker_target: worker_generic
tags: [plan, lead]
description: Plans.
system_prompt_template: ${prompt}
`;
const nested = (levels: number) => `${"{a: ".repeat(levels)}1${"}".repeat(levels)}`;

describe("uploading a profile", () => {
  it("answers 201 for a new and for a changed document, 200 for the same again", async () => {
    const first = await upload(profile("planner"));
    expect(first.status).toBe(201);
    expect(first.body).toMatchObject({
      ...{ project_id: PROJECT, name: "planner", worker_target: "worker_generic", tags: ["plan", "lead"] },
      ...{ description: "Plans.", system_prompt_compiled: "You plan." },
      profile: { name: "planner", allowed_tools: [] },
    });
    expect(first.headers.etag).toBe(`"${first.body.profile_box_id}"`);
    const same = await upload(profile("planner"));
    expect([same.status, same.body.profile_box_id]).toEqual([200, first.body.profile_box_id]);
    const changed = await upload(profile("planner", "You plan well."));
    expect(changed.status).toBe(201);
    expect(changed.body.profile_box_id).not.toBe(first.body.profile_box_id);
    expect((await fx.get(`${PROFILES}/planner`)).body).toEqual(changed.body);
  });

  it.each(["Lead planner", "a.b", "x/y", "계획가", "planner:call"])(
    "that is called %j is found by its name",
    async (name) => {
      const made = await upload(profile(JSON.stringify(name)));
      expect(made.status).toBe(201);
      const path = `${PROFILES}/${encodeURIComponent(name)}`;
      expect((await fx.get(path)).body).toEqual(made.body);
      expect((await put(encodeURIComponent(name), profile(JSON.stringify(name)))).status).toBe(200);
      expect((await fx.send("DELETE", path, { key: "operator" })).status).toBe(204);
      expect((await fx.get(path)).status).toBe(404);
    },
  );

  it.each([
    ["(a+)+$", "only repeats"],
    ["a(?=b)", "lookahead"],
    ["(a)\\1", "back reference"],
  ])("with a scripted model whose pattern is %s is refused: no engine of ours may backtrack", async (pattern, why) => {
    const rules = `[{when: {text: ${JSON.stringify(pattern)}}, reply: {text: b}}]`;
    const model = `llm_config: {provider: scripted, model: m, options: {rules: ${rules}}}\n`;
    const answer = await upload(profile("scripted") + model);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([400, expect.stringContaining(why)]);
  });

  it("takes the field file of a form", async () => {
    const payload = `--b\r\nContent-Disposition: form-data; name="file"; filename="p.yaml"\r\n\r\n${profile("formed")}\r\n--b--\r\n`;
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    expect((await fx.send("POST", PROFILES, { key: "operator", headers, payload })).status).toBe(201);
    const evil = payload.replace("p.yaml", "../../p.yaml");
    expect((await fx.send("POST", PROFILES, { key: "operator", headers, payload: evil })).status).toBe(400);
  });

  it.each([
    ["Y1", "an empty document", "", "root_must_be_mapping"],
    ["Y1", "only comments", "# nothing\n", "root_must_be_mapping"],
    ["Y1", "null", "null", "root_must_be_mapping"],
    ["Y1", "a list", "- a", "root_must_be_mapping"],
    ["Y2", "a tab", "name:\n\tx: 1", null],
    ["Y2", "a bad indent", "a:\n  b: 1\n c: 2", null],
    ["Y3", "billion laughs", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "aliases_not_allowed"],
    ["Y4", "an alias of itself", "a: &x [*x]", null],
    ["Y5", "a merge key", `${profile("bad")}<<: { description: x }\n`, null],
    ["Y6", "a duplicate key", `${profile("bad")}name: again\n`, null],
    ["Y6", "two documents", `${profile("bad")}---\n${profile("worse")}`, null],
    ["Y7", "a function tag", profile("bad", "!!js/function 'x'"), "tag_not_allowed"],
    ["Y7", "a binary tag", profile("bad", "!!binary aGk="), "tag_not_allowed"],
    ["Y7", "a custom tag", profile("bad", "!custom x"), "tag_not_allowed"],
    ["Y8", "a depth of 5,000", `a: ${nested(5_000)}`, "too_deep"],
    ["Y9", "steps without end", `${profile("bad")}max_steps: .inf\n`, null],
    ["Y9", "steps below zero", `${profile("bad")}max_steps: -5\n`, null],
    ["Y9", "steps in words", `${profile("bad")}max_steps: "10s"\n`, null],
    ["Y9", "no name", profile("bad").replace("name: bad\n", ""), null],
    ["Y9", "no worker target", profile("bad").replace("worker_target: worker_generic\n", ""), null],
    ["Y10", "a worker target that is no id", profile("bad").replace("worker_generic", "a.b"), null],
    ["Y11", "an internal tool that is not one", `${profile("bad")}allowed_internal_tools: [fork_joint]\n`, null],
    ["Y11", "a tool of three parts", `${profile("bad")}allowed_tools: [a__b__c]\n`, null],
  ])("%s refuses %s and stores nothing", async (_row, _what, document, code) => {
    const before = await fx.everything();
    const answer = await upload(document);
    expect(answer.status).toBe(400);
    if (code !== null) expect(answer.body.error_code).toBe(code);
    expect(await fx.everything()).toBe(before);
  });

  it("Y2 says the line and the column", async () => {
    expect((await upload("a:\n  b: 1\n c: 2")).body.error_message).toMatch(/\d+:\d+/);
  });

  it("Y8 refuses a document that is too large with 413", async () => {
    expect((await upload(`${profile("bad")}# ${"x".repeat(UPLOAD_YAML_BYTES_MAX)}`)).status).toBe(413);
  });

  it("refuses other types of body, and none", async () => {
    const text = { "content-type": "text/plain" };
    const plain = await fx.send("POST", PROFILES, { key: "operator", headers: text, payload: profile("x") });
    expect(plain.status).toBe(415);
    expect((await fx.send("POST", PROFILES, { key: "operator" })).body.error_code).toBe("root_must_be_mapping");
  });

  it("needs a key that may write, and a project that is there", async () => {
    expect((await upload(profile("x"), "viewer")).status).toBe(403);
    const elsewhere = { key: "admin", headers: YAML, payload: profile("x") };
    expect((await fx.send("POST", "/projects/nowhere/profiles", elsewhere)).status).toBe(404);
  });

  it("answers 501 in a process that reads no profiles, and still lists them", async () => {
    const bare = await fx.another({ ports: {} });
    try {
      const answer = await fx.send("POST", PROFILES, { key: "operator", headers: YAML, payload: profile("x") }, bare);
      expect([answer.status, answer.body.error_code]).toEqual([501, "not_implemented"]);
      expect((await fx.get(PROFILES, "viewer", bare)).status).toBe(200);
    } finally {
      await bare.close();
    }
  });
});

describe("putting a profile", () => {
  it("takes one of two documents for the same version and answers 412 to the other", async () => {
    const first = await put("raced", profile("raced"));
    expect(first.status).toBe(201);
    const headers = { "if-match": String(first.headers.etag) };
    const answers = await Promise.all([
      put("raced", profile("raced", "One."), headers),
      put("raced", profile("raced", "Two."), headers),
    ]);
    expect(answers.map((answer) => answer.status).toSorted()).toEqual([201, 412]);
  });

  it("refuses a document that has another name than the path", async () => {
    const answer = await put("this", profile("that"));
    expect([answer.status, answer.body.error_detail.field]).toEqual([400, "name"]);
    expect((await fx.get(`${PROFILES}/that`)).status).toBe(404);
  });

  it("asks with If-Match: * that there is one", async () => {
    expect((await put("absent", profile("absent"), { "if-match": "*" })).status).toBe(412);
    expect((await fx.get(`${PROFILES}/absent`)).status).toBe(404);
    await put("many", profile("many"));
    const texts = ["One.", "Two.", "Three."];
    const answers = await Promise.all(texts.map((text) => put("many", profile("many", text), { "if-match": "*" })));
    expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201]);
  });
});

describe("listing, reading and removing profiles", () => {
  it("lists every profile once, by name, without its document", async () => {
    for (const name of ["l1", "l2", "l3", "l4"]) await upload(profile(name));
    const rows = await fx.pages(PROFILES, "profiles", 2);
    const names = rows.map((row) => row.name);
    expect(names).toEqual([...new Set(names)].toSorted());
    expect(names).toEqual(expect.arrayContaining(["l1", "l2", "l3", "l4"]));
    expect(rows[0]).not.toHaveProperty("profile");
  });

  it("removes a name; agents of other projects never see it", async () => {
    await upload(profile("removed"));
    expect((await fx.get(`/projects/${OTHER}/profiles/removed`, "admin")).status).toBe(404);
    const remove = () => fx.send("DELETE", `${PROFILES}/removed`, { key: "operator" });
    expect((await remove()).status).toBe(204);
    const again = await remove();
    expect([again.status, again.body.error_code]).toEqual([404, "profile_not_found"]);
    expect((await fx.get(`${PROFILES}/removed`)).status).toBe(404);
  });
});
