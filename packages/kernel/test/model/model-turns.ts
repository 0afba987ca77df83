// The model of a turn: queue, dispatch, steps, and every way it may end.

import {
  CALL_DEADLINE_MARGIN_MS,
  CRASHES_MAX,
  DEFER_DELAYS_MS,
  DEFERRALS_MAX,
  LEASE_MS,
  RECURSION_DEPTH_MAX,
  RING_FIRST_MS,
} from "@tessera/protocol";
import { claim, handOut, lapse, settle, sweepCalls, workerAs } from "./model-calls.ts";
import {
  type Agent,
  agentOf,
  type Call,
  type CallSpec,
  isAlive,
  type Model,
  openCalls,
  turnOf,
} from "./model-state.ts";

export interface Hold {
  readonly agent: string;
  readonly turn: string;
  readonly epoch: number;
}

export function enqueue(model: Model, op: { agent: string; turn: string; parent: string | null }): string {
  const there = model.turns[op.turn];
  if (there !== undefined) return there.agent === op.agent ? "duplicate" : "rejected conflict";
  if (model.status !== "active") return "rejected conflict";
  const parent = op.parent === null ? null : turnOf(model, op.parent);
  if (parent?.isStopped === true) return "rejected canceled";
  const depth = parent === null ? 0 : parent.depth + 1;
  if (depth >= RECURSION_DEPTH_MAX) return "rejected recursion_depth_exceeded";
  const { agent, turn: id } = op;
  const blank = { error: null, deferrals: 0, notBefore: 0, isStopped: false, deliverable: null, steps: [] };
  const born = { id, agent, parent: op.parent, depth, status: "queued", inbox: "queued", transcript: [] };
  model.turns[id] = { ...born, ...blank, steps: [] };
  model.ends[id] = [];
  agentOf(model, agent).queue.push(id);
  dispatchNext(model, agentOf(model, agent));
  return "accepted";
}

function dispatchNext(model: Model, agent: Agent): void {
  if (agent.status !== "idle") return;
  const next = agent.queue.shift();
  if (next === undefined) return;
  Object.assign(agent, { status: "dispatched", epoch: agent.epoch + 1, turn: next, crashes: 0, step: null, open: [] });
  Object.assign(turnOf(model, next), { status: "active", inbox: "pending" });
}

export function resume(model: Model, op: { agent: string; worker: string; reclaim: boolean }): string {
  const agent = agentOf(model, op.agent);
  if (!isAlive(model, op.worker)) return "rejected worker_lapsed";
  if (agent.status === "idle") return "nothing idle";
  const turn = turnOf(model, agent.turn);
  if (agent.status === "dispatched" && turn.inbox === "deferred" && turn.notBefore > model.now)
    return "nothing deferred";
  if (agent.status === "dispatched") {
    Object.assign(agent, { status: "running", holder: op.worker });
    turn.inbox = "processing";
    handOut(model, agent, op.worker);
    return `accepted started ${agent.epoch} ${resultsOf(model, agent)}`;
  }
  if (agent.status === "running") {
    if (!op.reclaim || agent.holder !== op.worker) return "nothing held";
    agent.epoch += 1;
    for (const call of openCalls(model, agent))
      if (call.wait === "waiting" && call.local && call.claimedBy !== null) lapse(model, call);
    handOut(model, agent, op.worker);
    return `accepted started ${agent.epoch} ${resultsOf(model, agent)}`;
  }
  if (openCalls(model, agent).some((call) => call.wait === "waiting")) {
    handOut(model, agent, op.worker);
    return "nothing waiting";
  }
  const results = resultsOf(model, agent);
  const after = openCalls(model, agent).some(({ terminate }) => terminate) ? "terminate" : "suspend";
  applyAll(model, agent);
  Object.assign(agent, { status: "running", holder: op.worker, epoch: agent.epoch + 1, step: null });
  return `accepted resumed ${agent.epoch} ${results} ${after}`;
}

/** The results of the open step that are there, in call order. */
function resultsOf(model: Model, agent: Agent): string {
  const settled = openCalls(model, agent).filter((call) => call.wait === "received");
  return settled.map((call) => `${call.id}=${call.result}`).join(",");
}

function applyAll(model: Model, agent: Agent): void {
  for (const call of openCalls(model, agent)) call.wait = "applied";
  agent.open = [];
  agent.crashes = 0;
}

