// What turns do, seen through the API: each look answers with what is new since the last one.
//
//   P1. Turns that a watched turn starts are watched, too, up to TURNS_MAX: progress is for people, who do not read more.
//   P2. A wait is shown when it has taken a moment, and again only when its reason changes.
//   P3. However much happened between two looks, and during one, it is shown in the order in which it happened
//       (progress-order.ts). A call whose step is not in the document yet is left to the next look; an ended turn has no next.
//   P4. What has the same name gets a number (name-numbers.ts).

import type { Call, Client, Turn, Wait } from "@tessera/client";
import { isJsonObject } from "@tessera/protocol";
import { createNameNumbers, type NameNumbers, numbered } from "../output/name-numbers.ts";
import { agentOf, briefOf, factsOf, isEnded, type WaitFacts, waitsOf } from "../turns/turn-document.ts";
import { endMs, inOrder, NOW_MS, type Place, RANK, type TimedEvent } from "./progress-order.ts";

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
  isWatched(turnId: string): boolean;
  /** No turn is watched that has not ended. */
  isIdle(): boolean;
  /** Drops turns that have ended, but for those that one under way asked for: they would be new again. */
  forgetEnded(): void;
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
  let agentNumbers = createNameNumbers();
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
    const fresh = children.filter(({ agentTurnId }) => !turns.has(agentTurnId)).slice(0, room);
    const numbers = agentNumbers.of(fresh.map(agentOf)); // P4
    for (const [n, child] of fresh.entries()) {
      const asked = calls.find(({ toolCallId }) => toolCallId === child.toolCallId);
      const step = asked === undefined ? steps.size - 1 : (steps.get(asked.stepId) ?? -1);
      watch(child.agentTurnId, [...place, RANK.child(step)], numbers[n] ?? null);
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
    const events = turn.document === null ? [at(document.createdAt, RANK.started, started)] : [];
    if (turn.document?.status !== document.status) turn.seen = firstSeen();
    turn.document = document;
    events.push(...(await stepsOf(turn, document, at)));
    events.push(...(await callsOf(turn, document, at)));
    watchChildren(turn, document);
    if (isEnded(document)) {
      const code = typeof document.errorCode === "string" ? { error_code: document.errorCode } : {};
      const event = { event: "turn", ...of, status: document.status, ...code } as const;
      const atMs = endMs(document.endedAt ?? "", events);
      return [...events, { event, atMs, place: [...turn.place, RANK.ended] }];
    }
    const wait = waitsOf(document).find(isOfTurn);
    const facts = wait === undefined ? null : newFacts(turn.seen, factsOf(wait, document));
    return facts === null ? events : [...events, at(null, RANK.ended, { event: "wait", ...of, ...facts })];
  }

  async function stepsOf(turn: Watched, document: Turn, at: At): Promise<TimedEvent[]> {
    const fresh = document.steps.filter(({ stepId }) => !turn.steps.has(stepId));
    const texts = fresh.length === 0 ? null : await thoughtsOf(turn.turnId);
    return fresh.map(({ stepId, startedAt }) => {
      const place = turn.steps.size;
      turn.steps.set(stepId, place);
      const text = texts?.get(stepId) ?? "";
      const event = { event: "step", ...aboutTurn(turn, document), step: place + 1, text } as const;
      return at(startedAt, RANK.step(place), event);
    });
  }

  /** What was thought in each step. */
  async function thoughtsOf(turnId: string): Promise<ReadonlyMap<string, string>> {
    const { steps } = await client.listSteps({ ...order, agentTurnId: turnId, limit: STEPS_MAX });
    const cards = await cardsOf(steps.map(({ thoughtCardId }) => thoughtCardId));
    return new Map(
      steps.map(({ stepId, thoughtCardId }) => {
        const content = cards.get(thoughtCardId);
        return [stepId, isJsonObject(content) && typeof content.text === "string" ? content.text : ""];
      }),
    );
  }

  async function cardsOf(cardIds: string[]): Promise<ReadonlyMap<string, unknown>> {
    if (cardIds.length === 0) return new Map();
    const { cards } = await client.readCards({ ...order, body: { cardIds } });
    return new Map(cards.map(({ cardId, content }) => [cardId, content]));
  }

  async function callsOf(turn: Watched, document: Turn, at: At): Promise<TimedEvent[]> {
    const told: TimedEvent[] = [];
    const calls = document.calls.filter(({ stepId }) => turn.steps.has(stepId) || isEnded(document)); // P3
    const fresh = calls.filter(({ toolCallId }) => !turn.calls.has(toolCallId));
    const numbers = turn.toolNumbers.of(fresh.map(({ toolName }) => toolName)); // P4
    for (const [n, call] of fresh.entries()) {
      turn.calls.set(call.toolCallId, firstSeen(numbers[n] ?? null));
    }
    for (const call of calls) {
      const { toolCallId, stepId } = call;
      const seen = turn.calls.get(toolCallId) ?? firstSeen();
      if (seen.isSettled) continue;
      const step = turn.steps.get(stepId) ?? -1;
      const number = seen.number === null ? {} : { tool_number: seen.number };
      const of = { ...aboutTurn(turn, document), tool: call.toolName, ...number, tool_call_id: toolCallId };
      if (fresh.includes(call)) {
        told.push(at(call.createdAt, RANK.called(step), { event: "call", ...of, status: "called" }));
      }
      if (call.waitStatus === "waiting" && !isEnded(document)) {
        const wait = waitOf(document, toolCallId);
        const facts = wait === undefined ? null : newFacts(seen, factsOf(wait, document));
        const until = { deadline_at: wait?.deadlineAt ?? call.deadlineAt };
        if (facts !== null) told.push(at(null, RANK.settled(step), { event: "wait", ...of, ...facts, ...until }));
      } else {
        seen.isSettled = true;
        const status = call.resultStatus ?? call.waitStatus;
        const event = { event: "call", ...of, status, elapsed_ms: elapsedMs(call), ...(await errorOf(call)) } as const;
        told.push(at(call.receivedAt ?? document.endedAt, RANK.settled(step), event));
      }
    }
    return told;
  }

  async function errorOf({ resultStatus, resultCardId }: Call): Promise<{ error_code?: string }> {
    if (resultStatus === "success" || resultCardId === null) return {};
    const content = (await cardsOf([resultCardId])).get(resultCardId);
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
    const waiting = document.calls.filter(({ toolCallId, waitStatus }) => {
      return waitStatus === "waiting" && calls.has(toolCallId);
    });
    const brief = (wait: Wait | undefined) => (wait === undefined ? null : briefOf(factsOf(wait, document)));
    if (waiting.length === 0) {
      return [{ agent, elapsed_ms: nowMs() - seen.sinceMs, reason: brief(waitsOf(document)[0]) ?? document.status }];
    }
    return waiting.map(({ toolCallId, toolName, deadlineAt }) => {
      const wait = waitOf(document, toolCallId);
      const call = calls.get(toolCallId);
      return {
        agent,
        tool: numbered(toolName, call?.number),
        elapsed_ms: nowMs() - (call?.sinceMs ?? nowMs()),
        reason: brief(wait) ?? "called",
        deadline_at: wait?.deadlineAt ?? deadlineAt,
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
    isWatched: (turnId) => turns.has(turnId),
    isIdle: () => ![...turns.values()].some(isUnderWay),
    forgetEnded() {
      for (const turn of turns.values()) {
        const parent = turns.get(turn.document?.parentAgentTurnId ?? "");
        if (!isUnderWay(turn) && (parent === undefined || !isUnderWay(parent))) turns.delete(turn.turnId);
      }
      if (turns.size === 0) agentNumbers = createNameNumbers();
    },
    open: () => [...turns.values()].flatMap(openOf),
  };
}

function isUnderWay({ document }: Watched): boolean {
  return document === null || !isEnded(document);
}

type At = (time: string | null, rank: number, event: ProgressEvent) => TimedEvent;

function aboutTurn({ turnId, number }: Watched, document: Turn): Pick<ProgressEvent, "agent" | "agent_turn_id"> {
  const more = number === null || number === undefined ? {} : { agent_number: number };
  return { agent: agentOf(document), ...more, agent_turn_id: turnId };
}

/** Waits of calls are shown with the call; that the turn is being worked on is no wait. */
function isOfTurn({ code, toolCallId }: Wait): boolean {
  return toolCallId === undefined && code !== "working" && code !== "children";
}

function waitOf(turn: Turn, toolCallId: string): Wait | undefined {
  return waitsOf(turn).find((wait) => wait.toolCallId === toolCallId);
}

function elapsedMs({ createdAt, receivedAt }: Call): number {
  return receivedAt === null ? 0 : Math.max(0, Date.parse(receivedAt) - Date.parse(createdAt));
}
