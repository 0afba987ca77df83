// A newer build migrates the store under a process that is at work.

import { type Database, migrate, SCHEMA_DIGEST, SCHEMA_VERSION } from "@tessera/kernel";
import { openProcess, type Process } from "@tessera/runtime";
import { createTestDatabases, type TestEngine, waitFor } from "@tessera/testkit";
import { expect, it } from "vitest";

/** As a newer build's migrator records it. */
const recordMigration = (process: Process, version: number, isBreaking: boolean) =>
  process.node.store.database.query(
    "insert into l0.migrations (version, name, digest, is_breaking, applied_at) values ($1, 'x', 'x', $2, now())",
    [version, isBreaking],
  );

const livingWorkers = (process: Process) =>
  process.node.store.database.query("select 1 from state.workers where lease_until > clock_timestamp()");

async function askFor(process: Process, agent: string) {
  const { kernel, ids } = process.node;
  const box = ids.mint("box");
  await kernel.putProject({ project_id: "default" });
  await kernel.putBox({ project_id: "default", box_id: box });
  await kernel.putAgent({
    project_id: "default",
    agent_id: agent,
    worker_target: "agent_worker",
    profile_box_id: box,
  });
  return await kernel.enqueueTurn({ project_id: "default", agent_id: agent });
}

it.each<TestEngine>(["pglite", "postgres"])(
  "a process at work on %s is told of a breaking migration, takes no more turns and is unready",
  async (engine) => {
    const prepare = async (database: Database) => void (await migrate(database));
    const databases = createTestDatabases({ prepare, digest: `kernel-${SCHEMA_DIGEST}`, engine });
    const store = engine === "postgres" ? await databases.open() : null; // PGlite: the process's own, in memory
    const warnings: string[] = [];
    const process = await openProcess({
      ...(store?.url == null ? {} : { postgres: store.url }),
      project: "default",
      roles: ["kernel", "worker", "pmo"],
      api: false,
      env: {},
      executor: "e",
      onWarning: (warning) => void warnings.push(warning),
      onFatal: () => undefined,
    });
    try {
      await waitFor(async () => (await livingWorkers(process)).length > 0, { what: "a worker" });
      await recordMigration(process, SCHEMA_VERSION + 1, false);
      expect((await process.health()).status).toBe("ok"); // one that is not breaking changes nothing
      await recordMigration(process, SCHEMA_VERSION + 2, true);

      const error = await process.outdated;
      expect(error).toMatchObject({
        code: "unsupported_version",
        message: expect.stringContaining("takes no more work"),
      });
      expect(warnings).toContain(error.message);
      const health = await process.health();
      expect(health.status).toBe("unready");
      expect(health.checks.map(({ says }) => says).join()).toMatch(/schema \d+ is breaking/);

      await waitFor(async () => (await livingWorkers(process)).length === 0, { what: "the workers to leave" });
      expect((await askFor(process, "a1")).outcome).toBe("accepted");
      await process.node.kernel.announcer.settled();
      await process.close({ graceMs: 0 });
      if (store === null) return; // gone with its process
      const [head] = await store.database.query("select status from state.agent_state_head where agent_id = 'a1'");
      expect(head?.status).toBe("dispatched");
    } finally {
      await process.close({ graceMs: 0 });
      await store?.close();
    }
  },
);
