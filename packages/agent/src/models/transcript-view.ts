// What a scripted model sees of a transcript: the last words, the last results.
//
//   V1. The results of a step are those after the last message that is not a tool's, however many messages they fill.
//   V2. A tool counts as "last" only while its result is the newest thing said: in the next turn the user speaks again,
//       and a rule for the tool must not answer from a result of yesterday.

import type { JsonValue } from "@tessera/protocol";
import type { ModelMessage, ToolModelMessage } from "ai";
import type { TemplateValues } from "./scripted-template.ts";

export interface TranscriptView extends TemplateValues {
  /** Of the last user message, or of the results of the step; "" when there is neither. */
  readonly lastText: string;
  /** The tool of the last result, while it is the newest message (V2). */
  readonly lastTool?: string | undefined;
  /** Characters of all messages. */
  readonly chars: number;
}

type ToolPart = ToolModelMessage["content"][number];
type ResultPart = Extract<ToolPart, { type: "tool-result" }>;

export function readTranscript(messages: readonly ModelMessage[]): TranscriptView {
  const spoken = messages.filter((message) => message.role === "user" || message.role === "tool");
  const last = spoken.at(-1);
  const said = messages.filter((message) => message.role === "user").map(textOf);
  const input = said.at(-1) ?? "";
  const allResults = messages.flatMap(resultsOf);
  const lastResult = allResults.at(-1);
  const base = {
    input,
    earlier: said.slice(0, -1),
    chars: messages.reduce((sum, message) => sum + textOf(message).length, 0),
    ...(lastResult === undefined ? {} : { result: resultValue(lastResult) }),
  };
  if (last?.role !== "tool") return { ...base, lastText: input, results: stepResults(messages).map(resultValue) };
  const results = stepResults(messages);
  const name = results.at(-1)?.toolName;
  return {
    ...base,
    results: results.map(resultValue),
    lastText: results.map((part) => asText(resultValue(part))).join("\n"),
    lastTool: name,
  };
}

/** V1: the last unbroken run of tool messages. */
function stepResults(messages: readonly ModelMessage[]): readonly ResultPart[] {
  const end = messages.findLastIndex((message) => message.role === "tool") + 1;
  const before = messages.slice(0, end).findLastIndex((message) => message.role !== "tool");
  return messages.slice(before + 1, end).flatMap(resultsOf);
}

function resultsOf(message: ModelMessage): readonly ResultPart[] {
  if (message.role !== "tool") return [];
  return message.content.filter((part): part is ResultPart => part.type === "tool-result");
}

/** The tool's value, out of the AI SDK's envelope. */
function resultValue({ output }: ResultPart): JsonValue {
  switch (output.type) {
    case "execution-denied":
      return output.reason ?? "";
    case "content":
      return output.value.map((item) => (item.type === "text" ? item.text : "")).join("");
    default:
      return output.value as JsonValue;
  }
}

function textOf(message: ModelMessage | undefined): string {
  if (message === undefined) return "";
  if (typeof message.content === "string") return message.content;
  if (message.role === "tool")
    return resultsOf(message)
      .map((part) => asText(resultValue(part)))
      .join("\n");
  const parts: readonly { readonly type: string; readonly text?: unknown }[] = message.content;
  return parts.map((part) => (part.type === "text" && typeof part.text === "string" ? part.text : "")).join("");
}

function asText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