/** Why this worker may not write, or null: another turn or epoch is stale; the right one in another state is a conflict. */
function refused(agent: Agent, hold: Hold): string | null {
  if (agent.turn !== hold.turn || agent.epoch !== hold.epoch) return "rejected stale_epoch";
  return agent.status === "running" ? null : "rejected conflict";
}

export function suspend(model: Model, op: Hold & { step: string; calls: readonly CallSpec[] }): string {
  const agent = agentOf(model, op.agent);
  const turn = turnOf(model, op.turn);
  const isCurrent = agent.turn === op.turn && agent.epoch === op.epoch;
  // The answer of this step may be lost; once its results are applied, no caller can still be waiting for it.
  if (isCurrent && agent.step === op.step && agent.open.length > 0) return "duplicate";
  const refusal = refused(agent, op);
  if (refusal !== null) return refusal;
  const isUsed = turn.steps.includes(op.step) || op.calls.some(({ id }) => model.calls[id] !== undefined);
  if (agent.open.length > 0 || isUsed) return "rejected conflict";
  turn.steps.push(op.step);
  turn.transcript.push(
    "agent.thought",
    ...op.calls.map(({ id }) => `tool.call ${id}`),
    ...op.calls.map(({ id }) => `#${id}`),
  );
  const worker = agent.holder;
  for (const spec of op.calls) {
    const call = newCall(model, op, spec);
    model.calls[spec.id] = call;
    if (spec.local) claim(call, workerAs(worker ?? ""), 0);
  }
  Object.assign(agent, { step: op.step, open: op.calls.map(({ id }) => id), crashes: 0 });
  if (op.calls.some(({ local }) => !local)) Object.assign(agent, { status: "suspended", holder: null });
  return "accepted";
}

function newCall(model: Model, op: Hold & { step: string }, spec: CallSpec): Call {
  const queueMs = spec.local ? null : spec.queueMs;
  const firstMs = queueMs ?? spec.timeoutMs + CALL_DEADLINE_MARGIN_MS;
  return {
    ...spec,
    queueMs,
    agent: op.agent,
    turn: op.turn,
    step: op.step,
    deadline: model.now + firstMs,
    wait: "waiting",
    attempt: 0,
    claimedBy: null,
    claimId: null,
    principal: null,
    leaseUntil: 0,
    batch: null,
    due: model.now + Math.min(RING_FIRST_MS, firstMs),
    rings: 0,
    isToReconcile: false,
    settledBy: null,
    result: null,
    tickets: spec.local ? [] : [1],
    caps: [],
    saved: {},
  };
}

export function applyResults(model: Model, op: Hold & { step: string; results: readonly string[] }): string {
  const agent = agentOf(model, op.agent);
  const refusal = refused(agent, op);
  if (refusal !== null) return refusal;
  if (agent.step !== op.step) return "rejected conflict";
  if (agent.open.length === 0) return "duplicate";
  const waiting = openCalls(model, agent).filter((call) => call.wait === "waiting");
  if (waiting.some((call) => !op.results.includes(call.id))) return "rejected conflict";
  for (const call of waiting) settle(call, "worker", "success tag0");
  applyAll(model, agent);
  return "accepted";
}

export function finish(model: Model, op: Hold & { status: string; deliverable: string }): string {
  const agent = agentOf(model, op.agent);
  const turn = turnOf(model, op.turn);
  if (turn.status === op.status && turn.deliverable === op.deliverable) return "duplicate";
  const refusal = refused(agent, op);
  if (refusal !== null) return refusal;
  turn.deliverable = op.deliverable;
  endTurn(model, agent, { status: op.status, error: null, inbox: "consumed", isFromOutside: false });
  return "accepted";
}

export function appendCards(model: Model, op: Hold & { card: string; text: string }): string {
  const agent = agentOf(model, op.agent);
  const refusal = refused(agent, op);
  if (refusal !== null) return refusal;
  const there = model.cards[op.card];
  if (there !== undefined) return there === op.text ? "duplicate" : "rejected conflict";
  model.cards[op.card] = op.text;
  turnOf(model, op.turn).transcript.push("task.instruction");
  agent.crashes = 0;
  return "accepted";
}

