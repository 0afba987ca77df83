// What the cards of a turn say about its last step. The cards are all there is to know (docs/design.md#promises).

import type { CardDocument } from "@tessera/kernel";
import { type AfterExecution, effectiveAfterExecution, isJsonObject, type ToolResultContent } from "@tessera/protocol";
import { beginsStep } from "./call-order.ts";

export interface LastStep {
  /** How many steps the turn has taken. */
  readonly steps: number;
  /** Of the last step's calls, in call order. */
  readonly results: readonly { readonly tool_name: string; readonly content: ToolResultContent }[];
  /** `terminate` if any result of the last step says so. */
  readonly afterExecution: AfterExecution;
}

export function lastStepOf(cards: readonly CardDocument[]): LastStep {
  const steps = stepsOf(cards);
  const at = cards.findLastIndex((card) => card.type === "agent.thought");
  const order = callOrder(cards[at]);
  const results = cards
    .slice(at + 1)
    .filter((card) => card.type === "tool.result" && isJsonObject(card.content))
    // A worker that took the turn over has settled results in hand before those it ran itself.
    .toSorted((a, b) => order.indexOf(a.tool_call_id ?? "") - order.indexOf(b.tool_call_id ?? ""))
    .map((card) => ({
      tool_name: String(card.metadata.function_name ?? ""),
      content: card.content as ToolResultContent,
    }));
  const ends = results.some(
    ({ content }) =>
      effectiveAfterExecution({ result: content.result, explicit: content.after_execution }) === "terminate",
  );
  return { steps, results, afterExecution: ends ? "terminate" : "suspend" };
}

/** Thoughts so far, without those that go on with the calls of a message. */
export function stepsOf(cards: readonly CardDocument[]): number {
  return cards.filter((card) => card.type === "agent.thought" && beginsStep(card)).length;
}

function callOrder(thought: CardDocument | undefined): string[] {
  const calls = Array.isArray(thought?.tool_calls) ? thought.tool_calls : [];
  return calls.flatMap((call) => (isJsonObject(call) && typeof call.id === "string" ? [call.id] : []));
}

/** Names of tools that were called in this turn, and of those that succeeded. */
export function calledTools(cards: readonly CardDocument[]): { called: Set<string>; succeeded: Set<string> } {
  const called = new Set<string>();
  const succeeded = new Set<string>();
  for (const card of cards) {
    if (!isJsonObject(card.content)) continue;
    if (card.type === "tool.call") called.add(String(card.content.tool_name));
    if (card.type === "tool.result" && card.content.status === "success")
      succeeded.add(String(card.metadata.function_name));
  }
  return { called, succeeded };
}
