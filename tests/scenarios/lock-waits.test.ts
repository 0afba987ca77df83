// Answers to a worker at its worst moments. A statement that waits for a lock sees the locked row as it is now and all
// other rows as they were when it began: what it answers must be of one piece all the same.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import {
  type Bus,
  type CallDraft,
  type Kernel,
  migrate,
  openKernel,
  SCHEMA_DIGEST,
  type Statements,
  verifyStore,
} from "@tessera/kernel";
import {
  createTestDatabases,
  SeededIds,
  type TestDatabase,
  type TestEngine,
  VirtualClock,
  waitFor,
} from "@tessera/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const PROJECT = "p1";
const AGENT = "agent_a";
const LEASE_MS = 15_000;

let store: TestDatabase;
let clock: VirtualClock;
let ids: SeededIds;
let bus: Bus;
let kernel: Kernel;

async function open(engine: TestEngine): Promise<void> {
  const databases = createTestDatabases({
    engine,
    prepare: async (database) => void (await migrate(database)),
    digest: `kernel-${SCHEMA_DIGEST}`,
  });
  store = await databases.open();
  clock = new VirtualClock();
  ids = new SeededIds(1);
  bus = await openMemoryBus();
  kernel = await anotherKernel();
  await kernel.putProject({ project_id: PROJECT });
  await kernel.putBox({ project_id: PROJECT, box_id: "profile" });
  await kernel.putAgent({ project_id: PROJECT, agent_id: AGENT, worker_target: "w", profile_box_id: "profile" });
  await renew("worker_1");
}

async function anotherKernel(): Promise<Kernel> {
  return openKernel({ database: await store.another({ poolMax: 1 }), bus, clock, ids });
}

async function renew(worker: string): Promise<void> {
  await kernel.renewWorker({ worker_id: worker, worker_target: "w", lease_ms: LEASE_MS });
}

afterEach(async () => {
  await bus.close();
  await store.close();
});

/** Runs `first` in a transaction; `second` begins before it commits and is let go when it waits for a lock. */
async function whileWaiting<T>(first: (tx: Statements) => Promise<unknown>, second: () => Promise<T>): Promise<T> {
  let waiting: Promise<T> | null = null;
  const locker = await store.another({ poolMax: 1 });
  await locker.transaction(async (tx) => {
    await first(tx);
    waiting = second();
    waiting.catch(() => {}); // looked at below
    const blocked =
      "select 1 from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database())";
    await waitFor(async () => (await store.database.query(blocked)).length > 0, {
      what: "the second to wait for the first",
    });
  });
  if (waiting === null) throw new Error("the second was not started");
  return await waiting;
}

function localCall(id: string, effect: CallDraft["effect"]): CallDraft {
  return {
    tool_call_id: id,
    tool_name: "files__run",
    arguments: {},
    target_subject: `cg.v1r4.${PROJECT}.public.cmd.tool.files.run`,
    author_id: "tool.files",
    effect: effect ?? "once",
    local: true,
  };
}

/** A turn whose worker has begun a step of local calls. */
async function beginLocalStep(calls: readonly CallDraft[]): Promise<void> {
  await kernel.enqueueTurn({ project_id: PROJECT, agent_id: AGENT, agent_turn_id: "turn_a", metadata: { plan: "a" } });
  const taken = await kernel.resume({ project_id: PROJECT, agent_id: AGENT, worker_id: "worker_1" });
  if (taken.outcome !== "accepted") throw new Error(`not taken: ${JSON.stringify(taken)}`);
  const { agent_turn_id, turn_epoch } = taken;
  const hold = { project_id: PROJECT, agent_id: AGENT, agent_turn_id, turn_epoch };
  const suspended = await kernel.suspendOnCalls({
    ...hold,
    step_id: "step_a",
    thought: { content: { text: "" } },
    calls,
  });
  expect(suspended.outcome).toBe("accepted");
}

