// What turns do, seen through the API: each look answers with what is new since the last one.
//
//   P1. Turns that a watched turn starts are watched, too, up to TURNS_MAX: progress is for people, and nobody reads more.
//   P2. A wait is told when it has taken a moment, and again only when its reason changes.
//   P3. However much happened between two looks, and during one, it is told in the order of steps: a thought, then the
//       calls it made. A call whose step is not in the document yet is left to the next look; an ended turn has no next.

import type { Call, Client, Turn, Wait } from "@tessera/client";
import { isJsonObject } from "@tessera/protocol";
import { agentOf, isEnded, reasonOf, waitsOf } from "./turn-document.ts";

/** What progress is read from. */
export type TurnClient = Pick<Client, "getTurn" | "listSteps" | "readCards" | "streamEvents">;

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

/** What is under way now: a call, or a turn without one. */
export interface OpenItem {
  readonly agent: string;
  readonly tool?: string;
  readonly elapsed_ms: number;
  readonly reason: string;
  readonly deadline_at?: string;
}

interface Watched {
  readonly turnId: string;
  document: Turn | null;
  readonly steps: Set<string>;
  readonly calls: Map<string, Seen>;
  seen: Seen;
}

/** When something open was first seen, and what was said about it. */
interface Seen {
  readonly sinceMs: number;
  reason: string | null;
  isSettled: boolean;
}

interface Told {
  readonly step_id: string;
  readonly event: ProgressEvent;
}

export interface TurnProgress {
  watch(turnId: string): void;
  look(): Promise<ProgressEvent[]>;
  /** The turn as it was at the last look. */
  document(turnId: string): Turn | null;
  open(): OpenItem[];
}

const TURNS_MAX = 60;
const TELL_WAIT_AFTER_MS = 1_000;
/** As many cards are read at once. */
const STEPS_MAX = 100;

