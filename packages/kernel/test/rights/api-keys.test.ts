// API keys: made once, compared by hash, and worth nothing to any client but their bearer.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ApiKeyRequest } from "../../src/index.ts";
import { PROJECT, useFixture } from "../fixture.ts";

const fx = useFixture();
const rolesSql = readFileSync(new URL("../../../../deploy/roles.sql", import.meta.url), "utf8");
const needsRoles = process.env.TESSERA_TEST_ENGINE === "postgres";

async function create(request: ApiKeyRequest) {
  const made = await fx.kernel.createApiKey(request);
  if (made.outcome === "rejected") throw new Error(made.code);
  return made;
}

/** A kernel that has nothing cached. */
const elsewhere = (text: string) => fx.anotherKernel().authenticate(text);

const withoutSecret = (text: string) => text.slice(0, text.indexOf(".") + 1);

/** The next letter of the alphabet at `index`: another text of the same shape. */
function altered(text: string, index: number): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const at = index < 0 ? text.length + index : index;
  const letter = alphabet[(alphabet.indexOf(text[at] ?? "A") + 1) % 64];
  return text.slice(0, at) + letter + text.slice(at + 1);
}

describe("a key", () => {
  it("says who its bearer is, and the store holds neither its text nor its secret", async () => {
    const { key_id, text } = await create({ role: "executor", project_id: PROJECT, targets: ["echo"], label: "edge" });
    expect(text).toMatch(new RegExp(`^tsk_${key_id}\\.[A-Za-z0-9_-]{43}$`));
    expect(await elsewhere(text)).toEqual({
      key_id,
      role: "executor",
      project_id: PROJECT,
      targets: ["echo"],
      delegation_policy: null,
    });
    const secret = text.slice(text.indexOf(".") + 1);
    const rows = await fx.query<{ row: string }>("select k::text as row from resource.api_keys k where key_id = $1", [
      key_id,
    ]);
    expect(rows[0]?.row).toContain(key_id);
    for (const form of [secret, Buffer.from(secret, "base64url").toString("hex")]) {
      expect(rows[0]?.row).not.toContain(form);
    }
  });

  it("is listed for its project without its hash, and for no other project", async () => {
    const { key_id } = await create({ role: "viewer", project_id: PROJECT, label: "console" });
    const everywhere = await create({ role: "admin" });
    const listed = await fx.kernel.reads.apiKeys(PROJECT);
    const row = listed.find((key) => key.key_id === key_id);
    expect(row).toMatchObject({ role: "viewer", label: "console", revoked_at: null, last_used_at: null });
    expect(Object.keys(row ?? {})).not.toContain("secret_sha256");
    expect(listed.map((key) => key.key_id)).not.toContain(everywhere.key_id);
    expect(await fx.kernel.reads.apiKeys("p_other")).toEqual([]);
    expect((await fx.kernel.reads.apiKeys(null)).map((key) => key.key_id)).toContain(everywhere.key_id);
  });

  it("that is malformed, unknown, altered, expired or revoked is answered alike", async () => {
    const { text } = await create({ role: "admin" });
    const expiring = await create({ role: "admin", expires_in_ms: 1_000 });
    const revoked = await create({ role: "admin" });
    expect(await elsewhere(expiring.text)).not.toBeNull();
    await fx.clock.advance(1_000);
    await fx.kernel.revokeApiKey({ key_id: revoked.key_id });
    const wrong = [
      "",
      "tsk_",
      "x".repeat(10_000),
      text.slice(0, -1),
      `${text}A`,
      ` ${text}`,
      altered(text, 10),
      altered(text, -43),
      altered(text, -1), // A different spelling of the same bits is no key either.
      `${withoutSecret(text)}${"A".repeat(43)}`,
      `tsk_nobody.${"A".repeat(43)}`,
      "tsk_é.\u0000",
      expiring.text,
      revoked.text,
    ];
    for (const candidate of wrong) expect(await elsewhere(candidate), candidate).toBeNull();
    expect(await elsewhere(text)).not.toBeNull();
  });

  it("that is revoked stops counting at once here, and within five seconds elsewhere", async () => {
    const { key_id, text } = await create({ role: "operator", project_id: PROJECT });
    const other = fx.anotherKernel();
    expect(await fx.kernel.authenticate(text)).not.toBeNull();
    expect(await other.authenticate(text)).not.toBeNull();
    expect(await fx.kernel.revokeApiKey({ key_id })).toEqual({ outcome: "accepted" });
    expect(await fx.kernel.authenticate(text)).toBeNull();
    await fx.clock.advance(5_000);
    expect(await other.authenticate(text)).toBeNull();
    expect(await fx.kernel.revokeApiKey({ key_id })).toEqual({ outcome: "duplicate" });
  });

  it("does not outlive its expiry in a cache", async () => {
    const { text } = await create({ role: "admin", expires_in_ms: 2_000 });
    expect(await fx.kernel.authenticate(text)).not.toBeNull();
    await fx.clock.advance(2_000);
    expect(await fx.kernel.authenticate(text)).toBeNull();
  });

  it("is revoked only by its own project, where one is named", async () => {
    const { key_id, text } = await create({ role: "viewer", project_id: PROJECT });
    const foreign = await fx.kernel.revokeApiKey({ key_id, project_id: "p_other" });
    expect(foreign).toEqual({ outcome: "rejected", code: "not_found" });
    expect(await elsewhere(text)).not.toBeNull();
    expect(await fx.kernel.revokeApiKey({ key_id: "missing" })).toEqual({ outcome: "rejected", code: "not_found" });
  });

  it("notes its use, at most once in five minutes", async () => {
    const { key_id, text } = await create({ role: "admin" });
    const lastUse = async () =>
      (await fx.query("select last_used_at from resource.api_keys where key_id = $1", [key_id]))[0]?.last_used_at;
    await elsewhere(text);
    const first = await lastUse();
    expect(first).not.toBeNull();
    await fx.clock.advance(60_000);
    await elsewhere(text);
    expect(await lastUse()).toBe(first);
    await fx.clock.advance(300_000);
    await elsewhere(text);
    expect(await lastUse()).not.toBe(first);
  });
});

