// What is measured of a killed worker, on a store whose rows the test writes directly.

import { openPglite } from "@tessera/engines/pglite";
import { type Database, migrate } from "@tessera/kernel";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { Measures } from "./measures.ts";

let database: Database;
let measures: Measures;

beforeAll(async () => {
  database = await openPglite();
  await migrate(database);
});
afterAll(async () => await database?.close());
beforeEach(async () => {
  await database.query("delete from state.workers");
  measures = new Measures(database, () => undefined);
});

const start = async (worker: string) =>
  await database.query(
    `insert into state.workers (worker_id, worker_target, lease_until, started_at)
     values ($1, 'any', now() + interval '3 seconds', now())`,
    [worker],
  );
const renew = async (worker: string) =>
  await database.query("update state.workers set lease_until = now() + interval '9 seconds' where worker_id = $1", [
    worker,
  ]);
const declareDead = async (worker: string) =>
  await database.query("update state.workers set lapsed_at = now() where worker_id = $1", [worker]);

it("the kill of a worker waits until that worker is declared dead", async () => {
  await start("killed");
  await start("alive");
  const watched = (await measures.workerKilled())();
  await renew("alive");
  let isOver = false;
  const over = watched.then(() => (isOver = true));
  await renew("alive");
  expect(isOver).toBe(false);
  await declareDead("killed");
  await over;
  expect(measures.leftOut.worker_kill).toBe(0);
});

it("the kill of a worker that had been declared dead before is left out and counted", async () => {
  await start("killed");
  await start("alive");
  await declareDead("killed");
  const watch = await measures.workerKilled();
  await renew("alive");
  await watch();
  expect(measures.leftOut.worker_kill).toBe(1);
  expect(measures.recovery("worker_kill")).toBeNull();
});

it("what is left out for two reasons is counted once, and a shorter disturbance does not end a longer one", async () => {
  await start("alive");
  measures.disturbedFor(60_000);
  measures.disturbedFor(1);
  const watch = await measures.workerKilled();
  await renew("alive");
  await watch();
  expect(measures.leftOut.worker_kill).toBe(1);
});
