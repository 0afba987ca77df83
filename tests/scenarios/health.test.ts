// Readiness follows the servers behind a process: degraded without the broker, or with one that takes nothing, unready without
// the database, and ready again once they are back (docs/design.md#messages-are-hints).

import { DiscardPolicy, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { streamsOf } from "@tessera/protocol";
import { createTessera, defineTool, openStore, type Tessera } from "@tessera/runtime";
import { type NatsServer, type PostgresServer, startNats, startPostgres, waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

const TEST_MS = 120_000;
const quiet = { onWarning: () => {}, onFatal: () => {} };
let postgres: PostgresServer;
let nats: NatsServer;
let tessera: Tessera;
const log: string[] = [];

const echo = defineTool({ name: "echo", effect: "read", placement: "service", handler: (_, input) => input });

beforeAll(async () => {
  [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
  await (await openStore({ postgres: postgres.url, migrate: "yes", ...quiet })).close();
  tessera = await createTessera({
    ...{ postgres: postgres.url, nats: nats.url, tools: [echo], log: (line) => void log.push(line) },
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

/** A stream of commands that takes `max_msgs` messages and no more, and how many it holds. */
async function boundCommands(max_msgs: number, { isNew = false } = {}): Promise<() => Promise<number>> {
  const [commands] = streamsOf().filter(({ filter }) => filter.endsWith(".cmd.>"));
  const name = commands?.name ?? "";
  const nc = await connect({ servers: nats.url });
  const jsm = await jetstreamManager(nc);
  if (isNew) await jsm.streams.delete(name);
  const config = { max_msgs, discard: DiscardPolicy.New };
  if (isNew) await jsm.streams.add({ name, subjects: [commands?.filter ?? ""], ...config });
  else await jsm.streams.update(name, config);
  await nc.close();
  return async () => {
    const asking = await connect({ servers: nats.url });
    const { state } = await (await jetstreamManager(asking)).streams.info(name);
    await asking.close();
    return state.messages;
  };
}

test("a stream that takes no more messages makes it degraded and says what to do; calls go on; with room again it is well", {
  timeout: TEST_MS,
}, async () => {
  await untilReady({ http: 200, status: "ok", unwell: [] });
  const held = await boundCommands(5, { isNew: true });
  const said = log.length;
  for (let n = 0; n < 6; n += 1) {
    const answer = await tessera.callTool("echo", { n }, { waitMs: TEST_MS / 4 });
    expect(answer).toMatchObject({ status: "success", result: { n } });
  }
  expect(await held()).toBe(5); // it is full
  await untilReady({ http: 200, status: "degraded", unwell: ["bus"] });
  const bus = (await tessera.health()).checks.find(({ name }) => name === "bus");
  expect(bus?.says).toMatch(
    /the stream cg_cmd_v1r4 of NATS refuses messages \(maximum messages exceeded\).*discard: old/,
  );

  const before = performance.now();
  expect(await tessera.callTool("echo", { n: 7 }, { waitMs: TEST_MS / 4 })).toMatchObject({ status: "success" });
  expect(performance.now() - before).toBeLessThan(6_000); // three hops; each cost six seconds before
  expect(
    log.slice(said).filter((line) => line.includes("refuses messages (") && !line.includes("cannot publish")),
  ).toHaveLength(1);

  await boundCommands(1_000);
  await untilReady({ http: 200, status: "ok", unwell: [] });
  expect(log.slice(said).filter((line) => line.includes("take messages again"))).toHaveLength(1);
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
