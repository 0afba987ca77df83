import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LEASE_MS } from "@tessera/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  describeSettings,
  flagKey,
  processSettings,
  readSettingsFile,
  resolveSettings,
  SETTING_NAMES,
  SETTINGS,
  settingsPage,
} from "./index.ts";
import { specOf } from "./table.ts";

let bundle = "";
beforeEach(() => {
  bundle = realpathSync(mkdtempSync(join(tmpdir(), "tessera-settings-")));
});
afterEach(() => rmSync(bundle, { recursive: true, force: true }));

const PACKAGE = "apiVersion: goondan.ai/v1\nkind: Package\nmetadata: { name: p }\nspec:\n  settings:\n";
const writeYaml = (lines: string) => writeFileSync(join(bundle, "tessera.yaml"), PACKAGE + lines);
const from = (resolved: ReturnType<typeof resolveSettings>, name: string) =>
  resolved.settings.find((setting) => setting.name === name);

describe("a setting", () => {
  it("comes from the flag, else the environment, else the file, else its default, and knows from where", async () => {
    writeYaml("    port: 8103\n    host: 0.0.0.0\n    grace_seconds: 3\n");
    const file = await readSettingsFile(bundle);
    const env = { TESSERA_PORT: "8102", TESSERA_HOST: "::1" };
    const resolved = resolveSettings({ flags: { port: "8101" }, env, file });
    expect(resolved.problems).toEqual([]);
    expect(from(resolved, "port")).toEqual({ name: "port", value: 8101, source: "flag", from: "--port" });
    expect(from(resolved, "host")).toMatchObject({ value: "::1", source: "environment", from: "TESSERA_HOST" });
    expect(from(resolved, "grace_seconds")).toMatchObject({
      value: 3,
      source: "file",
      from: "tessera.yaml:8:5 (settings.grace_seconds)",
    });
    expect(from(resolved, "project")).toMatchObject({ value: "default", source: "default", from: null });
    expect(resolved.values.builtins).toBeUndefined();
  });

  it("of grants takes lines with a header at their end, and no other word there", () => {
    const at = (line: string) => resolveSettings({ flags: { credentials: line }, env: {}, file: null });
    const lines = ["A_KEY GET a.example/**", "B_KEY GET|POST b.example/x in x-api-key"];
    const { problems, settings } = at(lines.join(","));
    expect(problems).toEqual([]);
    expect(settings.find(({ name }) => name === "credentials")?.value).toEqual(lines);
    for (const end of ["in", "as x-api-key", "in x-api-key Bearer"]) {
      expect(at(`A_KEY GET a.example/** ${end}`).problems).toHaveLength(1);
    }
  });

  it("that is wrong is told with its place, what was found and what was expected, and all of them at once", async () => {
    writeYaml("    log_level: loud\n");
    const { problems } = resolveSettings({
      flags: { port: "80x", role: "api,cook" },
      env: { TESSERA_GRACE_SECONDS: "-1", TESSERA_PROJECT: "a b", TESSERA_ALLOW_UNCONFINED_SHELL: "maybe" },
      file: await readSettingsFile(bundle),
    });
    expect(problems.map(({ message }) => message).sort()).toEqual([
      '--port must be a whole number from 0 to 65535; it is "80x"',
      '--role must be a list of kernel, worker, pmo, tools, api, separated by commas; it is "api,cook"',
      'TESSERA_ALLOW_UNCONFINED_SHELL must be 1, true, yes, on, 0, false, no, off; it is "maybe"',
      'TESSERA_GRACE_SECONDS must be a number from 0 to 3600; it is "-1"',
      'TESSERA_PROJECT must be 1 to 64 letters, digits, _ and -; it is "a b"',
      'tessera.yaml:6:5 (settings.log_level) must be one of debug, info, warn, error; it is "loud"',
    ]);
  });

  it("counts as unset where its variable is empty, and may have a second name of its variable", () => {
    expect(resolveSettings({ env: { TESSERA_PORT: "" } }).values.port).toBe(8099);
    for (const on of ["1", "true", "YES", "on"]) {
      expect(resolveSettings({ env: { CG_ENABLE_GOD_API: on } }).values.god_api).toBe(true);
    }
    expect(resolveSettings({ env: { TESSERA_ENABLE_GOD_API: "off", CG_ENABLE_GOD_API: "on" } }).values.god_api).toBe(
      false,
    );
  });
});

