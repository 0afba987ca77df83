// The reference model: what a kernel promises, as plain data without a database. Written from the specification
// (ARCHITECTURE.md "Life of one call", docs/reference/states.md, the outcomes of src/*-outcomes.ts), not from the SQL.
//
//   M1. One sequence of commands is one project; every id is chosen by the test, so that model and kernel use the same.
//   M2. Secrets are symbols here: a capability is its place among those its call was ever given, a ticket likewise.
//   M3. `viewOf` says everything that an outsider may see; the kernel's rows must say the same after every command.

import { LEASE_MS } from "@tessera/protocol";

type Effect = "read" | "idempotent" | "once";
type HeadStatus = "idle" | "dispatched" | "running" | "suspended";

export interface Agent {
  readonly id: string;
  status: HeadStatus;
  epoch: number;
  turn: string | null;
  holder: string | null;
  crashes: number;
  queue: string[];
  step: string | null;
  /** Calls of the step that are not applied. */
  open: string[];
}

export interface Turn {
  readonly id: string;
  readonly agent: string;
  readonly parent: string | null;
  readonly depth: number;
  status: string;
  error: string | null;
  inbox: string;
  deferrals: number;
  notBefore: number;
  isStopped: boolean;
  deliverable: string | null;
  /** Ids of the steps it has committed. */
  steps: string[];
  /** Its output in order; a call's result stands where `#call` reserves its place. */
  transcript: string[];
}

export interface CallSpec {
  readonly id: string;
  readonly effect: Effect;
  readonly local: boolean;
  readonly canReconcile: boolean;
  readonly terminate: boolean;
  readonly timeoutMs: number;
  /** How long it may wait for an executor; null: its deadline bounds waiting and running together. */
  readonly queueMs: number | null;
  readonly attemptsMax: number;
}

export interface Call extends CallSpec {
  readonly agent: string;
  readonly turn: string;
  readonly step: string;
  deadline: number;
  wait: "waiting" | "received" | "applied" | "dropped";
  attempt: number;
  claimedBy: string | null;
  claimId: string | null;
  /** As whom its holder was authenticated: no other principal may use its claim or its capability. */
  principal: string | null;
  /** Null: a batch answers it. */
  leaseUntil: number | null;
  batch: string | null;
  /** When the sweeper looks at it next, and how often it has rung. */
  due: number;
  rings: number;
  isToReconcile: boolean;
  settledBy: string | null;
  result: string | null;
  /** M2: the attempts whose tickets were published, in that order. */
  tickets: number[];
  /** M2: `void` was replaced by another for the same claim. */
  caps: ("current" | "stale" | "void")[];
  /** Result cards saved and not reported, by the capability that saved them: what they say. */
  saved: Record<number, string>;
}

export const BATCH_ENDS = ["success", "partial", "timeout", "failed"] as const;
export type BatchEnd = (typeof BATCH_ENDS)[number];

export interface Batch {
  readonly id: string;
  readonly call: string;
  status: "running" | BatchEnd;
  readonly tasks: string[];
}

interface Worker {
  readonly id: string;
  leaseUntil: number;
  isLapsed: boolean;
}

export interface Model {
  readonly project: string;
  now: number;
  agents: Record<string, Agent>;
  turns: Record<string, Turn>;
  calls: Record<string, Call>;
  workers: Record<string, Worker>;
  batches: Record<string, Batch>;
  /** The two places where a worker runs: the id of the one that runs there now. */
  places: string[];
  deadLetters: string[];
  /** An inactive project takes no new turns. */
  status: "active" | "inactive";
  revision: number;
  /** Cards that workers appended: what they say. */
  cards: Record<string, string>;
  /** The ends of turns in their order, and how many of them a reader has seen. */
  log: string[];
  told: number;
  /** Terminal events, by turn. */
  ends: Record<string, string[]>;
}

export const AGENTS = 3;

export function newModel(project: string, now: number): Model {
  const agents: Record<string, Agent> = {};
  for (let n = 0; n < AGENTS; n += 1) {
    const id = `${project}_a${n}`;
    const head = { status: "idle", epoch: 0, turn: null, holder: null, crashes: 0, queue: [], step: null } as const;
    agents[id] = { id, ...head, queue: [], open: [] };
  }
  const workers: Record<string, Worker> = {};
  const places = [0, 1].map((n) => `${project}_w${n}`);
  for (const id of places) workers[id] = { id, leaseUntil: now + LEASE_MS, isLapsed: false };
  const blank = { turns: {}, calls: {}, batches: {}, cards: {}, ends: {}, deadLetters: [], log: [], told: 0 };
  return { project, now, agents, workers, places, ...blank, status: "active", revision: 1 };
}

export const isAlive = (model: Model, worker: string): boolean => {
  const found = model.workers[worker];
  return found !== undefined && !found.isLapsed && found.leaseUntil > model.now;
};

export function agentOf(model: Model, id: string): Agent {
  return required(model.agents[id], id);
}

export function turnOf(model: Model, id: string | null): Turn {
  return required(model.turns[id ?? ""], id);
}

export function callOf(model: Model, id: string): Call {
  return required(model.calls[id], id);
}

export const openCalls = (model: Model, agent: Agent): Call[] => agent.open.map((id) => callOf(model, id));

function required<T>(value: T | undefined, id: string | null): T {
  if (value === undefined) throw new Error(`the model knows no ${id}`);
  return value;
}

/** M3 */
export function viewOf(model: Model) {
  const table = <T, R>(rows: Record<string, T>, of: (row: T) => R): Record<string, R> =>
    Object.fromEntries(Object.entries(rows).map(([id, row]) => [id, of(row)]));
  return {
    heads: table(model.agents, ({ status, epoch, turn, holder, crashes, queue, open }) => [
      status,
      epoch,
      turn,
      holder,
      crashes,
      queue.length,
      open,
    ]),
    turns: table(model.turns, (turn) => [turn.status, turn.error, turn.depth, turn.inbox, turn.deferrals]),
    calls: table(model.calls, (call) => [
      call.wait,
      call.attempt,
      call.claimedBy,
      call.settledBy,
      call.isToReconcile,
      call.wait === "waiting" && call.claimedBy !== null && !call.local ? call.leaseUntil : null,
    ]),
    workers: Object.fromEntries(
      Object.values(model.workers).flatMap(({ id, leaseUntil, isLapsed }) => (isLapsed ? [] : [[id, leaseUntil]])),
    ),
    transcripts: table(model.turns, (turn) => turn.transcript.flatMap((entry) => shown(model, entry))),
    ends: model.ends,
    batches: table(model.batches, ({ status, tasks }) => [status, ...tasks]),
    deadLetters: [...model.deadLetters].sort(),
  };
}

export type View = ReturnType<typeof viewOf>;

function shown(model: Model, entry: string): string[] {
  if (!entry.startsWith("#")) return [entry];
  const id = entry.slice(1);
  const { result } = callOf(model, id);
  return result === null ? [] : [`tool.result ${id} ${result}`];
}
