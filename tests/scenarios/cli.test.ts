// `tessera migrate` and `tessera verify` on PostgreSQL.

import { randomBytes } from "node:crypto";
import { createTestDatabases, type TestDatabase } from "@tessera/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runTessera, STACK_TRACE } from "../cli/run-tessera.ts";

let test: TestDatabase;
let url = "";

beforeAll(async () => {
  const databases = createTestDatabases({ engine: "postgres", digest: "an empty database", prepare: async () => {} });
  test = await databases.open();
  url = test.url ?? "";
});
afterAll(() => test.close());

it("verify refuses a database that was not migrated, migrate migrates it, verify finds it clean", async () => {
  const before = await runTessera(["verify", "--postgres", url]);
  expect(before.exitCode).toBe(3);
  expect(before.err).toContain("run `tessera migrate` first");

  // Several at once: each migration is applied by one of them.
  const made = await Promise.all([1, 2, 3].map(() => runTessera(["migrate", "--postgres", url, "--json"])));
  expect(made.map((each) => each.exitCode)).toEqual([0, 0, 0]);
  const applied = made.flatMap((each) => JSON.parse(each.out).applied);
  expect(applied.toSorted()).toEqual([...new Set(applied)].toSorted());
  expect(applied).toContain("0001_cards");
  expect((await runTessera(["migrate", "--postgres", url])).out).toMatch(/is up to date/);

  expect((await runTessera(["verify"], { TESSERA_POSTGRES: url })).exitCode).toBe(0);
});

it("verify shows a planted violation", async () => {
  await runTessera(["migrate", "--postgres", url]);
  await test.database.query(
    "insert into state.inbox (inbox_id, project_id, agent_id, channel_id, message_type, correlation_id, agent_turn_id, status, next_retry_at, created_at) values ('planted', 'p', 'a', 'public', 'turn', 'planted', 'planted', 'pending', now(), now())",
  );
  const { exitCode, out } = await runTessera(["verify", "--postgres", url]);
  expect(exitCode).toBe(1);
  expect(out).toMatch(/20_every_wait_has_a_ring \(safety\).*\n.*\n {2}planted +pending\n/);
  expect(out).not.toMatch(STACK_TRACE);
});

it("a database that does not exist is a matter of configuration", async () => {
  const other = new URL(url);
  other.pathname = `/no_such_${randomBytes(4).toString("hex")}`;
  const { exitCode, err } = await runTessera(["verify", "--postgres", other.href]);
  expect(exitCode).toBe(3);
  expect(err).toContain("Create the database");
});