describe("the place of a store", () => {
  it("is the flag's, whatever the environment names", () => {
    const env = { TESSERA_POSTGRES: "postgres://me@db/x", TESSERA_URL: "http://h:1" };
    const { values, problems } = resolveSettings({ flags: { data: "here" }, env });
    expect(problems).toEqual([]);
    expect(values).toMatchObject({ data: "here", postgres: undefined, url: undefined });
  });

  it("is not guessed where one source names two", () => {
    const env = { TESSERA_DATA: "d", TESSERA_POSTGRES: "postgres://me@db/x" };
    expect(resolveSettings({ env }).problems).toMatchObject([
      { message: "TESSERA_DATA and TESSERA_POSTGRES each name a store or a server; give one of them" },
    ]);
    const both = { TESSERA_DATA: "d", TESSERA_URL: "http://h:1" };
    expect(resolveSettings({ env: both, names: ["data", "postgres"] }).problems).toEqual([]);
  });

  it("is never shown with its password, in no message and no description", () => {
    const env = {
      TESSERA_POSTGRES: "postgres://me:hunter2@db/x?sslpassword=hunter2",
      TESSERA_NATS: "nats://hunter2@a:4222,nats://u:hunter2@b:4222,tls://hunter2@c:4222",
      TESSERA_API_KEY: "hunter2",
    };
    const resolved = resolveSettings({ env });
    const text = JSON.stringify(describeSettings(resolved));
    expect(text).not.toContain("hunter2");
    expect(text).toContain("postgres://me:***@db/x?sslpassword=***");
    const wrong = resolveSettings({ env: { TESSERA_POSTGRES: "mysql://me:hunter2@db/x", TESSERA_NATS: "hunter2" } });
    expect(wrong.problems).toHaveLength(2);
    expect(JSON.stringify(wrong.problems)).not.toContain("hunter2");
  });
});

describe("the file", () => {
  it("may be the config of the bundle, which decides over the Package key by key; paths are relative to it", async () => {
    writeYaml("    port: 1\n    data: ./from-yaml\n    builtins: [bash]\n");
    writeFileSync(join(bundle, "tessera.config.ts"), 'export default { settings: { data: "./store", port: 2 } };\n');
    const { values } = resolveSettings({ file: await readSettingsFile(bundle) });
    expect(values).toMatchObject({ port: 2, data: join(bundle, "store"), builtins: ["bash"] });
  });

  it("refuses a key that is no setting, with its place and the nearest name, and secrets", async () => {
    writeYaml("    prot: 1\n    api_key: x\n");
    await expect(readSettingsFile(bundle)).rejects.toMatchObject({
      code: "E_CONFIG_SCHEMA_INVALID",
      message: 'tessera.yaml:6:5: there is no setting "prot"; did you mean port?',
      details: { mistakes: [expect.anything(), { line: 7, message: expect.stringContaining("TESSERA_API_KEY") }] },
    });
    writeYaml("    port: 1\n");
    writeFileSync(join(bundle, "tessera.config.ts"), "export default { settings: { hots: '::1' } };\n");
    await expect(readSettingsFile(bundle)).rejects.toThrow(/tessera.config.ts:1:1: .* did you mean host\?/);
    const other = join(bundle, "other");
    mkdirSync(other);
    writeFileSync(join(other, "tessera.config.ts"), "export default { settings: [1] };\n");
    await expect(readSettingsFile(other)).rejects.toThrow(/settings that are no object/);
  });

  it("that sets nothing sets nothing", async () => {
    mkdirSync(join(bundle, "empty"));
    expect((await readSettingsFile(join(bundle, "empty"))).entries.size).toBe(0);
    expect((await readSettingsFile(join(bundle, "missing"))).entries.size).toBe(0);
  });
});

describe("the table", () => {
  it("names every flag, variable and key once, each variable by its prefix", () => {
    const all = (of: (name: (typeof SETTING_NAMES)[number]) => string | null) =>
      SETTING_NAMES.map(of).filter((each) => each !== null);
    for (const each of [all((n) => specOf(n).flag), all((n) => specOf(n).variable), all((n) => specOf(n).key)]) {
      expect(new Set(each).size).toBe(each.length);
    }
    for (const variable of all((n) => specOf(n).variable)) expect(variable).toMatch(/^TESSERA_[A-Z_]+$/);
    for (const name of SETTING_NAMES.filter((each) => specOf(each).isSecret)) {
      expect(SETTINGS[name]).toMatchObject({ flag: null, key: null });
    }
    expect(flagKey("--allow-unconfined-shell")).toBe("allowUnconfinedShell");
  });

  it("is the page of the reference, one row for each", () => {
    const page = settingsPage();
    for (const name of SETTING_NAMES) expect(page.split(`\n| \`${name}\` |`)).toHaveLength(2);
    expect(page).toContain("| `port` | `--port` | `TESSERA_PORT` | `port` | `8099` |");
  });

  it("makes the options of a process", () => {
    const { values } = resolveSettings({
      flags: { role: "api,kernel", data: "d" },
      env: { TESSERA_LEASE_SECONDS: "2" },
    });
    expect(processSettings(values)).toMatchObject({
      data: "d",
      project: "default",
      roles: ["api", "kernel"],
      leaseMs: 2_000,
      api: { host: "127.0.0.1", port: 8099 },
    });
  });

  it("ends a process that hangs before the lease of its turns lapses, where another process could take them up", () => {
    const hangMs = (flags: Record<string, string>, env = {}) =>
      processSettings(resolveSettings({ flags, env }).values).hangMs;
    const postgres = "postgres://me@db/x";
    expect(hangMs({ postgres })).toBe(10_000);
    expect(hangMs({ postgres })).toBeLessThan(LEASE_MS);
    expect(hangMs({ data: "d" })).toBe(30_000);
    expect(hangMs({ postgres }, { TESSERA_HANG_SECONDS: "0" })).toBe(0);
    expect(hangMs({ data: "d" }, { TESSERA_HANG_SECONDS: "7" })).toBe(7_000);
  });
});
