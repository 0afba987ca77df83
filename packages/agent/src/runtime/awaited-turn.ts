// The turn that a request waits for: whether it may be waited for, its end, and what it answered.
//
//   Q1. Nobody waits for a turn whose end waits for the one who asks. The chain of turns says who waits for whom: each
//       was asked for by its parent, which waits for it unless the turn says otherwise.

import { type Kernel, type Row, turnBell } from "@tessera/kernel";
import { isJsonObject } from "@tessera/protocol";
import { type JsonValue, ToolError } from "@tessera/tool";
import type { AgentRuntimeOptions, RuntimeCaller } from "./agent-runtime.ts";

/** In a turn's metadata: whether the turn that asked for it waits for it. */
export const AWAITED = "awaited";
const LOOK_FIRST_MS = 20;
const LOOK_MAX_MS = 500;
/** Deeper chains are refused by the kernel anyway. */
export const CHAIN_MAX = 32;

/** Whether the target waits, directly or through others, for the turn that asks (Q1). */
export async function isWaitingFor(kernel: Kernel, caller: RuntimeCaller, targetId: string): Promise<boolean> {
  if (targetId === caller.agent_id) return true;
  let turnId: string | null = caller.agent_turn_id;
  for (let n = 0; turnId !== null && n < CHAIN_MAX; n += 1) {
    const turn: Row | null = await kernel.reads.turn(caller.project_id, turnId);
    if (turn === null || turn.ended_at) return false; // who has ended waits for nobody
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
  const until = clock.monotonicMs() + timeoutMs;
  const bell = turnBell(kernel, clock, turnId);
  try {
    for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
      const turn = await kernel.reads.turn(caller.project_id, turnId);
      if (turn?.ended_at) return turn;
      if (signal?.aborted) throw new ToolError("the call was canceled", { code: "canceled" });
      const leftMs = until - clock.monotonicMs();
      if (leftMs <= 0) return null;
      await bell.orAfter(Math.min(pauseMs, leftMs), signal);
    }
  } finally {
    bell.close();
  }
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
