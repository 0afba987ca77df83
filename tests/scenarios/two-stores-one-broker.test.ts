// Two installations that know nothing of each other, each with a database of its own and both with a project `default`, on one
// NATS server: a planner asks two researchers at once in each, so workers, tools and PMO of both ring all the time.

import { join } from "node:path";
import { createTessera, openStore } from "@tessera/runtime";
import { createTestDatabases, startNats } from "@tessera/testkit";
import { expect, onTestFinished, test } from "vitest";

const TEST_MS = 120_000;
const TURNS = 6;
/** The first ring comes again after 5 s: a turn with four hops whose wakeups others answer takes longer than this. */
const TURN_MS_MAX = 10_000;
const bundle = join(import.meta.dirname, "../../examples/swarm");
const quiet = { onWarning: () => {}, onFatal: () => {} };

async function install(nats: string) {
  const databases = createTestDatabases({ engine: "postgres", prepare: async () => undefined, digest: "empty" });
  const store = await databases.open();
  onTestFinished(() => store.close());
  const postgres = store.url ?? "";
  await (await openStore({ postgres, migrate: "yes", ...quiet })).close();
  const log: string[] = [];
  const tessera = await createTessera({ postgres, nats, bundle, env: {}, log: (line) => void log.push(line) });
  onTestFinished(() => tessera.close({ graceMs: 0 }));
  return { database: store.database, tessera, log };
}

test("two stores with a project of one name on one broker work at full speed, without a dead letter, and say that they met", {
  timeout: TEST_MS,
}, async () => {
  const nats = await startNats();
  onTestFinished(() => nats.stop());
  const stores = [await install(nats.url), await install(nats.url)];
  const took = await Promise.all(
    stores.map(async ({ tessera }) => {
      const each: number[] = [];
      for (let n = 0; n < TURNS; n++) {
        const since = performance.now();
        const { status } = await tessera.run({ input: "tides", instanceKey: `i${n}`, waitMs: TEST_MS });
        expect(status).toBe("success");
        each.push(performance.now() - since);
      }
      return Math.max(...each);
    }),
  );
  for (const { database } of stores) {
    expect(await database.query("select reason, detail from state.dead_letters")).toEqual([]);
  }
  expect(Math.max(...took), `the longest turn of each took ${took.map(Math.round).join(" and ")} ms`).toBeLessThan(
    TURN_MS_MAX,
  );
  expect(stores[1]?.log.join("\n")).toMatch(/serves store_[0-9a-f]{32}, another store on this broker/);
});
