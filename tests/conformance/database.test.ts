// Both adapters of the `Database` port: the shared suite, then what only one of them can promise.
//
// The embedded store is opened by real child processes, which are killed; PostgreSQL is reached through a proxy that
// cuts, or through a server of its own that is restarted.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cachedSnapshot, findStoreHolder, openPglite, StoreLockedError } from "@tessera/engines/pglite";
import { openPostgres } from "@tessera/engines/postgres";
import type { Database, DatabaseError } from "@tessera/kernel/ports";
import {
  createTestDatabases,
  databaseConformance,
  type PostgresServer,
  startPostgres,
  startTcpProxy,
  TestChild,
  type TestEngine,
  waitFor,
} from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";

const STORE_CHILD = new URL("../../packages/testkit/test/store-child.ts", import.meta.url);
const SERVERS_CHILD = new URL("../../packages/testkit/test/servers-child.ts", import.meta.url);

const postgresUrl = inject("postgresUrl");

/** An empty store, ready to load: making one takes seconds, and most of these tests are not about that. */
const snapshot = await cachedSnapshot("empty", async () => {
  const database = await openPglite();
  const empty = await database.dumpSnapshot();
  await database.close();
  return empty;
});

databaseConformance("PGlite in memory", () => openPglite({ snapshot }));
databaseConformance("PGlite in a directory", () => openPglite({ directory: newDirectory(), snapshot }));
databaseConformance("PostgreSQL", () => openPostgres({ url: postgresUrl }));

const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

function newDirectory(): string {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), "tessera-store-"));
  directories.push(directory);
  return directory;
}

interface StoreEvent {
  readonly event: string;
  readonly ms?: number;
  readonly name?: string;
  readonly message?: string;
  readonly n?: number;
}

async function storeChild(
  directory: string,
  start: "from-snapshot" | "from-nothing" = "from-snapshot",
): Promise<TestChild> {
  const child = await TestChild.start(STORE_CHILD, { args: [directory, start] });
  onTestFinished(async () => {
    if (child.exit === null) await child.kill();
  });
  await child.waitForMessage<StoreEvent>("ready", ({ event }) => event === "ready");
  return child;
}

async function openIn(child: TestChild): Promise<StoreEvent> {
  child.send({ request: "open" });
  return await child.waitForMessage<StoreEvent>("opened or refused", ({ event }) => /opened|refused/.test(event));
}

async function openUntilTestEnds(directory: string): Promise<Database> {
  const database = await openPglite({ directory, snapshot });
  onTestFinished(() => database.close());
  return database;
}

describe("the lock on an embedded store", () => {
  test("a second process is refused within a second with the holder's name", async () => {
    const directory = newDirectory();
    const holder = await storeChild(directory);
    expect(await openIn(holder)).toMatchObject({ event: "opened" });
    const refused = await openIn(await storeChild(directory));
    expect(refused).toMatchObject({ event: "refused", name: "StoreLockedError" });
    expect(refused.message).toContain(`process ${holder.pid}`);
    expect(refused.message).toContain("stop that process");
    expect(refused.ms).toBeLessThan(1_000);
  });

  test("the same process is refused too, and the holder can say where its API is", async () => {
    const directory = newDirectory();
    const database = await openPglite({ directory, snapshot });
    database.announceApi("http://127.0.0.1:8099");
    const error = await openPglite({ directory }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreLockedError);
    expect((error as StoreLockedError).message).toContain("reach it at http://127.0.0.1:8099");
    expect(await findStoreHolder(directory)).toMatchObject({ pid: process.pid, apiUrl: "http://127.0.0.1:8099" });
    await database.close();
    expect(await findStoreHolder(directory)).toBeNull();
  });

  test("of ten processes that start at once exactly one gets the store, also after the last holder was killed", async () => {
    const directory = newDirectory();
    for (let round = 0; round < 3; round++) {
      const children = await Promise.all(Array.from({ length: 10 }, () => storeChild(directory)));
      const outcomes = await Promise.all(children.map(openIn));
      expect(outcomes.map(({ event }) => event).sort()).toEqual(["opened", ...Array(9).fill("refused")]);
      await Promise.all(children.map((child) => child.kill())); // the winner leaves its socket behind
      expect(readdirSync(join(directory, "lock")).filter((name) => name.endsWith(".sock"))).toHaveLength(1);
    }
  }, 120_000);

  test("a waiter for the lock gets it when the holder closes", async () => {
    const directory = newDirectory();
    const first = await openPglite({ directory, snapshot });
    const second = openPglite({ directory, lockTimeoutMs: 20_000 });
    await first.close();
    await (await second).close();
  });

  test("a directory whose path is too long for a socket is locked as well", async () => {
    const directory = join(newDirectory(), "d".repeat(120));
    const database = await openUntilTestEnds(directory);
    expect(await database.query("select 1 as v")).toEqual([{ v: 1 }]);
    await expect(openPglite({ directory })).rejects.toBeInstanceOf(StoreLockedError);
  });
});

