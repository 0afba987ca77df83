// The turn that a request waits for: whether it may be waited for, its end, and what it answered.
//
//   Q1. A turn whose end waits for the asking turn is never waited for. The chain of turns says which waits for which: each
//       was asked for by its parent, which waits for it unless the turn says otherwise.

import { awaitTurnEnd, hasTurnEnded, type Kernel, type Row } from "@tessera/kernel";
import { isJsonObject } from "@tessera/protocol";
import { type JsonValue, ToolError } from "@tessera/tool";
import type { AgentRuntimeOptions, RuntimeCaller } from "./agent-runtime.ts";

/** In a turn's metadata: whether the turn that asked for it waits for it. */
export const AWAITED = "awaited";
/** Deeper chains are refused by the kernel anyway. */
export const CHAIN_MAX = 32;

/** Whether the target waits, directly or through others, for the turn that asks (Q1). */
export async function isWaitingFor(kernel: Kernel, caller: RuntimeCaller, targetId: string): Promise<boolean> {
  if (targetId === caller.agent_id) return true;
  let turnId: string | null = caller.agent_turn_id;
  for (let n = 0; turnId !== null && n < CHAIN_MAX; n += 1) {
    const turn: Row | null = await kernel.reads.turn(caller.project_id, turnId);
    if (turn === null || turn.ended_at) return false; // an ended turn waits for none
    if (isJsonObject(turn.metadata) && turn.metadata[AWAITED] === false) return false;
    if (turn.parent_agent_id === targetId) return true;
    turnId = typeof turn.parent_agent_turn_id === "string" ? turn.parent_agent_turn_id : null;
  }
  return false;
}

/** The turn once it has ended. Null: not within the time. */
export async function awaitTurn(
  { kernel, clock, caller, signal }: AgentRuntimeOptions,
  turnId: string,
  timeoutMs: number,
): Promise<Row | null> {
  const { project_id } = caller;
  const turn = await awaitTurnEnd(
    { kernel, clock },
    { project_id, agent_turn_id: turnId },
    { waitMs: timeoutMs, signal },
  );
  if (hasTurnEnded(turn)) return turn;
  if (signal?.aborted) throw new ToolError("the call was canceled", { code: "canceled" });
  return null;
}

/** The deliverable's text where it is text, else its JSON. A turn that failed is an error with its code. */
export async function responseOf(
  { kernel, caller }: AgentRuntimeOptions,
  target: string,
  turn: Row,
): Promise<JsonValue> {
  if (turn.status !== "success" && turn.status !== "partial") {
    const code = typeof turn.error_code === "string" ? turn.error_code : "AGENT_REQUEST_ERROR";
    throw new ToolError(`${target} ended ${turn.status}: ${turn.error_message ?? code}`, { code });
  }
  const [card] = await kernel.reads.cards(caller.project_id, [String(turn.deliverable_card_id)]);
  const content = card?.content;
  if (isJsonObject(content) && typeof content.text === "string") return content.text;
  return (isJsonObject(content) ? (content.data ?? null) : null) as JsonValue;
}
