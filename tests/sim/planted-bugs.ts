// Bugs planted on purpose: what the simulation is worth is how many of them it finds.
//
//   P1. The product carries none of them. A bug is a piece of text in one of the kernel's functions that is replaced in the
//       simulation's own database, exactly once, and put back afterwards.
//   P2. Each names the mistake of the list that it stands for. Where our design makes the mistake as it is listed harmless,
//       the one that would hurt in its place is planted.
//   P3. A bug that the simulation found in the product is planted again where that can be done in SQL and one of the first 200
//       seeds finds it. CI runs the seed that found it in any case (seeds.txt).
//   P4. `wrong lock order` is hunted on a real server (tests/scenarios/planted-lock-order.test.ts): the simulation has one
//       session, which takes no lock in another order than itself.

import type { Database } from "@tessera/kernel";
import { changeFunctions, type FunctionChange } from "@tessera/testkit/changed-functions";
import { rolledBack } from "@tessera/testkit/rolled-back";

export interface PlantedBug {
  readonly name: string;
  readonly says: string;
  readonly replaced: readonly FunctionChange[];
  /** The seed below 200 that found it first when it was last hunted; tried first, so that a hunt is short. */
  readonly foundBy?: number;
  /** Around the database that the processes reach. */
  readonly wrap?: (database: Database) => Database;
  /** Run with it, and after it. */
  readonly script?: { readonly plant: string; readonly remove: string };
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "drop_outbox_row",
    says: "a committed call is announced to no executor",
    replaced: [
      {
        fn: "suspend_on_calls",
        from: "moment + least(c.deadline_ms, 5000) * interval '1 millisecond', 'waiting'",
        to: "null, 'waiting'",
      },
      {
        fn: "suspend_plainly",
        from: "moment + least(h.deadline_ms, 5000) * interval '1 millisecond', 'waiting'",
        to: "null, 'waiting'",
      },
      {
        fn: "suspend_locally",
        from: "moment + least(h.deadline_ms, 5000) * interval '1 millisecond', 'waiting'",
        to: "null, 'waiting'",
      },
    ],
  },
  {
    name: "skip_epoch_check",
    foundBy: 11,
    says: "what a worker writes is taken from any worker that names the turn, whatever its epoch",
    replaced: [
      {
        fn: "refuse_worker",
        from: " or h.turn_epoch is distinct from (item ->> 'turn_epoch')::bigint then 'stale_epoch'",
        to: " then 'stale_epoch'",
      },
      {
        fn: "suspend_on_calls",
        from: " or h.turn_epoch is distinct from i.turn_epoch then 'stale_epoch'",
        to: " then 'stale_epoch'",
      },
      { fn: "suspend_plainly", from: "and h.turn_epoch = i.turn_epoch and h.status", to: "and h.status" },
      { fn: "suspend_locally", from: "and h.turn_epoch = i.turn_epoch and h.status", to: "and h.status" },
      { fn: "apply_plainly", from: "and h.turn_epoch = i.turn_epoch and h.step_id", to: "and h.step_id" },
      { fn: "finish_plainly", from: "and h.turn_epoch = i.turn_epoch and h.status", to: "and h.status" },
      { fn: "apply_results", from: "and l.turn_epoch = l.asked_epoch and l.step_id", to: "and l.step_id" },
      {
        fn: "apply_results",
        from: " or l.turn_epoch is distinct from l.asked_epoch then 'stale_epoch'",
        to: " then 'stale_epoch'",
      },
    ],
  },
  {
    name: "ack_before_claim",
    foundBy: 5,
    says: "a command is run by every executor that receives it: the claim no longer keeps a second executor out",
    replaced: [
      { fn: "open_call_at", from: "when c.claimed_by is not null then 'already_claimed'", to: "" },
      { fn: "open_call_at", from: "then 'stale_attempt'", to: "and false then 'stale_attempt'" },
      {
        fn: "open_plainly",
        from: "and c.wait_status = 'waiting' and c.claimed_by is null",
        to: "and c.wait_status = 'waiting'",
      },
    ],
  },
  {
    name: "timeout_without_cas",
    says: "the watchdog settles what is settled already",
    replaced: [{ fn: "sweep_call", from: "if c.wait_status = 'received' then", to: "if false then" }],
  },
  {
    name: "reuse_wait_row",
    says: "a wait that was applied waits again",
    replaced: [
      {
        fn: "resume",
        from: "set wait_status = 'applied', applied_at = moment, due_at = null",
        to: "set wait_status = 'waiting'",
      },
      {
        fn: "resume_plainly",
        from: "set wait_status = 'applied', applied_at = moment, due_at = null",
        to: "set wait_status = 'waiting'",
      },
    ],
  },
  {
    name: "publish_inside_tx",
    says: "the answer of a step goes out before its calls are committed, and the commit may not come",
    replaced: [],
    wrap: (database) => {
      let steps = 0;
      return {
        ...database,
        async query(text, values) {
          if (!text.includes("l0.suspend_plainly(") || ++steps % 6 !== 0) return await database.query(text, values);
          return await rolledBack(database, (tx) => tx.query(text, values));
        },
      };
    },
  },
  {
    name: "trust_payload",
    foundBy: 7,
    says: "a report is taken from who names the call, without the capability of its attempt",
    replaced: [
      {
        fn: "report_at",
        from: "when c.cap_sha256 is distinct from i.shown then case when i.shown = any (c.stale_caps) then 'stale_attempt' else 'auth_failed' end",
        to: "",
      },
      {
        fn: "report_plainly",
        from: "and c.wait_status = 'waiting' and c.cap_sha256 = i.shown",
        to: "and c.wait_status = 'waiting'",
      },
    ],
  },
  {
    name: "box_append_outside_tx",
    says: "one result in ten is settled without its card: the second statement was lost",
    replaced: [
      {
        fn: "report_at",
        from: "from decided d where d.code = 'accepted' and d.pointed_card_id is null",
        to: "from decided d where d.code = 'accepted' and d.pointed_card_id is null and abs(hashtext(d.tool_call_id)) % 10 > 0",
      },
      {
        fn: "report_plainly",
        from: "sha256(convert_to(c.content::text, 'UTF8')), moment\n      from settled c",
        to: "sha256(convert_to(c.content::text, 'UTF8')), moment\n      from settled c where abs(hashtext(c.tool_call_id)) % 10 > 0",
      },
    ],
  },
  {
    name: "double_terminal_on_cancel",
    foundBy: 5,
    says: "a turn that is canceled ends twice",
    replaced: [
      {
        fn: "stop_one",
        from: "wake := l0.end_turn(h, 'canceled', null, 'canceled', reason, 'consumed', moment);",
        to: `wake := l0.end_turn(h, 'canceled', null, 'canceled', reason, 'consumed', moment);
  insert into state.events (project_id, agent_id, agent_turn_id, kind, status, turn_epoch, created_at)
  values (turn.project_id, turn.agent_id, turn.agent_turn_id, 'task', 'success', h.turn_epoch, moment);`,
      },
    ],
    script: {
      plant: "drop index state.events_one_terminal",
      remove:
        "truncate state.events; create unique index events_one_terminal on state.events (agent_turn_id) where kind = 'task'",
    },
  },
  {
    name: "deadline_forgets_cut_off_run",
    foundBy: 21,
    says: "a deadline says tool_timeout for a run that was cut off and may have had its effect (a bug that seed 1325 found)",
    replaced: [
      {
        fn: "sweep_call",
        from: "and c.batch_id is null and (c.claimed_by is not null or c.reconcile)",
        to: "and c.batch_id is null and c.claimed_by is not null",
      },
    ],
  },
  {
    name: "depth_from_header",
    foundBy: 4,
    says: "a child's depth is what its request says",
    replaced: [
      {
        fn: "enqueue_one",
        from: "depth := parent.recursion_depth + case policy when 'descend' then 1 else 0 end;",
        to: "depth := coalesce((item ->> 'recursion_depth')::integer, 0);",
      },
    ],
  },
  {
    name: "retry_without_key",
    says: "each attempt has an idempotency key of its own",
    replaced: [
      {
        fn: "open_call_at",
        from: "encode(sha256(convert_to(d.tool_call_id, 'UTF8')), 'hex')",
        to: "encode(sha256(convert_to(d.tool_call_id || d.attempt, 'UTF8')), 'hex')",
      },
      {
        fn: "open_plainly",
        from: "encode(sha256(convert_to(c.tool_call_id, 'UTF8')), 'hex')",
        to: "encode(sha256(convert_to(c.tool_call_id || c.attempt, 'UTF8')), 'hex')",
      },
    ],
  },
  {
    name: "drop_earlier_turn",
    foundBy: 5,
    says: "a turn that was stopped is left out of what the turns behind it remember",
    replaced: [
      {
        fn: "conversation",
        from: "a.turn_number between first and last order by",
        to: "a.turn_number between first and last and a.status <> 'canceled' order by",
      },
    ],
  },
  {
    name: "double_async_answer",
    foundBy: 5,
    says: "an answer that was not waited for becomes two cards, and its row says that it was taken once",
    replaced: [
      {
        fn: "answer_cards",
        from: "from state.inbox n\n     cross join lateral",
        to: "from state.inbox n cross join generate_series(1, 2) twice\n     cross join lateral",
      },
      {
        fn: "answer_cards",
        from: "sha256(convert_to(n.inbox_id, 'UTF8'))",
        to: "sha256(convert_to(n.inbox_id || twice, 'UTF8'))",
      },
    ],
  },
];

/** P4 */
export const WRONG_LOCK_ORDER: PlantedBug = {
  name: "wrong_lock_order",
  says: "a report locks its calls in the order in which they were sent, not in that of their keys",
  replaced: [
    { fn: "report_at", from: 'from (select * from item order by tool_call_id collate "C") i', to: "from item i" },
  ],
};

/** Plants the bug; what it answers takes it out again. */
export async function plant(database: Database, bug: PlantedBug): Promise<() => Promise<void>> {
  const putBack = await changeFunctions(database, bug.replaced); // P1
  if (bug.script !== undefined) await database.script(bug.script.plant);
  return async () => {
    await putBack();
    if (bug.script !== undefined) await database.script(bug.script.remove);
  };
}
