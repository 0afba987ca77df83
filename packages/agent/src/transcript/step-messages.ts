// One step of a transcript: a thought with calls, which its calls' cards and results fill in as they come.
//
//   P1. The two messages are made anew when something was filled in, never changed: a snapshot that was handed out stays
//       as it was.

import { isJsonObject } from "@tessera/protocol";
import type { ModelMessage, TextPart, ToolCallPart, ToolResultPart } from "ai";
import type { TranscriptCard } from "./card-message.ts";
import { type ResultOutput, resultOutput } from "./result-output.ts";
import { inStoredOrder } from "./stored-order.ts";

interface StepCall {
  readonly name: string;
  input: unknown;
  output: ResultOutput | null;
}

export interface Step {
  readonly text: string;
  readonly calls: ReadonlyMap<string, Readonly<StepCall>>;
  readonly outputWithoutResult: ResultOutput;
  /** Takes a `tool.call` or `tool.result` card of one of these calls; false when it has one already. */
  fill(callId: string, card: TranscriptCard): boolean;
  made: StepMessages | null;
}

export type StepMessages = readonly [asked: ModelMessage, answered: ModelMessage];

export function createStep(
  text: string,
  refs: readonly { readonly id: string; readonly name: string }[],
  outputWithoutResult: ResultOutput,
): Step {
  // A map keeps the order in which the thought names its calls.
  const calls = new Map(refs.map(({ id, name }): [string, StepCall] => [id, { name, input: null, output: null }]));
  const step: Step = {
    text,
    calls,
    outputWithoutResult,
    made: null,
    fill(callId, card) {
      const call = calls.get(callId);
      const field = card.type === "tool.call" ? "input" : "output";
      if (call === undefined || call[field] !== null) return false;
      if (field === "input")
        call.input = isJsonObject(card.content.arguments) ? inStoredOrder(card.content.arguments) : {};
      else call.output = resultOutput(inStoredOrder(card.content));
      step.made = null; // P1
      return true;
    },
  };
  return step;
}

/** The assistant message and its tool message. */
export function stepMessages(step: Step): StepMessages {
  step.made ??= makeMessages(step);
  return step.made;
}

function makeMessages({ text, calls, outputWithoutResult }: Step): StepMessages {
  const spoken: TextPart[] = text === "" ? [] : [{ type: "text", text }];
  const asked: ToolCallPart[] = [];
  const answered: ToolResultPart[] = [];
  for (const [toolCallId, { name: toolName, input, output }] of calls) {
    asked.push({ type: "tool-call", toolCallId, toolName, input: input ?? {} });
    answered.push({ type: "tool-result", toolCallId, toolName, output: output ?? outputWithoutResult });
  }
  return [
    { role: "assistant", content: [...spoken, ...asked] },
    { role: "tool", content: answered },
  ];
}
