// Readiness follows the servers behind a process: degraded without the broker, unready without the database, and ready
// again once they are back (design D4: the bus only rings).

import { createTessera, defineTool, openStore, type Tessera } from "@tessera/runtime";
import { type NatsServer, type PostgresServer, startNats, startPostgres, waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

const TEST_MS = 120_000;
const quiet = { onWarning: () => {}, onFatal: () => {} };
let postgres: PostgresServer;
let nats: NatsServer;
let tessera: Tessera;

const echo = defineTool({ name: "echo", effect: "read", placement: "service", handler: (_, input) => input });

beforeAll(async () => {
  [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
  await (await openStore({ postgres: postgres.url, migrate: "yes", ...quiet })).close();
  tessera = await createTessera({
    ...{ postgres: postgres.url, nats: nats.url, tools: [echo], log: () => {} },
    api: { port: 0 },
  });
}, TEST_MS);
afterAll(async () => {
  await tessera?.close({ graceMs: 0 }).catch(() => undefined);
  await Promise.all([postgres?.stop("immediate"), nats?.stop()]);
}, TEST_MS);

/** What a load balancer sees, and what the checks say. */
async function ready(): Promise<{ http: number; status: string; unwell: string[] }> {
  const { status, checks } = await tessera.health();
  const answer = await fetch(`${tessera.client?.url}/health/ready`);
  await answer.body?.cancel();
  return { http: answer.status, status, unwell: checks.filter((each) => each.status !== "ok").map(({ name }) => name) };
}

async function untilReady(expected: Awaited<ReturnType<typeof ready>>): Promise<void> {
  await waitFor(async () => JSON.stringify(await ready()) === JSON.stringify(expected), {
    what: `health ${JSON.stringify(expected)}`,
    timeoutMs: TEST_MS / 2,
    intervalMs: 250, // the server limits how often an address may ask
  });
}

test("without the broker a process is degraded and still does its work; with it, it is well again", {
  timeout: TEST_MS,
}, async () => {
  await untilReady({ http: 200, status: "ok", unwell: [] });
  await nats.kill();
  await untilReady({ http: 200, status: "degraded", unwell: ["bus"] });
  const answer = await tessera.callTool("echo", { a: 1 }, { waitMs: TEST_MS / 2 });
  expect(answer).toMatchObject({ status: "success", result: { a: 1 } });
  await nats.start();
  await untilReady({ http: 200, status: "ok", unwell: [] });
});

test("without the database a process is unready and alive; with it, it is well again and goes on", {
  timeout: TEST_MS,
}, async () => {
  await untilReady({ http: 200, status: "ok", unwell: [] });
  await postgres.killPostmaster();
  await untilReady({ http: 503, status: "unready", unwell: ["store"] });
  expect((await fetch(`${tessera.client?.url}/health/live`)).status).toBe(200);
  await postgres.start();
  await untilReady({ http: 200, status: "ok", unwell: [] });
  const answer = await tessera.callTool("echo", { b: 2 }, { waitMs: TEST_MS / 2 });
  expect(answer).toMatchObject({ status: "success", result: { b: 2 } });
});
