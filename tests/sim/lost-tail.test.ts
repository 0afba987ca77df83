// A store that loses its last commits, and what is said about a call that went with them (docs/faults.md#f30).

import { openMemoryBus } from "@tessera/engines/memory-bus";
import { openKernel } from "@tessera/kernel";
import { SeededIds, VirtualClock } from "@tessera/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openSimStore, type SimStore } from "./store.ts";

const PROJECT = "p1";
const AGENT = { project_id: PROJECT, agent_id: "a" };
const TIMEOUT_MS = 120_000;

describe("a failover that loses commits", { timeout: TIMEOUT_MS }, () => {
  let store: SimStore;
  beforeAll(async () => {
    store = await openSimStore();
  }, TIMEOUT_MS);
  beforeEach(() => store.reset());
  afterAll(() => store.close());

  async function openTestKernel() {
    const parts = { bus: await openMemoryBus(), clock: new VirtualClock(), ids: new SeededIds(1) };
    const kernel = openKernel({ database: store.database, ...parts });
    await kernel.putProject({ project_id: PROJECT });
    await kernel.putBox({ project_id: PROJECT, box_id: "profile" });
    await kernel.putAgent({ ...AGENT, worker_target: "w", profile_box_id: "profile" });
    return kernel;
  }

  it("takes back what was answered since it began, and only that, and says which", async () => {
    const kernel = await openTestKernel();
    expect((await kernel.enqueueTurn({ ...AGENT, agent_turn_id: "kept" })).outcome).toBe("accepted");
    await store.tail.begin();
    expect((await kernel.enqueueTurn({ ...AGENT, agent_turn_id: "lost" })).outcome).toBe("accepted");
    await expect(store.database.query("select 1 / 0")).rejects.toThrow("division by zero");
    expect(await turns()).toEqual(["kept", "lost"]);
    expect([...(await store.tail.lose()).turns]).toEqual(["lost"]);
    expect(await turns()).toEqual(["kept"]);
    expect(await store.violation(["safety"])).toBeNull();
  });

  it("leaves a late report of a lost call refused", async () => {
    const kernel = await openTestKernel();
    await kernel.enqueueTurn({ ...AGENT, agent_turn_id: "turn" });
    await kernel.renewWorker({ worker_id: "worker", worker_target: "w", lease_ms: 15_000 });
    const taken = await kernel.resume({ ...AGENT, worker_id: "worker" });
    if (taken.outcome !== "accepted") throw new Error(`not taken: ${JSON.stringify(taken)}`);
    await store.tail.begin();
    const call = {
      tool_call_id: "lost_call",
      tool_name: "echo__run",
      arguments: {},
      target_subject: `cg.v1r4.${PROJECT}.public.cmd.tool.echo.run`,
      author_id: "tool.echo",
    };
    const hold = { ...AGENT, agent_turn_id: "turn", turn_epoch: taken.turn_epoch };
    const step = { step_id: "step", thought: { content: { text: "" } }, calls: [call] };
    expect((await kernel.suspendOnCalls({ ...hold, ...step })).outcome).toBe("accepted");
    expect([...(await store.tail.lose()).calls]).toEqual(["lost_call"]);
    const late = { project_id: PROJECT, tool_call_id: "lost_call", capability: "0".repeat(64) };
    const content = { status: "success", after_execution: "suspend", result: {} };
    expect(await kernel.report({ ...late, message_type: "tool_result", content } as never)).toMatchObject({
      outcome: "rejected",
      code: "not_found",
    });
    // Deliberately not in the audit (14_report.sql): what does not exist would let an unauthenticated request fill it. The executor gets the answer.
    expect(await store.database.query("select 1 from state.audit_log")).toEqual([]);
  });

  async function turns(): Promise<string[]> {
    const rows = await store.database.query<{ id: string }>(
      "select agent_turn_id as id from state.agent_turns order by agent_turn_id",
    );
    return rows.map(({ id }) => id);
  }
});
