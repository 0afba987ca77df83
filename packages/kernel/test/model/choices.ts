// From random numbers to operations. A command is a kind and a few numbers; which agent, turn or call they mean is decided
// when it runs, from what the model then holds, so that most commands do something and shrinking keeps their meaning.
//
//   C1. The same numbers and the same model give the same operation.
//   C2. Half of the commands are `work`: the next sensible step of one participant. Without them most sequences would stay shallow.
//   C3. About one choice in eight is deliberately wrong: a stale epoch, a settled call, a forged secret.

import { endsOf, isOpen } from "./model-batches.ts";
import { claimable } from "./model-calls.ts";
import { openTurns } from "./model-project.ts";
import { type Agent, agentOf, BATCH_ENDS, type Call, type CallSpec, isAlive, type Model } from "./model-state.ts";
import type { Hold } from "./model-turns.ts";
import type { Kind, Operation } from "./operations.ts";

export interface Choice {
  /** `work`: whatever makes sense now. */
  readonly kind: Kind | "work";
  /** Whom it is about. */
  readonly whom: number;
  /** How wrong it is (C3): 0 means wrong. */
  readonly luck: number;
  readonly detail: number;
  readonly calls: readonly number[];
}

const DELAYS_MS = [
  1, 400, 1_000, 1_000, 2_000, 2_000, 5_000, 5_000, 9_000, 9_000, 15_000, 16_000, 31_000, 61_000,
] as const;
const TASK_ENDS = ["success", "failed", "timeout"] as const;
const RESULTS = ["success tag0", "success tag1", "success tag2", "failed boom"] as const;

