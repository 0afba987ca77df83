// What a plain function answers and writes is what the full function of its name would have (26_plain_calls.sql, P1). The
// plain functions copy the conditions of the full ones; here each condition is broken alone, and both functions are asked,
// each in a transaction that is rolled back.
//
//   D1. The item that breaks nothing is served without the full function: with that one away it is accepted all the same. So
//       the cases are one step away from what the plain function takes, and are not left over for another reason.
//   D2. Each case is asked alone and behind a good item: the functions judge a batch by its first.
//   D3. Compared are the answers and every row that was written, but for what is random in them.
//   D4. A plain function may wait for the disk where the full one would not, never the other way round.

import { describe, expect, it } from "vitest";
import { DatabaseError, type Row, type Statements } from "../src/index.ts";
import { PROJECT, type Started, SUBJECT, type Suspended, useFixture } from "./fixture.ts";

const fx = useFixture({ checkSafety: false }); // cases set columns directly

type Item = Readonly<Record<string, unknown>>;
/** Set by the kernel and different each time, or counted by a sequence. */
const RANDOM = new Set([
  ...["result_card_id", "tool_result_card_id", "card_id", "deliverable_card_id", "report_span_id", "capability"],
  ...["cap_sha256", "sha256", "seq", "queue_order", "audit_id", "dead_letter_id", "failure_id"],
]);
const WRITTEN = [
  ...["card.cards", "card.boxes", "card.box_cards", "state.calls", "state.agent_state_head", "state.agent_turns"],
  ...[
    "state.inbox",
    "state.edges",
    "state.events",
    "state.trace_budgets",
    "state.pmo_batches",
    "state.pmo_batch_tasks",
  ],
  ...["state.audit_log", "state.dead_letters", "state.failures"],
];

interface Seen {
  readonly answers: unknown;
  readonly rows: unknown;
}

class Undone extends Error {}

/** D3 */
function plain(value: unknown, known: string): unknown {
  if (Array.isArray(value)) return value.map((each) => plain(each, known));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, each]) => {
    if (each === null) return [];
    const isRandom = RANDOM.has(key) && !(typeof each === "string" && known.includes(each));
    return [[key, isRandom ? "random" : plain(each, known)] as const];
  });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What a statement does with these items, in a transaction that is undone. */
async function seen(statement: string, items: readonly Item[], without?: string): Promise<Seen & { isAsync: boolean }> {
  let all: (Seen & { isAsync: boolean }) | null = null;
  const known = JSON.stringify(items);
  const ask = async (tx: Statements) => {
    if (without !== undefined) await tx.query(`drop function l0.${without}`);
    const rows = await tx.query<{ answer: unknown }>(statement, [known, fx.clock.databaseTime().toISOString()]);
    const parts = WRITTEN.map(
      (table) => `select '${table}' as name, to_jsonb(t) as row from ${table} t
      where t.xmin::text = (pg_current_xact_id()::text::bigint % 4294967296)::text`,
    );
    const written = await tx.query<Row>(parts.join(" union all "));
    const [setting] = await tx.query<{ value: string }>("select current_setting('synchronous_commit') as value");
    const texts = written.map((row) => JSON.stringify(plain(row, known))).sort();
    all = { answers: plain(rows[0]?.answer, known), rows: texts, isAsync: setting?.value === "off" };
    throw new Undone();
  };
  try {
    await fx.store.database.transaction(ask);
  } catch (error) {
    if (error instanceof DatabaseError) return { answers: `error ${error.sqlstate}`, rows: [], isAsync: false };
    if (!(error instanceof Undone)) throw error;
  }
  return all as unknown as Seen & { isAsync: boolean };
}

interface PlainFunction {
  readonly name: string;
  readonly plain: string;
  readonly full: string;
  /** The full function, as `drop function` names it. */
  readonly fullFunction: string;
  /** An item that the plain function takes. */
  readonly good: () => Promise<Item>;
  /** What is asked instead; `accepted` where nothing is refused. */
  readonly cases: Readonly<Record<string, () => Promise<readonly Item[]>>>;
}

const statementOf = (fn: string) => `select l0.${fn}($1::jsonb, $2::timestamptz) as answer`;

const changed =
  (good: () => Promise<Item>, change: Item | ((item: Item) => Item | Promise<Item>)) =>
  async (): Promise<readonly Item[]> => {
    const item = await good();
    return [typeof change === "function" ? await change(item) : { ...item, ...change }];
  };

/** Changes rows behind the kernel's back, for states that take long to come to. */
const set = (what: string, ...values: unknown[]) => fx.query(`update ${what}`, values);

// ---------------------------------------------------------------- what the cases start from

