// What turns do, seen in the store: each look answers with what is new since the last one.
//
//   P1. Turns that a watched turn starts are watched, too, up to TURNS_MAX: progress is for people, and nobody reads more.
//   P2. A wait is told when it has taken a moment, and again only when its reason changes.
//   P3. However much happened between two looks, and during one, it is told in the order of steps: a thought, then the
//       calls it made. Thoughts are read first, and a call whose thought came after that is left to the next look.

import { isJsonObject } from "@tessera/protocol";
import type { Node } from "@tessera/runtime";
import { waitReason } from "./call-wait.ts";

type Row = Readonly<Record<string, unknown>>;

/** Fields in the order a person reads them; `--json` prints them as they are. */
export interface ProgressEvent {
  readonly event: "turn" | "step" | "call" | "wait";
  readonly agent: string;
  readonly agent_turn_id: string;
  readonly step?: number;
  readonly text?: string;
  readonly tool?: string;
  readonly tool_call_id?: string;
  readonly status?: string;
  readonly elapsed_ms?: number;
  readonly error_code?: string;
  readonly reason?: string;
  readonly deadline_at?: string;
}

interface Watched {
  readonly turnId: string;
  agent: string | null;
  status: string | null;
  nextPos: number | null;
  readonly steps: Set<unknown>;
  isEnded: boolean;
  row: Row | null;
  readonly calls: Map<string, Seen>;
  readonly seen: Seen;
}

/** When something open was first seen, and what was said about it. */
interface Seen {
  readonly sinceMs: number;
  reason: string | null;
  isSettled: boolean;
}

interface Told {
  readonly step_id: unknown;
  readonly event: ProgressEvent;
}

export interface TurnProgress {
  watch(turnId: string): void;
  look(): Promise<ProgressEvent[]>;
  /** The turn as it was at the last look. */
  row(turnId: string): Row | null;
  agentOf(turnId: string): string;
}

const TURNS_MAX = 60;
const TELL_WAIT_AFTER_MS = 1_000;