export function operationOf(model: Model, choice: Choice): Operation | null {
  const { kind, whom, luck, detail } = choice;
  const isWrong = luck % 8 === 0;
  switch (kind) {
    case "work": {
      const sensible = nth(sensibleKinds(model), detail);
      return sensible === null ? null : operationOf(model, { ...choice, kind: sensible });
    }
    case "enqueue": {
      const ids = Object.keys(model.turns);
      const agent = nth(Object.keys(model.agents), whom);
      const turn = isWrong ? nth(ids, detail) : `${model.project}_t${ids.length}`;
      const parent = detail % 3 === 0 ? nth(ids, detail >> 2) : null;
      return agent === null || turn === null ? null : { kind, agent, turn, parent };
    }
    case "resume": {
      const ready = Object.values(model.agents).filter((agent) => isReady(model, agent));
      const agent =
        isWrong || ready.length === 0 ? agentWith(model, whom, ["suspended"]) : (ready[whom % ready.length] as Agent);
      const alive = model.places.filter((worker) => isAlive(model, worker));
      const worker = nth(luck % 16 === 0 || alive.length === 0 ? Object.keys(model.workers) : alive, detail);
      return worker === null ? null : { kind, agent: agent.id, worker, reclaim: detail % 9 === 0 };
    }
    case "suspend":
      return suspendOf(model, choice);
    case "applyResults": {
      const running = Object.values(model.agents).filter(
        (agent) => agent.status === "running" && agent.open.length > 0,
      );
      const agent = nth(isWrong || running.length === 0 ? Object.values(model.agents) : running, whom);
      const hold = agent === null ? null : holdOf(model, agent, luck);
      const step = lastStep(model, hold);
      if (agent === null || hold === null || step === null) return null;
      const results = detail % 6 === 0 ? agent.open.slice(1) : agent.open;
      return { kind, ...hold, step: detail % 11 === 0 ? `${step}x` : step, results };
    }
    case "finish":
    case "appendCards":
    case "defer": {
      const hold = holdOf(model, agentWith(model, whom, ["running"]), luck);
      if (hold === null) return null;
      if (kind === "appendCards")
        // Mostly one card with one text, so that it is sent again now and then; few turns live to a second one.
        return {
          kind,
          ...hold,
          card: `${hold.turn}_k${detail % 5 === 0 ? 1 : 0}`,
          text: `text ${detail % 6 === 0 ? 1 : 0}`,
        };
      if (kind === "defer")
        return { kind, ...hold, reason: detail % 2 === 0 ? "state_not_found" : "resume_cas_failed_running" };
      return {
        kind,
        ...hold,
        status: detail % 4 === 0 ? "failed" : "success",
        deliverable: `${hold.turn}_d${detail % 2}`,
      };
    }
    case "stop": {
      const living = Object.values(model.turns).filter(({ status }) => status === "queued" || status === "active");
      const turn = nth(isWrong ? Object.values(model.turns) : living, whom);
      return turn === null ? null : { kind, turn: turn.id };
    }
    case "open": {
      const call = callWith(
        model,
        whom,
        isWrong,
        (call) => !call.local && call.wait === "waiting" && call.claimedBy === null,
      );
      if (call === null || call.local) return null;
      const last = call.tickets.length - 1;
      const ticket =
        luck % 8 === 1 ? (detail % 2 === 0 ? "forged" : "other") : luck % 8 === 2 ? detail % (last + 1) : last;
      // The answer of a claim may have been lost: its executor asks again with the same claim.
      const isAgain = call.claimedBy !== null && call.claimId !== null && detail % 2 === 0;
      const executor = isAgain ? (call.claimedBy ?? "") : `e${detail % 2}`;
      const claimId = isAgain ? (call.claimId ?? "") : `${call.id}_${call.caps.length}`;
      const principal = isAgain && luck % 24 !== 0 ? call.principal : loginOf(executor, luck);
      return { kind, call: call.id, ticket, executor, claimId, principal, leaseMs: detail % 5 === 0 ? 60_000 : 15_000 };
    }
    case "moveTask":
    case "finishBatch": {
      const running = Object.values(model.batches).filter(({ status }) => status === "running");
      const batch = nth(isWrong || running.length === 0 ? Object.values(model.batches) : running, whom);
      if (batch === null) return null;
      const { id, tasks } = batch;
      const ends = isWrong ? [] : endsOf(tasks);
      if (kind === "finishBatch")
        return { kind, batch: id, status: nth(ends, detail) ?? nth(BATCH_ENDS, detail) ?? "failed" };
      const open = nth(
        [...tasks.keys()].filter((n) => isOpen(tasks[n] ?? "")),
        detail,
      );
      const task = isWrong || open === null ? detail % tasks.length : open;
      const isToStart = tasks[task] === "pending" && luck % 2 === 0;
      return { kind, batch: id, task, to: isToStart ? "dispatched" : (nth(TASK_ENDS, luck) ?? "failed") };
    }
    case "openBatch": {
      const call = callWith(model, whom, isWrong, (call) => call.wait === "waiting" && call.claimedBy !== null);
      if (call === null || call.local) return null;
      const batch = call.batch ?? `${model.project}_b${Object.keys(model.batches).length}`;
      return {
        kind,
        call: call.id,
        ...useOf(call, luck, detail),
        batch,
        tasks: 1 + (detail % 2),
        deadlineMs: 60_000,
      };
    }
    case "renew":
    case "saveCard":
    case "report": {
      const late = luck % 8 === 2 ? nth(lateCalls(model), whom) : null;
      const call = late ?? callWith(model, whom, isWrong, (call) => call.wait === "waiting" && call.claimedBy !== null);
      if (call === null || (kind === "renew" && call.local)) return null;
      const use = { call: call.id, ...useOf(call, luck, detail) };
      const result = RESULTS[detail % RESULTS.length] ?? RESULTS[0];
      if (kind === "renew") return { kind, ...use };
      if (kind === "saveCard") return { kind, ...use, result };
      if (detail % 7 === 0) return { kind, ...use, result: "failed later", isRetryable: true, isPointer: false };
      return { kind, ...use, result, isRetryable: false, isPointer: detail % 5 === 0 };
    }
    case "renewWorker": {
      const place = whom % 2;
      const there = model.places[place] ?? "";
      const isGone = model.workers[there]?.isLapsed === true && !isWrong;
      return { kind, place, worker: isGone ? `${model.project}_w${Object.keys(model.workers).length}` : there };
    }
    case "retireWorker":
      return { kind, worker: model.places[whom % 2] ?? "" };
    case "advance": {
      const ms = DELAYS_MS[detail % DELAYS_MS.length] ?? 1;
      // Living workers send heartbeats; sometimes both have gone silent.
      return { kind, ms, beats: isWrong ? [] : model.places.filter((worker) => isAlive(model, worker)) };
    }
    case "sweep":
    case "readEvents":
      return { kind };
    case "claimCalls":
      return claimOf(model, choice);
    case "putProject":
      return { kind, status: model.status === "active" && isWrong ? "inactive" : "active" };
    case "deleteProject":
      // Refused here; a project that has come to its end is deleted after the sequence.
      return openTurns(model) === 0 ? null : { kind };
  }
}

