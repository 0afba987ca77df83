// The PMO as a service: routes, refused messages, doubled commands, deaths at every step, several PMOs, stops that cascade.

import { HEADERS } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { type CallerTurn, type KillPlan, PATIENCE, PROJECT, task, useFixture, useTeam } from "../test/fixture.ts";

const fx = useFixture();
const team = useTeam(fx);
const delegating = async () => await fx.calling(await fx.agent(team.boss), "delegate_async", task());
const forking = async (args: object = { tasks: [task(), task()] }) =>
  await fx.calling(await fx.agent(team.boss), "fork_join", args);

/** The newest command of a call, as the kernel would ring it again. */
async function commandOf(turn: CallerTurn, tool_target = "sys.pmo") {
  await fx.clock.advance(6_000);
  await fx.kernel.sweep();
  const messages = await fx.kernel.overdueMessages({ tool_target });
  const message = messages.find(({ headers }) => headers[HEADERS.tool_call_id] === turn.tool_call_id);
  if (message === undefined) throw new Error("the command was not rung");
  return message;
}

describe("a command", () => {
  it("for a tool that does not exist is answered unsupported_pmo_route", async () => {
    await fx.pmo();
    const turn = await fx.calling(await fx.agent(team.boss), "summon_demon", {});
    expect((await fx.result(turn.tool_call_id)).error?.code).toBe("unsupported_pmo_route");
  });

  it("that came on another tool's route is answered unsupported_pmo_route", async () => {
    await fx.pmo();
    const subject = `cg.v1r4.${PROJECT}.public.cmd.sys.pmo.internal.fork_join`;
    const turn = await fx.calling(await fx.agent(team.boss), "delegate_async", task(), { subject });
    expect((await fx.result(turn.tool_call_id)).error?.code).toBe("unsupported_pmo_route");
  });

  it("for a tool that this PMO does not offer is answered not_implemented", async () => {
    await fx.pmo({ tools: ["delegate_async"] });
    const turn = await forking();
    expect((await fx.result(turn.tool_call_id)).error?.code).toBe("not_implemented");
  });

  it("that pins a definition which does not exist is answered tool_definition_missing", async () => {
    await fx.pmo();
    const turn = await fx.calling(await fx.agent(team.boss), "delegate_async", task(), { tool_digest: "gone" });
    expect((await fx.result(turn.tool_call_id)).error?.code).toBe("tool_definition_missing");
  });

  it("with another after_execution than the tool's is answered after_execution_mismatch", async () => {
    await fx.pmo();
    const turn = await fx.calling(await fx.agent(team.boss), "delegate_async", task(), {
      after_execution: "terminate",
    });
    const { error, after_execution } = await fx.result(turn.tool_call_id);
    expect({ code: error?.code, after_execution }).toEqual({
      code: "after_execution_mismatch",
      after_execution: "terminate",
    });
    expect(await fx.children(turn)).toEqual([]);
  });

  it("that comes a hundred times starts one child", async () => {
    const turn = await delegating();
    const message = await commandOf(turn);
    const pmos = [await fx.pmo(), await fx.pmo()];
    await fx.bus.publish(Array.from({ length: 100 }, () => message));
    expect((await fx.result(turn.tool_call_id)).status).toBe("success");
    await fx.bus.publish([message]);
    await waitFor(() => pmos.some((pmo) => pmo.counts.get("already_settled")), { what: "the late one to be refused" });
    expect(await fx.children(turn)).toHaveLength(1);
  });

  it("that is broken settles its call only with the ticket, and is kept as a dead letter", async () => {
    // Sent where no PMO listens, so that only this test delivers its command.
    const elsewhere = `cg.v1r4.${PROJECT}.public.cmd.sys.other.internal.delegate_async`;
    const turn = await fx.calling(await fx.agent(team.boss), "delegate_async", task(), { subject: elsewhere });
    const { headers, data } = await commandOf(turn, "sys.other");
    const subject = elsewhere.replace("sys.other", "sys.pmo");
    const pmo = await fx.pmo();
    const { [HEADERS.call_ticket]: ticket, ...withoutTicket } = headers;
    expect(ticket).toBeDefined();
    const broken = new TextEncoder().encode('{"tool_call_card_id": 5}');
    await fx.bus.publish([{ subject, headers: withoutTicket, data: broken }]);
    await waitFor(() => pmo.counts.get("bad_request") === 1, { what: "the first to be refused" });
    await fx.bus.publish([{ subject, headers: withoutTicket, data }]);
    await waitFor(() => pmo.counts.get("auth_failed") === 1, { what: "the one without a ticket to be refused" });
    expect(await fx.isAnswered(turn.tool_call_id)).toBe(false);
    await fx.bus.publish([{ subject, headers, data: broken }]);
    expect((await fx.result(turn.tool_call_id)).error?.code).toBe("bad_request");
    await waitFor(
      async () =>
        (await fx.kernel.reads.deadLetters(PROJECT)).filter((row) => row.correlation_id === turn.tool_call_id)
          .length === 3,
      { what: "three dead letters" },
    );
  });
});

