// One tool call, asked for by a person or a program: committed as a turn, awaited here, finished by whoever has the role.
//
//   C1. Waiting is only looking: giving up changes nothing, the turn goes on, and asking again with its id finds it.

import type { ToolCaller, ToolCallRequest } from "@tessera/agent";
import type { CardDocument, Clock } from "@tessera/kernel";
import { errorOf, isJsonObject } from "@tessera/protocol";
import type { Node } from "./open-node.ts";

export interface ToolCallAnswer {
  readonly agent_turn_id: string;
  /** `waiting`: not ended within the wait. */
  readonly status: "success" | "failed" | "canceled" | "timeout" | "partial" | "waiting";
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly detail?: unknown } | null;
}

const LOOK_FIRST_MS = 10;
const LOOK_MAX_MS = 250;

export async function callTool(
  node: Pick<Node, "kernel" | "clock">,
  caller: Pick<ToolCaller, "request">,
  request: ToolCallRequest,
  options: { readonly waitMs: number; readonly signal?: AbortSignal },
): Promise<ToolCallAnswer> {
  const { agent_turn_id } = await caller.request(request);
  return await awaitToolCall(node, request.project_id, agent_turn_id, options);
}

export async function awaitToolCall(
  { kernel, clock }: Pick<Node, "kernel" | "clock">,
  projectId: string,
  turnId: string,
  { waitMs, signal }: { readonly waitMs: number; readonly signal?: AbortSignal },
): Promise<ToolCallAnswer> {
  const until = clock.monotonicMs() + waitMs;
  for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
    const turn = await kernel.reads.turn(projectId, turnId);
    if (turn === null) throw errorOf("not_found", `there is no turn ${turnId}`);
    if (turn.status !== "active" && turn.status !== "queued") {
      const [card] = await kernel.reads.cards(projectId, [String(turn.deliverable_card_id)]);
      return answerOf(turnId, String(turn.status), card);
    }
    if (clock.monotonicMs() >= until || signal?.aborted) return { agent_turn_id: turnId, status: "waiting" }; // C1
    await pause(clock, pauseMs);
  }
}

function answerOf(agent_turn_id: string, status: string, card: CardDocument | undefined): ToolCallAnswer {
  const data = isJsonObject(card?.content) ? card.content.data : undefined;
  const said = isJsonObject(data) ? data : {};
  return { agent_turn_id, status: status as ToolCallAnswer["status"], result: said.result, error: said.error as never };
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