const isReady = (model: Model, agent: Agent): boolean =>
  agent.status === "dispatched" ||
  (agent.status === "suspended" && agent.open.every((id) => model.calls[id]?.wait === "received"));

/** C2: once for each reason to do it. */
function sensibleKinds(model: Model): Kind[] {
  const kinds: Kind[] = [];
  for (const worker of model.places) if (!isAlive(model, worker)) kinds.push("renewWorker", "renewWorker");
  for (const agent of Object.values(model.agents)) {
    if (agent.status === "idle") kinds.push("enqueue");
    if (isReady(model, agent)) kinds.push("resume", "resume");
    if (agent.status === "running" && agent.open.length > 0) kinds.push("applyResults");
    if (agent.status === "running" && agent.open.length === 0) kinds.push("suspend", "suspend", "suspend", "finish");
  }
  for (const call of Object.values(model.calls)) {
    if (call.wait !== "waiting") continue;
    if (call.claimedBy === null) kinds.push(call.local ? "resume" : "open");
    else if (call.batch === null) kinds.push("report", "report", ...(call.local ? [] : (["openBatch"] as const)));
  }
  for (const { status, tasks } of Object.values(model.batches))
    if (status === "running") kinds.push(tasks.some(isOpen) ? "moveTask" : "finishBatch");
  return kinds;
}

function suspendOf(model: Model, { whom, luck, detail, calls }: Choice): Operation | null {
  const agent = agentWith(model, whom, detail % 12 === 0 ? ["suspended"] : ["running"]);
  const hold = holdOf(model, agent, luck);
  if (hold === null) return null;
  const steps = Object.values(model.turns).reduce((sum, turn) => sum + turn.steps.length, 0);
  // The answer of a step may have been lost: its worker asks again with the same step and calls.
  const last = detail % 12 === 0 || detail % 13 === 0 ? lastStep(model, hold) : null;
  const isAgain = last !== null;
  const step = last ?? `${model.project}_s${steps}`;
  const first = Object.keys(model.calls).length;
  const there = Object.values(model.calls).filter((call) => call.step === step && call.turn === hold.turn);
  const specs = isAgain ? there : calls.map((number, n) => callSpec(`${model.project}_c${first + n}`, number, detail));
  return { kind: "suspend", ...hold, step, calls: specs.map(plainSpec) };
}

