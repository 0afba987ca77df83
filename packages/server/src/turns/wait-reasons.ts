// Why a turn has not ended: one entry for each thing that it waits for, as data and as a sentence.
//
//   W1. The code says who has to move next: another turn, a worker, an executor, the turn's own children. The sentence says
//       the same with the names in it, and needs nothing else to be understood.
//   W2. Everything is told from stored rows. Nothing here compares a time with now, so the same rows always give the same text.
//   W3. A turn that has ended waits for nothing.

import type { Row } from "@tessera/kernel/ports";
import { parseSubject } from "@tessera/protocol";

export const WAIT_CODES = [
  "queued_behind",
  "no_worker",
  "working",
  "no_executor",
  "executor",
  "local_tool",
  "children",
  "retry",
  "result_ready",
] as const;
type WaitCode = (typeof WAIT_CODES)[number];

export interface Wait {
  readonly code: WaitCode;
  /** One sentence without a full stop, about the turn or one of its calls (W1). */
  readonly says: string;
  readonly tool_call_id?: string;
  readonly tool_name?: string;
  readonly target?: string;
  readonly executor?: string;
  readonly agent_turn_ids?: readonly string[];
  readonly deadline_at?: string;
  /** Of a call that waits for an executor: what its deadline follows from. */
  readonly bounded_by?: string;
  readonly since?: string;
}

/** What is known about a turn that has not ended. */
export interface WaitFacts {
  readonly turn: Row;
  /** Of its agent, as they are now. */
  readonly head: Row | null;
  readonly agent: Row | null;
  /** Its calls that are not applied yet, whole, in call order. */
  readonly calls: readonly Row[];
  /** Tasks of the batches of these calls, by batch id. */
  readonly tasks: ReadonlyMap<string, readonly Row[]>;
}

export function waitsOf(facts: WaitFacts): Wait[] {
  const { turn, head, agent, calls, tasks } = facts;
  if (turn.ended_at !== null) return []; // W3
  const since = head === null ? {} : { since: String(head.updated_at) };
  if (turn.turn_status === "queued") return [queuedBehind(turn, head)];
  if (turn.turn_status === "dispatched") {
    const target = agent === null ? "its worker target" : String(agent.worker_target);
    const says = `no worker of ${target} has taken it yet`;
    return [{ code: "no_worker", says, ...(agent === null ? {} : { target }), ...since }];
  }
  if (turn.turn_status === "running") {
    // A worker that runs a tool itself keeps the turn meanwhile.
    const open = calls.filter((call) => call.wait_status === "waiting");
    if (open.length > 0) return open.map((call) => waitOfCall(call, tasks.get(String(call.batch_id)) ?? []));
    const executor = String(turn.holder);
    return [{ code: "working", says: `the worker ${executor} is at work on it`, executor, ...since }];
  }
  return calls.map((call) => waitOfCall(call, tasks.get(String(call.batch_id)) ?? []));
}

function queuedBehind(turn: Row, head: Row | null): Wait {
  const ahead = head?.active_agent_turn_id;
  const since = String(turn.created_at);
  if (typeof ahead !== "string") return { code: "queued_behind", says: "its agent works on another turn first", since };
  return {
    code: "queued_behind",
    says: `its agent works on another turn first: ${ahead}`,
    agent_turn_ids: [ahead],
    since,
  };
}

export function waitOfCall(call: Row, tasks: readonly Row[]): Wait {
  const tool_name = String(call.tool_name);
  const deadline_at = String(call.deadline_at);
  const until = `until ${deadline_at} at the latest`;
  const about = { tool_call_id: String(call.tool_call_id), tool_name, deadline_at };
  if (call.wait_status === "received") {
    const since = String(call.received_at);
    return {
      code: "result_ready",
      says: `the result of ${tool_name} is here; no worker has read it yet`,
      ...about,
      since,
    };
  }
  if (call.local === true) {
    const says = `its worker runs ${tool_name}, ${until}`;
    return { code: "local_tool", says, ...about, since: String(call.created_at) };
  }
  if (typeof call.batch_id === "string") return children(call, tasks, about, until);
  if (typeof call.claimed_by === "string") {
    const executor = call.claimed_by;
    const says = `${executor} is at work on ${tool_name}, ${until}`;
    return { code: "executor", says, ...about, target: targetOf(call), executor, since: String(call.claimed_at) };
  }
  return unclaimed(call, about, until);
}

type CallWait = Pick<Wait, "tool_call_id" | "tool_name" | "deadline_at">;

function children(call: Row, tasks: readonly Row[], about: CallWait, until: string): Wait {
  const open = tasks.filter((task) => task.status === "pending" || task.status === "dispatched");
  const turnIds = open.map((task) => task.current_agent_turn_id).filter((id) => typeof id === "string");
  const ended = tasks.length - open.length;
  const says = `${ended} of ${tasks.length} turns that ${about.tool_name} asked for have ended, ${until}`;
  return {
    code: "children",
    says,
    ...about,
    agent_turn_ids: turnIds,
    since: String(call.claimed_at ?? call.created_at),
  };
}

function unclaimed(call: Row, about: CallWait, until: string): Wait {
  const target = targetOf(call);
  const attempt = Number(call.attempt);
  if (attempt === 0) {
    const says = `no executor of ${target} has taken ${about.tool_name}, ${until}`;
    return { code: "no_executor", says, ...about, target, bounded_by: boundOf(call), since: String(call.created_at) };
  }
  const says =
    `attempt ${attempt} of ${about.tool_name} ended without a result; ` +
    `an executor of ${target} may take the next one, ${until}`;
  return { code: "retry", says, ...about, target, bounded_by: boundOf(call) };
}

/** What ends the wait for an executor when none comes (decision 40). */
function boundOf({ queue_timeout_ms, attempt, created_at, deadline_at, target_subject }: Row): string {
  if (typeof queue_timeout_ms === "number") {
    const anew = attempt === 0 ? "" : ", which began anew when the call was given back";
    return `the tool's queueTimeoutMs (${queue_timeout_ms} ms)${anew}`;
  }
  if (attempt !== 0) return "the call's deadline, which all of its attempts share";
  const ms = Date.parse(String(deadline_at)) - Date.parse(String(created_at));
  const isInternal = parseSubject(String(target_subject))?.component === "sys";
  const hint = isInternal ? "" : "; its queueTimeoutMs would bound the wait for an executor by itself";
  return `the call's deadline: the tool's timeout and two leases, ${ms} ms together${hint}`;
}

function targetOf(call: Row): string {
  const subject = parseSubject(String(call.target_subject));
  if (subject === null) return String(call.target_subject);
  return subject.component === "tool" ? subject.target : `${subject.component}.${subject.target}`;
}

/** All of it in one sentence. */
export function whyOpen(waits: readonly Wait[]): string {
  const [first, ...more] = waits;
  if (first === undefined) return "it is about to go on";
  if (more.length === 0) return first.says;
  const codes = new Map<WaitCode, number>();
  for (const { code } of waits) codes.set(code, (codes.get(code) ?? 0) + 1);
  const parts = [...codes].map(([code, count]) => `${count} ${SUM[code]}`);
  return `it waits for ${waits.length} calls: ${parts.join(", ")}`;
}

const SUM: Readonly<Record<WaitCode, string>> = {
  queued_behind: "behind another turn",
  no_worker: "without a worker",
  working: "at a worker",
  no_executor: "that no executor has taken",
  executor: "at an executor",
  local_tool: "in its own worker",
  children: "for turns of other agents",
  retry: "to be tried again",
  result_ready: "with a result that is not read yet",
};