export function createTurnProgress(
  client: TurnClient,
  { project, nowMs, signal }: { readonly project: string; readonly nowMs: () => number; readonly signal?: AbortSignal },
): TurnProgress {
  const turns = new Map<string, Watched>();
  const order = { project, ...(signal === undefined ? {} : { signal }) };
  const firstSeen = (): Seen => ({ sinceMs: nowMs(), reason: null, isSettled: false });

  function watch(turnId: string): void {
    if (turns.has(turnId)) return;
    turns.set(turnId, { turnId, document: null, steps: new Set(), calls: new Map(), seen: firstSeen() });
  }

  async function lookAt(turn: Watched): Promise<ProgressEvent[]> {
    const document = await client.getTurn({ ...order, turn: turn.turnId });
    const of = { agent: agentOf(document), agent_turn_id: turn.turnId };
    const started = turn.document === null ? [{ event: "turn", ...of, status: "started" } as const] : [];
    if (turn.document?.status !== document.status) turn.seen = firstSeen();
    turn.document = document;
    const steps = await stepsOf(turn, document);
    const calls = await callsOf(turn, document);
    const isEarlier = ({ step_id }: Told) => !steps.some((step) => step.step_id === step_id);
    const inOrder = steps.flatMap((step) => [step, ...calls.filter(({ step_id }) => step_id === step.step_id)]);
    const events = [...started, ...[...calls.filter(isEarlier), ...inOrder].map(({ event }) => event)]; // P3
    for (const child of document.children) if (turns.size < TURNS_MAX) watch(child.agent_turn_id); // P1
    if (isEnded(document)) {
      const code = typeof document.error_code === "string" ? { error_code: document.error_code } : {};
      return [...events, { event: "turn", ...of, status: document.status, ...code }];
    }
    const wait = waitsOf(document).find(isOfTurn);
    const reason = wait === undefined ? null : newReason(turn.seen, reasonOf(wait));
    return reason === null ? events : [...events, { event: "wait", ...of, reason }];
  }

  async function stepsOf(turn: Watched, document: Turn): Promise<Told[]> {
    const fresh = document.steps.filter(({ step_id }) => !turn.steps.has(step_id));
    const texts = fresh.length === 0 ? null : await thoughtsOf(turn.turnId);
    return fresh.map(({ step_id }) => {
      turn.steps.add(step_id);
      const text = texts?.get(step_id) ?? "";
      const of = { agent: agentOf(document), agent_turn_id: turn.turnId };
      return { step_id, event: { event: "step", ...of, step: turn.steps.size, text } as const };
    });
  }

  /** What was thought in each step. */
  async function thoughtsOf(turnId: string): Promise<ReadonlyMap<string, string>> {
    const { steps } = await client.listSteps({ ...order, agent_turn_id: turnId, limit: STEPS_MAX });
    const cards = await cardsOf(steps.map(({ thought_card_id }) => thought_card_id));
    return new Map(
      steps.map(({ step_id, thought_card_id }) => {
        const content = cards.get(thought_card_id);
        return [step_id, isJsonObject(content) && typeof content.text === "string" ? content.text : ""];
      }),
    );
  }

  async function cardsOf(card_ids: string[]): Promise<ReadonlyMap<string, unknown>> {
    if (card_ids.length === 0) return new Map();
    const { cards } = await client.readCards({ ...order, body: { card_ids } });
    return new Map(cards.map(({ card_id, content }) => [card_id, content]));
  }

  async function callsOf(turn: Watched, document: Turn): Promise<Told[]> {
    const told: Told[] = [];
    for (const call of document.calls) {
      const { tool_call_id, step_id } = call;
      if (!turn.steps.has(step_id) && !isEnded(document)) continue; // P3
      const of = { agent: agentOf(document), agent_turn_id: turn.turnId, tool: call.tool_name, tool_call_id };
      const tell = (event: ProgressEvent) => told.push({ step_id, event });
      const seen = turn.calls.get(tool_call_id) ?? firstSeen();
      if (!turn.calls.has(tool_call_id)) tell({ event: "call", ...of, status: "called" });
      turn.calls.set(tool_call_id, seen);
      if (seen.isSettled) continue;
      if (call.wait_status === "waiting" && !isEnded(document)) {
        const wait = waitOf(document, tool_call_id);
        const reason = wait === undefined ? null : newReason(seen, reasonOf(wait));
        const until = wait?.deadline_at ?? call.deadline_at;
        if (reason !== null) tell({ event: "wait", ...of, reason, ...(until === null ? {} : { deadline_at: until }) });
      } else {
        seen.isSettled = true;
        const status = call.result_status ?? call.wait_status;
        tell({ event: "call", ...of, status, elapsed_ms: elapsedMs(call), ...(await errorOf(call)) });
      }
    }
    return told;
  }

  async function errorOf({ result_status, result_card_id }: Call): Promise<{ error_code?: string }> {
    if (result_status === "success" || result_card_id === null) return {};
    const content = (await cardsOf([result_card_id])).get(result_card_id);
    const error = isJsonObject(content) ? content.error : null;
    return isJsonObject(error) && typeof error.code === "string" ? { error_code: error.code } : {};
  }

  /** P2 */
  function newReason(seen: Seen, reason: string): string | null {
    if (nowMs() - seen.sinceMs < TELL_WAIT_AFTER_MS || seen.reason === reason) return null;
    seen.reason = reason;
    return reason;
  }

  function openOf({ document, calls, seen }: Watched): OpenItem[] {
    if (document === null || isEnded(document)) return [];
    const agent = agentOf(document);
    const waiting = document.calls.filter(({ tool_call_id, wait_status }) => {
      return wait_status === "waiting" && calls.has(tool_call_id);
    });
    if (waiting.length === 0) {
      const wait = waitsOf(document)[0];
      const reason = wait === undefined ? document.status : reasonOf(wait);
      return [{ agent, elapsed_ms: nowMs() - seen.sinceMs, reason }];
    }
    return waiting.map(({ tool_call_id, tool_name, deadline_at }) => {
      const wait = waitOf(document, tool_call_id);
      const until = wait?.deadline_at ?? deadline_at;
      const elapsed_ms = nowMs() - (calls.get(tool_call_id)?.sinceMs ?? nowMs());
      const more = until === null ? {} : { deadline_at: until };
      return { agent, tool: tool_name, elapsed_ms, reason: wait === undefined ? "called" : reasonOf(wait), ...more };
    });
  }

  return {
    watch,
    async look() {
      const events: ProgressEvent[] = [];
      for (const turn of turns.values()) {
        if (turn.document === null || !isEnded(turn.document)) events.push(...(await lookAt(turn)));
      }
      return events;
    },
    document: (turnId) => turns.get(turnId)?.document ?? null,
    open: () => [...turns.values()].flatMap(openOf),
  };
}

/** Waits of calls are told with the call; that the turn is being worked on is no wait. */
function isOfTurn({ code, tool_call_id }: Wait): boolean {
  return tool_call_id === undefined && code !== "working" && code !== "children";
}

function waitOf(turn: Turn, toolCallId: string): Wait | undefined {
  return waitsOf(turn).find(({ tool_call_id }) => tool_call_id === toolCallId);
}

function elapsedMs({ created_at, received_at }: Call): number {
  return received_at === null ? 0 : Math.max(0, Date.parse(received_at) - Date.parse(created_at));
}