const OTHER = "p2";
const hex = (n: number) => fx.ids.traceId().repeat(2).slice(0, n);

function fence(turn: Started): Item {
  return {
    project_id: turn.project_id,
    agent_id: turn.agent_id,
    agent_turn_id: turn.agent_turn_id,
    turn_epoch: turn.turn_epoch,
  };
}

function draft(local: boolean, more: Item = {}): Item {
  return {
    tool_call_id: fx.ids.mint("tc"),
    card_id: fx.ids.mint("card"),
    tool_name: "echo__run",
    arguments: { a: 1 },
    target_subject: SUBJECT,
    author_id: "tool.echo",
    span_id: hex(16),
    effect: "once",
    after_execution: "suspend",
    deadline_ms: 60_000,
    attempts_max: 2,
    backoff_ms: 1_000,
    can_reconcile: false,
    local,
    ...(local ? { cap_sha256: hex(64) } : {}),
    ...more,
  };
}

const stepItem = (turn: Started, calls: readonly Item[]): Item => ({
  ...fence(turn),
  step_id: fx.ids.mint("step"),
  thought: { card_id: fx.ids.mint("card"), content: { text: "thinking" } },
  calls,
});

/** A turn that was dispatched and that no worker has taken. */
async function dispatched(): Promise<Started> {
  const agent_id = await fx.newAgent();
  const turn = await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id });
  if (turn.outcome !== "accepted") throw new Error(turn.outcome);
  const { agent_turn_id } = turn;
  return { project_id: PROJECT, agent_id, agent_turn_id, turn_epoch: 1, output_box_id: "", worker_id: "" };
}

const suspendCases = (local: boolean): PlainFunction["cases"] => {
  const good = async () => stepItem(await fx.started(), [draft(local)]);
  return {
    "an earlier epoch": changed(good, (item) => ({ ...item, turn_epoch: Number(item.turn_epoch) - 1 })),
    "a later epoch": changed(good, (item) => ({ ...item, turn_epoch: Number(item.turn_epoch) + 1 })),
    "another turn": changed(good, { agent_turn_id: "turn_other" }),
    "another project": changed(good, { project_id: OTHER }),
    "an agent that is not there": changed(good, { agent_id: "agent_none" }),
    "no calls": changed(good, { calls: [] }),
    "several calls": changed(good, () => good().then((item) => ({ ...item, calls: [draft(local), draft(local)] }))),
    "a call that runs elsewhere, or not": changed(good, (item) => ({ ...item, calls: [draft(!local)] })),
    "a turn that no worker has taken": async () => [stepItem(await dispatched(), [draft(local)])],
    "a step that is there": async () => {
      const turn = await fx.suspend(await fx.started(), [{ local }]);
      return [{ ...stepItem(turn, [draft(local)]), step_id: turn.step_id }];
    },
    "a turn that waits for another step": async () => [stepItem(await fx.suspended([{}]), [draft(local)])],
    "a turn whose open step runs here": async () => [
      stepItem(await fx.suspend(await fx.started(), [{ local: true }]), [draft(local)]),
    ],
    "a turn whose worker was lost before": changed(good, async (item) => {
      await set("state.agent_state_head set crash_count = 1 where agent_id = $1", item.agent_id);
      return item;
    }),
  };
};

async function opening(draftOf: Item = {}): Promise<Item> {
  return openingOf(await fx.suspended([draftOf]));
}

const openingOf = (turn: Suspended): Item => ({
  project_id: PROJECT,
  tool_call_id: turn.calls[0]?.tool_call_id,
  ticket: turn.calls[0]?.ticket,
  executor: "e1",
  claim_id: "claim_1",
  lease_ms: 15_000,
  principal: "login_1",
});

async function ticketOf(call: unknown, attempt: number): Promise<string> {
  const [row] = await fx.query<{ ticket: string }>(
    "select l0.ticket(k.inner_pad, k.outer_pad, $1, $2, $3) as ticket from l0.ticket_keys k where k.key_id = 1",
    [PROJECT, call, attempt],
  );
  return row?.ticket ?? "";
}

/** Opened by login_1 as e1 under claim_1. */
async function claimed(more: Item = {}): Promise<Item> {
  const item = await opening();
  await fx.query(statementOf("open_call_at"), [JSON.stringify([item]), fx.clock.databaseTime().toISOString()]);
  return { ...item, ...more };
}

async function reporting(drafts: readonly Item[] = [{}]): Promise<Item> {
  const turn = await fx.suspended(drafts);
  const opened = await fx.opened(turn, 0, { principal: "login_1" });
  return {
    project_id: PROJECT,
    tool_call_id: opened.tool_call_id,
    capability: opened.capability,
    content: { status: "success", result: { ok: true } },
    principal: "login_1",
  };
}

