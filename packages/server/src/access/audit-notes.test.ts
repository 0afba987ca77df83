// The audit log: who changed what through the API, and who was refused.

import type { Row } from "@tessera/kernel";
import { waitFor } from "@tessera/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { PROJECT, useServer } from "../../test/fixture.ts";

const fx = useServer();
const TOOLS = `/projects/${PROJECT}/tools`;
const yaml = { "content-type": "application/yaml" };
const tool = (name: string) =>
  `tool_name: ${name}\ntarget_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.echo.run\nafter_execution: suspend\n`;

interface Note extends Row {
  readonly kind: string;
  readonly code: string;
  readonly principal: string;
  readonly agent_turn_id: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}
const notes = async () =>
  await fx.store.database.query<Note>(
    "select kind, code, principal, agent_turn_id, detail from state.audit_log where kind like 'api.%' order by audit_id",
  );
/** Notes are written behind the answer. */
const noted = (count: number) =>
  waitFor(
    async () => {
      const all = await notes();
      return all.length >= count ? all : null;
    },
    { what: `${count} notes` },
  );

beforeAll(async () => {
  await fx.key("nosy", { role: "viewer", project_id: PROJECT });
});

describe("the audit log", () => {
  it("has every write and every refusal with its key, operation and ids, and never a read, an executor's work or a body", async () => {
    const put = await fx.send("PUT", `${TOOLS}/mine`, { key: "operator", headers: yaml, payload: tool("mine") });
    expect(put.status, put.text).toBe(201);
    await fx.send("GET", `${TOOLS}/mine`, { key: "operator" });
    await fx.send("PUT", `${TOOLS}/mine`, { key: "operator", headers: yaml, payload: "not: a tool" }); // 400: nothing was written
    const [call] = await fx.suspended();
    await fx.send("POST", `/projects/${PROJECT}/turns/${call?.agent_turn_id}/stop`, { key: "operator", json: {} });
    await fx.send("DELETE", `${TOOLS}/mine`, { key: "nosy" });
    await fx.held();
    const all = await noted(3);
    const by = (key: string) => fx.keyIds[key];
    expect(all).toEqual([
      {
        ...{ kind: "api.putTool", code: "ok", principal: by("operator"), agent_turn_id: null },
        detail: { role: "operator", address: "127.0.0.1", tool: "mine", request_id: put.headers["x-request-id"] },
      },
      {
        ...{ kind: "api.stopTurn", code: "ok", principal: by("operator"), agent_turn_id: call?.agent_turn_id },
        detail: { role: "operator", address: "127.0.0.1", request_id: expect.stringMatching(/^req_/) },
      },
      {
        ...{ kind: "api.deleteTool", code: "forbidden", principal: by("nosy"), agent_turn_id: null },
        detail: { role: "viewer", address: "127.0.0.1", tool: "mine" },
      },
    ]);
  });

  it("is where the report has its refusals from, and only those", async () => {
    const since = "2000-01-01T00:00:00Z";
    const { refusals } = await fx.kernel.reads.activity(PROJECT, { since, until: null });
    const kinds = refusals.map(({ kind }) => kind);
    expect(kinds).toContain("api.deleteTool");
    expect(kinds).not.toContain("api.putTool");
  });

  it("is not flooded by one key that is refused again and again", async () => {
    const before = (await notes()).length;
    const server = await fx.another();
    for (let n = 0; n < 100; n += 1) await fx.send("DELETE", `${TOOLS}/mine`, { key: "nosy" }, server);
    await server.close();
    const more = (await notes()).length - before;
    expect(more).toBeGreaterThan(5);
    expect(more).toBeLessThan(25);
  });

  it("is complete when the server has closed", async () => {
    const server = await fx.another();
    const before = (await notes()).length;
    for (const name of ["a", "b", "c"]) {
      await fx.send("PUT", `${TOOLS}/${name}`, { key: "operator", headers: yaml, payload: tool(name) }, server);
    }
    await server.close();
    expect((await notes()).length).toBe(before + 3);
  });

  it("names the tools of an upload, also of one that failed half way", async () => {
    const document = (...names: string[]) =>
      `apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: { name: up }\nspec:\n  placement: edge\n  exports:\n${names
        .map((name) => `    - { name: ${name}, description: x, parameters: { type: object } }\n`)
        .join("")}`;
    const putTool: typeof fx.kernel.putTool = async (definition) => {
      if (definition.tool_name === "up__broken") throw new Error("away");
      return await fx.kernel.putTool(definition);
    };
    const server = await fx.another({ kernel: { ...fx.kernel, putTool } });
    const upload = (...names: string[]) =>
      fx.send("POST", TOOLS, { key: "operator", headers: yaml, payload: document(...names) }, server);
    const before = (await notes()).length;
    const whole = await upload("u1", "u2");
    expect(whole.status, whole.text).toBe(201);
    const failed = await upload("u1", "u3", "broken", "u4");
    expect([failed.status, failed.body.error_code]).toEqual([500, "internal_error"]);
    expect(failed.text).not.toContain("away");
    expect((await upload("broken")).status).toBe(500); // nothing was stored
    await server.close();
    expect((await notes()).slice(before)).toMatchObject([
      { kind: "api.uploadTools", code: "ok", detail: { tools: "up__u1 up__u2" } },
      { kind: "api.uploadTools", code: "ok", detail: { tools: "up__u3" } },
    ]);
    expect(fx.warnings.at(-1)).toMatch(/Error: away/);
  });

  it("that cannot be written does not fail the request; the operator is told", async () => {
    const putAudit = async () => {
      throw new Error("away");
    };
    const server = await fx.another({ kernel: { ...fx.kernel, putAudit } });
    const answer = await fx.send("DELETE", `${TOOLS}/a`, { key: "operator" }, server);
    expect(answer.status).toBe(204);
    await server.close();
    expect(fx.warnings.at(-1)).toMatch(/audit: deleteTool by key_\w+ was not noted: .*away/);
  });
});
