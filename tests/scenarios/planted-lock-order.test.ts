// The planted bug that one session cannot show: rows locked in another order than everybody else's (tests/sim/planted-bugs.ts).
//
//   L1. The order in which the two meet is forced, not hoped for: a third session holds the call that both want, the one
//       with the unusual order queues for it first, and it is let go when both wait.
//   L2. What the bug is caught by is what PostgreSQL says then (40P01); the kernel as it is passes the same meeting.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import { type Database, DatabaseError, migrate, openKernel, SCHEMA_DIGEST } from "@tessera/kernel";
import { createTestDatabases, SeededIds, type TestDatabase, VirtualClock, waitFor } from "@tessera/testkit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { plant, WRONG_LOCK_ORDER } from "../sim/planted-bugs.ts";

const PROJECT = "p1";
const CALLS = ["call_a", "call_b"] as const;
const DEADLOCK = "40P01";
const TIMEOUT_MS = 60_000;
const CLOCK = new VirtualClock();

/** Of the calls, by their ids. */
const capabilities = new Map<string, string>();
class RolledBack extends Error {}

let store: TestDatabase;
beforeEach(async () => {
  const databases = createTestDatabases({
    engine: "postgres",
    prepare: async (database) => void (await migrate(database)),
    digest: `kernel-${SCHEMA_DIGEST}`,
  });
  store = await databases.open();
});
afterEach(() => store.close());

describe("a resume of two turns", () => {
  it("has locked both heads before it touches a call", { timeout: TIMEOUT_MS }, async () => {
    const [first, second] = ["agent_1", "agent_2"];
    await makeCalls(store.database, (call) => (call === "call_b" ? first : second), true);
    const holder = await store.another({ poolMax: 1 });
    const worker = await store.another({ poolMax: 1 });
    const other = await store.another({ poolMax: 1 });
    const items = [first, second].map((agent_id) => ({ project_id: PROJECT, agent_id, worker_id: "worker_1" }));
    let resumed: Promise<{ answer: { outcome: string }[] }[]> | null = null;
    await holder.transaction(async (tx) => {
      await tx.query("select 1 from state.agent_state_head where agent_id = $1 for update", [second]);
      resumed = worker.query("select l0.resume_plainly($1::jsonb, $2::timestamptz) as answer", [
        JSON.stringify(items),
        CLOCK.databaseTime().toISOString(),
      ]);
      await waitFor(async () => (await waiting(store.database)) === 1, { what: "the resume to wait" });
      // The call of the first head, which it has: a session that locks calls in their own order must not meet it here.
      await other.query("select 1 from state.calls where tool_call_id = 'call_b' for update nowait");
    });
    const answers = (await (resumed as unknown as Promise<{ answer: { outcome: string }[] }[]>))[0]?.answer;
    expect(answers?.map(({ outcome }) => outcome)).toEqual(["accepted", "accepted"]);
  });
});

describe("two reports of the same two calls, each in its own order", () => {
  beforeEach(() => makeCalls(store.database, (call) => `agent_of_${call}`, false));

  it("both get their answers", { timeout: TIMEOUT_MS }, async () => {
    expect(await meet(store)).toEqual(["answered", "answered"]);
  });

  it("deadlock when wrong_lock_order is planted, and no longer when it is out", { timeout: TIMEOUT_MS }, async () => {
    const remove = await plant(store.database, WRONG_LOCK_ORDER);
    expect((await meet(store)).toSorted()).toEqual([DEADLOCK, "answered"]); // L2
    await remove();
    expect(await meet(store)).toEqual(["answered", "answered"]);
  });
});

