// One tool call, asked for by a person or a program: committed as a turn, awaited here, finished by whoever has the role.

import type { ToolCaller, ToolCallRequest } from "@tessera/agent";
import { isJsonObject } from "@tessera/protocol";
import { awaitEnd, type WaitOptions } from "./await-turn.ts";
import type { Node } from "./open-node.ts";

export interface ToolCallAnswer {
  readonly agent_turn_id: string;
  /** `waiting`: not ended within the wait. */
  readonly status: "success" | "failed" | "canceled" | "timeout" | "partial" | "waiting";
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly detail?: unknown } | null;
}

export async function callTool(
  node: Pick<Node, "kernel" | "clock">,
  caller: Pick<ToolCaller, "request">,
  request: ToolCallRequest,
  options: WaitOptions,
): Promise<ToolCallAnswer> {
  const { agent_turn_id } = await caller.request(request);
  return await awaitToolCall(node, request.project_id, agent_turn_id, options);
}

export async function awaitToolCall(
  node: Pick<Node, "kernel" | "clock">,
  projectId: string,
  turnId: string,
  options: WaitOptions,
): Promise<ToolCallAnswer> {
  const end = await awaitEnd(node, projectId, turnId, options);
  if (end === null) return { agent_turn_id: turnId, status: "waiting" };
  const data = isJsonObject(end.card?.content) ? end.card.content.data : undefined;
  const { result, error } = isJsonObject(data) ? data : { result: undefined, error: undefined };
  const status = end.turn.status as ToolCallAnswer["status"];
  return { agent_turn_id: turnId, status, result, error: error as never };
}
