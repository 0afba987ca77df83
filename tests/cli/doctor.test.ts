// `tessera doctor` on real servers, and without any.

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApi, openNode, openStore } from "@tessera/runtime";
import { type NatsServer, type PostgresServer, startNats, startPostgres } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { type Ran, ROOT, runTessera, STACK_TRACE } from "./run-tessera.ts";

/** The first test runs the whole command as a process, and all of them look at servers. */
const SLOW_MS = 120_000;
const ROLES_SQL = readFileSync(join(ROOT, "deploy/roles.sql"), "utf8");
const quiet = { onWarning: () => {}, onFatal: () => {} };
let directory = "";
let postgres: PostgresServer;
let nats: NatsServer;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tessera-doctor-"));
  [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
});
afterAll(async () => {
  await Promise.all([postgres.stop("fast"), nats.stop()]);
  rmSync(directory, { recursive: true, force: true });
});

interface Told {
  readonly ok: boolean;
  readonly checks: readonly { name: string; status: string; found: string; fix: string | null; fault: string | null }[];
  readonly settings: readonly { name: string; value: string; source: string }[];
}

async function doctor(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Told & { exitCode: Ran["exitCode"] }> {
  const { exitCode, out, err } = await runHere(["doctor", "--port", "0", "--json", ...args], { env });
  expect(err).toBe("");
  const told: Told = JSON.parse(out);
  for (const { status, fix } of told.checks) expect(fix === null).toBe(status === "ok");
  return { exitCode, ...told };
}

const named = ({ checks }: Told, name: string) => checks.filter((check) => check.name === name);

describe("without a store", { timeout: SLOW_MS }, () => {
  it("looks at the machine and the bundle, and prints the settings with their sources", async () => {
    const text = await runTessera(["doctor", join(ROOT, "examples/swarm"), "--port", "0"], { TESSERA_PROJECT: "p" });
    expect(text).toMatchObject({ exitCode: 0, err: "" });
    expect(text.out).toMatch(/^ok {4}node +Node 2\d\..* at \//);
    expect(text.out).toMatch(/^ok {4}bundle +2 agents, 2 tools: no mistakes$/m);
    expect(text.out).toMatch(/^ {2}project +p +TESSERA_PROJECT$/m);
    expect(text.out).toMatch(/^ {2}port +0 +--port$/m);
    expect(text.out).toMatch(/^\d+ checks, nothing failed/m);
    expect(text.out).not.toMatch(/ default$/m);
    expect(text.out).toMatch(/^ {2}\d+ more at their defaults; --all shows them$/m);
    const all = await runHere(["doctor", "--port", "0", "--all"]);
    expect(all.out).toMatch(/^ {2}project +default +default$/m);
    expect(all.out).not.toContain("--all");
  });

  it("says which variables a bundle needs, and fails for one with mistakes", async () => {
    const file = join(directory, "model.yaml");
    const yaml = (spec: string) => `apiVersion: goondan.ai/v1\nkind: Model\nmetadata: { name: m }\nspec: { ${spec} }\n`;
    writeFileSync(file, yaml("provider: openai, model: m, apiKey: { valueFrom: { env: NO_SUCH_KEY } }"));
    const missing = await doctor([file]);
    expect(missing.exitCode).toBe(0);
    expect(named(missing, "environment")).toMatchObject([
      { status: "warn", found: expect.stringContaining("NO_SUCH_KEY") },
    ]);
    writeFileSync(file, yaml("provider: nobody, model: m"));
    expect(await doctor([file])).toMatchObject({ exitCode: 3, ok: false });
  });
});

describe("on a directory", { timeout: SLOW_MS }, () => {
  it("does not make one, finds one that is sound, and asks its holder", async () => {
    const data = join(directory, "store");
    expect(named(await doctor(["--data", data]), "directory")[0]?.found).toContain("is not there yet");
    await (await openStore({ data, ...quiet })).close();
    const sound = await doctor(["--data", data]);
    expect(sound.exitCode).toBe(0);
    for (const name of ["directory", "disk", "database", "migrations", "executors", "workers", "api keys"]) {
      expect(named(sound, name), name).toMatchObject([{ status: "ok" }]);
    }

    const node = await openNode({ data, ...quiet });
    const api = await openApi({ node, port: 0, onWarning: () => {} });
    chmodSync(join(data, "key"), 0o644);
    const held = await doctor(["--data", data]);
    expect(named(held, "holder")).toMatchObject([
      { status: "ok", found: expect.stringContaining(`process ${process.pid}`) },
    ]);
    expect(named(held, "holder")[0]?.found).toContain("stored keys were not looked at");
    expect(named(held, "key file")).toMatchObject([{ status: "fail", fault: "configuration" }]);
    expect(held.exitCode).toBe(3);

    const reached = await doctor(["--url", api.url], { TESSERA_API_KEY: api.key.text });
    expect(reached.exitCode, JSON.stringify(reached.checks)).toBe(0);
    expect(named(reached, "key")).toMatchObject([{ status: "ok" }]);
    expect(named(reached, "store")).toMatchObject([{ found: expect.stringContaining("left to the server") }]);
    expect(await doctor(["--url", api.url], { TESSERA_API_KEY: "tsk_wrong" })).toMatchObject({ exitCode: 3 });
    await api.close();
    await node.close();
  });
});

describe("on PostgreSQL and NATS", { timeout: SLOW_MS }, () => {
  it("says what to migrate, then finds everything, and warns of a superuser and an open broker", async () => {
    const store = ["--postgres", postgres.url, "--nats", nats.url];
    const before = await doctor(store);
    expect(before.exitCode).toBe(3);
    expect(named(before, "migrations")).toMatchObject([
      { status: "fail", fix: expect.stringContaining("tessera migrate") },
    ]);
    expect((await runHere(["migrate", "--postgres", postgres.url])).exitCode).toBe(0);

    const after = await doctor(store);
    expect(after.exitCode, JSON.stringify(after.checks)).toBe(0);
    expect(named(after, "database")[0]?.found).toMatch(/PostgreSQL 1[5-9]$/);
    expect(named(after, "clock")).toMatchObject([{ status: "ok" }]);
    expect(named(after, "migrations")).toMatchObject([{ status: "ok" }]);
    expect(named(after, "jetstream")).toMatchObject([{ status: "ok" }]);
    expect(named(after, "login")).toMatchObject([
      { status: "warn", found: "the server accepts every connection without authentication" },
    ]);
    expect(named(after, "role")).toHaveLength(1);
  });

  it("warns where a transaction of a tool's login could outlive its session", async () => {
    const server = await startPostgres({ settings: { max_prepared_transactions: "2" } });
    try {
      const { url } = server;
      const store = await openStore({ postgres: url, migrate: "yes", ...quiet });
      await store.database.script(`${ROLES_SQL}; create role prepares_tool login in role tessera_tool`);
      await store.close();
      const [watchdog] = named(await doctor(["--postgres", url]), "watchdog");
      expect(watchdog).toMatchObject({ status: "warn", found: expect.stringContaining("max_prepared_transactions") });
    } finally {
      await server.stop("immediate");
    }
  });

  it("warns of a tool's and a reader's login that may take every connection, until each has a limit", async () => {
    const server = await startPostgres();
    try {
      const { url } = server;
      const store = await openStore({ postgres: url, migrate: "yes", ...quiet });
      await store.database.script(`${ROLES_SQL};
        create role a_tool login in role tessera_tool; create role b_reader login in role tessera_api_ro;
        create role c_tool login connection limit 5 in role tessera_tool; create role our_worker login in role tessera_worker`);
      expect(named(await doctor(["--postgres", url]), "logins")).toMatchObject([
        { status: "warn", found: expect.stringMatching(/^a_tool, b_reader: /), fix: expect.stringContaining("a_tool") },
      ]);
      await store.database.script("alter role a_tool connection limit 5; alter role b_reader connection limit 5");
      await store.close();
      expect(named(await doctor(["--postgres", url]), "logins")).toEqual([]);
    } finally {
      await server.stop("immediate");
    }
  });

  it("that are away exits 4 and prints no password", async () => {
    const args = ["--postgres", "postgres://me:secret@127.0.0.1:1/d", "--nats", "nats://me:secret@127.0.0.1:1"];
    const { exitCode, out, err } = await runHere(["doctor", "--port", "0", ...args]);
    expect({ exitCode, err }).toEqual({ exitCode: 4, err: "" });
    expect(out).toContain("2 failed");
    expect(out).not.toContain("secret");
    expect(out).not.toMatch(STACK_TRACE);
  });
});

it("given two stores says so and still looks at the rest", async () => {
  const both = await doctor(["--data", join(directory, "x"), "--postgres", "postgres://h/d"]);
  expect(both.exitCode).toBe(3);
  expect(named(both, "settings")).toMatchObject([
    { status: "fail", found: expect.stringContaining("give one of them") },
  ]);
  expect(named(both, "node")).toHaveLength(1);
});
