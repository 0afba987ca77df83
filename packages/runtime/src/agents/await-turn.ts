// The end of a turn, awaited by looking at the store.
//
//   W1. Waiting is only looking: giving up changes nothing, the turn goes on, and asking again with its id finds it.
//   W2. A turn that ends in this process is looked at when it does, any other one at growing intervals.

import { type CardDocument, type Row, turnBell } from "@tessera/kernel";
import { errorOf, isJsonObject, type JsonValue, type ResultStatus } from "@tessera/protocol";
import type { Node } from "../process/open-node.ts";

/** How long to wait for an end. */
export interface WaitOptions {
  /** At most so long, in milliseconds; then the answer is `waiting`. Absent: until the turn has ended. */
  readonly waitMs?: number;
  /** Ends the wait, not the turn: the answer is `waiting`. */
  readonly signal?: AbortSignal;
}

/** How a turn ended; `waiting`: it has not ended within the wait, and goes on. */
export type TurnAnswer<Deliverable = JsonValue> =
  | {
      /** Names the turn, for `tessera.turn` and `tessera.stop`. */
      readonly agentTurnId: string;
      /** The instance of the agent that took it. */
      readonly agentId: string;
      readonly status: "success";
      /** Text, or what was delivered as data; with a schema, what the schema says. */
      readonly deliverable: Deliverable;
      readonly error: null;
    }
  | {
      readonly agentTurnId: string;
      readonly agentId: string;
      /** `partial`: it gave something and did not get to its end, for example because it used up its steps. */
      readonly status: "failed" | "canceled" | "timeout" | "partial";
      /** What there is all the same: text, or what was delivered as data. */
      readonly deliverable: JsonValue;
      /** Why it did not succeed. */
      readonly error: TurnError | null;
    }
  | {
      readonly agentTurnId: string;
      readonly agentId: string;
      readonly status: "waiting";
      readonly deliverable: null;
      readonly error: null;
    };

/** Why a turn did not succeed. */
export interface TurnError {
  /** One of the error catalogue, or a code of a tool that ended the turn. */
  readonly code: string;
  /** What happened, for people. */
  readonly message: string;
}

/** A turn and the instance that takes it. */
export interface AskedTurn {
  /** Names the turn, for `tessera.turn` and `tessera.stop`. */
  readonly agentTurnId: string;
  /** The instance of the agent that takes it. */
  readonly agentId: string;
}

const LOOK_FIRST_MS = 10;
const LOOK_MAX_MS = 250;
const OPEN: ReadonlySet<unknown> = new Set(["active", "queued"]);

type Reading = Pick<Node, "kernel" | "clock">;

/** The turn and its deliverable, once it has ended; null: not within the wait. */
export async function awaitEnd(
  { kernel, clock }: Reading,
  projectId: string,
  turnId: string,
  { waitMs = Number.POSITIVE_INFINITY, signal }: WaitOptions,
): Promise<{ readonly turn: Row; readonly card: CardDocument | undefined } | null> {
  const until = clock.monotonicMs() + waitMs;
  const bell = turnBell(kernel, clock, turnId); // W2
  try {
    for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
      const turn = await kernel.reads.turn(projectId, turnId);
      if (turn === null) throw errorOf("not_found", `there is no turn ${turnId}`);
      if (!OPEN.has(turn.status)) {
        const [card] = await kernel.reads.cards(projectId, [String(turn.deliverable_card_id)]);
        return { turn, card };
      }
      if (clock.monotonicMs() >= until || signal?.aborted) return null; // W1
      await bell.orAfter(pauseMs, signal);
    }
  } finally {
    bell.close();
  }
}

export async function awaitTurn(
  node: Reading,
  projectId: string,
  { agentTurnId, agentId }: AskedTurn,
  options: WaitOptions,
): Promise<TurnAnswer> {
  const end = await awaitEnd(node, projectId, agentTurnId, options);
  if (end === null) return openTurn({ agentTurnId, agentId });
  const { error_code, error_message } = end.turn;
  const status = end.turn.status as ResultStatus;
  const deliverable = deliverableOf(end.card);
  if (status === "success") return { agentTurnId, agentId, status, deliverable, error: null };
  const error = typeof error_code === "string" ? { code: error_code, message: String(error_message ?? "") } : null;
  return { agentTurnId, agentId, status, deliverable, error };
}

export function openTurn({ agentTurnId, agentId }: AskedTurn): Extract<TurnAnswer, { status: "waiting" }> {
  return { agentTurnId, agentId, status: "waiting", deliverable: null, error: null };
}

function deliverableOf(card: CardDocument | undefined): JsonValue {
  const content = card?.content;
  if (!isJsonObject(content)) return null;
  return typeof content.text === "string" ? content.text : (content.data ?? content);
}
