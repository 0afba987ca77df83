// The invariants are tested too: each one fires on a violation planted for it, and none on a store that is well.

import { describe, expect, it } from "vitest";
import { INVARIANTS, verifyStore } from "../src/index.ts";
import { PROJECT, useFixture } from "./fixture.ts";

const fx = useFixture({ checkSafety: false });

/** Statements that break exactly what the invariant says. Constraints that would refuse them are taken away first. */
const PLANTED: Readonly<Record<string, readonly string[]>> = {
  "01_call_settled": [],
  "02_one_result_in_box": [copyOfResult("box_id", "pos + 1000")],
  "03_settled_points_to_result": ["update state.calls set result_card_id = 'card_none' where wait_status = 'applied'"],
  "04_one_terminal_event": [],
  "05_terminal_event_matches_turn": ["delete from state.events where kind = 'task'"],
  "06_deliverable_in_output_box": [
    "update state.agent_turns set deliverable_card_id = 'card_none' where ended_at is not null",
  ],
  "07_idle_iff_no_active": [
    "update state.agent_state_head set active_agent_turn_id = 'turn_none' where status = 'suspended'",
  ],
  "08_single_active_turn": [
    "update state.agent_turns set status = 'active', ended_at = null, deliverable_card_id = null where ended_at is not null",
  ],
  "12_no_work_after_end": [
    "update state.agent_turns set ended_at = created_at - interval '1 hour' where ended_at is not null",
  ],
  "13_lineage_verbatim": ["update card.cards set trace_id = 'other' where type = 'tool.result'"],
  "14_author_is_owner": ["update card.cards set author_id = 'tool.other' where type = 'tool.result'"],
  "15_function_matches_call": ["update card.cards set function_name = 'other' where type = 'tool.result'"],
  "16_inbox_drained": [],
  "17_open_calls_true": ["update state.agent_state_head set open_calls = '{tc_none}' where status = 'suspended'"],
  "18_suspended_can_wake": ["update state.agent_state_head set resume_deadline = null where status = 'suspended'"],
  "20_every_wait_has_a_ring": ["update state.calls set due_at = null where wait_status = 'waiting'"],
  "21_report_has_request": [
    "insert into state.edges (edge_id, project_id, channel_id, primitive, edge_phase, correlation_id, recursion_depth, created_at) values ('e', 'p1', 'public', 'join', 'response', 'none', 0, now())",
  ],
  "22_depth_bounded": ["update state.agent_turns set recursion_depth = 20"],
  "23_tenant_closed": ["update card.cards set project_id = 'p2' where type = 'tool.result'"],
  "24_batch_consistent": [
    "update state.pmo_batch_tasks set status = 'failed', ended_at = now()",
    "update state.pmo_batches set status = 'success', ended_at = now()",
  ],
  "25_batch_one_join": ["update state.pmo_batches set status = 'failed', ended_at = now()"],
  "27_card_immutable": [`update card.cards set content = '{"status": "changed"}' where type = 'tool.result'`],
  "28_box_single_writer_dense": ["update card.cards set pos = pos + 7 where type = 'task.deliverable'"],
  "29_report_conservation": ["update state.calls set result_pos = 99 where wait_status = 'applied'"],
  "30_exhausted_is_dead_lettered": ["update state.inbox set disposition = 'dead'"],
  "31_no_new_work_after_stop": ["update state.agent_turns set stopped_at = created_at - interval '1 hour'"],
  "37_queue_length_true": ["update state.agent_state_head set queue_length = 3"],
  "38_idle_has_no_queue": ["update state.agent_state_head set queue_length = 3 where status = 'idle'"],
  "39_running_has_message": ["update state.inbox set status = 'pending' where status = 'processing'"],
  "42_rows_fit_their_state": ["update state.agent_state_head set holder = null where status = 'running'"],
  "43_budget_counts_turns": ["update state.trace_budgets set turns = 0"],
  "44_turns_are_numbered": ["update state.agent_state_head set turns_dispatched = 7"],
  "45_answers_once": ["update state.agent_turns set answers_parent = true where ended_at is not null"],
  "46_answers_counted": ["update state.agent_state_head set answers_waiting = 1"],
  "47_answers_are_told": [
    `insert into state.inbox (inbox_id, project_id, agent_id, channel_id, message_type, correlation_id, agent_turn_id, status, next_retry_at, created_at)
     select 'answer:x', t.project_id, t.agent_id, 'public', 'answer', 'x', t.agent_turn_id, 'pending', now(), now()
       from state.agent_turns t join state.agent_state_head h on h.agent_id = t.agent_id and h.status = 'idle' where t.status = 'success' limit 1`,
  ],
  "40_overdue_calls": ["update state.calls set deadline_at = now() - interval '1 year' where wait_status = 'waiting'"],
  "41_overdue_turns": [
    "update state.agent_state_head set status = 'dispatched', updated_at = now() - interval '1 year', holder = null where status = 'suspended'",
    "update state.inbox set next_retry_at = now() - interval '1 year'",
  ],
};

function copyOfResult(box: string, pos: string): string {
  return `insert into card.cards (card_id, project_id, type, author_id, tool_call_id, box_id, pos, content, sha256, created_at)
          select card_id || '_copy', project_id, type, author_id, tool_call_id, ${box}, ${pos}, content, sha256, created_at from card.cards where type = 'tool.result' and box_id is not null`;
}

/** A store with one ended turn, one suspended turn, one running turn and one running batch. */
async function populate(): Promise<void> {
  const done = await fx.suspended();
  await fx.report(await fx.opened(done));
  await fx.finish(await fx.resumed(done.agent_id, done.worker_id));
  await fx.started();
  const forked = await fx.suspended([{ tool_name: "fork_join", author_id: "sys.pmo.batch_manager" }]);
  const opened = await fx.opened(forked);
  await fx.kernel.openBatch({
    project_id: PROJECT,
    tool_call_id: opened.tool_call_id,
    capability: opened.capability,
    batch_id: fx.ids.mint("batch"),
    tasks: [{ batch_task_id: fx.ids.mint("bt") }],
  });
}

const rollback = new Error("roll back");

describe("the invariants", () => {
  it("have a planted violation each", () => {
    expect(Object.keys(PLANTED).sort()).toEqual(INVARIANTS.map((invariant) => invariant.name).sort());
  });

  it("find nothing in a store that is well", async () => {
    await populate();
    expect((await verifyStore(fx.store.database, { clock: fx.clock })).violations).toEqual([]);
  });

  for (const { name, kind, says } of INVARIANTS) {
    it(`${name} fires when it is not so that ${says}`, async () => {
      if ((await fx.query("select 1 from state.agent_turns limit 1")).length === 0) await populate();
      await fx.store.database
        .transaction(async (tx) => {
          // The schema itself refuses most of these; the invariant must not rely on that.
          await tx.script("set local session_replication_role = replica");
          for (const constraint of await tx.query<{ drop: string }>(
            `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop from pg_constraint
              where contype = 'c' and conrelid::regclass::text ~ '^(state|card)\\.'`,
          )) {
            await tx.script(constraint.drop);
          }
          for (const statement of PLANTED[name] ?? []) await tx.script(statement);
          const moment = kind === "overdue" ? ["now"] : [];
          const rows = await tx.query(INVARIANTS.find((invariant) => invariant.name === name)?.text ?? "", moment);
          expect(rows.length, "rows found").toBeGreaterThan(0);
          throw rollback;
        })
        .catch((error: unknown) => {
          if (error !== rollback && (error as Error).cause !== rollback) throw error;
        });
    });
  }
});
