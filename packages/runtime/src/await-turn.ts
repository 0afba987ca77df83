// The end of a turn, awaited by looking at the store.
//
//   W1. Waiting is only looking: giving up changes nothing, the turn goes on, and asking again with its id finds it.
//   W2. A turn that ends in this process is looked at when it does, any other one at growing intervals.

import { type CardDocument, type Row, turnBell } from "@tessera/kernel";
import { errorOf, isJsonObject, type ResultStatus } from "@tessera/protocol";
import type { Node } from "./open-node.ts";

export interface WaitOptions {
  /** Absent: until the turn has ended. */
  readonly waitMs?: number;
  /** Ends the wait, not the turn (W1). */
  readonly signal?: AbortSignal;
}

/** How a turn ended, or that it has not: `waiting`. */
export interface TurnAnswer {
  readonly agent_turn_id: string;
  readonly agent_id: string;
  readonly status: ResultStatus | "waiting";
  /** Text, or what was delivered as data; null before the end. */
  readonly deliverable: unknown;
  readonly error: { readonly code: string; readonly message: string } | null;
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
  turn: { readonly agent_turn_id: string; readonly agent_id: string },
  options: WaitOptions,
): Promise<TurnAnswer> {
  const { agent_turn_id, agent_id } = turn;
  const end = await awaitEnd(node, projectId, agent_turn_id, options);
  if (end === null) return { agent_turn_id, agent_id, status: "waiting", deliverable: null, error: null };
  const { status, error_code, error_message } = end.turn;
  const error = typeof error_code === "string" ? { code: error_code, message: String(error_message ?? "") } : null;
  return { agent_turn_id, agent_id, status: status as ResultStatus, deliverable: deliverableOf(end.card), error };
}

function deliverableOf(card: CardDocument | undefined): unknown {
  const content = card?.content;
  if (!isJsonObject(content)) return null;
  return typeof content.text === "string" ? content.text : (content.data ?? content);
}