describe("an embedded store whose process dies", () => {
  test("after kill -9 the directory opens at once and every acknowledged commit is there", async () => {
    const directory = newDirectory();
    for (let round = 1; round <= 5; round++) {
      const child = await storeChild(directory);
      expect(await openIn(child)).toMatchObject({ event: "opened" });
      child.send({ request: "write" });
      await waitFor(() => child.messages.length > round * 30, { what: "commits" });
      await child.kill();
      const acknowledged = Math.max(...child.messages.map((message) => (message as StoreEvent).n ?? 0));
      const started = performance.now();
      const database = await openPglite({ directory });
      expect(performance.now() - started).toBeLessThan(5_000);
      const [row] = await database.query<{ rows: number; last: number }>(
        "select count(*) as rows, max(n) as last from written",
      );
      await database.close();
      expect(row?.rows).toBe(row?.last); // no gaps
      expect(row?.last).toBeGreaterThanOrEqual(acknowledged);
    }
  }, 90_000);

  test("a process killed during the first start leaves nothing that the next one trips over", async () => {
    for (let hits = 0; hits < 3; ) {
      const directory = newDirectory();
      const isFinished = () => existsSync(join(directory, "store"));
      const child = await storeChild(directory, hits === 0 ? "from-nothing" : "from-snapshot");
      child.send({ request: "open" });
      const isBegun = () => isFinished() || readdirSync(directory).some((name) => name.startsWith("store.tmp-"));
      await waitFor(isBegun, { what: "a half-written store", intervalMs: 1 });
      await child.kill();
      if (isFinished()) continue; // the kill came too late
      hits += 1;
      const database = await openPglite({ directory });
      expect(await database.query("select 1 as v")).toEqual([{ v: 1 }]);
      await database.close();
      expect(readdirSync(directory).sort()).toEqual(["lock", "store"]);
    }
  }, 60_000);

  test("a store that is no database is refused, not replaced", async () => {
    const directory = newDirectory();
    mkdirSync(join(directory, "store", "base"), { recursive: true });
    await expect(openPglite({ directory })).rejects.toThrow("PG_VERSION is missing");
    expect(existsSync(join(directory, "store", "base"))).toBe(true);
    await expect(openPglite({ directory })).rejects.toThrow("PG_VERSION is missing"); // and the lock was given back
  });

  test("a WASM abort is fatal: every later call fails at once, it is reported once, and a restart recovers", async () => {
    const directory = newDirectory();
    const child = await storeChild(directory);
    await openIn(child);
    child.send({ request: "break" });
    const broke = await child.waitForMessage<StoreEvent>("broke", ({ event }) => event === "broke");
    expect(broke).toMatchObject({ first: "fatal", second: "fatal", fatalCalls: 1 });
    expect(await child.ended()).toEqual({ code: 70, signal: null });
    const database = await openUntilTestEnds(directory);
    expect(await database.query("select count(*) as v from written")).toEqual([{ v: 0 }]);
  });

  test("a fatal error inside a transaction keeps none of it, and close gives the directory back", async () => {
    const directory = newDirectory();
    const broken = await openPglite({ directory, snapshot });
    await broken.script("create table kept (n int8)");
    const deep = "[".repeat(20_000) + "]".repeat(20_000);
    const work = broken.transaction(async (tx) => {
      await tx.query("insert into kept values (1)");
      await tx.query("select $1::jsonb", [deep]);
    });
    await expect(work).rejects.toMatchObject({ kind: "fatal" });
    await broken.close();
    const database = await openUntilTestEnds(directory);
    expect(await database.query("select count(*) as v from kept")).toEqual([{ v: 0 }]);
  });
});

describe("snapshots of an embedded store", () => {
  test("a snapshot starts a new store in memory and in a directory, and is ignored by one that exists", async () => {
    const source = await openPglite({ snapshot });
    await source.script("create table item (n int8); insert into item values (1)");
    const prepared = await source.dumpSnapshot();
    expect(prepared.byteLength).toBeLessThan(16_000_000); // 11 MB; each start of a new store copies it
    await source.query("insert into item values (2)");
    await source.close();
    const directory = newDirectory();
    for (const options of [{}, { directory }]) {
      const copy = await openPglite({ ...options, snapshot: prepared });
      expect(await copy.query("select n from item")).toEqual([{ n: 1 }]);
      await copy.query("insert into item values (3)");
      await copy.close();
    }
    const again = await openPglite({ directory, snapshot: prepared });
    expect(await again.query("select n from item order by n")).toEqual([{ n: 1 }, { n: 3 }]);
    await again.close();
  });

  test("the database itself is refused inside its transaction, where it would wait for ever", async () => {
    const database = await openPglite({ snapshot });
    onTestFinished(() => database.close());
    const work = database.transaction(async () => await database.query("select 1"));
    await expect(work).rejects.toThrow("use the statements handed to the transaction");
  });
});

