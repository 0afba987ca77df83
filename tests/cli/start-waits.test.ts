// `tessera start` when its servers are not there yet: it waits for the store, says so, and can be stopped meanwhile. A broker that
// is not there is no reason to wait.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openStore } from "@tessera/runtime";
import { freePort, type PostgresServer, startPostgres, waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { TESSERA } from "./run-tessera.ts";

const SLOW_MS = 240_000;
const quiet = { onWarning: () => {}, onFatal: () => {} };
let server: PostgresServer;
const children: ChildProcess[] = [];
beforeAll(async () => {
  server = await startPostgres();
  await (await openStore({ postgres: server.url, migrate: "yes", ...quiet })).close();
}, SLOW_MS);
afterEach(() => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
});
afterAll(() => server?.stop("immediate"), SLOW_MS);

function start(env: Readonly<Record<string, string>> = {}, more: readonly string[] = []) {
  const args = [TESSERA, "start", "--postgres", server.url, "--role", "kernel,api", "--port", "0", "--json", ...more];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  children.push(child);
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk) => (said.out += String(chunk)));
  child.stderr.on("data", (chunk) => (said.err += String(chunk)));
  const until = (what: string, isSaid: () => boolean) =>
    waitFor(isSaid, { what: `${what}: ${JSON.stringify(said)}`, timeoutMs: SLOW_MS / 3 });
  const exit = once(child, "exit");
  return { child, said, until, exit };
}

async function stop({ child, exit }: Pick<ReturnType<typeof start>, "child" | "exit">): Promise<unknown[]> {
  child.kill("SIGTERM");
  return await exit;
}

it(
  "waits for a PostgreSQL that starts late, and says what it waits for",
  async () => {
    await server.killPostmaster();
    const started = start();
    await started.until("waiting", () => started.said.err.includes("s for the store: "));
    expect(started.said.out).toBe("");
    await server.start();
    await started.until("started", () => started.said.out.includes('"event":"started"'));
    expect(started.said.err).toContain("the store is there");
    expect(await stop(started)).toEqual([0, null]);
  },
  SLOW_MS,
);

it(
  "waits for one that takes no writes at that moment",
  async () => {
    const setReadOnly = async (value: "on" | "off") => {
      const store = await openStore({ postgres: server.url, migrate: "no", ...quiet });
      await store.database.query(`alter system set default_transaction_read_only = ${value}`);
      await store.database.query("select pg_reload_conf()");
      await store.close();
    };
    await setReadOnly("on");
    const started = start();
    await started.until("waiting", () => started.said.err.includes("takes no writes now"));
    expect(started.said.out).toBe("");
    await setReadOnly("off");
    await started.until("started", () => started.said.out.includes('"event":"started"'));
    expect(await stop(started)).toEqual([0, null]);
  },
  SLOW_MS,
);

it(
  "ends when the store does not come in time, and at once when waiting cannot help",
  async () => {
    await server.killPostmaster();
    const late = start({ TESSERA_STORE_WAIT_SECONDS: "1" });
    expect(await late.exit).toEqual([4, null]);
    const told = start();
    await told.until("waiting", () => told.said.err.includes("waiting up to"));
    const before = performance.now();
    expect(await stop(told)).toEqual([4, null]);
    expect(performance.now() - before).toBeLessThan(15_000);
    await server.start();
    const wrong = start({}, ["--postgres", `${server.url.replace(/\/postgres$/, "/nowhere")}`]);
    expect((await wrong.exit)[0]).toBe(3);
    expect(wrong.said.err).not.toContain("waiting up to");
  },
  SLOW_MS,
);

it(
  "does not wait for a broker: it starts, degraded",
  async () => {
    const started = start({ TESSERA_NATS: `nats://127.0.0.1:${await freePort()}` });
    await started.until("started", () => started.said.out.includes('"event":"started"'));
    expect(started.said.out).toContain('"health":"degraded');
    expect(await stop(started)).toEqual([0, null]);
  },
  SLOW_MS,
);
