// One tool call, asked for by a person or a program: committed as a turn, awaited here, worked on by a process with the role.

import type { ToolCaller } from "@tessera/agent";
import { isJsonObject, type JsonValue, type ToolCallOrder } from "@tessera/protocol";
import { awaitEnd, type WaitOptions } from "../agents/await-turn.ts";
import type { Node } from "../process/open-node.ts";

/** Why a call did not succeed. */
export interface CallError {
  /** One of the error catalogue, or a code of the tool's own. */
  readonly code: string;
  /** What happened, for people and models. */
  readonly message: string;
  /** What the tool added: a suggestion, what it found. */
  readonly detail?: JsonValue;
}

/** How a call of a tool ended; `waiting`: it has not ended within the wait, and goes on. */
export type ToolCallAnswer<Result = JsonValue> =
  | {
      /** The turn that the call is: `tessera.turn` and `tessera.stop` take it. */
      readonly agentTurnId: string;
      readonly status: "success";
      /** What the tool's handler returned. */
      readonly result: Result;
      readonly error: null;
    }
  | {
      readonly agentTurnId: string;
      /** `timeout`: it took longer than it may, or no executor took it in time. */
      readonly status: "failed" | "canceled" | "timeout" | "partial";
      /** What there is all the same: of a failed call, its error as the model sees it. */
      readonly result: JsonValue;
      /** Why it did not succeed. */
      readonly error: CallError | null;
    }
  | {
      readonly agentTurnId: string;
      readonly status: "waiting";
      readonly result: null;
      readonly error: null;
    };

/** Asks for one tool call and waits for its end. */
export async function callTool(
  node: Pick<Node, "kernel" | "clock">,
  caller: Pick<ToolCaller, "request">,
  request: ToolCallOrder,
  options: WaitOptions,
): Promise<ToolCallAnswer> {
  const { agent_turn_id } = await caller.request(request);
  return await awaitToolCall(node, request.project_id, agent_turn_id, options);
}

/** Waits for the end of a tool call that was asked for. */
export async function awaitToolCall(
  node: Pick<Node, "kernel" | "clock">,
  projectId: string,
  agentTurnId: string,
  options: WaitOptions,
): Promise<ToolCallAnswer> {
  const end = await awaitEnd(node, projectId, agentTurnId, options);
  if (end === null) return openCall(agentTurnId);
  const data = isJsonObject(end.card?.content) ? end.card.content.data : undefined;
  const { result = null, error = null } = isJsonObject(data) ? data : {};
  const status = end.turn.status as Exclude<ToolCallAnswer["status"], "waiting">;
  if (status === "success") return { agentTurnId, status, result: result as JsonValue, error: null };
  return { agentTurnId, status, result: result as JsonValue, error: error as CallError | null };
}

export function openCall(agentTurnId: string): Extract<ToolCallAnswer, { status: "waiting" }> {
  return { agentTurnId, status: "waiting", result: null, error: null };
}