describe("a request for a key", () => {
  const refused: readonly [string, ApiKeyRequest, string][] = [
    ["an unknown role", { role: "root" as "admin" }, "bad_request"],
    ["an executor without targets", { role: "executor" }, "bad_request"],
    ["an admin with targets", { role: "admin", targets: ["echo"] }, "bad_request"],
    ["a target that is no id", { role: "executor", targets: ["a.b"] }, "bad_request"],
    ["a project that is no id", { role: "viewer", project_id: "../x" }, "invalid_id"],
    ["a project that does not exist", { role: "viewer", project_id: "p_none" }, "not_found"],
    ["a label of two lines", { role: "viewer", label: "a\nb" }, "bad_request"],
    ["an expiry in the past", { role: "viewer", expires_in_ms: -1 }, "bad_request"],
  ];
  for (const [what, request, code] of refused) {
    it(`with ${what} is refused and changes nothing`, async () => {
      const before = await fx.everything();
      expect(await fx.kernel.createApiKey(request)).toEqual({ outcome: "rejected", code });
      expect(await fx.everything()).toBe(before);
    });
  }
});

if (needsRoles)
  it("a tool's login sees nothing of the keys", async () => {
    await fx.store.database.script(rolesSql);
    const login = `key_tool_${Math.trunc(performance.timeOrigin).toString(36)}`;
    await fx.store.database.script(`create role ${login} login in role tessera_tool`);
    const tool = await fx.store.another({ user: login });
    for (const statement of [
      "select * from resource.api_keys",
      "insert into resource.api_keys (key_id) values ('x')",
      "select l0.put_api_keys('[]', null)",
      "select l0.living_api_key('x', null)",
      "select l0.note_api_key_use('x', null)",
    ]) {
      await expect(tool.query(statement), statement).rejects.toMatchObject({ kind: "forbidden" });
    }
    await tool.close();
    await fx.store.database.script(`drop owned by ${login}; drop role ${login}`);
  });
