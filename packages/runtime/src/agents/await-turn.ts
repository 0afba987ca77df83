// How a turn ended, as programs read it. A wait that is over changes nothing: the turn goes on, and asking again with its id
// finds it.

import { awaitTurnEnd, type CardDocument, hasTurnEnded, type Row } from "@tessera/kernel";
import { isJsonObject, type JsonValue, type ResultStatus } from "@tessera/protocol";
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

type Reading = Pick<Node, "kernel" | "clock">;

/** The turn and its deliverable, once it has ended; null: not within the wait. */
export async function awaitEnd(
  node: Reading,
  project_id: string,
  agent_turn_id: string,
  options: WaitOptions,
): Promise<{ readonly turn: Row; readonly card: CardDocument | undefined } | null> {
  const turn = await awaitTurnEnd(node, { project_id, agent_turn_id }, options);
  if (!hasTurnEnded(turn)) return null;
  const [card] = await node.kernel.reads.cards(project_id, [String(turn.deliverable_card_id)]);
  return { turn, card };
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
