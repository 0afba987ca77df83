// Ways in which one row, one caller or one moment could spoil the store for everybody. Each was shown against an earlier
// version of these functions.

import { FUNCTION_ITEMS_MAX } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import type { DatabaseError, OpenedCall } from "../src/index.ts";
import { hold, PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture();

async function ask(fn: string, items: unknown): Promise<{ outcome: string; code?: string; [key: string]: unknown }[]> {
  const rows = await fx.query<{ answer: never }>(`select l0.${fn}($1::jsonb, $2::timestamptz) as answer`, [
    JSON.stringify(items),
    fx.clock.databaseTime().toISOString(),
  ]);
  return rows[0]?.answer ?? [];
}

describe("a batch that is too long", () => {
  it("is refused by every function before anything is done", async () => {
    const functions = await fx.query<{ name: string }>(
      `select p.oid::regprocedure::text as name from pg_proc p
        where p.pronamespace = 'l0'::regnamespace and p.prorettype = 'json'::regtype and p.proargnames[1] = 'items' order by 1`,
    );
    expect(functions.length).toBeGreaterThan(25);
    const items = JSON.stringify(Array.from({ length: FUNCTION_ITEMS_MAX + 1 }, () => ({})));
    for (const { name } of functions) {
      const rest = name
        .split(",")
        .slice(1)
        .map(() => ", null");
      const error = await fx.query(`select ${name.split("(")[0]}($1::jsonb${rest.join("")})`, [items]).then(
        () => null,
        (refused: unknown) => refused as DatabaseError,
      );
      expect(error?.message, name).toMatch(/payload_too_large: at most 256 items|items must be an array of at most 64/);
      expect(error?.kind, name).toBe("statement");
    }
  });
});

describe("one bad row", () => {
  it("does not stop the sweep of the rows behind it", async () => {
    const [bad, good] = [await fx.suspended([{ timeout_ms: 1_000 }]), await fx.suspended([{ timeout_ms: 1_000 }])];
    // Its reserved place is taken, so that settling it must fail.
    const call = await fx.query<{ box_id: string; result_pos: number }>(
      "select box_id, result_pos from state.calls where tool_call_id = $1",
      [bad.calls[0]?.tool_call_id],
    );
    await fx.query(
      "insert into card.cards (card_id, project_id, type, author_id, box_id, pos, content, sha256, created_at) values ($1, 'p1', 'agent.error', 'x', $2, $3, '{}', sha256('{}'), now())",
      [fx.ids.mint("card"), call[0]?.box_id, call[0]?.result_pos],
    );
    await fx.later(31_001);
    expect((await fx.kernel.reads.call(PROJECT, good.calls[0]?.tool_call_id ?? ""))?.settled_by).toBe("deadline");
    expect(
      await fx.query("select reason from state.dead_letters where correlation_id = $1", [bad.calls[0]?.tool_call_id]),
    ).toEqual([{ reason: "sweep_failed" }]);
    await fx.store.database.script(
      `begin; set local session_replication_role = replica; delete from card.cards where type = 'agent.error'; commit`,
    );
    await fx.later(60_001);
    expect((await fx.kernel.reads.call(PROJECT, bad.calls[0]?.tool_call_id ?? ""))?.settled_by).toBe("deadline");
  });

  it("that was rung for months does not overflow", async () => {
    const agent = await fx.newAgent();
    await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent });
    const waiting = await fx.suspended([{ timeout_ms: 2_000_000_000 }]);
    await fx.query("update state.inbox set rings = 1000 where agent_id = $1", [agent]);
    await fx.query("update state.calls set rings = 1000 where tool_call_id = $1", [waiting.calls[0]?.tool_call_id]);
    await fx.later(5_001);
    expect(await fx.query("select rings from state.inbox where agent_id = $1", [agent])).toEqual([{ rings: 1_000 }]);
    expect(
      await fx.query("select rings from state.calls where tool_call_id = $1", [waiting.calls[0]?.tool_call_id]),
    ).toEqual([{ rings: 1_000 }]);
  });
});

