// Real requests of a turn's life, each with a store in which it would be accepted: what the kernel's suite damages.
//
//   K1. A request is made in a transaction that is rolled back, so every damaged copy of it meets the same store.
//   K2. The items that the kernel sends to the database are recorded on the way, as the JSON that they are. A function without items
//       has its values recorded in their place.

import type { Database, Kernel, Statements, TurnHold } from "@tessera/kernel";
import { rolledBack } from "@tessera/testkit/rolled-back";
import { type Fixture, hold, PROJECT, type Started } from "../../packages/kernel/test/fixture.ts";

interface KernelMethod {
  readonly name: string;
  readonly request: unknown;
  ask(kernel: Kernel, request: never): Promise<unknown>;
}

export interface Recorded extends KernelMethod {
  /** The statement of this method, its items and its further values (K2). */
  readonly text: string;
  readonly items: unknown;
  readonly rest: readonly unknown[];
  readonly hasItems: boolean;
}

/** A database whose statements go where they are sent at the moment, and are written down. One that fails there leaves the
 *  rest of a transaction usable, as it would if it had been sent on its own: a key that is taken is an answer. */
export class TappedDatabase implements Database {
  readonly #database: Database;
  readonly capabilities: Database["capabilities"];
  readonly sent: { readonly text: string; readonly values: readonly unknown[] }[] = [];
  to: Statements;

  constructor(database: Database) {
    this.#database = database;
    this.capabilities = database.capabilities;
    this.to = database;
  }

  query: Database["query"] = async (text, values = []) => {
    this.sent.push({ text, values });
    const { to } = this;
    if (to === this.#database) return await to.query(text, values);
    await to.query("savepoint statement");
    try {
      return await to.query(text, values);
    } catch (error) {
      await to.query("rollback to savepoint statement");
      throw error;
    }
  };
  script: Database["script"] = (text) => this.to.script(text);
  transaction: Database["transaction"] = (work) => work(this.to);
  close = async (): Promise<void> => undefined;
}

/** The methods of a single argument. */
function method<Name extends keyof Kernel>(
  name: Name,
  request: Kernel[Name] extends (request: infer R, ...rest: never[]) => unknown ? R : never,
): KernelMethod {
  return {
    name,
    request,
    ask: (kernel, damaged) => (kernel[name] as (request: never) => Promise<unknown>)(damaged),
  };
}

/** Turns in each of their states, and the request that each waits for. */
async function liveMethods(fx: Fixture): Promise<readonly KernelMethod[]> {
  return [...(await turnMethods(fx)), ...(await batchMethods(fx)), ...(await resourceMethods(fx))];
}

async function turnMethods(fx: Fixture): Promise<readonly KernelMethod[]> {
  const { ids } = fx;
  const idle = await fx.newAgent();
  const queued = await fx.newAgent();
  const worker = await fx.newWorker(ids.mint("worker"), 600_000);
  await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: queued });
  const [asking, ending, appending, deferring, stopping] = [
    await fx.started(),
    await fx.started(),
    await fx.started(),
    await fx.started(),
    await fx.started(),
  ];
  const local = await fx.suspend(await fx.started(), [{ local: true }]);
  const waiting = await fx.suspended([{}, {}]);
  const opened = await fx.opened(await fx.suspended([{ effect: "read" }]));
  const call = { project_id: PROJECT, tool_call_id: opened.tool_call_id, capability: opened.capability };
  const content = {
    status: "failed",
    after_execution: "suspend",
    result: { rows: [1, { a: null }] },
    error: { code: "bad_request", message: "no", source: "tool", retryable: false, detail: { field: "x" } },
  } as const;
  const instruction = {
    card_id: ids.mint("card"),
    type: "task.instruction",
    content: { text: "go" },
    author_id: "user.ann",
    metadata: { role: "user" },
  };
  const waitingCall = waiting.calls[0];
  return [
    method("enqueueTurn", {
      ...{ project_id: PROJECT, agent_id: idle, agent_turn_id: ids.mint("turn"), channel_id: "public" },
      ...{ trace_id: ids.traceId(), span_id: ids.spanId(), depth_policy: "descend", display_name: "d" },
      ...{ parent_agent_turn_id: asking.agent_turn_id, is_fresh: true, answers_parent: true },
      ...{ runtime_config: { a: [1] }, metadata: { b: "c" }, context_cards: [instruction] },
    }),
    method("takeAnswers", hold(await answered(fx))),
    method("resetConversation", {
      ...{ project_id: PROJECT, agent_id: idle, card_id: ids.mint("card"), author_id: "user.ann", reason: "anew" },
    }),
    method("resume", { project_id: PROJECT, agent_id: queued, worker_id: worker }),
    method("suspendOnCalls", {
      ...{ ...hold(asking), step_id: ids.mint("step"), thought: { content: { text: "thinking" } } },
      calls: [fx.call({ timeout_ms: 5_000, attempts_max: 2, backoff_ms: 10, metadata: { a: 1 } }), fx.call()],
    }),
    method("appendCards", { ...hold(appending), cards: [instruction] }),
    method("finishTurn", {
      ...{ ...hold(ending), status: "success" },
      deliverable: { card_id: ids.mint("card"), content: { text: "done" }, metadata: { partial: false } },
    }),
    method("stopTurn", { project_id: PROJECT, agent_turn_id: stopping.agent_turn_id, reason: "enough" } as never),
    method("applyResults", {
      ...{ ...hold(local), step_id: local.step_id },
      results: [{ tool_call_id: local.calls[0]?.tool_call_id ?? "", content }],
    }),
    method("repeatCall", {
      ...{ project_id: PROJECT, tool_call_id: local.calls[0]?.tool_call_id ?? "" },
      ...{ worker_id: local.worker_id, attempt: 2 },
    }),
    method("openCall", {
      ...{ project_id: PROJECT, tool_call_id: waitingCall?.tool_call_id ?? "", ticket: waitingCall?.ticket ?? "" },
      ...{ executor: "executor-1", claim_id: ids.mint("claim"), lease_ms: 15_000 },
    }),
    method("renewCall", { ...call, lease_ms: 15_000 }),
    method("putResultCard", { ...call, card_id: ids.mint("card"), content }),
    method("report", { ...call, content }),
    {
      name: "deferTurn",
      request: { ...hold(deferring), reason: "state_not_found" },
      ask: (kernel, { reason, ...turn }: TurnHold & { reason: never }) => kernel.deferTurn(turn, reason),
    },
    method("renewWorker", { worker_id: worker, worker_target: "workers", lease_ms: 15_000 }),
  ];
}

