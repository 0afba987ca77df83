// PUT …/tools/{tool}: one tool by its name, under the condition that it is what the writer has read (H14).

import { describe, expect, it } from "vitest";
import { PROJECT, useServer } from "../../test/fixture.ts";

const fx = useServer();
const yaml = (name: string, description: string) =>
  `tool_name: ${name}\ndescription: ${description}\ntarget_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.echo.run\nafter_execution: suspend\n`;
const put = (name: string, description: string, headers: Readonly<Record<string, string>> = {}, document = name) =>
  fx.send("PUT", `/projects/${PROJECT}/tools/${name}`, {
    ...{ key: "operator", payload: yaml(document, description) },
    headers: { "content-type": "application/yaml", ...headers },
  });
const get = (name: string) => fx.send("GET", `/projects/${PROJECT}/tools/${name}`, { key: "viewer" });

describe("putting a tool", () => {
  it("creates it, then replaces it, and answers the ETag that reading it answers", async () => {
    const made = await put("one", "first");
    expect(made.status, made.text).toBe(201);
    expect((await get("one")).headers.etag).toBe(made.headers.etag);
    expect(made.headers.etag).toBe(`"${made.body.digest}"`);
    const same = await put("one", "first");
    expect([same.status, same.headers.etag]).toEqual([200, made.headers.etag]);
    const changed = await put("one", "second");
    expect([changed.status, changed.body.version]).toEqual([200, 2]);
    expect(changed.headers.etag).not.toBe(made.headers.etag);
  });

  it("H14: of two writers with one If-Match, one is answered 200 and one 412", async () => {
    const { etag } = (await put("two", "first")).headers;
    const headers = { "if-match": String(etag) };
    const answers = await Promise.all([put("two", "left", headers), put("two", "right", headers)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    const refused = answers.find(({ status }) => status === 412);
    expect(refused?.body.error_code).toBe("precondition_failed");
    expect((await get("two")).body.version).toBe(2);
  });

  it("H14: one after the other, too", async () => {
    const { etag } = (await put("three", "first")).headers;
    const headers = { "if-match": String(etag) };
    expect((await put("three", "left", headers)).status).toBe(200);
    const before = await fx.everything();
    expect((await put("three", "right", headers)).status).toBe(412);
    expect(await fx.everything()).toBe(before);
  });

  it("If-Match: * wants it to exist, If-None-Match: * wants it not to", async () => {
    expect((await put("four", "x", { "if-match": "*" })).status).toBe(412);
    expect((await put("four", "x", { "if-match": '"0000"' })).status).toBe(412);
    const made = await Promise.all([
      put("four", "left", { "if-none-match": "*" }),
      put("four", "right", { "if-none-match": "*" }),
    ]);
    expect(made.map(({ status }) => status).sort()).toEqual([201, 412]);
    expect((await put("four", "again", { "if-none-match": "*" })).status).toBe(412);
    expect((await put("four", "again", { "if-match": "*" })).status).toBe(200);
  });

  it("If-Match: * lets another client's change pass that comes in between", async () => {
    await put("seven", "first");
    let isFirst = true;
    const putTool: typeof fx.kernel.putTool = async (tool) => {
      if (isFirst) {
        isFirst = false;
        await fx.kernel.putTool({ ...tool, description: "somebody else's", expected_digest: undefined } as never);
      }
      return await fx.kernel.putTool(tool);
    };
    const server = await fx.another({ kernel: { ...fx.kernel, putTool } });
    const put7 = (tag: string) =>
      fx.send(
        "PUT",
        `/projects/${PROJECT}/tools/seven`,
        {
          ...{ key: "operator", payload: yaml("seven", tag === "*" ? "mine" : "late") },
          headers: { "content-type": "application/yaml", "if-match": tag },
        },
        server,
      );
    try {
      const answer = await put7("*");
      expect([answer.status, answer.body.version], answer.text).toEqual([200, 3]);
      isFirst = true;
      expect((await put7(String(answer.headers.etag))).status).toBe(412);
    } finally {
      await server.close();
    }
  });

  it.each([
    ["a document of another tool", {}, "another"],
    ["an If-Match that is no tag", { "if-match": "abc" }, "five"],
    ["an If-None-Match that is not *", { "if-none-match": '"abc"' }, "five"],
  ])("%s is refused with 400, and nothing is written", async (_, headers, document) => {
    const before = await fx.everything();
    const answer = await put("five", "x", headers, document);
    expect(answer.status, answer.text).toBe(400);
    expect(await fx.everything()).toBe(before);
  });

  it("needs a document, and a role that may write", async () => {
    const url = `/projects/${PROJECT}/tools/six`;
    expect((await fx.send("PUT", url, { key: "operator" })).status).toBe(400);
    expect((await fx.send("PUT", url, { key: "viewer" })).status).toBe(403);
    expect(
      (
        await fx.send("PUT", "/projects/p_none/tools/six", {
          key: "admin",
          headers: { "content-type": "application/yaml" },
          payload: yaml("six", "x"),
        })
      ).status,
    ).toBe(404);
  });
});