function claimOf(model: Model, { whom, luck, detail }: Choice): Operation | null {
  const held = nth(
    Object.values(model.calls).filter((call) => !call.local && call.claimId !== null),
    whom,
  );
  const isAgain = held !== null && detail % 3 === 0;
  const times = Object.values(model.calls).reduce((sum, call) => sum + call.caps.length, 0);
  const asker = isAgain
    ? { executor: held.claimedBy ?? "", claimId: held.claimId ?? "" }
    : { executor: `e${detail % 2}`, claimId: `${model.project}_k${times}` };
  // Of two that are due at the same moment, either may be given: then both are asked for.
  const due = claimable(model, asker).map((call) => call.due);
  let max = 1 + (detail % 3);
  while (max < due.length && due[max] === due[max - 1]) max += 1;
  const principal = isAgain && luck % 8 !== 0 ? held.principal : loginOf(asker.executor, luck);
  return { kind: "claimCalls", ...asker, principal, max, leaseMs: 15_000 };
}

/** An executor's own login, none, or, to be wrong (C3), another's. */
const loginOf = (executor: string, luck: number): string | null =>
  luck % 8 === 0 ? "login_other" : luck % 8 === 3 ? null : `login_${executor}`;

const useOf = (call: Call, luck: number, detail: number) => ({
  cap: capOf(call, luck, detail),
  principal: luck % 16 === 5 ? "login_other" : detail % 3 === 0 ? null : call.principal,
});

const lastStep = (model: Model, hold: Hold | null): string | null =>
  model.turns[hold?.turn ?? ""]?.steps.at(-1) ?? null;

function callSpec(id: string, number: number, detail: number): CallSpec {
  return {
    id,
    effect: (["read", "idempotent", "once"] as const)[number % 3] ?? "once",
    local: detail % 4 === 1 || (detail % 4 === 2 && number % 2 === 0),
    canReconcile: number % 5 === 0,
    terminate: number % 11 === 0,
    timeoutMs: [1_000, 30_000, 600_000][(number >> 2) % 3] ?? 1_000,
    queueMs: [null, 3_000, 90_000][(number >> 5) % 3] ?? null,
    attemptsMax: 1 + ((number >> 3) % 3),
  };
}

function plainSpec(spec: CallSpec): CallSpec {
  const { id, effect, local, canReconcile, terminate, timeoutMs, queueMs, attemptsMax } = spec;
  return { id, effect, local, canReconcile, terminate, timeoutMs, queueMs, attemptsMax };
}

function nth<T>(items: readonly T[], n: number): T | null {
  return items[n % Math.max(items.length, 1)] ?? null;
}

function agentWith(model: Model, n: number, statuses: readonly string[]): Agent {
  const all = Object.values(model.agents);
  const fitting = all.filter((agent) => statuses.includes(agent.status));
  return nth(fitting.length === 0 ? all : fitting, n) ?? agentOf(model, "");
}

function holdOf(model: Model, agent: Agent, luck: number): Hold | null {
  const last = Object.values(model.turns).findLast((turn) => turn.agent === agent.id && turn.status !== "queued");
  const turn = agent.turn ?? last?.id;
  if (turn === undefined) return null;
  return {
    agent: agent.id,
    turn,
    epoch: luck % 8 === 0 ? agent.epoch - 1 : luck % 16 === 1 ? agent.epoch + 1 : agent.epoch,
  };
}

/** A call that fits, or, to be wrong (C3), one that was claimed once and does not fit any more. */
function callWith(model: Model, n: number, isWrong: boolean, fits: (call: Call) => boolean): Call | null {
  return nth(
    Object.values(model.calls).filter((call) => (isWrong ? call.caps.length > 0 && !fits(call) : fits(call))),
    n,
  );
}

/** Calls with an earlier holder that does not know that it lost them, or that its claim was answered again. */
const lateCalls = (model: Model): Call[] =>
  Object.values(model.calls).filter((call) => call.caps.some((cap) => cap !== "current"));

function capOf(call: Call, luck: number, detail: number): number | "forged" | "other" {
  if (call.caps.length === 0 || luck % 8 === 1) return detail % 2 === 0 ? "forged" : "other";
  const late = call.caps.findLastIndex((cap) => cap !== "current");
  return luck % 8 === 2 && late >= 0 ? late : call.caps.length - 1;
}
