// What turns do, seen through the API: each look answers with what is new since the last one.
//
//   P1. Turns that a watched turn starts are watched, too, up to TURNS_MAX: progress is for people, and nobody reads more.
//   P2. A wait is told when it has taken a moment, and again only when its reason changes.
//   P3. However much happened between two looks, and during one, it is told in the order in which it happened
//       (progress-order.ts). A call whose step is not in the document yet is left to the next look; an ended turn has no next.
//   P4. What has the same name gets a number (name-numbers.ts).

import type { Call, Client, Turn, Wait } from "@tessera/client";
import { isJsonObject } from "@tessera/protocol";
import { createNameNumbers, type NameNumbers, numbered } from "./name-numbers.ts";
import { endMs, inOrder, NOW_MS, type Place, RANK, type TimedEvent } from "./progress-order.ts";
import { agentOf, briefOf, factsOf, isEnded, type WaitFacts, waitsOf } from "./turn-document.ts";

/** What progress is read from. */
export type TurnClient = Pick<Client, "getTurn" | "listSteps" | "readCards" | "streamEvents">;

/** Fields in the order a person reads them; `--json` prints them as they are. */
export interface ProgressEvent extends Partial<WaitFacts> {
  readonly event: "turn" | "step" | "call" | "wait";
  readonly agent: string;
  /** Of several turns of this agent (P4). */
  readonly agent_number?: number;
  readonly agent_turn_id: string;
  readonly step?: number;
  readonly text?: string;
  readonly tool?: string;
  /** Of several calls of this tool in the turn (P4). */
  readonly tool_number?: number;
  readonly tool_call_id?: string;
  readonly status?: string;
  readonly elapsed_ms?: number;
  readonly error_code?: string;
  readonly deadline_at?: string;
}

/** What is under way now: a call, or a turn without one; for people, so with numbers and in brief. */
export interface OpenItem {
  readonly agent: string;
  readonly tool?: string;
  readonly elapsed_ms: number;
  readonly reason: string;
  readonly deadline_at?: string;
}

interface Watched {
  readonly turnId: string;
  readonly place: Place;
  /** Undefined until its name is known. */
  number: number | null | undefined;
  document: Turn | null;
  /** With their places. */
  readonly steps: Map<string, number>;
  readonly toolNumbers: NameNumbers;
  readonly calls: Map<string, Seen>;
  seen: Seen;
}

/** When something open was first seen, and what was said about it. */
interface Seen {
  readonly sinceMs: number;
  readonly number: number | null;
  reason: string | null;
  isSettled: boolean;
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
  const agentNumbers = createNameNumbers();
  const firstSeen = (number: number | null = null): Seen => ({
    sinceMs: nowMs(),
    number,
    reason: null,
    isSettled: false,
  });

  function watch(turnId: string, place: Place = [], number?: number | null): void {
    if (turns.has(turnId)) return;
    const known = { document: null, steps: new Map(), calls: new Map(), seen: firstSeen() };
    turns.set(turnId, { turnId, place, number, toolNumbers: createNameNumbers(), ...known });
  }

  /** P1 */
  function watchChildren({ place, steps }: Watched, { children, calls }: Turn): void {
    const room = Math.max(0, TURNS_MAX - turns.size);
    const fresh = children.filter(({ agent_turn_id }) => !turns.has(agent_turn_id)).slice(0, room);
    const numbers = agentNumbers.of(fresh.map(agentOf)); // P4
    for (const [n, child] of fresh.entries()) {
      const asked = calls.find(({ tool_call_id }) => tool_call_id === child.tool_call_id);
      const step = asked === undefined ? steps.size - 1 : (steps.get(asked.step_id) ?? -1);
      watch(child.agent_turn_id, [...place, RANK.child(step)], numbers[n] ?? null);
    }
  }

  async function lookAt(turn: Watched): Promise<TimedEvent[]> {
    const document = await client.getTurn({ ...order, turn: turn.turnId });
    if (turn.number === undefined) turn.number = agentNumbers.of([agentOf(document)])[0] ?? null;
    const of = aboutTurn(turn, document);
    const at = (time: string | null, rank: number, event: ProgressEvent): TimedEvent => {
      return { event, atMs: time === null ? NOW_MS : Date.parse(time), place: [...turn.place, rank] };
    };
    const started = { event: "turn", ...of, status: "started" } as const;
    const events = turn.document === null ? [at(document.created_at, RANK.started, started)] : [];
    if (turn.document?.status !== document.status) turn.seen = firstSeen();
    turn.document = document;
    events.push(...(await stepsOf(turn, document, at)));
    events.push(...(await callsOf(turn, document, at)));
    watchChildren(turn, document);
    if (isEnded(document)) {
      const code = typeof document.error_code === "string" ? { error_code: document.error_code } : {};
      const event = { event: "turn", ...of, status: document.status, ...code } as const;
      const atMs = endMs(document.ended_at ?? "", events);
      return [...events, { event, atMs, place: [...turn.place, RANK.ended] }];
    }
    const wait = waitsOf(document).find(isOfTurn);
    const facts = wait === undefined ? null : newFacts(turn.seen, factsOf(wait, document));
    return facts === null ? events : [...events, at(null, RANK.ended, { event: "wait", ...of, ...facts })];
  }