/** Two agents, each waiting for a call of its own: reports of them share no lock but those of the calls. */
async function makeCalls(database: Database, agentOf: (call: string) => string, isAnswered: boolean): Promise<void> {
  const bus = await openMemoryBus();
  const kernel = openKernel({ database, bus, clock: CLOCK, ids: new SeededIds(1) });
  await kernel.putProject({ project_id: PROJECT });
  await kernel.putBox({ project_id: PROJECT, box_id: "profile" });
  await kernel.renewWorker({ worker_id: "worker_1", worker_target: "w", lease_ms: 15_000 });
  for (const id of CALLS) {
    const agent = { project_id: PROJECT, agent_id: agentOf(id) };
    await kernel.putAgent({ ...agent, worker_target: "w", profile_box_id: "profile" });
    await kernel.enqueueTurn({ ...agent, agent_turn_id: `turn_of_${id}` });
    const taken = await kernel.resume({ ...agent, worker_id: "worker_1" });
    if (taken.outcome !== "accepted") throw new Error(`not taken: ${JSON.stringify(taken)}`);
    const { agent_turn_id, turn_epoch } = taken;
    const call = {
      tool_call_id: id,
      tool_name: "echo__run",
      arguments: {},
      target_subject: `cg.v1r4.${PROJECT}.public.cmd.tool.echo.run`,
      author_id: "tool.echo",
    };
    const step = { step_id: `step_of_${id}`, thought: { content: { text: "" } }, calls: [call] };
    const suspended = await kernel.suspendOnCalls({ ...agent, agent_turn_id, turn_epoch, ...step });
    if (suspended.outcome !== "accepted") throw new Error(`not suspended: ${JSON.stringify(suspended)}`);
    const ticket = suspended.calls[0]?.ticket ?? "";
    const asked = { project_id: PROJECT, tool_call_id: id };
    const opened = await kernel.openCall({ ...asked, ticket, executor: "executor_1", principal: "tool" });
    if (opened.outcome !== "accepted") throw new Error(`not opened: ${JSON.stringify(opened)}`);
    capabilities.set(id, opened.capability);
    if (!isAnswered) continue;
    const content = { status: "success", result: {} };
    await kernel.report({ ...asked, capability: opened.capability, content });
  }
  await bus.close();
}

/** L1. What became of the report of b and a, and of the report of a and b. */
async function meet(store: TestDatabase): Promise<string[]> {
  const [a, b] = CALLS;
  const holder = await store.another({ poolMax: 1 });
  const reports: Promise<string>[] = [];
  await holder.transaction(async (tx) => {
    await tx.query("select 1 from state.calls where tool_call_id = $1 for update", [b]);
    for (const order of [
      [b, a],
      [a, b],
    ]) {
      reports.push(reported(await store.another({ poolMax: 1 }), order));
      await waitFor(async () => (await waiting(store.database)) === reports.length, { what: "the report to wait" });
    }
  });
  return await Promise.all(reports);
}

async function waiting(database: Database): Promise<number> {
  const rows = await database.query(
    "select distinct l.pid from pg_locks l join pg_stat_activity s on s.pid = l.pid where not l.granted and s.datname = current_database()",
  );
  return rows.length;
}

/** Rolled back, so that nothing is settled and the two can meet again. What is refused locks nothing, so the capabilities are real. */
async function reported(database: Database, order: readonly string[]): Promise<string> {
  const items = order.map((tool_call_id) => ({
    project_id: PROJECT,
    tool_call_id,
    capability: capabilities.get(tool_call_id),
    principal: "tool",
    message_type: "tool_result",
    content: { status: "success", after_execution: "suspend", result: {} },
  }));
  try {
    // In a transaction, because a single statement that met a deadlock is repeated by the adapter, unseen.
    await database.transaction(async (tx) => {
      const rows = await tx.query<{ answer: { outcome: string }[] }>("select l0.report_at($1::jsonb, null) as answer", [
        JSON.stringify(items),
      ]);
      expect(rows[0]?.answer.map(({ outcome }) => outcome)).toEqual(["accepted", "accepted"]);
      throw new RolledBack();
    });
    return "committed";
  } catch (error) {
    if (error instanceof RolledBack) return "answered";
    if (error instanceof DatabaseError && error.sqlstate !== null) return error.sqlstate;
    throw error;
  }
}