describe("connections to PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  async function openServer(options: { url?: string; statementTimeoutMs?: number; warnings?: string[] } = {}) {
    const { url = server.url, warnings = [], ...rest } = options;
    const database = await openPostgres({ url, onWarning: (message) => warnings.push(message), ...rest });
    onTestFinished(() => database.close());
    return database;
  }

  const failure = (call: Promise<unknown>) =>
    call.then(
      () => null,
      (error: DatabaseError) => error,
    );
  const answers = async (database: Database) => (await database.query("select 1 as v"))[0]?.v === 1;

  test("a backend that is terminated under a statement is connection_lost, and the next statement works", async () => {
    const database = await openServer();
    const error = await failure(database.query("select pg_terminate_backend(pg_backend_pid())"));
    expect(error).toMatchObject({ kind: "connection_lost", sqlstate: "57P01" });
    expect(await answers(database)).toBe(true);
  });

  test("idle connections that are terminated do no harm", async () => {
    const warnings: string[] = [];
    const database = await openServer({ warnings });
    await Promise.all(Array.from({ length: 5 }, () => database.query("select pg_sleep(0.01)")));
    const admin = await openServer();
    const killed = await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
    );
    expect(killed.length).toBeGreaterThanOrEqual(5);
    await waitFor(() => warnings.length >= 5, { what: "the pool to notice" });
    expect(await answers(database)).toBe(true);
  });

  test.each(["fast", "immediate"] as const)("a %s restart of the server is survived", async (mode) => {
    const database = await openServer();
    const running = failure(database.query("select pg_sleep(30)"));
    await waitFor(
      async () => {
        const rows = await database.query(
          "select from pg_stat_activity where query = 'select pg_sleep(30)' and state = 'active'",
        );
        return rows.length > 0;
      },
      { what: "the statement to run" },
    );
    const pid = server.pid;
    await server.restart(mode);
    expect(server.pid).not.toBe(pid);
    expect(await running).toMatchObject({ kind: "connection_lost" });
    await waitFor(() => answers(database), { what: "the database to answer again" });
  });

  test("while the postmaster is dead statements are unavailable, and afterwards they work", async () => {
    const database = await openServer();
    await server.killPostmaster();
    const error = await waitFor(
      async () => {
        const seen = await failure(database.query("select 1"));
        return seen?.kind === "unavailable" ? seen : null;
      },
      { what: "unavailable" },
    );
    expect(error.message).toContain("cannot connect to PostgreSQL");
    await server.start();
    await waitFor(() => answers(database), { what: "the database to answer again" });
  });

  test("a connection cut while the answer is on its way is connection_lost, though the statement happened", async () => {
    const direct = await openServer();
    await direct.script("create table if not exists effect (n int8); truncate effect");
    const proxy = await startTcpProxy({ port: server.port });
    onTestFinished(() => proxy.close());
    const database = await openServer({ url: `postgres://postgres@127.0.0.1:${proxy.port}/postgres` });
    proxy.set({ kind: "cut-after", bytes: 3, direction: "to-client" });
    expect(await failure(database.query("insert into effect values (1)"))).toMatchObject({ kind: "connection_lost" });
    expect(proxy.counters.cut).toBe(1);
    proxy.set({ kind: "pass" });
    expect(await database.query("select n from effect")).toEqual([{ n: 1 }]);
  });

  test("a server that refuses connections is unavailable, and an unknown role is forbidden", async () => {
    const proxy = await startTcpProxy({ port: server.port });
    onTestFinished(() => proxy.close());
    proxy.set({ kind: "refuse" });
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    expect(await failure(openPostgres({ url }))).toMatchObject({ kind: "unavailable" });
    expect(proxy.counters.refused).toBe(1);
    const unknown = server.url.replace("postgres@", "unknown_user@");
    expect(await failure(openPostgres({ url: unknown }))).toMatchObject({ kind: "forbidden", sqlstate: "28000" });
  });

  test("a peer that falls silent is noticed after the deadline", async () => {
    const proxy = await startTcpProxy({ port: server.port });
    onTestFinished(() => proxy.close());
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    const database = await openServer({ url, statementTimeoutMs: 1_000 });
    proxy.set({ kind: "black-hole", direction: "to-client" });
    expect(await failure(database.query("select 1"))).toMatchObject({ kind: "connection_lost" });
    expect(proxy.counters.bytesSwallowed).toBeGreaterThan(0);
    proxy.set({ kind: "pass" });
    expect(await answers(database)).toBe(true);
  });

  test("a handle is closed though its idle peer never hangs up", async () => {
    const proxy = await startTcpProxy({ port: server.port });
    onTestFinished(() => proxy.close());
    const database = await openPostgres({ url: `postgres://postgres@127.0.0.1:${proxy.port}/postgres` });
    proxy.strand();
    expect(proxy.counters.stranded).toBe(1);
    await database.close();
  });

  test("a statement that exceeds its time is ended by the server", async () => {
    const database = await openServer({ statementTimeoutMs: 500 });
    expect(await failure(database.query("select pg_sleep(20)"))).toMatchObject({
      kind: "statement",
      sqlstate: "57014",
    });
    await database.script("select pg_sleep(0.7)"); // a migration may take its time
    await database.transaction(async (tx) => await tx.query("select pg_sleep(0.7)"));
    expect(await failure(database.query("select pg_sleep(20)"))).toMatchObject({ sqlstate: "57014" });
  });

  test("of two statements that deadlock both succeed, because the loser is repeated", async () => {
    const warnings: string[] = [];
    const database = await openServer({ warnings });
    const lockBoth = (first: number, second: number) =>
      database.query(
        `do $$ begin perform pg_advisory_xact_lock(${first}); perform pg_sleep(0.5); perform pg_advisory_xact_lock(${second}); end $$`,
      );
    await Promise.all([1, 2].map(() => database.query("select pg_sleep(0.05)"))); // both connections are there
    await Promise.all([lockBoth(1, 2), lockBoth(2, 1)]);
    expect(warnings.filter((message) => message.includes("repeated"))).not.toEqual([]);
  });

  test("a retryable error that does not go away is reported after a bounded number of attempts", async () => {
    const database = await openServer();
    await database.script("create sequence if not exists attempts; alter sequence attempts restart");
    const text = "do $$ begin perform nextval('attempts'); raise exception 'again' using errcode = '40001'; end $$";
    expect(await failure(database.query(text))).toMatchObject({ kind: "retryable" });
    expect(await database.query("select last_value as v from attempts")).toEqual([{ v: 6 }]);
  });

  test("a closed database leaves no connection behind", async () => {
    const database = await openPostgres({ url: server.url, applicationName: "leaves-nothing" });
    await Promise.all(Array.from({ length: 8 }, () => database.query("select pg_sleep(0.01)")));
    await database.close();
    const admin = await openServer();
    const left = "select count(*)::int4 as v from pg_stat_activity where application_name = 'leaves-nothing'";
    await waitFor(async () => (await admin.query(left))[0]?.v === 0, { what: "no connection" });
  });
});