/** The end of an active turn: each open call has a result, the deliverable is the last card, the next turn is dispatched. */
function endTurn(
  model: Model,
  agent: Agent,
  end: { status: string; error: string | null; inbox: string; isFromOutside: boolean },
): void {
  const turn = turnOf(model, agent.turn);
  for (const call of openCalls(model, agent)) {
    if (call.wait === "waiting") settle(call, "cancel", "canceled canceled");
    call.wait = "dropped";
  }
  turn.transcript.push("task.deliverable");
  Object.assign(turn, { status: end.status, error: end.error, inbox: end.inbox });
  tellEnd(model, turn.id, end.status);
  if (end.isFromOutside) agent.epoch += 1;
  Object.assign(agent, { status: "idle", turn: null, holder: null, open: [], step: null, crashes: 0 });
  dispatchNext(model, agent);
}

function tellEnd(model: Model, turn: string, status: string): void {
  model.ends[turn]?.push(status);
  model.log.push(`${turn} ${status}`);
}

export function defer(model: Model, op: Hold & { reason: keyof typeof DEFER_DELAYS_MS }): string {
  const agent = agentOf(model, op.agent);
  const turn = turnOf(model, op.turn);
  const refusal = refused(agent, op);
  if (refusal !== null) return refusal;
  // Calls that it claimed here would be left to a worker that no longer has the turn.
  if (agent.open.length > 0) return "rejected conflict";
  if (turn.deferrals >= DEFERRALS_MAX) {
    const error = "resume_retry_exhausted";
    model.deadLetters.push(`${error} ${turn.id}`);
    endTurn(model, agent, { status: "failed", error, inbox: "error", isFromOutside: true });
    return `rejected ${error}`;
  }
  turn.deferrals += 1;
  Object.assign(turn, { inbox: "deferred", notBefore: model.now + DEFER_DELAYS_MS[op.reason] });
  Object.assign(agent, { status: "dispatched", holder: null, epoch: agent.epoch + 1 });
  return `accepted ${turn.deferrals}`;
}

export function stop(model: Model, op: { turn: string }): string {
  const turn = turnOf(model, op.turn);
  const agent = agentOf(model, turn.agent);
  if (turn.status === "queued") {
    agent.queue = agent.queue.filter((id) => id !== turn.id);
    turn.transcript.push("task.deliverable");
    Object.assign(turn, { status: "canceled", error: "canceled", inbox: "skipped", isStopped: true });
    tellEnd(model, turn.id, "canceled");
    return "accepted queued";
  }
  if (turn.status !== "active") return "rejected already_settled";
  const was = agent.status;
  turn.isStopped = true;
  endTurn(model, agent, { status: "canceled", error: "canceled", inbox: "consumed", isFromOutside: true });
  return `accepted ${was}`;
}

export function renewWorker(model: Model, op: { worker: string }): string {
  const there = model.workers[op.worker];
  if (there?.isLapsed === true) return "rejected worker_lapsed";
  const leaseUntil = Math.max(there?.leaseUntil ?? 0, model.now + LEASE_MS);
  model.workers[op.worker] = { id: op.worker, leaseUntil, isLapsed: false };
  return "accepted";
}

export function retireWorker(model: Model, op: { worker: string }): string {
  const there = model.workers[op.worker];
  if (there !== undefined) there.leaseUntil = Math.min(there.leaseUntil, model.now);
  return "done";
}

/** One round of the sweeper: dead workers' turns first, then the calls that are due. */
export function sweep(model: Model): string {
  for (const worker of Object.values(model.workers)) if (worker.leaseUntil <= model.now) worker.isLapsed = true;
  for (const agent of Object.values(model.agents)) {
    if (agent.status !== "running" || !model.workers[agent.holder ?? ""]?.isLapsed) continue;
    if (agent.crashes + 1 >= CRASHES_MAX) {
      model.deadLetters.push(`crash_loop ${agent.turn}`);
      endTurn(model, agent, { status: "failed", error: "crash_loop", inbox: "error", isFromOutside: true });
      continue;
    }
    for (const call of openCalls(model, agent))
      if (call.wait === "waiting" && call.local && call.claimedBy !== null) lapse(model, call);
    Object.assign(agent, { status: "dispatched", epoch: agent.epoch + 1, holder: null, crashes: agent.crashes + 1 });
    turnOf(model, agent.turn).inbox = "pending";
  }
  sweepCalls(model);
  return "done";
}
