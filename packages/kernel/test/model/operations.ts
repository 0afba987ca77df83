// Operations: what one client asks of the kernel, as data; what the model expects, and how a real kernel is asked.

import { hold as fenceOf } from "../fixture.ts";
import * as batches from "./model-batches.ts";
import * as calls from "./model-calls.ts";
import * as projects from "./model-project.ts";
import type { BatchEnd, CallSpec, Model } from "./model-state.ts";
import * as turns from "./model-turns.ts";
import { asPrincipal, type System } from "./system.ts";

type DeferReason = "state_not_found" | "resume_cas_failed_running";

interface Operations {
  enqueue: { agent: string; turn: string; parent: string | null };
  resume: { agent: string; worker: string; reclaim: boolean };
  suspend: turns.Hold & { step: string; calls: readonly CallSpec[] };
  applyResults: turns.Hold & { step: string; results: readonly string[] };
  finish: turns.Hold & { status: "success" | "failed"; deliverable: string };
  appendCards: turns.Hold & { card: string; text: string };
  defer: turns.Hold & { reason: DeferReason };
  stop: { turn: string };
  open: calls.Claimant & { call: string; ticket: number | "forged" | "other"; claimId: string; leaseMs: number };
  claimCalls: calls.Claimant & { claimId: string; max: number; leaseMs: number };
  renew: calls.CapUse;
  saveCard: calls.CapUse & { result: string };
  report: calls.CapUse & { result: string; isRetryable: boolean; isPointer: boolean };
  openBatch: calls.CapUse & { batch: string; tasks: number; deadlineMs: number };
  moveTask: { batch: string; task: number; to: batches.TaskMove };
  finishBatch: { batch: string; status: BatchEnd };
  renewWorker: { worker: string; place: number };
  retireWorker: { worker: string };
  advance: { ms: number; beats: readonly string[] };
  sweep: object;
  putProject: { status: Model["status"] };
  readEvents: object;
  deleteProject: object;
}

export type Kind = keyof Operations;
export type Operation = { [K in Kind]: { readonly kind: K } & Operations[K] }[Kind];

type Expectations = { readonly [K in Kind]: (model: Model, op: Operations[K]) => string };

const expectations: Expectations = {
  enqueue: turns.enqueue,
  resume: turns.resume,
  suspend: turns.suspend,
  applyResults: turns.applyResults,
  finish: turns.finish,
  appendCards: turns.appendCards,
  defer: turns.defer,
  stop: turns.stop,
  open: calls.open,
  claimCalls: calls.claimCalls,
  renew: calls.renew,
  saveCard: calls.saveCard,
  report: calls.report,
  openBatch: batches.openBatch,
  moveTask: batches.moveTask,
  finishBatch: batches.finishBatch,
  renewWorker(model, op) {
    model.places[op.place] = op.worker;
    return turns.renewWorker(model, op);
  },
  retireWorker: turns.retireWorker,
  advance(model, op) {
    for (const worker of op.beats) turns.renewWorker(model, { worker });
    model.now += op.ms;
    return "done";
  },
  sweep: turns.sweep,
  putProject: projects.putProject,
  readEvents: projects.readEvents,
  deleteProject: projects.deleteProject,
};

/** Moves the model and answers what the kernel must answer. */
export function expectedOf(model: Model, op: Operation): string {
  return (expectations[op.kind] as (model: Model, op: Operation) => string)(model, op);
}

type Performances = { readonly [K in Kind]: (system: System, op: Operations[K]) => Promise<string> };

const word = (outcome: { outcome: string; code?: string }): string =>
  outcome.code === undefined ? outcome.outcome : `${outcome.outcome} ${outcome.code}`;