/** A turn that runs, and for which an answer waits. */
async function answered(fx: Fixture): Promise<Started> {
  const asking = await fx.started();
  const agent_id = await fx.newAgent();
  const child = { project_id: PROJECT, agent_id, parent_agent_turn_id: asking.agent_turn_id, answers_parent: true };
  await fx.kernel.enqueueTurn(child);
  await fx.finish(await fx.resumed(agent_id, await fx.newWorker()));
  return asking;
}

/** A batch that is to be opened, one whose task is to be moved or started, and one that has come to its end. */
async function batchMethods(fx: Fixture): Promise<readonly KernelMethod[]> {
  const { ids } = fx;
  const forking = async () => {
    const asked = await fx.suspended([{ tool_name: "fork_join", author_id: "sys.pmo.batch_manager" }]);
    const { tool_call_id, capability } = await fx.opened(asked);
    return { project_id: PROJECT, tool_call_id, capability };
  };
  const opened = async () => {
    const [batch_id, batch_task_id] = [ids.mint("batch"), ids.mint("bt")];
    await fx.kernel.openBatch({ ...(await forking()), batch_id, deadline_ms: 60_000, tasks: [{ batch_task_id }] });
    return { batch_id, batch_task_id };
  };
  const [moving, starting, ending] = [await opened(), await opened(), await opened()];
  const settled = { move: "settle", status: "failed", error_detail: { code: "x" }, metadata: { a: 1 } } as const;
  await fx.kernel.moveBatchTask({ project_id: PROJECT, batch_task_id: ending.batch_task_id, ...settled });
  const context_box_id = ids.mint("box");
  await fx.kernel.putBox({ project_id: PROJECT, box_id: context_box_id });
  const turn = { project_id: PROJECT, agent_id: await fx.newAgent(), agent_turn_id: ids.mint("turn"), context_box_id };
  return [
    method("openBatch", {
      ...{
        ...(await forking()),
        batch_id: ids.mint("batch"),
        deadline_ms: 60_000,
        fail_fast: true,
        metadata: { a: 1 },
      },
      tasks: [{ batch_task_id: ids.mint("bt"), metadata: {} }, { batch_task_id: ids.mint("bt") }],
    }),
    method("moveBatchTask", { project_id: PROJECT, batch_task_id: moving.batch_task_id, ...settled }),
    method("dispatchBatchTask", {
      ...{ project_id: PROJECT, batch_task_id: starting.batch_task_id, only_idle: true, turn },
    }),
    method("finishBatch", {
      ...{ project_id: PROJECT, batch_id: ending.batch_id, status: "failed", result: { tasks: [1] } },
      error: { code: "x", message: "no" },
    }),
  ];
}