describe("on postgres, a resume that waited", () => {
  beforeEach(() => open("postgres"));

  test("for the enqueue of a turn is given the whole turn", async () => {
    const item = {
      project_id: PROJECT,
      agent_id: AGENT,
      agent_turn_id: "turn_a",
      trace_id: ids.traceId(),
      span_id: ids.spanId(),
      new_box_ids: ["box_a", "box_b"],
      context_cards: [],
      metadata: { plan: "a" },
    };
    const other = await anotherKernel();
    const outcome = await whileWaiting(
      (tx) =>
        tx.query("select l0.enqueue_turn($1::jsonb, $2::timestamptz)", [
          JSON.stringify([item]),
          clock.databaseTime().toISOString(),
        ]),
      () => other.resume({ project_id: PROJECT, agent_id: AGENT, worker_id: "worker_1" }),
    );
    expect(outcome).toMatchObject({
      outcome: "accepted",
      agent_turn_id: "turn_a",
      metadata: { plan: "a" },
      box_start: 0,
      span_id: item.span_id,
    });
    expect((await verifyStore(store.database, { only: "safety" })).violations).toEqual([]);
  });

  test("for the recovery of a turn is given the outcomes and calls of its open step", async () => {
    await beginLocalStep([localCall("call_once", "once"), localCall("call_read", "read")]);
    await clock.advance(LEASE_MS + 1);
    await renew("worker_2");
    const other = await anotherKernel();
    const outcome = await whileWaiting(
      (tx) => tx.query("select l0.sweep_workers(100, $1::timestamptz)", [clock.databaseTime().toISOString()]),
      () => other.resume({ project_id: PROJECT, agent_id: AGENT, worker_id: "worker_2" }),
    );
    expect(outcome).toMatchObject({
      outcome: "accepted",
      step_id: "step_a",
      results: [{ tool_call_id: "call_once", status: "failed" }],
      local_calls: [{ tool_call_id: "call_read", attempt: 2 }],
    });
    expect((await verifyStore(store.database, { only: "safety" })).violations).toEqual([]);
  });
});

/** A turn that a worker holds, and a step for it as l0 takes it. */
async function prepareStep() {
  await kernel.enqueueTurn({ project_id: PROJECT, agent_id: AGENT, agent_turn_id: "turn_a" });
  const taken = await kernel.resume({ project_id: PROJECT, agent_id: AGENT, worker_id: "worker_1" });
  if (taken.outcome !== "accepted") throw new Error(`not taken: ${JSON.stringify(taken)}`);
  const hold = { project_id: PROJECT, agent_id: AGENT, agent_turn_id: "turn_a", turn_epoch: taken.turn_epoch };
  const call = { ...localCall("call_a", "read"), local: false, card_id: "card_a", span_id: ids.spanId() };
  const step = { ...hold, step_id: "step_a", thought: { card_id: "thought_a", content: { text: "" } }, calls: [call] };
  const limits = { deadline_ms: 60_000, attempts_max: 3, backoff_ms: 1_000, can_reconcile: false };
  const item = { ...step, calls: [{ ...call, ...limits, after_execution: "suspend" }] };
  const send = (tx: Statements, at: Date) =>
    tx.query("select l0.suspend_on_calls($1::jsonb, $2::timestamptz)", [JSON.stringify([item]), at.toISOString()]);
  return { step, send };
}

describe("on postgres, a request that waited for a step to commit", () => {
  beforeEach(() => open("postgres"));

  test("because it sends the same step again gets the same calls and tickets", async () => {
    const { step, send } = await prepareStep();
    const other = await anotherKernel();
    const outcome = await whileWaiting(
      (tx) => send(tx, clock.databaseTime()),
      () => other.suspendOnCalls(step),
    );
    expect(outcome).toMatchObject({
      outcome: "duplicate",
      calls: [{ tool_call_id: "call_a", ticket: expect.any(String) }],
    });
  });

  test("to stop the turn ends it after the step, though it read the clock before it", async () => {
    const { send } = await prepareStep();
    const other = await anotherKernel();
    const later = new Date(clock.databaseTime().getTime() + 5);
    const outcome = await whileWaiting(
      (tx) => send(tx, later),
      () => other.stopTurn({ project_id: PROJECT, agent_turn_id: "turn_a" }),
    );
    expect(outcome).toMatchObject({ outcome: "accepted", was: "suspended" });
    expect((await verifyStore(store.database, { drained: true })).violations).toEqual([]);
  });
});