const performances: Performances = {
  async enqueue({ kernel, project }, op) {
    const parent = op.parent === null ? {} : { parent_agent_turn_id: op.parent };
    return word(
      await kernel.enqueueTurn({ project_id: project, agent_id: op.agent, agent_turn_id: op.turn, ...parent }),
    );
  },
  async resume(system, op) {
    const { kernel, project } = system;
    const outcome = await kernel.resume({
      project_id: project,
      agent_id: op.agent,
      worker_id: op.worker,
      ...(op.reclaim ? { reclaim: true } : {}),
    });
    if (outcome.outcome === "rejected") return word(outcome);
    for (const call of outcome.local_calls ?? []) system.keepCapability(call.tool_call_id, outcome.capability);
    if (outcome.outcome === "nothing") return `nothing ${outcome.why}`;
    const results = (outcome.results ?? []).map((got) => `${got.tool_call_id}=${resultWord(got.content)}`).join(",");
    const after = outcome.state === "resumed" ? ` ${outcome.after_execution}` : "";
    return `accepted ${outcome.state} ${outcome.turn_epoch} ${results}${after}`;
  },
  async suspend(system, op) {
    const outcome = await system.kernel.suspendOnCalls({
      ...system.fence(op),
      step_id: op.step,
      thought: { content: { text: "" } },
      calls: op.calls.map((spec) => system.draft(spec)),
    });
    if (outcome.outcome === "accepted")
      for (const { tool_call_id, ticket, capability } of outcome.calls) {
        if (ticket !== null) system.keepTicket(tool_call_id, ticket);
        if (capability !== undefined) system.keepCapability(tool_call_id, capability);
      }
    return word(outcome);
  },
  async applyResults(system, op) {
    const content = { status: "success", result: { tag: 0 } };
    const results = op.results.map((id) => ({ tool_call_id: id, content }));
    return word(await system.kernel.applyResults({ ...system.fence(op), step_id: op.step, results }));
  },
  async finish(system, op) {
    const deliverable = { card_id: op.deliverable, content: { text: "done" } };
    return word(await system.kernel.finishTurn({ ...system.fence(op), status: op.status, deliverable }));
  },
  async appendCards(system, op) {
    const cards = [{ card_id: op.card, type: "task.instruction", content: { text: op.text } }];
    return word(await system.kernel.appendCards({ ...system.fence(op), cards }));
  },
  async defer(system, op) {
    const outcome = await system.kernel.deferTurn(fenceOf(system.fence(op)), op.reason);
    return outcome.outcome === "accepted" ? `accepted ${outcome.retry_count}` : word(outcome);
  },
  async stop({ kernel, project }, op) {
    const outcome = await kernel.stopTurn({ project_id: project, agent_turn_id: op.turn });
    return outcome.outcome === "accepted" ? `accepted ${outcome.was}` : word(outcome);
  },
  async open(system, op) {
    const outcome = await system.kernel.openCall({
      project_id: system.project,
      tool_call_id: op.call,
      ticket: system.ticket(op.call, op.ticket),
      executor: op.executor,
      claim_id: op.claimId,
      lease_ms: op.leaseMs,
      ...asPrincipal(op),
    });
    if (outcome.outcome !== "accepted") return word(outcome);
    system.keepCapability(op.call, outcome.capability);
    return `accepted attempt ${outcome.attempt}`;
  },
  async claimCalls(system, op) {
    const opened = await system.kernel.claimCalls({
      project_id: system.project,
      target: "echo",
      executor: op.executor,
      claim_id: op.claimId,
      max: op.max,
      lease_ms: op.leaseMs,
      ...asPrincipal(op),
    });
    for (const { tool_call_id, capability } of opened) system.keepCapability(tool_call_id, capability);
    const taken = opened.map(({ tool_call_id, attempt }) => `${tool_call_id}=${attempt}`).sort();
    return `took ${taken.join(",")}`;
  },
  async renew(system, op) {
    return word(await system.kernel.renewCall(system.callHold(op)));
  },
  async saveCard(system, op) {
    const outcome = await system.kernel.putResultCard({ ...system.callHold(op), content: contentOf(op.result, false) });
    if (outcome.outcome === "accepted") system.keepCard(op, outcome.tool_result_card_id);
    return word(outcome);
  },
  async report(system, op) {
    const said = op.isPointer
      ? { tool_result_card_id: system.card(op), status: system.cardStatus(op), after_execution: system.after(op.call) }
      : { content: contentOf(op.result, op.isRetryable) };
    const outcome = await system.kernel.report({ ...system.callHold(op), ...said });
    if (outcome.outcome !== "accepted") return word(outcome);
    if ("retry_at" in outcome) return "accepted retry";
    return outcome.wake === undefined ? "accepted" : "accepted wake";
  },
  async openBatch(system, op) {
    const tasks = Array.from({ length: op.tasks }, (_, n) => ({ batch_task_id: `${op.batch}_${n}` }));
    const request = { batch_id: op.batch, deadline_ms: op.deadlineMs, tasks };
    return word(await system.kernel.openBatch({ ...system.callHold(op), ...request }));
  },
  async moveTask({ kernel, project }, { batch, task, to }) {
    const named = { project_id: project, batch_task_id: `${batch}_${task}` };
    const move =
      to === "dispatched"
        ? ({ move: "dispatch", agent_turn_id: `${batch}_${task}_turn` } as const)
        : ({ move: "settle", status: to } as const);
    return word(await kernel.moveBatchTask({ ...named, ...move }));
  },
  async finishBatch({ kernel, project }, op) {
    const said =
      op.status === "success" ? { result: { tag: 7 } } : { result: null, error: { code: "joined", message: "" } };
    return word(await kernel.finishBatch({ project_id: project, batch_id: op.batch, status: op.status, ...said }));
  },
  async renewWorker({ kernel }, op) {
    return word(await kernel.renewWorker({ worker_id: op.worker, worker_target: "workers" }));
  },
  async retireWorker({ kernel }, op) {
    await kernel.retireWorker(op.worker);
    return "done";
  },
  async advance({ clock, kernel }, op) {
    await Promise.all(op.beats.map((worker_id) => kernel.renewWorker({ worker_id, worker_target: "workers" })));
    await clock.advance(op.ms);
    return "done";
  },
  async sweep(system) {
    await system.sweep();
    return "done";
  },
  async putProject({ kernel, project }, op) {
    const outcome = await kernel.putProject({ project_id: project, status: op.status });
    return outcome.outcome === "rejected" ? word(outcome) : `${outcome.outcome} ${outcome.revision}`;
  },
  async readEvents(system) {
    const ends = (await system.newEvents()).filter(({ kind }) => kind === "task");
    const said = ends.map(({ agent_turn_id, status }) => `${agent_turn_id} ${status}`).sort();
    return `read ${said.join(",")}`;
  },
  async deleteProject({ kernel, project }) {
    const outcome = await kernel.deleteProject(project);
    return outcome.outcome === "rejected" ? `${word(outcome)} ${outcome.open_turns}` : outcome.outcome;
  },
};

export function perform(system: System, op: Operation): Promise<string> {
  return (performances[op.kind] as (system: System, op: Operation) => Promise<string>)(system, op);
}

function contentOf(result: string, isRetryable: boolean) {
  const [status = "", detail = ""] = result.split(" ");
  if (status === "success") return { status, result: { tag: Number(detail.slice(3)) } };
  return { status, error: { code: detail, message: "", ...(isRetryable ? { retryable: true } : {}) } };
}

/** A result as the model writes it: its status, and its error's code or its tag. */
function resultWord(content: { readonly [key: string]: unknown }): string {
  const error = content.error as { code: string } | null | undefined;
  const result = content.result as { tag?: number } | null | undefined;
  return `${String(content.status)} ${error?.code ?? `tag${result?.tag}`}`;
}