/** What the API and the command line keep. */
async function resourceMethods(fx: Fixture): Promise<readonly KernelMethod[]> {
  const { ids } = fx;
  const box_id = ids.mint("box");
  await fx.kernel.putBox({ project_id: PROJECT, box_id });
  const profile = { project_id: PROJECT, name: "planner", profile_box_id: box_id, worker_target: "workers" };
  await fx.kernel.putProfile({ ...profile, name: "spare" });
  const spare = await fx.kernel.createApiKey({ role: "viewer", project_id: PROJECT });
  const agent_id = await fx.newAgent();
  return [
    method("putProfile", { ...profile, tags: ["a", "b"], description: "Plans.", expected_profile_box_id: null }),
    method("removeProfile", { project_id: PROJECT, name: "spare", expected_profile_box_id: box_id }),
    method("putProject", {
      ...{ project_id: PROJECT, title: "t", owner_id: "o", status: "inactive", expected_revision: 1 },
    }),
    method("createApiKey", {
      ...{ role: "executor", project_id: PROJECT, targets: ["echo"], label: "x", expires_in_ms: 60_000 },
    }),
    method("revokeApiKey", { key_id: "key_id" in spare ? spare.key_id : "", project_id: PROJECT }),
    method("putAudit", {
      ...{ project_id: PROJECT, kind: "open_call", code: "auth_failed", principal: "tool.x" },
      ...{ agent_turn_id: "turn_1", tool_call_id: "tc_1", detail: { a: 1 } },
    }),
    method("putAgent", {
      ...{ project_id: PROJECT, agent_id, worker_target: "workers", tags: ["a", "b"] },
      ...{ display_name: "x", metadata: { a: 1 } },
    }),
    method("putTool", {
      ...{ project_id: PROJECT, tool_name: "echo__run", description: "Echoes.", parameters: { type: "object" } },
      ...{ target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.echo.run", after_execution: "suspend" },
      options: { timeoutMs: 100 },
    }),
    method("putCard", {
      ...{ project_id: PROJECT, card_id: ids.mint("card"), type: "task.instruction", author_id: "user.ann" },
      ...{ content: { text: "go" }, metadata: { role: "user" } },
    }),
    method("putBox", { project_id: PROJECT, box_id: ids.mint("box"), card_ids: [] }),
    method("putDeadLetter", { project_id: PROJECT, correlation_id: "x", reason: "invalid_json", detail: { a: 1 } }),
  ];
}

/** Calls each method once with its own request, which must be accepted, and keeps what reached the database. */
export async function recorded(fx: Fixture, tap: TappedDatabase, kernel: Kernel): Promise<readonly Recorded[]> {
  const all: Recorded[] = [];
  for (const each of await liveMethods(fx)) {
    tap.sent.length = 0;
    const outcome = await rolledBack(fx.store.database, async (tx) => {
      tap.to = tx;
      return (await each.ask(kernel, each.request as never)) as { outcome?: string };
    });
    const [sent] = tap.sent;
    if (outcome.outcome !== "accepted" || sent === undefined) {
      throw new Error(`${each.name} was not accepted: ${JSON.stringify(outcome)}`);
    }
    const [items, ...rest] = sent.values;
    const hasItems = String(items).startsWith("[");
    all.push({
      ...{ ...each, text: sent.text, hasItems },
      ...(hasItems ? { items: JSON.parse(String(items)), rest } : { items: sent.values, rest: [] }),
    });
  }
  return all;
}
