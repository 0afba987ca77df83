import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROLES as RUNTIME_ROLES } from "@tessera/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { HostFlags } from "./flags.ts";
import { hostSettings } from "./host-settings.ts";
import { ROLES } from "./roles.ts";

let bundle = "";
beforeAll(() => {
  bundle = mkdtempSync(join(tmpdir(), "tessera-host-settings-"));
  const settings = "{ data: ./store, project: of-the-bundle, port: 8100 }";
  const head = "apiVersion: goondan.ai/v1\nkind: Package\nmetadata: { name: b }\n";
  writeFileSync(join(bundle, "tessera.yaml"), `${head}spec: { settings: ${settings} }\n`);
});
afterAll(() => rmSync(bundle, { recursive: true, force: true }));

/** As the parser leaves them for a command that runs a bundle: no project unless one was given. */
const flagsOf = (flags: Partial<HostFlags>) => flags as HostFlags;

it("a flag wins over the environment, the environment over the bundle, the bundle over the default", async () => {
  const env = { TESSERA_PROJECT: "of-the-environment", TESSERA_GRACE_SECONDS: "7" };
  const given = await hostSettings(flagsOf({ project: "of-the-flag" }), { env }, { bundle });
  expect(given.flags).toMatchObject({ project: "of-the-flag" });
  expect(given.values).toMatchObject({ port: 8100, grace_seconds: 7, concurrency: 16 });
  expect(given.sourceOf("port")).toBe("file");
  expect(given.sourceOf("concurrency")).toBe("default");
  expect((await hostSettings(flagsOf({}), { env }, { bundle })).flags.project).toBe("of-the-environment");
  const filed = await hostSettings(flagsOf({}), { env: {} }, { bundle });
  expect(filed.flags.project).toBe("of-the-bundle");
  expect(filed.flags.data).toMatch(/\/store$/);
  expect((await hostSettings(flagsOf({}), { env: {} }, { bundle: undefined })).flags.project).toBe("default");
});

it("a flag that names a store means no other place; a server means nothing to a process that serves", async () => {
  const env = { TESSERA_URL: "http://127.0.0.1:1" };
  const { flags } = await hostSettings(flagsOf({ postgres: "postgres://h/d" }), { env }, { bundle });
  expect(flags).toMatchObject({ postgres: "postgres://h/d", data: undefined });
  const serving = await hostSettings(flagsOf({}), { env }, { bundle, isServing: true });
  expect(serving.flags.data).toMatch(/\/store$/);
});

it("a mistake names its source: usage on the command line, configuration elsewhere", async () => {
  const wrong = (flags: object, env = {}) => hostSettings(flagsOf(flags), { env }, { bundle: undefined });
  await expect(wrong({ project: "a b" })).rejects.toMatchObject({
    message: expect.stringContaining("--project must be 1 to 64"),
    details: { kind: "usage" },
  });
  await expect(wrong({}, { TESSERA_PORT: "http" })).rejects.toMatchObject({
    message: expect.stringMatching(/^TESSERA_PORT must be a whole number/),
    details: {},
  });
});

it("the roles in the help are those that there are", () => {
  expect(ROLES).toEqual(RUNTIME_ROLES);
});