  async function stepsOf(turn: Watched, document: Turn, at: At): Promise<TimedEvent[]> {
    const fresh = document.steps.filter(({ step_id }) => !turn.steps.has(step_id));
    const texts = fresh.length === 0 ? null : await thoughtsOf(turn.turnId);
    return fresh.map(({ step_id, started_at }) => {
      const place = turn.steps.size;
      turn.steps.set(step_id, place);
      const text = texts?.get(step_id) ?? "";
      const event = { event: "step", ...aboutTurn(turn, document), step: place + 1, text } as const;
      return at(started_at, RANK.step(place), event);
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

  async function callsOf(turn: Watched, document: Turn, at: At): Promise<TimedEvent[]> {
    const told: TimedEvent[] = [];
    const calls = document.calls.filter(({ step_id }) => turn.steps.has(step_id) || isEnded(document)); // P3
    const fresh = calls.filter(({ tool_call_id }) => !turn.calls.has(tool_call_id));
    const numbers = turn.toolNumbers.of(fresh.map(({ tool_name }) => tool_name)); // P4
    for (const [n, call] of fresh.entries()) {
      turn.calls.set(call.tool_call_id, firstSeen(numbers[n] ?? null));
    }
    for (const call of calls) {
      const { tool_call_id, step_id } = call;
      const seen = turn.calls.get(tool_call_id) ?? firstSeen();
      if (seen.isSettled) continue;
      const step = turn.steps.get(step_id) ?? -1;
      const number = seen.number === null ? {} : { tool_number: seen.number };
      const of = { ...aboutTurn(turn, document), tool: call.tool_name, ...number, tool_call_id };
      if (fresh.includes(call)) {
        told.push(at(call.created_at, RANK.called(step), { event: "call", ...of, status: "called" }));
      }
      if (call.wait_status === "waiting" && !isEnded(document)) {
        const wait = waitOf(document, tool_call_id);
        const facts = wait === undefined ? null : newFacts(seen, factsOf(wait, document));
        const until = { deadline_at: wait?.deadline_at ?? call.deadline_at };
        if (facts !== null) told.push(at(null, RANK.settled(step), { event: "wait", ...of, ...facts, ...until }));
      } else {
        seen.isSettled = true;
        const status = call.result_status ?? call.wait_status;
        const event = { event: "call", ...of, status, elapsed_ms: elapsedMs(call), ...(await errorOf(call)) } as const;
        told.push(at(call.received_at ?? document.ended_at, RANK.settled(step), event));
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
  function newFacts(seen: Seen, facts: WaitFacts): WaitFacts | null {
    if (nowMs() - seen.sinceMs < TELL_WAIT_AFTER_MS || seen.reason === facts.reason) return null;
    seen.reason = facts.reason;
    return facts;
  }

  function openOf({ document, calls, seen, number }: Watched): OpenItem[] {
    if (document === null || isEnded(document)) return [];
    const agent = numbered(agentOf(document), number);
    const waiting = document.calls.filter(({ tool_call_id, wait_status }) => {
      return wait_status === "waiting" && calls.has(tool_call_id);
    });
    const brief = (wait: Wait | undefined) => (wait === undefined ? null : briefOf(factsOf(wait, document)));
    if (waiting.length === 0) {
      return [{ agent, elapsed_ms: nowMs() - seen.sinceMs, reason: brief(waitsOf(document)[0]) ?? document.status }];
    }
    return waiting.map(({ tool_call_id, tool_name, deadline_at }) => {
      const wait = waitOf(document, tool_call_id);
      const call = calls.get(tool_call_id);
      return {
        agent,
        tool: numbered(tool_name, call?.number),
        elapsed_ms: nowMs() - (call?.sinceMs ?? nowMs()),
        reason: brief(wait) ?? "called",
        deadline_at: wait?.deadline_at ?? deadline_at,
      };
    });
  }

  return {
    watch: (turnId) => watch(turnId),
    async look() {
      const events: TimedEvent[] = [];
      for (const turn of turns.values()) {
        if (turn.document === null || !isEnded(turn.document)) events.push(...(await lookAt(turn)));
      }
      return inOrder(events);
    },
    document: (turnId) => turns.get(turnId)?.document ?? null,
    open: () => [...turns.values()].flatMap(openOf),
  };
}

type At = (time: string | null, rank: number, event: ProgressEvent) => TimedEvent;

function aboutTurn({ turnId, number }: Watched, document: Turn): Pick<ProgressEvent, "agent" | "agent_turn_id"> {
  const more = number === null || number === undefined ? {} : { agent_number: number };
  return { agent: agentOf(document), ...more, agent_turn_id: turnId };
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