export function createTurnProgress({ kernel, clock }: Pick<Node, "kernel" | "clock">, project: string): TurnProgress {
  const { reads } = kernel;
  const turns = new Map<string, Watched>();
  const firstSeen = (): Seen => ({ sinceMs: clock.monotonicMs(), reason: null, isSettled: false });

  function watch(turnId: string): void {
    if (turns.has(turnId)) return;
    const facts = { agent: null, status: null, nextPos: null, isEnded: false, row: null };
    turns.set(turnId, { turnId, ...facts, steps: new Set(), calls: new Map(), seen: firstSeen() });
  }

  async function lookAt(turn: Watched): Promise<ProgressEvent[]> {
    const row = await reads.turn(project, turn.turnId);
    if (row === null) return [];
    turn.agent ??= await agentName(row);
    const of = { agent: turn.agent, agent_turn_id: turn.turnId };
    const started = turn.status === null ? [{ event: "turn", ...of, status: "started" } as const] : [];
    const steps = await stepsOf(turn, row);
    const calls = await callsOf(turn);
    const isEarlier = ({ step_id }: Told) => !steps.some((step) => step.step_id === step_id);
    const inOrder = steps.flatMap((step) => [step, ...calls.filter(({ step_id }) => step_id === step.step_id)]);
    const events = [...started, ...[...calls.filter(isEarlier), ...inOrder].map(({ event }) => event)]; // P3
    turn.status = String(row.turn_status);
    turn.row = row;
    if (row.ended_at !== null) {
      turn.isEnded = true;
      const code = typeof row.error_code === "string" ? { error_code: row.error_code } : {};
      return [...events, { event: "turn", ...of, status: String(row.status), ...code }];
    }
    if (turns.size < TURNS_MAX) {
      for (const child of await reads.childTurns(project, turn.turnId)) {
        if (turns.size < TURNS_MAX) watch(String(child.agent_turn_id)); // P1
      }
    }
    const reason = isNotBegun(turn.status) ? newReason(turn.seen, whyNotBegun(turn.status)) : null;
    return reason === null ? events : [...events, { event: "wait", ...of, reason }];
  }

  async function agentName({ display_name, agent_id }: Row): Promise<string> {
    if (typeof display_name === "string") return display_name;
    const agent = await reads.agent(project, String(agent_id));
    return typeof agent?.display_name === "string" ? agent.display_name : String(agent_id);
  }

  async function stepsOf(turn: Watched, { output_box_id, box_start }: Row): Promise<Told[]> {
    if (typeof box_start !== "number") return []; // it has not begun
    turn.nextPos ??= box_start;
    const cards = await reads.boxCards(project, String(output_box_id), { from: turn.nextPos });
    turn.nextPos = (cards.at(-1)?.pos ?? turn.nextPos - 1) + 1;
    const isThought = (card: (typeof cards)[number]) =>
      card.type === "agent.thought" && card.metadata.agent_turn_id === turn.turnId;
    return cards.filter(isThought).map(({ content, metadata }) => {
      turn.steps.add(metadata.step_id);
      const text = typeof content.text === "string" ? content.text : "";
      const agent = turn.agent ?? "";
      const event = { event: "step", agent, agent_turn_id: turn.turnId, step: turn.steps.size, text } as const;
      return { step_id: metadata.step_id, event };
    });
  }

  async function callsOf(turn: Watched): Promise<Told[]> {
    const told: Told[] = [];
    for (const call of await reads.callsOfTurn(project, turn.turnId)) {
      if (!turn.steps.has(call.step_id)) continue; // P3
      const tool_call_id = String(call.tool_call_id);
      const of = { agent: turn.agent ?? "", agent_turn_id: turn.turnId, tool: String(call.tool_name), tool_call_id };
      const tell = (event: ProgressEvent) => told.push({ step_id: call.step_id, event });
      const seen = turn.calls.get(tool_call_id) ?? firstSeen();
      if (!turn.calls.has(tool_call_id)) tell({ event: "call", ...of, status: "called" });
      turn.calls.set(tool_call_id, seen);
      if (seen.isSettled) continue;
      if (call.wait_status === "waiting") {
        const reason = newReason(seen, waitReason(await reads.call(project, tool_call_id)));
        if (reason === null) continue;
        tell({ event: "wait", ...of, reason, deadline_at: isoTime(call.deadline_at) });
      } else {
        seen.isSettled = true;
        const status = String(call.result_status ?? call.wait_status);
        tell({ event: "call", ...of, status, elapsed_ms: elapsedMs(call), ...(await errorOf(call)) });
      }
    }
    return told;
  }

  async function errorOf({ result_status, result_card_id }: Row): Promise<{ error_code?: string }> {
    if (result_status === "success" || typeof result_card_id !== "string") return {};
    const [card] = await reads.cards(project, [result_card_id]);
    const error = card?.content.error;
    return isJsonObject(error) && typeof error.code === "string" ? { error_code: error.code } : {};
  }

  /** P2 */
  function newReason(seen: Seen, reason: string): string | null {
    if (clock.monotonicMs() - seen.sinceMs < TELL_WAIT_AFTER_MS || seen.reason === reason) return null;
    seen.reason = reason;
    return reason;
  }

  return {
    watch,
    async look() {
      const events: ProgressEvent[] = [];
      for (const turn of turns.values()) if (!turn.isEnded) events.push(...(await lookAt(turn)));
      return events;
    },
    row: (turnId) => turns.get(turnId)?.row ?? null,
    agentOf: (turnId) => turns.get(turnId)?.agent ?? "",
  };
}

function isNotBegun(status: string): boolean {
  return status === "queued" || status === "dispatched";
}

function whyNotBegun(status: string): string {
  return status === "queued" ? "its agent works on another turn first" : "no worker has taken it yet";
}

function elapsedMs({ created_at, received_at }: Row): number {
  if (received_at === null) return 0;
  return Math.max(0, Date.parse(isoTime(received_at)) - Date.parse(isoTime(created_at)));
}

function isoTime(value: unknown): string {
  return new Date(value as string).toISOString();
}
