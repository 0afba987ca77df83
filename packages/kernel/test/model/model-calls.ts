// The model of a call: claim, lease, report, deadline, and what the sweeper does for those without a live holder.

import { CALL_DEADLINE_MARGIN_MS, LEASE_MS, RING_FIRST_MS, RING_MAX_MS } from "@tessera/protocol";
import { type Agent, agentOf, type Call, callOf, isAlive, type Model, openCalls } from "./model-state.ts";

const BACKOFF_MS = 1_000;

const ringDelay = (rings: number): number => Math.min(RING_FIRST_MS * 2 ** rings, RING_MAX_MS);

/** The first to come settles a call; its result stands at the place that was reserved for it. */
export function settle(call: Call, by: string, result: string): void {
  call.wait = "received";
  call.settledBy = by;
  call.result = result;
}

export interface Claimant {
  readonly executor: string;
  readonly claimId: string | null;
  readonly principal: string | null;
}

export function claim(call: Call, by: Claimant, leaseUntil: number): void {
  call.attempt += 1;
  call.claimedBy = by.executor;
  call.claimId = by.claimId;
  call.principal = by.principal;
  call.leaseUntil = leaseUntil;
  call.caps.push("current");
}

/** A worker holds its local calls as itself. */
export const workerAs = (worker: string): Claimant => ({ executor: worker, claimId: null, principal: worker });

/** Gives a call back: its former holder is stale from now on, and from `freeAt` on it waits for an executor anew. */
function release(call: Call, freeAt: number): void {
  if (call.queueMs !== null) call.deadline = freeAt + call.queueMs;
  call.claimedBy = null;
  call.claimId = null;
  call.principal = null;
  call.caps = call.caps.map((cap) => (cap === "current" ? "stale" : cap));
}

/** A dead executor's call, by what its tool declared. Answers whether it is to be run again. */
export function lapse(model: Model, call: Call): boolean {
  if (call.effect === "once" && !call.canReconcile) {
    settle(call, "crash", "failed outcome_unknown");
    return false;
  }
  if (call.attempt >= call.attemptsMax) {
    settle(call, "crash", call.effect === "once" ? "failed outcome_unknown" : "failed tool_crashed");
    model.deadLetters.push(`tool_crashed ${call.id}`);
    return false;
  }
  release(call, model.now);
  call.isToReconcile = call.effect === "once";
  call.rings = 0;
  call.due = model.now;
  return true;
}

export function open(
  model: Model,
  op: Claimant & { call: string; ticket: number | "forged" | "other"; leaseMs: number },
): string {
  const call = callOf(model, op.call);
  const attempt = typeof op.ticket === "number" ? call.tickets[op.ticket] : undefined;
  if (attempt === undefined) return "rejected auth_failed";
  if (call.wait !== "waiting") return "rejected already_settled";
  const isAgain = isHeldBy(call, op) && call.principal === op.principal;
  if (!isAgain && call.claimedBy !== null) return "rejected already_claimed";
  if (!isAgain && attempt <= call.attempt) return "rejected stale_attempt";
  if (!isAgain && call.deadline <= model.now) return "rejected tool_timeout";
  take(model, call, op);
  return `accepted attempt ${call.attempt}`;
}

const isHeldBy = (call: Call, op: Pick<Claimant, "executor" | "claimId">): boolean =>
  call.claimedBy === op.executor && call.claimId === op.claimId;

/** Claims it, or answers its holder again, who then has another capability. */
function take(model: Model, call: Call, op: Claimant & { leaseMs: number }): void {
  const leaseUntil = model.now + op.leaseMs;
  if (call.claimedBy === null) {
    claim(call, op, leaseUntil);
    if (call.queueMs !== null) call.deadline = model.now + call.timeoutMs + CALL_DEADLINE_MARGIN_MS;
  } else {
    call.caps = call.caps.map((cap) => (cap === "current" ? "void" : cap));
    call.caps.push("current");
    call.leaseUntil = leaseUntil;
  }
  call.due = Math.min(call.due, leaseUntil); // a lost executor is noticed when its lease ends
}

/** The calls that an executor that asks for any work would get, the longest due first. */
export const claimable = (model: Model, op: Pick<Claimant, "executor" | "claimId">): Call[] =>
  Object.values(model.calls)
    .filter(
      (call) =>
        call.wait === "waiting" &&
        !call.local &&
        call.deadline > model.now &&
        (call.claimedBy === null ? call.attempt === 0 || call.rings > 0 || call.due <= model.now : isHeldBy(call, op)),
    )
    .sort((a, b) => a.due - b.due);

