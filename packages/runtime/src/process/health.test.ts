import type { Bus, BusHealth, Database } from "@tessera/kernel";
import { DatabaseError } from "@tessera/kernel";
import { VirtualClock } from "@tessera/testkit";
import { expect, it } from "vitest";
import { createHealth, type HealthOptions } from "./health.ts";
import { openNode } from "./open-node.ts";

const connected: BusHealth = { connected: true, connections: 1, warnings: [] };

/** A node whose database answers with what it is given, and whose bus is as it is told. */
function nodeWith(query: () => Promise<unknown[]>, bus: () => BusHealth = () => connected) {
  const clock = new VirtualClock();
  const database = { query } as Partial<Database> as Database;
  const capabilities = { kind: "nats" } as Bus["capabilities"];
  const node: HealthOptions["node"] = { clock, store: { database }, bus: { health: bus, capabilities } };
  return { clock, node };
}

it("a store in memory with its bus is ok, and unready once the process goes away", async () => {
  const node = await openNode({ onWarning: () => {}, onFatal: () => {} });
  let isDraining = false;
  const health = createHealth({ node, isDraining: () => isDraining });
  expect(await health()).toMatchObject({
    status: "ok",
    checks: [{ name: "store" }, { name: "schema" }, { name: "bus" }],
  });
  isDraining = true;
  expect(await health()).toMatchObject({
    status: "unready",
    checks: expect.arrayContaining([{ name: "drain", status: "unready", says: expect.any(String) }]),
  });
  await node.close();
  expect(await health()).toMatchObject({
    status: "unready",
    checks: expect.arrayContaining([{ name: "store", status: "unready", says: expect.any(String) }]),
  });
});

it("a database that fails makes it unready, and no word of the driver is repeated", async () => {
  const secret = "connect to db.internal as root failed";
  const { node } = nodeWith(() => Promise.reject(new DatabaseError("unavailable", secret)));
  const answer = await createHealth({ node })();
  expect(answer.status).toBe("unready");
  expect(JSON.stringify(answer)).not.toContain("internal");
});

it("a database that does not answer in time makes it unready, and ten questions ask it once", async () => {
  let asked = 0;
  const { node, clock } = nodeWith(() => {
    asked += 1;
    return new Promise(() => undefined);
  });
  const health = createHealth({ node, timeLimitMs: 500 });
  const answers = Promise.all(Array.from({ length: 10 }, health));
  await clock.advance(499);
  await clock.advance(1);
  const all = await answers;
  expect(all.every((answer) => answer.checks[0]?.says === "the database did not answer within 500 ms")).toBe(true);
  expect(asked).toBe(1);
});

it("a database that hangs is not asked again while its answer is awaited, and counts again once it answers", async () => {
  const answer = Promise.withResolvers<unknown[]>();
  let asked = 0;
  const { node, clock } = nodeWith(() => {
    asked += 1;
    return answer.promise;
  });
  const health = createHealth({ node, timeLimitMs: 500 });
  for (let n = 0; n < 5; n += 1) {
    const late = health();
    await clock.advance(500);
    expect((await late).checks[0]).toMatchObject({ name: "store", status: "unready" });
  }
  expect(asked).toBe(1);
  answer.resolve([]);
  expect((await health()).checks[0]).toMatchObject({ name: "store", status: "ok" });
});

it("a store with another schema makes it unready and says what to do", async () => {
  const { node } = nodeWith(async () => []);
  expect(await createHealth({ node })()).toMatchObject({
    status: "unready",
    checks: [{ name: "store", status: "ok" }, { name: "schema", says: expect.stringContaining("tessera migrate") }, {}],
  });
});

it("work that is due and that no sweeper takes makes it degraded, once the process is there for as long", async () => {
  const node = await openNode({ onWarning: () => {}, onFatal: () => {}, sweep: false });
  const clock = new VirtualClock();
  const health = createHealth({ node: { ...node, clock } });
  await node.store.database.query(
    `insert into state.inbox (inbox_id, project_id, agent_id, channel_id, message_type, correlation_id, agent_turn_id, status, next_retry_at, due_at, created_at)
     values ('i', 'p', 'a', 'c', 'turn', 'x', 't', 'pending', now(), now() - interval '40 seconds', now())`,
  );
  expect((await health()).status).toBe("ok");
  await clock.advance(20_000);
  expect(await health()).toMatchObject({
    status: "degraded",
    checks: [
      {},
      { name: "schema", status: "ok" },
      { name: "work", says: expect.stringMatching(/^work has been due for 20 s/) },
      {},
    ],
  });
  await node.store.database.query("update state.inbox set due_at = null");
  expect((await health()).status).toBe("ok");
  await node.close();
});