describe("a PMO that dies in a delegation", () => {
  const plans: KillPlan[] = ["openCall", "putAgent", "putCard", "putBox", "enqueueTurn", "report"].flatMap((method) => [
    { method, when: "before" as const },
    { method, when: "after" as const },
  ]);
  it.each(plans)("$when $method leaves work that the next one ends, with one child", async (plan) => {
    const { died } = await fx.doomedPmo(plan);
    const turn = await delegating();
    await waitFor(died, { what: "the death" });
    await fx.pmo();
    await fx.afterDeath();
    const { status, result } = await fx.result(turn.tool_call_id);
    const children = await fx.children(turn);
    expect({ status, children: children.length }).toEqual({ status: "success", children: 1 });
    expect(result).toMatchObject({ status: "accepted", agent_turn_id: children[0]?.agent_turn_id });
    expect(await fx.kernel.reads.agents(PROJECT, { owner_agent_id: turn.agent_id })).toHaveLength(1);
    expect((await fx.cardsOf(children[0]?.context_box_id)).map((card) => card.type)).toEqual([
      "task.instruction",
      "meta.parent_pointer",
    ]);
  });
});

describe("a PMO that dies in a fork_join", () => {
  const opening: KillPlan[] = ["openCall", "putAgent", "putCard", "putBox", "openBatch", "dispatchBatchTask"].flatMap(
    (method) => [
      { method, when: "before" as const },
      { method, when: "after" as const },
      ...(method.startsWith("put") || method.startsWith("dispatch")
        ? [{ method, when: "after" as const, nth: 2 }]
        : []),
    ],
  );
  it.each(opening)("$when $method is followed by one that starts each child once", async (plan) => {
    const { died } = await fx.doomedPmo(plan);
    const turn = await forking();
    await waitFor(died, { what: "the death" });
    const next = await fx.pmo();
    await fx.afterDeath();
    for (const agent of await fx.started(turn)) await fx.work(agent);
    await next.reconcile();
    const { status } = await fx.result(turn.tool_call_id);
    expect({ status, children: (await fx.children(turn)).length }).toEqual({ status: "success", children: 2 });
    expect(await fx.kernel.reads.agents(PROJECT, { owner_agent_id: turn.agent_id })).toHaveLength(2);
  });

  const ending: KillPlan[] = ["takeDueBatches", "moveBatchTask", "stopTurn", "finishBatch"].flatMap((method) => [
    { method, when: "before" as const },
    { method, when: "after" as const },
  ]);
  it.each(ending)("$when $method while it cuts a batch short is followed by one that ends it", async (plan) => {
    const first = await fx.pmo();
    const turn = await forking({ tasks: [task(), task(), task()], deadline_seconds: 30 });
    const agents = await fx.started(turn);
    for (const agent of agents.slice(1)) {
      await fx.kernel.resume({ project_id: PROJECT, agent_id: agent, worker_id: fx.worker });
    }
    await fx.work(agents[0] ?? "");
    await first.stop({ graceMs: 0 });
    const { died } = await fx.doomedPmo(plan);
    await fx.clock.advance(31_000);
    await waitFor(died, { what: "the death" });
    const next = await fx.pmo();
    await fx.clock.advance(6_000);
    await next.reconcile();
    const { status, result } = await fx.result(turn.tool_call_id);
    expect(status).toBe("partial");
    expect(result).toMatchObject({ results: [{ status: "success" }, { status: "timeout" }, { status: "timeout" }] });
    expect((await fx.children(turn)).map((child) => child.status).sort()).toEqual(["canceled", "canceled", "success"]);
  });
});

