// Turns and steps as layers are shown them, in Goondan's words.

import { shownTime } from "@tessera/kernel";
import { isJsonObject, type JsonObject } from "@tessera/protocol";
import type { AgentEvent, Message, ToolCallResult } from "@tessera/tool";
import { type Ending, NO_CONTENT } from "../loop/finish-turn.ts";
import type { StepEnd } from "../loop/take-step.ts";
import type { TurnSession } from "../loop/turn-session.ts";
import type { StepContext, StepResult, TurnResult } from "./api.ts";
import { newMetadata } from "./contexts.ts";
import { layeredResult } from "./layered-result.ts";
import { messagesOf } from "./message-view.ts";

/** How a step ended, and whether the turn goes on behind it. */
export interface StepTaken {
  readonly end: StepEnd;
  readonly goesOn: boolean;
}

type Cards = TurnSession["cards"];

/** Also those that go on with the calls of a message: each is a commit of its own. */
export function thoughtsOf({ cards }: Pick<TurnSession, "cards">): number {
  return cards.filter((card) => card.type === "agent.thought").length;
}

export function turnResult({ turn, worker }: TurnSession, ending: Ending | null, status: string): TurnResult {
  const turnId = turn.agent_turn_id;
  if (ending === null) return { turnId, status, finishReason: "suspended" };
  const { error_code, error_message } = ending;
  const isSteps = error_code === "max_steps_reached";
  const isFailed = error_code !== undefined && !isSteps;
  return {
    turnId,
    status,
    finishReason: isSteps ? "max_steps" : isFailed ? "error" : "text_response",
    responseMessage: responseOf(ending, shownTime(worker.clock)),
    ...(error_code === undefined ? {} : { error: { message: error_message ?? error_code, code: error_code } }),
  };
}

/** What is handed over: text, or data as JSON. */
function responseOf({ content, step_id }: Ending, createdAt: Date): Message {
  const text = typeof content.text === "string" ? content.text : JSON.stringify(content.data ?? NO_CONTENT);
  return {
    id: `${step_id}-response`,
    data: { role: "assistant", content: text },
    metadata: {},
    createdAt,
    source: { type: "assistant", stepId: step_id },
  };
}

/** `before`: how many cards there were when the step began. */
export function stepResult(session: TurnSession, step: number, taken: StepTaken, before: number): StepResult {
  const { end, goesOn } = taken;
  const isEnding = typeof end === "object";
  const own = session.cards.slice(before);
  return {
    stepIndex: step,
    status: "completed",
    outcome: isEnding ? "ended" : end,
    shouldContinue: goesOn,
    toolCalls: callsOf(own),
    toolResults: resultsOf(isEnding ? session.cards : own),
    metadata: {},
  };
}

function callsOf(cards: Cards): StepResult["toolCalls"] {
  return cards.flatMap(({ type, content, tool_call_id }) => {
    if (type !== "tool.call") return [];
    const args: JsonObject = isJsonObject(content.arguments) ? content.arguments : {};
    return { id: tool_call_id ?? "", name: String(content.tool_name), args };
  });
}

function resultsOf(cards: Cards): ToolCallResult[] {
  return cards.flatMap((card) => {
    if (card.type !== "tool.result") return [];
    const call = { tool_call_id: card.tool_call_id ?? "", tool_name: String(card.metadata.function_name ?? "") };
    return layeredResult(call, card.content as never) as ToolCallResult;
  });
}

export function turnOf(session: TurnSession, inputEvent: AgentEvent): StepContext["turn"] {
  const thoughts = session.cards.filter((card) => card.type === "agent.thought");
  return {
    ...{ id: session.turn.agent_turn_id, agentName: session.agentName, inputEvent },
    startedAt: inputEvent.createdAt,
    get messages() {
      return messagesOf(session);
    },
    steps: thoughts.map(({ card_id, metadata }, index) => {
      return { id: String(metadata.step_id ?? card_id), index, status: "completed" as const };
    }),
    status: "running",
    metadata: newMetadata(session.turn.metadata),
  };
}