describe("on postgres, the end of a turn that waited", () => {
  beforeEach(() => open("postgres"));

  test("for its dispatch as a task is the end of that task, too", async () => {
    const parent = await prepareStep();
    const made = await kernel.suspendOnCalls(parent.step);
    if (made.outcome === "rejected") throw new Error(made.code);
    const { tool_call_id = "", ticket } = made.calls[0] ?? {};
    const opened = await kernel.openCall({ project_id: PROJECT, tool_call_id, ticket: ticket ?? "", executor: "pmo" });
    if (opened.outcome === "rejected") throw new Error(opened.code);
    const { capability } = opened;
    const tasks = [{ batch_task_id: "task_a" }];
    const batch = { project_id: PROJECT, tool_call_id, capability, batch_id: "batch_a", tasks };
    expect(await kernel.openBatch(batch)).toMatchObject({ outcome: "accepted" });
    const child = { project_id: PROJECT, agent_id: "agent_b", agent_turn_id: "turn_b" };
    await kernel.putAgent({ ...child, worker_target: "w", profile_box_id: "profile" });
    await kernel.enqueueTurn({ ...child, parent_agent_turn_id: "turn_a" });
    const taken = await kernel.resume({ project_id: PROJECT, agent_id: "agent_b", worker_id: "worker_1" });
    if (taken.outcome !== "accepted") throw new Error(JSON.stringify(taken));
    const move = { ...child, batch_task_id: "task_a", move: "dispatch" };
    const deliverable = { card_id: "card_b", content: { text: "done" } };
    const other = await anotherKernel();
    const outcome = await whileWaiting(
      (tx) =>
        tx.query("select l0.move_batch_task($1::jsonb, $2::timestamptz)", [
          JSON.stringify([move]),
          clock.databaseTime().toISOString(),
        ]),
      () => other.finishTurn({ ...child, turn_epoch: taken.turn_epoch, status: "success", deliverable }),
    );
    expect(outcome).toMatchObject({ outcome: "accepted" });
    expect(await kernel.reads.batch(PROJECT, "batch_a")).toMatchObject({ tasks: [{ status: "success" }] });
    expect((await verifyStore(store.database, { only: "safety" })).violations).toEqual([]);
  });
});

describe.each(["pglite", "postgres"] as const)(
  "on %s, a worker that asks again because it lost the answer",
  (engine) => {
    beforeEach(() => open(engine));

    test("of a resume gets again the local calls that it has to run", async () => {
      await beginLocalStep([localCall("call_read", "read")]);
      await clock.advance(LEASE_MS + 1);
      await renew("worker_2");
      await kernel.sweep();
      const request = { project_id: PROJECT, agent_id: AGENT, worker_id: "worker_2" };
      const lost = await kernel.resume(request);
      expect(lost).toMatchObject({ outcome: "accepted", local_calls: [{ tool_call_id: "call_read" }] });
      const again = await kernel.resume({ ...request, reclaim: true });
      expect(again).toMatchObject({
        outcome: "accepted",
        step_id: "step_a",
        local_calls: [{ tool_call_id: "call_read", mode: "run" }],
      });
    });

    test("of a step of local calls finds them when it reclaims the turn", async () => {
      await beginLocalStep([localCall("call_read", "read")]);
      const again = await kernel.resume({ project_id: PROJECT, agent_id: AGENT, worker_id: "worker_1", reclaim: true });
      expect(again).toMatchObject({
        outcome: "accepted",
        step_id: "step_a",
        local_calls: [{ tool_call_id: "call_read", mode: "run" }],
      });
    });
  },
);