describe("a holder", () => {
  it("cannot take the id of a card that the kernel will need", async () => {
    const turn = await fx.suspended([{ timeout_ms: 1_000 }, { timeout_ms: 1_000 }]);
    const opened = await fx.opened(turn, 0, { lease_ms: 600_000 });
    const victim = turn.calls[1]?.tool_call_id ?? "";
    for (const by of ["deadline", "cancel", "crash", "1"]) {
      const squatted =
        (await fx.query<{ id: string }>("select 'card_' || md5($1 || ':' || $2) as id", [victim, by]))[0]?.id ?? "";
      await fx.kernel.putResultCard({
        project_id: PROJECT,
        tool_call_id: opened.tool_call_id,
        capability: opened.capability,
        card_id: squatted,
        content: { status: "success" },
      });
    }
    await fx.later(31_001);
    expect((await fx.kernel.reads.call(PROJECT, victim))?.settled_by).toBe("deadline");
  });

  it("may save a card and then report another result", async () => {
    const opened = await fx.opened(await fx.suspended());
    const held = { project_id: PROJECT, tool_call_id: opened.tool_call_id, capability: opened.capability };
    await fx.kernel.putResultCard({ ...held, content: { status: "success", result: 1 } });
    expect((await fx.kernel.report({ ...held, content: { status: "success", result: 2 } })).outcome).toBe("accepted");
  });

  it("without a name claims nothing", async () => {
    const turn = await fx.suspended();
    const before = await fx.everything();
    const item = { project_id: PROJECT, tool_call_id: turn.calls[0]?.tool_call_id, ticket: turn.calls[0]?.ticket };
    expect(await ask("open_call_at", [item])).toEqual([{ outcome: "rejected", code: "bad_request" }]);
    expect(await ask("open_call_at", [{ ...item, executor: "e", claim_id: "c", project_id: undefined }])).toEqual([
      { outcome: "rejected", code: "card_not_found" },
    ]);
    expect(await fx.everything()).toBe(before);
  });

  it("that failed to reconcile is followed by one that reconciles, not by one that runs", async () => {
    const turn = await fx.suspended([{ effect: "once", can_reconcile: true, timeout_ms: 600_000, backoff_ms: 1_000 }]);
    const callId = turn.calls[0]?.tool_call_id ?? "";
    await fx.opened(turn);
    await fx.later(15_001);
    const open = async () =>
      (await fx.kernel.openCall({
        project_id: PROJECT,
        tool_call_id: callId,
        ticket: fx.ticketOf(callId),
        executor: "e",
      })) as OpenedCall;
    const second = await open();
    expect(second.mode).toBe("reconcile");
    await fx.report(second, {
      status: "failed",
      error: { code: "upstream_unavailable", message: "later", retryable: true },
    });
    await fx.later(10_000);
    expect(await open()).toMatchObject({ attempt: 3, mode: "reconcile" });
  });

  it("with many attempts and a long back-off can still report", async () => {
    const turn = await fx.suspended([{ attempts_max: 40, backoff_ms: 60_000, timeout_ms: 600_000 }]);
    const opened = await fx.opened(turn, 0, { lease_ms: 600_000 });
    await fx.query("update state.calls set attempt = 30 where tool_call_id = $1", [opened.tool_call_id]);
    expect(
      (await fx.report(opened, { status: "failed", error: { code: "x", message: "y", retryable: true } })).outcome,
    ).toBe("accepted");
  });
});

describe("a function of the kernel", () => {
  it("answers in item order, whatever order it works in", async () => {
    const tool = (tool_name: string) => ({
      project_id: PROJECT,
      tool_name,
      digest: tool_name,
      target_subject: "cg.v1r4.p1.public.cmd.tool.x.y",
      after_execution: "suspend",
    });
    const answers = await ask("put_tools", [tool("zz"), tool("aa"), tool("mm")]);
    expect(answers.map((answer) => answer.tool_name)).toEqual(["zz", "aa", "mm"]);
  });

  it("answers an empty batch with nothing and items without keys with a refusal each", async () => {
    for (const fn of ["open_call_at", "report_at", "renew_call_at", "put_result_card_at"]) {
      expect(await ask(fn, [])).toEqual([]);
      expect((await ask(fn, [{}, { tool_call_id: "x" }, {}])).map((answer) => answer.outcome)).toEqual(
        Array(3).fill("rejected"),
      );
    }
    expect((await ask("resume", [{}, {}])).map((answer) => answer.outcome)).toEqual(["rejected", "rejected"]);
  });

  it("refuses a worker that does not say its epoch", async () => {
    const turn = await fx.suspend(await fx.started(), [{ local: true }]);
    const before = await fx.everything();
    const item = { ...hold(turn), turn_epoch: undefined };
    expect(await ask("append_cards", [{ ...item, cards: [] }])).toEqual([{ outcome: "rejected", code: "stale_epoch" }]);
    expect(await ask("apply_results", [{ ...item, step_id: turn.step_id, results: [] }])).toEqual([
      { outcome: "rejected", code: "stale_epoch" },
    ]);
    expect(await ask("suspend_on_calls", [{ ...item, step_id: "s", thought: {}, calls: [] }])).toEqual([
      { outcome: "rejected", code: "stale_epoch" },
    ]);
    expect(await ask("finish_turn", [{ ...item, status: "success" }])).toEqual([
      { outcome: "rejected", code: "stale_epoch" },
    ]);
    expect(await fx.everything()).toBe(before);
  });
});