const BIG = "x".repeat(1_100_000);
const RETRY = { status: "failed", error: { code: "x", message: "", source: "tool", retryable: true } };

/** One worker for all items: a process is one, and the function looks once for a batch. */
let shared: string | null = null;

async function resuming(drafts: readonly Item[] = [{}], reports = drafts.length, worker?: string): Promise<Item> {
  shared ??= await fx.newWorker();
  const turn = await fx.suspend(await fx.started({ worker_id: worker ?? shared }), drafts);
  for (let n = 0; n < reports; n += 1) expect((await fx.report(await fx.opened(turn, n))).outcome).toBe("accepted");
  return { project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id };
}

const finishing = async (turn?: Started): Promise<Item> => ({
  ...fence(turn ?? (await fx.started())),
  status: "success",
  deliverable: { card_id: fx.ids.mint("card"), content: { text: "done" } },
});

const applying = async (drafts: readonly Item[] = [{}], results = 1): Promise<Item> => {
  const turn = await fx.suspend(
    await fx.started(),
    drafts.map((each) => ({ local: true, ...each })),
  );
  return {
    ...fence(turn),
    step_id: turn.step_id,
    results: turn.calls.slice(0, results).map(({ tool_call_id }) => ({ tool_call_id, content: SUCCESS })),
  };
};
const SUCCESS = { status: "success", result: { ok: true } };
const withContent = (content: unknown) => (item: Item) => ({
  ...item,
  results: (item.results as Item[]).map((result) => ({ ...result, content })),
});

const asking = async (more: Item = {}): Promise<Item> => ({
  project_id: PROJECT,
  agent_id: await fx.newAgent(),
  agent_turn_id: fx.ids.mint("turn"),
  trace_id: fx.ids.traceId(),
  span_id: fx.ids.spanId(),
  context_cards: [{ card_id: fx.ids.mint("card"), type: "task.instruction", content: { text: "go" } }],
  new_box_ids: [fx.ids.mint("box"), fx.ids.mint("box")],
  ...more,
});

async function otherProject(): Promise<void> {
  await fx.kernel.putProject({ project_id: OTHER });
}

async function boxOf(project_id: string): Promise<string> {
  await otherProject();
  const box_id = fx.ids.mint("box");
  await fx.kernel.putBox({ project_id, box_id });
  return box_id;
}

/** An agent of a project of its own. */
async function inProject(status: string): Promise<Item> {
  const project_id = fx.ids.mint("project");
  await fx.kernel.putProject({ project_id });
  const agent_id = await fx.newAgent(undefined, project_id);
  await set("resource.projects set status = $2 where project_id = $1", project_id, status);
  return { project_id, agent_id };
}

// ---------------------------------------------------------------- the functions

const suspendGood = (local: boolean) => async () => stepItem(await fx.started(), [draft(local)]);