describe("several PMOs", () => {
  it("start each child of a batch once and join it once", async () => {
    const pmos = await Promise.all([fx.pmo(), fx.pmo(), fx.pmo()]);
    const turns = [await forking(), await forking(), await forking()];
    for (const turn of turns) {
      for (const agent of await fx.started(turn)) await fx.work(agent);
    }
    await Promise.all(pmos.map((pmo) => pmo.reconcile()));
    for (const turn of turns) {
      expect((await fx.result(turn.tool_call_id)).status).toBe("success");
      expect(await fx.children(turn)).toHaveLength(2);
      const { batch_id } = await fx.batchOf(turn);
      const joins = await fx.query(
        "select 1 from state.edges where primitive = 'join' and edge_phase = 'response' and correlation_id = $1",
        [batch_id],
      );
      expect(joins).toHaveLength(1);
    }
  });
});

describe("a stopped turn", () => {
  it("takes the children of its batch with it, running and waiting ones, and theirs", async () => {
    const pmo = await fx.pmo();
    const busy = await fx.agent(team.helper);
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: busy });
    const outer = await forking({
      tasks: [task({ target_ref: "boss" }), task({ target_strategy: "reuse", target_ref: busy })],
    });
    await expect
      .poll(async () => (await fx.tasksOf(outer)).map((row) => row.status), PATIENCE)
      .toEqual(["dispatched", "pending"]);
    const [child] = (await fx.tasksOf(outer)).map((row) => String(row.agent_id));
    const inner = await fx.callAgain(child ?? "", "fork_join", { tasks: [task()] });
    const [grandchild] = await fx.started(inner);
    const held = await fx.kernel.resume({ project_id: PROJECT, agent_id: grandchild ?? "", worker_id: fx.worker });
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: outer.agent_turn_id });
    await pmo.reconcile();
    expect((await fx.children(outer)).map((row) => row.status)).toEqual(["canceled"]);
    expect((await fx.children(inner)).map((row) => row.status)).toEqual(["canceled"]);
    expect((await fx.batchOf(outer)).status).toBe("failed");
    expect((await fx.batchOf(inner)).status).toBe("failed");
    expect((await fx.tasksOf(outer)).map((row) => row.status)).toEqual(["canceled", "canceled"]);
    if (held.outcome !== "accepted") throw new Error("not held");
    const { project_id, agent_id, agent_turn_id, turn_epoch } = held;
    expect(
      await fx.kernel.appendCards({ project_id, agent_id, agent_turn_id, turn_epoch, cards: [] }),
      "its worker is fenced",
    ).toMatchObject({ outcome: "rejected", code: "stale_epoch" });
  });

  it("takes the children of its delegations with it, also when the PMO was away", async () => {
    const first = await fx.pmo();
    const turn = await delegating();
    await fx.result(turn.tool_call_id);
    await first.stop({ graceMs: 0 });
    await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
    expect((await fx.children(turn)).map((row) => row.turn_status)).toEqual(["dispatched"]);
    const next = await fx.pmo();
    await next.reconcile();
    expect((await fx.children(turn)).map((row) => row.status)).toEqual(["canceled"]);
  });

  it("leaves children alone when it ends by itself", async () => {
    const pmo = await fx.pmo();
    const turn = await delegating();
    await fx.result(turn.tool_call_id);
    await fx.work(turn.agent_id);
    await pmo.reconcile();
    expect((await fx.children(turn)).map((row) => row.turn_status)).toEqual(["dispatched"]);
  });
});
