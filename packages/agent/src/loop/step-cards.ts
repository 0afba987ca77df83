// The cards of a step as the store has them, made from what was just committed: reading them back would cost a round trip
// for every step (turn-session's S2).

import type { CardDocument, JsonObject } from "@tessera/kernel";
import type { ToolResultContent } from "@tessera/protocol";
import type { PlannedCallDraft } from "@tessera/tool/catalog";
import type { Turn } from "./worker-context.ts";

interface Thought {
  readonly card_id: string;
  readonly content: JsonObject;
  readonly metadata: JsonObject;
}

export function cardsOfStep(
  turn: Turn,
  step_id: string,
  thought: Thought,
  calls: readonly (PlannedCallDraft & { readonly card_id: string })[],
  created_at: string,
): CardDocument[] {
  const common = { project_id: turn.project_id, author_id: turn.agent_id, created_at };
  const lineage = lineageOf(turn, step_id);
  return [
    {
      ...common,
      card_id: thought.card_id,
      type: "agent.thought",
      content: thought.content,
      metadata: { ...thought.metadata, ...lineage, role: "assistant" },
      tool_calls: calls.map((call) => ({ id: call.tool_call_id, name: call.tool_name })),
      tool_call_id: null,
    },
    ...calls.map((call) => ({
      ...common,
      card_id: call.card_id,
      type: "tool.call",
      content: {
        tool_name: call.tool_name,
        arguments: call.arguments as unknown as JsonObject,
        status: "called",
        target_subject: call.target_subject,
      },
      metadata: { ...(call.metadata as JsonObject), ...lineage, tool_call_id: call.tool_call_id, role: "assistant" },
      tool_calls: null,
      tool_call_id: call.tool_call_id,
    })),
  ];
}

export function resultCard(
  turn: Turn,
  step_id: string,
  call: { readonly tool_call_id: string; readonly tool_name: string; readonly author_id: string },
  result: { readonly card_id: string; readonly content: ToolResultContent; readonly created_at: string },
): CardDocument {
  return {
    card_id: result.card_id,
    project_id: turn.project_id,
    type: "tool.result",
    author_id: call.author_id,
    content: result.content as unknown as JsonObject,
    metadata: {
      ...lineageOf(turn, step_id),
      tool_call_id: call.tool_call_id,
      function_name: call.tool_name,
      role: "tool",
    },
    tool_calls: null,
    tool_call_id: call.tool_call_id,
    created_at: result.created_at,
  };
}

function lineageOf(turn: Turn, step_id: string): JsonObject {
  return {
    agent_turn_id: turn.agent_turn_id,
    step_id,
    trace_id: turn.trace_id,
    ...(turn.parent_step_id === null ? {} : { parent_step_id: turn.parent_step_id }),
  };
}