const FUNCTIONS: readonly PlainFunction[] = [
  {
    name: "suspend_plainly",
    plain: statementOf("suspend_plainly"),
    full: statementOf("suspend_on_calls"),
    fullFunction: "suspend_on_calls(jsonb, timestamptz)",
    good: suspendGood(false),
    cases: suspendCases(false),
  },
  {
    name: "suspend_locally",
    plain: statementOf("suspend_locally"),
    full: statementOf("suspend_on_calls"),
    fullFunction: "suspend_on_calls(jsonb, timestamptz)",
    good: suspendGood(true),
    cases: suspendCases(true),
  },
  {
    name: "open_plainly",
    plain: statementOf("open_plainly"),
    full: statementOf("open_call_at"),
    fullFunction: "open_call_at(jsonb, timestamptz, boolean)",
    good: opening,
    cases: {
      "another project": changed(opening, { project_id: OTHER }),
      "no project": changed(opening, { project_id: null }),
      "a ticket that is none": changed(opening, { ticket: "00".repeat(32) }),
      "the ticket of another call": changed(opening, async (item) => ({ ...item, ticket: (await opening()).ticket })),
      "the ticket of a later attempt": changed(opening, async (item) => ({
        ...item,
        ticket: await ticketOf(item.tool_call_id, 2),
      })),
      "the ticket of an attempt that is over": changed(opening, async (item) => {
        await set("state.calls set attempt = 1 where tool_call_id = $1", item.tool_call_id);
        return item;
      }),
      "the ticket of the next attempt while the call is held": changed(claimed, async (item) => ({
        ...item,
        ticket: await ticketOf(item.tool_call_id, 2),
        claim_id: "claim_2",
      })),
      "no ticket, for the right target": changed(opening, { ticket: null, target: "echo" }),
      "no ticket, for another target": changed(opening, { ticket: null, target: "other" }),
      "its own card": changed(opening, async (item) => {
        const [row] = await fx.query("select call_card_id from state.calls where tool_call_id = $1", [
          item.tool_call_id,
        ]);
        return { ...item, tool_call_card_id: row?.call_card_id };
      }),
      "the card of another call": changed(opening, async (item) => {
        const other = await opening();
        const [row] = await fx.query("select call_card_id from state.calls where tool_call_id = $1", [
          other.tool_call_id,
        ]);
        return { ...item, tool_call_card_id: row?.call_card_id };
      }),
      "a card that is not there": changed(opening, { tool_call_card_id: "card_none" }),
      "a call that is not there": changed(opening, { tool_call_id: "tc_none" }),
      "no executor": changed(opening, { executor: "" }),
      "a long executor": changed(opening, { executor: "e".repeat(257) }),
      "no claim": changed(opening, { claim_id: "" }),
      "a long claim": changed(opening, { claim_id: "c".repeat(257) }),
      "a short lease": changed(opening, { lease_ms: 1_000 }),
      "a lease that is too long": changed(opening, { lease_ms: 99_000_000 }),
      "no lease": changed(opening, { lease_ms: null }),
      "a tool that reads": async () => [await opening({ effect: "read" })],
      "a tool that reads, before one that does not": async () => [await opening({ effect: "read" }), await opening()],
      "a call that is asked about": changed(opening, async (item) => {
        await set("state.calls set reconcile = true, attempt = 1 where tool_call_id = $1", item.tool_call_id);
        return { ...item, ticket: await ticketOf(item.tool_call_id, 2) };
      }),
      "a call that runs where its agent runs": async () => {
        const turn = await fx.suspend(await fx.started(), [{ local: true, effect: "read" }]);
        const call = turn.calls[0]?.tool_call_id;
        await set("state.calls set claimed_by = null where tool_call_id = $1", call);
        return [{ ...openingOf(turn), ticket: await ticketOf(call, 2) }];
      },
      "a call whose deadline has passed": changed(opening, async (item) => {
        const past = new Date(fx.clock.databaseTime().getTime() - 1);
        await set("state.calls set deadline_at = $2 where tool_call_id = $1", item.tool_call_id, past);
        return item;
      }),
      "a call that is settled and that no executor had": changed(opening, async (item) => {
        await set(
          "state.calls set wait_status = 'received', settled_by = 'deadline' where tool_call_id = $1",
          item.tool_call_id,
        );
        return item;
      }),
      "the same claim again": () => claimed().then((item) => [item]),
      "the same claim under another principal": () => claimed({ principal: "login_2" }).then((item) => [item]),
      "the same claim under no principal": () => claimed({ principal: null }).then((item) => [item]),
      "another claim": () => claimed({ claim_id: "claim_2" }).then((item) => [item]),
      "another executor": () => claimed({ executor: "e2" }).then((item) => [item]),
      "a call that is named twice": async () => {
        const item = await opening();
        return [item, { ...item, executor: "e2" }];
      },
    },
  },
  {
    name: "report_plainly",
    plain: statementOf("report_plainly"),
    full: statementOf("report_at"),
    fullFunction: "report_at(jsonb, timestamptz)",
    good: reporting,
    cases: {
      "another project": changed(reporting, { project_id: OTHER }),
      "a capability that is none": changed(reporting, { capability: "00".repeat(32) }),
      "a capability that is no hash": changed(reporting, { capability: "x" }),
      "no capability": changed(reporting, { capability: null }),
      "the capability of another call": changed(reporting, async (item) => ({
        ...item,
        capability: (await reporting()).capability,
      })),
      "the capability of an earlier attempt": changed(reporting, async (item) => {
        await set(
          "state.calls set stale_caps = array[cap_sha256], cap_sha256 = null, claimed_by = null where tool_call_id = $1",
          item.tool_call_id,
        );
        return item;
      }),
      "another principal": changed(reporting, { principal: "login_2" }),
      "no principal": changed(reporting, { principal: null }),
      "a call with siblings": async () => [await reporting([{}, {}])],
      "the deepest turn": changed(reporting, async (item) => {
        await set("state.calls set recursion_depth = 20 where tool_call_id = $1", item.tool_call_id);
        return item;
      }),
      "its own epoch": changed(reporting, { turn_epoch: 1 }),
      "epoch 0": changed(reporting, { turn_epoch: 0 }),
      "another epoch": changed(reporting, { turn_epoch: 7 }),
      "another depth": changed(reporting, { recursion_depth: 3 }),
      "another agent": changed(reporting, { agent_id: "agent_other" }),
      "another turn": changed(reporting, { agent_turn_id: "turn_other" }),
      "another author": changed(reporting, { author_id: "tool.other" }),
      "another tool": changed(reporting, { function_name: "other__run" }),
      "another trace": changed(reporting, { traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01` }),
      "a trace that is none": changed(reporting, { traceparent: "x" }),
      "a timeout": changed(reporting, { message_type: "timeout" }),
      "another message": changed(reporting, { message_type: "turn" }),
      "a card besides the content": changed(reporting, { tool_result_card_id: "card_none" }),
      "a card that is not there": changed(reporting, {
        content: null,
        tool_result_card_id: "card_none",
        status: "success",
      }),
      "what comes after": changed(reporting, { content: { ...SUCCESS, after_execution: "suspend" } }),
      "something else to come after": changed(reporting, { content: { ...SUCCESS, after_execution: "terminate" } }),
      "a tool that ends the turn": async () => [await reporting([{ after_execution: "terminate" }])],
      "a success with an error": changed(reporting, { content: { ...SUCCESS, error: { code: "x", message: "" } } }),
      "a field that is unknown": changed(reporting, { content: { ...SUCCESS, more: 1 } }),
      "a control block": changed(reporting, {
        content: { status: "success", result: { __cg_control: { after_execution: "terminate" } } },
      }),
      "a control block that is wrong": changed(reporting, {
        content: { status: "success", result: { __cg_control: { after_execution: "x" } } },
      }),
      "a content that is a text": changed(reporting, { content: "success" }),
      "a content that is too large": changed(reporting, { content: { status: "success", result: BIG } }),
      "a failure": changed(reporting, {
        content: { status: "failed", error: { code: "x", message: "", source: "tool" } },
      }),
      "a failure with a stack": changed(reporting, {
        content: { status: "failed", error: { code: "x", message: "", source: "tool" } },
        stack: "Error: x",
      }),
      "a success with a stack": changed(reporting, { stack: "Error: x" }),
      "a failure to be tried again": changed(reporting, { content: RETRY }),
      "a call that was reported": changed(reporting, async (item) => {
        await fx.query(statementOf("report_at"), [JSON.stringify([item]), fx.clock.databaseTime().toISOString()]);
        return item;
      }),
      "a call that was settled by its deadline": changed(reporting, async (item) => {
        await set(
          "state.calls set wait_status = 'received', settled_by = 'deadline' where tool_call_id = $1",
          item.tool_call_id,
        );
        return item;
      }),
      "a call that was rung for long": changed(reporting, async (item) => {
        await set(
          "state.calls set rings = 5, due_at = due_at + interval '1 minute' where tool_call_id = $1",
          item.tool_call_id,
        );
        return item;
      }),
      "a call that is named twice": async () => {
        const item = await reporting();
        return [item, { ...item, content: { status: "success", result: 2 } }];
      },
    },
  },
  {
    name: "resume_plainly",
    plain: statementOf("resume_plainly"),
    full: statementOf("resume"),
    fullFunction: "resume(jsonb, timestamptz)",
    good: () => resuming(),
    cases: {
      "a worker whose lease ran out": async () => {
        const item = await resuming([{}], 1, await fx.newWorker());
        const now = fx.clock.databaseTime();
        await set("state.workers set lease_until = $2 where worker_id = $1", item.worker_id, now);
        return [item];
      },
      "a worker that was given up": async () => {
        const item = await resuming([{}], 1, await fx.newWorker());
        await set("state.workers set lapsed_at = now() where worker_id = $1", item.worker_id);
        return [item];
      },
      "two workers, one of which was given up": async () => {
        const item = await resuming([{}], 1, await fx.newWorker());
        await set("state.workers set lapsed_at = now() where worker_id = $1", item.worker_id);
        return [await resuming(), item];
      },
      "a worker that is unknown": changed(() => resuming(), { worker_id: "worker_none" }),
      "another project": changed(() => resuming(), { project_id: OTHER }),
      "an agent that is not there": changed(() => resuming(), { agent_id: "agent_none" }),
      "a call that waits": async () => [await resuming([{}], 0)],
      "several calls, one of which waits": async () => [await resuming([{}, {}], 1)],
      "several calls": async () => [await resuming([{}, {}])],
      "a turn that no worker has taken": async () => [
        { ...(await resuming()), agent_id: (await dispatched()).agent_id },
      ],
      "an agent at rest": async () => [{ ...(await resuming()), agent_id: await fx.newAgent() }],
      "a turn that is at work": async () => [{ ...(await resuming()), agent_id: (await fx.started()).agent_id }],
      "a turn at work whose open call was settled for it": async () => {
        shared ??= await fx.newWorker();
        const turn = await fx.suspend(await fx.started({ worker_id: shared }), [{ local: true }]);
        await set(
          "state.calls set wait_status = 'received', settled_by = 'deadline' where agent_id = $1",
          turn.agent_id,
        );
        return [{ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id }];
      },
      "a turn whose result ends it": async () => [await resuming([{ after_execution: "terminate" }])],
    },
  },
  {
    name: "finish_plainly",
    plain: statementOf("finish_plainly"),
    full: statementOf("finish_turn"),
    fullFunction: "finish_turn(jsonb, timestamptz)",
    good: finishing,
    cases: {
      "an earlier epoch": changed(finishing, { turn_epoch: 0 }),
      "a later epoch": changed(finishing, { turn_epoch: 9 }),
      "another turn": changed(finishing, { agent_turn_id: "turn_other" }),
      "another project": changed(finishing, { project_id: OTHER }),
      "a turn that no worker has taken": async () => [await finishing(await dispatched())],
      "a turn that waits": async () => [await finishing(await fx.suspended([{}]))],
      "a turn with an open call that runs here": async () => [
        await finishing(await fx.suspend(await fx.started(), [{ local: true }])),
      ],
      "a turn with another behind it": changed(finishing, async (item) => {
        await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: String(item.agent_id) });
        return item;
      }),
      "a failure": changed(finishing, { status: "failed", error_code: "x" }),
      "a failure with a stack": changed(finishing, { status: "failed", error_code: "x", stack: "Error: x" }),
      "a success with a stack": changed(finishing, { stack: "Error: x" }),
      "a status that is none": changed(finishing, { status: "running" }),
      "no status": changed(finishing, { status: null }),
      "an error code": changed(finishing, { error_code: "x" }),
      "an error message": changed(finishing, { error_message: "x" }),
      "no deliverable": changed(finishing, { deliverable: null }),
      "a deliverable without an id": changed(finishing, { deliverable: { content: {} } }),
      "cards besides": changed(finishing, () =>
        finishing().then((item) => ({
          ...item,
          cards: [
            { card_id: fx.ids.mint("card"), type: "agent.thought", content: { text: "last" }, metadata: { a: 1 } },
          ],
        })),
      ),
      "a card that only a call makes": changed(finishing, () =>
        finishing().then((item) => ({
          ...item,
          cards: [{ card_id: fx.ids.mint("card"), type: "tool.result", content: {} }],
        })),
      ),
      "a card that is there": changed(finishing, async (item) => {
        const [row] = await fx.query("select card_id from card.cards limit 1");
        return { ...item, cards: [{ card_id: row?.card_id, type: "agent.thought", content: {} }] };
      }),
      "a turn that wrote later than the caller's time": changed(finishing, async (item) => {
        const later = new Date(fx.clock.databaseTime().getTime() + 60_000);
        await set("state.agent_state_head set updated_at = $2 where agent_id = $1", item.agent_id, later);
        return item;
      }),
      ...Object.fromEntries(
        ["dispatched", "canceled", "failed", "timeout"].map((status) => [
          `a child whose task is ${status}`,
          changed(finishing, async (item) => {
            await taskOf(String(item.agent_turn_id), status);
            return item;
          }),
        ]),
      ),
    },
  },
  {
    name: "apply_plainly",
    plain: statementOf("apply_plainly"),
    full: statementOf("apply_results"),
    fullFunction: "apply_results(jsonb, timestamptz)",
    good: applying,
    cases: {
      "an earlier epoch": changed(applying, { turn_epoch: 0 }),
      "a later epoch": changed(applying, { turn_epoch: 9 }),
      "another turn": changed(applying, { agent_turn_id: "turn_other" }),
      "another step": changed(applying, { step_id: "step_other" }),
      "another project": changed(applying, { project_id: OTHER }),
      "a turn that lost its worker": changed(applying, async (item) => {
        await set("state.agent_state_head set status = 'dispatched', holder = null where agent_id = $1", item.agent_id);
        return item;
      }),
      "a call of another turn": changed(applying, async (item) => ({ ...item, results: (await applying()).results })),
      "one of several calls": async () => [await applying([{}, {}])],
      "several calls": async () => [await applying([{}, {}], 2)],
      "a result too many": changed(applying, async (item) => ({
        ...item,
        results: [...(item.results as Item[]), ...((await applying()).results as Item[])],
      })),
      "a call that was settled for it": changed(applying, async (item) => {
        await set(
          "state.calls set wait_status = 'received', settled_by = 'deadline' where agent_id = $1",
          item.agent_id,
        );
        return item;
      }),
      "a step that was applied": changed(applying, async (item) => {
        await fx.query(statementOf("apply_results"), [JSON.stringify([item]), fx.clock.databaseTime().toISOString()]);
        return item;
      }),
      "a tool that ends the turn": async () => [await applying([{ after_execution: "terminate" }])],
      "what comes after": changed(applying, withContent({ ...SUCCESS, after_execution: "suspend" })),
      "something else to come after": changed(applying, withContent({ ...SUCCESS, after_execution: "terminate" })),
      "a success with an error": changed(applying, withContent({ ...SUCCESS, error: { code: "x", message: "" } })),
      "a field that is unknown": changed(applying, withContent({ ...SUCCESS, more: 1 })),
      "a control block": changed(
        applying,
        withContent({ status: "success", result: { __cg_control: { after_execution: "terminate" } } }),
      ),
      "a content that is a text": changed(applying, withContent("success")),
      "a content that is too large": changed(applying, withContent({ status: "success", result: BIG })),
      "a failure": changed(
        applying,
        withContent({ status: "failed", error: { code: "x", message: "", source: "tool" } }),
      ),
    },
  },
  {
    name: "enqueue_plainly",
    plain: statementOf("enqueue_plainly"),
    full: statementOf("enqueue_turn"),
    fullFunction: "enqueue_turn(jsonb, timestamptz)",
    good: asking,
    cases: {
      "an inactive project": async () => [await asking(await inProject("inactive"))],
      "a project that is being deleted": async () => [await asking(await inProject("deleting"))],
      "a project that is not there": changed(asking, { project_id: "project_none" }),
      "an agent that is not there": changed(asking, { agent_id: "agent_none" }),
      "an agent that is retired": changed(asking, async (item) => {
        await set("resource.project_agents set status = 'inactive' where agent_id = $1", item.agent_id);
        return item;
      }),
      "an agent at work": async () => [await asking({ agent_id: (await fx.started()).agent_id })],
      "a message of a page": changed(asking, { message_type: "ui_action" }),
      "a message that is none": changed(asking, { message_type: "x" }),
      "no turn": changed(asking, { agent_turn_id: null }),
      "a trace that is none": changed(asking, { trace_id: "x" }),
      "a span that is none": changed(asking, { span_id: "x" }),
      "no context": changed(asking, (item) => ({ ...item, context_cards: undefined })),
      "a source": changed(asking, { source_agent_id: "agent_source", display_name: "it" }),
      "a box of its own": changed(asking, async (item) => {
        const output_box_id = fx.ids.mint("box");
        await fx.query("insert into card.boxes (box_id, project_id, agent_id, created_at) values ($1, $2, $3, now())", [
          output_box_id,
          PROJECT,
          item.agent_id,
        ]);
        return { ...item, output_box_id };
      }),
      "the box of another": changed(asking, async (item) => ({ ...item, output_box_id: await boxOf(PROJECT) })),
      "a profile": changed(asking, async (item) => ({ ...item, profile_box_id: await boxOf(PROJECT) })),
      "a profile of another project": changed(asking, async (item) => ({
        ...item,
        profile_box_id: await boxOf(OTHER),
      })),
      "a profile that is not there": changed(asking, { profile_box_id: "box_none" }),
      "a context": changed(asking, async (item) => ({ ...item, context_box_id: await boxOf(PROJECT) })),
      "a context of another project": changed(asking, async (item) => ({
        ...item,
        context_box_id: await boxOf(OTHER),
      })),
      "a context that is not there": changed(asking, { context_box_id: "box_none" }),
      "a turn that is there": changed(asking, async (item) => {
        await fx.query(statementOf("enqueue_turn"), [JSON.stringify([item]), fx.clock.databaseTime().toISOString()]);
        await set("state.agent_state_head set status = 'idle' where agent_id = $1", item.agent_id);
        return item;
      }),
      "a turn that is there, under another correlation": changed(asking, async (item) => ({
        ...item,
        agent_turn_id: (await fx.started()).agent_turn_id,
        correlation_id: fx.ids.mint("c"),
      })),
      "the turn of another agent": changed(asking, async (item) => ({
        ...item,
        agent_turn_id: (await fx.started()).agent_turn_id,
      })),
      "the correlation of another turn": changed(asking, async (item) => ({
        ...item,
        correlation_id: (await fx.started()).agent_turn_id,
      })),
      "a parent": async () => [await asking({ parent_agent_turn_id: (await fx.started()).agent_turn_id })],
      "a parent, as its peer": async () => [
        await asking({ parent_agent_turn_id: (await fx.started()).agent_turn_id, depth_policy: "peer" }),
      ],
      "a parent that it is not below": async () => [
        await asking({
          parent_agent_turn_id: (await fx.started()).agent_turn_id,
          depth_policy: "root",
          parent_step_id: "s",
        }),
      ],
      "no parent": changed(asking, { depth_policy: "root" }),
      "a policy that is none": changed(asking, { depth_policy: "x" }),
      "a parent that is not there": changed(asking, { parent_agent_turn_id: "turn_none" }),
      "a parent of another project": changed(asking, async (item) => {
        await otherProject();
        const parent = await fx.started({ project_id: OTHER });
        return { ...item, parent_agent_turn_id: parent.agent_turn_id };
      }),
      "a parent that was stopped": changed(asking, async (item) => {
        const parent = await fx.started();
        await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: parent.agent_turn_id });
        return { ...item, parent_agent_turn_id: parent.agent_turn_id };
      }),
      ...Object.fromEntries(
        [18, 19].map((depth) => [
          `a parent at depth ${depth}`,
          changed(asking, async (item) => {
            const parent = await fx.started();
            await set(
              "state.agent_turns set recursion_depth = $2 where agent_turn_id = $1",
              parent.agent_turn_id,
              depth,
            );
            return { ...item, parent_agent_turn_id: parent.agent_turn_id };
          }),
        ]),
      ),
      "a parent with a parent": changed(asking, async (item) => {
        const first = await fx.started();
        const second = await asking({ parent_agent_turn_id: first.agent_turn_id });
        await fx.query(statementOf("enqueue_turn"), [JSON.stringify([second]), fx.clock.databaseTime().toISOString()]);
        return { ...item, parent_agent_turn_id: second.agent_turn_id };
      }),
      "one turn for two agents": async () => {
        const item = await asking();
        return [item, await asking({ agent_turn_id: item.agent_turn_id })];
      },
      "two turns for one agent": async () => {
        const item = await asking();
        return [item, await asking({ agent_id: item.agent_id })];
      },
      "two turns of one correlation": async () => [
        await asking({ correlation_id: `c_${fx.ids.mint("c")}` }),
        await asking(),
      ],
      "several turns of one trace": async () => {
        const trace_id = fx.ids.traceId();
        return [await asking({ trace_id }), await asking({ trace_id }), await asking({ trace_id })];
      },
      "several turns of a trace that has room for all": () => spent(998, 2),
      "several turns of a trace that has room for some": () => spent(998, 4),
      "a turn of a trace that has room for none": () => spent(1_000, 1),
    },
  },
];

async function spent(turns: number, count: number): Promise<readonly Item[]> {
  const trace_id = fx.ids.traceId();
  await fx.query("insert into state.trace_budgets (project_id, trace_id, turns) values ($1, $2, $3)", [
    PROJECT,
    trace_id,
    turns,
  ]);
  const items: Item[] = [];
  for (let n = 0; n < count; n += 1) items.push(await asking({ trace_id }));
  return items;
}

/** A task of a batch whose child is this turn. */
async function taskOf(agent_turn_id: string, status: string): Promise<void> {
  const parent = await fx.suspended([{ tool_name: "fork_join", author_id: "sys.pmo.batch_manager" }]);
  const { tool_call_id, capability } = await fx.opened(parent);
  const batch = { project_id: PROJECT, tool_call_id, capability, batch_id: fx.ids.mint("batch") };
  const batch_task_id = fx.ids.mint("bt");
  expect(await fx.kernel.openBatch({ ...batch, tasks: [{ batch_task_id }] })).toMatchObject({ outcome: "accepted" });
  const named = { project_id: PROJECT, batch_task_id };
  expect(await fx.kernel.moveBatchTask({ ...named, move: "dispatch", agent_turn_id })).toMatchObject({
    outcome: "accepted",
  });
  if (status !== "dispatched")
    expect(await fx.kernel.moveBatchTask({ ...named, move: "settle", status })).toMatchObject({ outcome: "accepted" });
}

for (const each of FUNCTIONS)
  describe(`l0.${each.name} answers and writes what the full function would have`, () => {
    it("without it, where nothing is out of the ordinary", async () => {
      const { answers } = await seen(each.plain, [await each.good(), await each.good()], each.fullFunction);
      expect(answers).toMatchObject([{ outcome: "accepted" }, { outcome: "accepted" }]); // D1
    });

    it.each(Object.entries({ ...each.cases, "nothing out of the ordinary": async () => [await each.good()] }))(
      "for %s",
      async (_, prepare) => {
        const items = await prepare();
        for (const batch of [items, [await each.good(), ...items]]) {
          const [full, mine] = [await seen(each.full, batch), await seen(each.plain, batch)];
          expect({ answers: mine.answers, rows: mine.rows }).toEqual({ answers: full.answers, rows: full.rows });
          expect(mine.isAsync && !full.isAsync, "a claim that may be lost only where the full function lets it").toBe(
            false,
          );
        }
      },
    );
  });
