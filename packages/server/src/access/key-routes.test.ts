// API keys over HTTP: shown once, and an administrator of one project stays in it.

import { waitFor } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";

const fx = useManagement();
const make = (json: unknown, key = "admin") => fx.post("/keys", json, key);
const revoke = (keyId: string, key = "admin") => fx.send("DELETE", `/keys/${keyId}`, { key });

describe("making a key", () => {
  it("answers a text that works, and never again", async () => {
    const made = await make({ role: "viewer", project_id: PROJECT, label: "mine", expires_in_seconds: 60 });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ role: "viewer", project_id: PROJECT, targets: [] });
    expect(made.body.key).toMatch(/^tsk_/);
    expect((await fx.get("/projects", `Bearer ${made.body.key}`)).status).toBe(200);
    const listed = await fx.send("GET", "/keys?limit=200", { key: "admin" });
    const row = listed.body.keys.find((key: { key_id: string }) => key.key_id === made.body.key_id);
    expect(row).toMatchObject({ label: "mine", role: "viewer", revoked_at: null });
    expect(row.expires_at).not.toBeNull();
    expect(listed.text).not.toContain(made.body.key);
    expect(listed.text).not.toMatch(/sha256|secret/);
  });

  it("makes keys of all projects for an administrator of all", async () => {
    expect((await make({ role: "operator" })).body.project_id).toBeNull();
    expect((await make({ role: "executor", project_id: null, targets: ["echo"] })).body.targets).toEqual(["echo"]);
  });

  it.each([
    [400, "role", {}],
    [400, "role", { role: "root" }],
    [400, "targets", { role: "executor" }],
    [400, "targets", { role: "viewer", targets: ["echo"] }],
    [400, "targets/0", { role: "executor", targets: ["a.b"] }],
    [400, "expires_in_seconds", { role: "viewer", expires_in_seconds: 0 }],
    [400, "expires_in_seconds", { role: "viewer", expires_in_seconds: 1e12 }],
    [400, "label", { role: "viewer", label: "x".repeat(201) }],
    [400, "label", { role: "viewer", label: "two\nlines" }],
    [400, "secret", { role: "viewer", secret: "x" }],
    [400, "project_id", { role: "viewer", project_id: "NUL" }],
    [404, "project_id", { role: "viewer", project_id: "nowhere" }],
  ])("answers %i and names %s", async (status, field, json) => {
    const answer = await make(json);
    expect([answer.status, answer.body.error_detail.field]).toEqual([status, field]);
  });

  it("is noted in the audit of its project, with the key that was made and never with its text", async () => {
    const { key_id, key } = (await make({ role: "admin", project_id: PROJECT })).body;
    const noted = async () =>
      (await fx.kernel.reads.audit(PROJECT)).find((row) => (row.detail as { key?: string }).key === key_id) ?? null;
    const note = await waitFor(noted, { what: "the note" });
    expect(note).toMatchObject({ kind: "api.createKey", principal: fx.keyIds.admin, detail: { key_role: "admin" } });
    expect(JSON.stringify(note)).not.toContain(key);
  });

  it("is for administrators", async () => {
    expect((await make({ role: "viewer" }, "operator")).status).toBe(403);
  });
});

describe("an administrator of one project", () => {
  it("makes keys of that project, whether it names it or not", async () => {
    expect((await make({ role: "viewer" }, "admin1")).body.project_id).toBe(PROJECT);
    expect((await make({ role: "viewer", project_id: PROJECT }, "admin1")).body.project_id).toBe(PROJECT);
  });

  it("makes no key of all projects and none of another", async () => {
    expect((await make({ role: "viewer", project_id: null }, "admin1")).status).toBe(403);
    const foreign = await make({ role: "viewer", project_id: OTHER }, "admin1");
    const unknown = await make({ role: "viewer", project_id: "nowhere" }, "admin1");
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
  });

  it("sees keys of that project only", async () => {
    const projects = (await fx.pages("/keys", "keys", 3, "admin1")).map((key) => key.project_id);
    expect(new Set(projects)).toEqual(new Set([PROJECT]));
  });

  it("revokes keys of that project only", async () => {
    for (const name of ["admin", "operator2"]) {
      expect((await revoke(fx.keyIds[name] ?? "", "admin1")).status).toBe(404);
    }
    expect((await fx.get(`/projects/${OTHER}`, "operator2")).status).toBe(200);
    const made = await make({ role: "viewer" }, "admin1");
    expect((await revoke(made.body.key_id, "admin1")).status).toBe(204);
    expect((await fx.get("/projects", `Bearer ${made.body.key}`)).status).toBe(401);
  });
});

describe("listing and revoking keys", () => {
  it("lists each once, page by page", async () => {
    const ids = (await fx.pages("/keys", "keys", 4, "admin")).map((key) => key.key_id);
    expect(ids).toEqual([...new Set(ids)].toSorted());
    expect(ids).toEqual(expect.arrayContaining(Object.values(fx.keyIds)));
  });

  it("revokes a key as often as it is asked to, and knows which there are", async () => {
    const { key_id } = (await make({ role: "viewer" })).body;
    expect([(await revoke(key_id)).status, (await revoke(key_id)).status]).toEqual([204, 204]);
    const missing = await revoke("key_none");
    expect([missing.status, missing.body.error_detail]).toEqual([404, { field: "key_id" }]);
  });
});
