// A store that cannot be written makes a process unready, although every read is answered; and ready again, by itself, once it
// can be.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTessera, defineTool, openStore, type Tessera } from "@tessera/runtime";
import { type PostgresServer, startPostgres, waitFor } from "@tessera/testkit";
import { afterEach, expect, test } from "vitest";

const TEST_MS = 180_000;
const quiet = { onWarning: () => {}, onFatal: () => {} };
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
}, TEST_MS);

/** Longer than what is left of any page, and of no use to compression. */
const words = (n: number) =>
  Array.from({ length: 20_000 }, (_, at) => ((at * 7_919 + n) % 99_991).toString(36)).join(" ");
const echo = defineTool({ name: "echo", effect: "read", placement: "inline", handler: (_, input) => input });

async function open(store: { postgres: string } | { data: string }): Promise<{ tessera: Tessera; log: string[] }> {
  const log: string[] = [];
  const tessera = await createTessera({
    ...store,
    ...{ tools: [echo], log: (line: string) => void log.push(line), api: { port: 0 }, onFatal: () => {} },
  });
  closing.push(() => tessera.close({ graceMs: 0 }).catch(() => undefined));
  return { tessera, log };
}

async function ready({ client }: Tessera): Promise<number> {
  const answer = await fetch(`${client?.url}/health/ready`);
  await answer.body?.cancel();
  return answer.status;
}

async function untilReady(tessera: Tessera, status: number): Promise<void> {
  const limits = { what: `readiness ${status}`, timeoutMs: TEST_MS / 3, intervalMs: 250 };
  await waitFor(async () => (await ready(tessera)) === status, limits);
}

const saysOf = async (tessera: Tessera) => (await tessera.health()).checks.find(({ name }) => name === "store")?.says;

/** A small file system of its own, and what takes the rest of it. */
function smallDisk(megabytes: number) {
  const at = mkdtempSync(join(tmpdir(), "tessera-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", at]);
  closing.push(() => {
    execFileSync("umount", ["-l", at]);
    rmSync(at, { recursive: true, force: true });
  });
  const filler = join(at, "filler");
  return {
    at,
    fill() {
      const { bavail, bsize } = statfsSync(at);
      writeFileSync(filler, Buffer.alloc(bavail * bsize, 1));
      expect(statfsSync(at).bavail).toBe(0); // it is full
    },
    empty: () => rmSync(filler),
  };
}

/** Only root may mount; elsewhere the read-only store stands for it. */
const mayMount = process.platform === "linux" && process.getuid?.() === 0;

test.runIf(mayMount)(
  "a PostgreSQL whose disk is full makes the process unready while it lasts, said once",
  { timeout: TEST_MS },
  async () => {
    const disk = smallDisk(320);
    const directory = join(disk.at, "pg");
    mkdirSync(directory, { mode: 0o700 });
    const server = await startPostgres({ directory, settings: { min_wal_size: "64MB", max_wal_size: "64MB" } });
    closing.push(() => server.stop("immediate"));
    await (await openStore({ postgres: server.url, migrate: "yes", ...quiet })).close();
    const { tessera, log } = await open({ postgres: server.url });
    await untilReady(tessera, 200);

    disk.fill();
    await waitFor(
      async () => {
        const refused = await tessera.callTool("echo", { words: words(1) }, { waitMs: 1_000 }).then(
          () => null,
          (error: unknown) => error,
        );
        return refused !== null || log.some((line) => line.includes("disk of the database is full"));
      },
      { what: "a write that finds no room", timeoutMs: TEST_MS / 3 },
    );
    await untilReady(tessera, 503);
    expect(await saysOf(tessera)).toMatch(/the disk of the database is full.*make room/);

    disk.empty();
    await untilReady(tessera, 200);
    const answer = await tessera.callTool("echo", { words: words(2) }, { waitMs: TEST_MS / 3 });
    expect(answer).toMatchObject({ status: "success" });
    expect(log.filter((line) => line.includes("the disk of the database is full"))).toHaveLength(1);
    expect(log.filter((line) => line.includes("takes writes again"))).toHaveLength(1);
  },
);

test.runIf(mayMount)(
  "an embedded store whose disk is full makes the process unready while it lasts",
  { timeout: TEST_MS },
  async () => {
    const disk = smallDisk(256);
    const { tessera, log } = await open({ data: join(disk.at, "data") });
    await untilReady(tessera, 200);
    disk.fill();
    let n = 10;
    await waitFor(
      async () => {
        n += 1;
        await tessera.callTool("echo", { words: words(n) }, { waitMs: 1_000 }).catch(() => undefined);
        return log.some((line) => line.includes("disk of the database is full"));
      },
      { what: `a write that finds no room; ${log.slice(-3).join("; ")}`, timeoutMs: TEST_MS / 3 },
    );
    await untilReady(tessera, 503);
    disk.empty();
    await untilReady(tessera, 200);
    expect(await tessera.callTool("echo", { n: 1 }, { waitMs: TEST_MS / 3 })).toMatchObject({ status: "success" });
  },
);

async function setReadOnly(server: PostgresServer, isReadOnly: boolean): Promise<void> {
  const store = await openStore({ postgres: server.url, migrate: "no", ...quiet });
  await store.database.script("set default_transaction_read_only = off");
  await store.database.query(`alter system set default_transaction_read_only = ${isReadOnly ? "on" : "off"}`);
  await store.database.query("select pg_reload_conf()");
  await store.close();
  await waitFor(
    async () => {
      const probe = await openStore({ postgres: server.url, migrate: "no", ...quiet });
      const [row] = await probe.database.query("select current_setting('transaction_read_only') as now");
      await probe.close();
      return row?.now === (isReadOnly ? "on" : "off");
    },
    { what: `the server to be ${isReadOnly ? "read-only" : "writable"}`, timeoutMs: TEST_MS / 6 },
  );
}

test("a PostgreSQL that takes no writes makes the process unready while it lasts", { timeout: TEST_MS }, async () => {
  const server = await startPostgres();
  closing.push(() => server.stop("immediate"));
  await (await openStore({ postgres: server.url, migrate: "yes", ...quiet })).close();
  const { tessera } = await open({ postgres: server.url });
  await untilReady(tessera, 200);
  await setReadOnly(server, true);
  await untilReady(tessera, 503);
  expect(await saysOf(tessera)).toContain("takes no writes");
  await setReadOnly(server, false);
  await untilReady(tessera, 200);
  expect(await tessera.callTool("echo", { n: 3 }, { waitMs: TEST_MS / 3 })).toMatchObject({ status: "success" });
});