describe.each<TestEngine>(["pglite", "postgres"])("test databases on %s", (engine) => {
  const databases = createTestDatabases({
    engine,
    ...(engine === "postgres" ? { postgresUrl } : {}),
    digest: "database.test.ts 1",
    prepareServer: async (database) => {
      const known = await database.query("select 1 from pg_roles where rolname = 'tessera_test_guest'");
      if (known.length === 0) await database.query("create role tessera_test_guest login");
    },
    prepare: async (database) => {
      await database.script(
        "create table item (n int8); insert into item values (1); grant select on item to tessera_test_guest",
      );
    },
  });

  test("each is prepared and sees nothing of the others", async () => {
    const [first, second] = await Promise.all([databases.open(), databases.open()]);
    onTestFinished(async () => void (await Promise.all([first.close(), second.close()])));
    await first.database.query("insert into item values (2)");
    expect(await second.database.query("select n from item")).toEqual([{ n: 1 }]);
  });

  test("another handle sees the same store, with its own role where roles are distinct", async () => {
    const opened = await databases.open();
    onTestFinished(() => opened.close());
    const guest = await opened.another({ user: "tessera_test_guest" });
    expect(await guest.query("select n from item")).toEqual([{ n: 1 }]);
    const insert = guest.query("insert into item values (3)").then(
      () => "done",
      (error: DatabaseError) => error.kind,
    );
    expect(await insert).toBe(guest.capabilities.roles ? "forbidden" : "done");
  });
});

test("servers die with the process that started them and take their directories along", async () => {
  const child = await TestChild.start(SERVERS_CHILD);
  const { pids, directories: made } = await child.waitForMessage<{ pids: number[]; directories: string[] }>(
    "started",
    () => true,
  );
  expect(pids.every(isRunning)).toBe(true);
  await child.kill();
  await waitFor(() => !pids.some(isRunning), { what: "both servers to end" });
  await waitFor(() => !made.some((directory) => existsSync(directory)), { what: "their directories to vanish" });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