describe("a queue", () => {
  it("of bad turns is worked off to the first good one", async () => {
    const turn = await fx.started();
    const queued = await Promise.all(
      Array.from({ length: 8 }, () => fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: turn.agent_id })),
    );
    const ids = queued.map((outcome) => (outcome.outcome === "rejected" ? "" : outcome.agent_turn_id));
    await fx.query("update state.agent_turns set context_box_id = null where agent_turn_id = any ($1)", [
      ids.slice(0, 7),
    ]);
    expect(await fx.finish(turn)).toMatchObject({ outcome: "accepted", wake: { agent_turn_id: ids[7] } });
  });

  it("refuses a profile box of another project", async () => {
    await fx.kernel.putProject({ project_id: "p2" });
    const box_id = fx.ids.mint("box");
    await fx.kernel.putBox({ project_id: "p2", box_id });
    const agent = await fx.newAgent();
    expect(await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent, profile_box_id: box_id })).toEqual({
      outcome: "rejected",
      code: "not_found",
    });
    expect(
      await fx.kernel.putAgent({ project_id: PROJECT, agent_id: agent, worker_target: "w", profile_box_id: box_id }),
    ).toEqual({ outcome: "rejected", code: "not_found" });
  });
});

describe("a batch", () => {
  const open = async () => {
    const opened = await fx.opened(
      await fx.suspended([{ tool_name: "fork_join", author_id: "sys.pmo.batch_manager" }]),
    );
    const task = fx.ids.mint("bt");
    await fx.kernel.openBatch({
      project_id: PROJECT,
      tool_call_id: opened.tool_call_id,
      capability: opened.capability,
      batch_id: fx.ids.mint("batch"),
      tasks: [{ batch_task_id: task }],
    });
    return { opened, task };
  };

  it("without a deadline gets one, and its call settles when no worker ends it", async () => {
    const { opened } = await open();
    for (let minute = 0; minute < 17; minute += 1) await fx.later(60_000);
    expect((await fx.kernel.reads.call(PROJECT, opened.tool_call_id))?.settled_by).toBe("deadline");
  });

  it("learns of a child that ended before its task was dispatched", async () => {
    const { task } = await open();
    const child = await fx.started();
    await fx.finish(child);
    await fx.kernel.moveBatchTask({
      project_id: PROJECT,
      batch_task_id: task,
      move: "dispatch",
      agent_turn_id: child.agent_turn_id,
    });
    expect(await fx.query("select status from state.pmo_batch_tasks where batch_task_id = $1", [task])).toEqual([
      { status: "success" },
    ]);
  });
});

describe("a worker that lost the answer with its local calls", () => {
  it("is given the same calls again, as the same attempt", async () => {
    const turn = await fx.suspend(await fx.started(), [
      { local: true, effect: "once", can_reconcile: true, timeout_ms: 600_000 },
      { timeout_ms: 600_000 },
    ]);
    await fx.later(15_001);
    await fx.later(15_001);
    const worker = await fx.newWorker();
    const item = { project_id: PROJECT, agent_id: turn.agent_id, worker_id: worker, cap_sha256: "ab".repeat(32) };
    const [first] = await ask("resume", [item]);
    const [again] = await ask("resume", [{ ...item, reclaim: true }]);
    expect(first).toMatchObject({ why: "waiting", local_calls: [{ attempt: 2 }] });
    expect(again).toEqual(first);
    expect(await ask("resume", [{ ...item, cap_sha256: "cd".repeat(32), reclaim: true }])).toMatchObject([
      { local_calls: null },
    ]);
  });
});

// What needs two sessions at once.
if (process.env.TESSERA_TEST_ENGINE === "postgres") {
  describe("two sessions", () => {
    it("a turn whose head was locked when its worker was declared dead is recovered later, however late the next sweep is", async () => {
      const turn = await fx.started();
      const other = await fx.store.another();
      await other.transaction(async (tx) => {
        await tx.query("select 1 from state.agent_state_head where agent_id = $1 for update", [turn.agent_id]);
        await fx.later(15_001);
      });
      await fx.later(600_000);
      expect(await fx.headStatus(turn)).toBe("dispatched");
    });

    it("an event with a lower number that commits later is not skipped", async () => {
      const cursor = (await fx.kernel.reads.eventsAfter(PROJECT, 0)).at(-1)?.seq ?? 0;
      const insert =
        "insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, created_at) values ('p1', 'a', $1, 'state', 'running', 1, now())";
      const [early, late] = [await fx.store.another(), await fx.store.another()];
      await late.transaction(async (second) => {
        await early.transaction(async (first) => {
          await first.query("select pg_current_xact_id()"); // The lower transaction id, and the higher number.
          await second.query(insert, ["lower_number"]);
          await first.query(insert, ["higher_number"]);
        });
        expect(
          await fx.kernel.reads.eventsAfter(PROJECT, cursor),
          "what is committed waits for what precedes it",
        ).toEqual([]);
      });
      expect((await fx.kernel.reads.eventsAfter(PROJECT, cursor)).map((event) => event.agent_turn_id)).toEqual([
        "lower_number",
        "higher_number",
      ]);
    });
  });
}