export function claimCalls(model: Model, op: Claimant & { max: number; leaseMs: number }): string {
  // One that is held under another principal is found and not given.
  const found = claimable(model, op).slice(0, op.max);
  const taken = found.filter((call) => call.claimedBy === null || call.principal === op.principal);
  for (const call of taken) take(model, call, op);
  const said = taken.map(({ id, attempt }) => `${id}=${attempt}`).sort();
  return `took ${said.join(",")}`;
}

export interface CapUse {
  readonly call: string;
  /** Of its call's capabilities; of another call; none at all. */
  readonly cap: number | "forged" | "other";
  /** Null: not given. */
  readonly principal: string | null;
}

/** The checks of every executor write, in their order: capability, principal, settled. Null: it may write. */
export function refused(call: Call, { cap, principal }: CapUse): string | null {
  const standing = typeof cap === "number" ? call.caps[cap] : undefined;
  if (standing === undefined || standing === "void") return "rejected auth_failed";
  if (standing === "stale") return "rejected stale_attempt";
  if (principal !== null && call.principal !== null && principal !== call.principal) return "rejected auth_failed";
  return call.wait === "waiting" ? null : "rejected already_settled";
}

export function renew(model: Model, op: CapUse): string {
  const call = callOf(model, op.call);
  const refusal = refused(call, op);
  if (refusal !== null) return refusal;
  call.leaseUntil = Math.max(call.leaseUntil ?? 0, model.now + LEASE_MS); // a heartbeat never shortens a lease
  return "accepted";
}

export function saveCard(model: Model, op: CapUse & { result: string }): string {
  const call = callOf(model, op.call);
  const refusal = refused(call, op);
  if (refusal !== null) return refusal;
  const saved = call.saved[op.cap as number];
  if (saved !== undefined && saved !== op.result) return "rejected conflict";
  call.saved[op.cap as number] = op.result;
  return "accepted";
}

/** `result`: "success", "failed boom", or a failure that may be tried again; `pointed` names a card saved before. */
export function report(
  model: Model,
  op: CapUse & { result: string; isRetryable: boolean; isPointer: boolean },
): string {
  const call = callOf(model, op.call);
  const refusal = refused(call, op);
  const isMine = refusal === "rejected already_settled" && call.settledBy === "report";
  if (isMine) return "duplicate";
  if (refusal !== null) return refusal;
  const result = op.isPointer ? call.saved[op.cap as number] : op.result;
  if (result === undefined) return "rejected protocol_violation";
  const retryAt = model.now + BACKOFF_MS * 2 ** (call.attempt - 1);
  // A failure is not given back to be tried again when there is no time left for it.
  if (op.isRetryable && call.attempt < call.attemptsMax && (call.queueMs !== null || retryAt < call.deadline)) {
    release(call, retryAt);
    call.due = retryAt;
    call.rings = 0;
    return "accepted retry";
  }
  settle(call, "report", result);
  const agent = agentOf(model, call.agent);
  const isLast = openCalls(model, agent).every(({ wait }) => wait === "received");
  return isLast ? "accepted wake" : "accepted";
}

/** One look of the sweeper at the calls that are due. */
export function sweepCalls(model: Model): void {
  for (const call of Object.values(model.calls)) {
    if (call.wait !== "waiting" || call.due > model.now) continue;
    if (call.deadline <= model.now) {
      const isUnknown =
        call.effect === "once" && call.batch === null && (call.claimedBy !== null || call.isToReconcile);
      const isUntaken = call.claimedBy === null && !call.local;
      const code = isUnknown ? "outcome_unknown" : isUntaken ? "no_executor" : "tool_timeout";
      settle(call, "deadline", `timeout ${code}`);
      continue;
    }
    if (call.claimedBy !== null) {
      const leaseUntil = call.leaseUntil ?? 0;
      const workerUntil = isAlive(model, call.claimedBy) ? (model.workers[call.claimedBy]?.leaseUntil ?? 0) : 0;
      const aliveUntil = call.batch !== null ? call.deadline : call.local ? workerUntil : leaseUntil;
      if (aliveUntil > model.now) {
        call.due = Math.min(call.deadline, aliveUntil);
        continue;
      }
      if (!lapse(model, call)) continue;
    }
    call.due = Math.min(call.deadline, model.now + ringDelay(call.rings));
    call.rings += 1;
    if (!call.local && !call.tickets.includes(call.attempt + 1)) call.tickets.push(call.attempt + 1);
  }
}

/** Unclaimed local calls go to the worker that asks, under a capability each. */
export function handOut(model: Model, agent: Agent, worker: string): void {
  for (const call of openCalls(model, agent))
    if (call.wait === "waiting" && call.local && call.claimedBy === null) claim(call, workerAs(worker), 0);
}
