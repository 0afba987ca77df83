// What must be true of every transcript, whatever cards it was made from. Shared by the property tests of src/transcript.

import { type ModelMessage, modelMessageSchema, type ToolCallPart, type ToolResultPart } from "ai";
import { expect } from "vitest";

export interface AnsweredCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly output: ToolResultPart["output"];
}

/** Holds the messages to the rules of promise 7 and of the providers, and returns the calls in the order they stand. */
export function answeredCalls(messages: readonly ModelMessage[]): AnsweredCall[] {
  expect(messages.flatMap((message) => modelMessageSchema.safeParse(message).error ?? [])).toEqual([]);
  expect(messages.filter(isBlank)).toEqual([]);
  if (messages.length > 0) expect(messages[0]?.role).toBe("user");
  const calls: AnsweredCall[] = [];
  for (const [n, message] of messages.entries()) {
    const asked = callsIn(message);
    if (asked.length > 0) expect(messages[n + 1]?.role).toBe("tool");
    if (message.role !== "tool") continue;
    const before = messages[n - 1];
    const expected = before === undefined ? [] : callsIn(before);
    const answers = message.content as ToolResultPart[];
    expect(expected.length).toBeGreaterThan(0);
    expect(answers.map(({ toolCallId, toolName }) => [toolCallId, toolName])).toEqual(
      expected.map(({ toolCallId, toolName }) => [toolCallId, toolName]),
    );
    for (const [k, { toolCallId: id, toolName: name, output }] of answers.entries()) {
      calls.push({ id, name, input: expected[k]?.input, output });
    }
  }
  expect(new Set(calls.map((call) => call.id)).size).toBe(calls.length);
  return calls;
}

/** What an output tells the model about how the call ended. */
export function statusSaid(output: ToolResultPart["output"]): string {
  const value = "value" in output ? (output.value as { status?: unknown } | null) : null;
  if (output.type === "error-json") return String(value?.status);
  return value?.status === "waiting" || value?.status === "partial" ? value.status : "success";
}

function callsIn(message: ModelMessage): ToolCallPart[] {
  if (message.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "tool-call");
}

function isBlank({ content }: ModelMessage): boolean {
  if (typeof content === "string") return content.trim() === "";
  return content.length === 0 || content.some((part) => part.type === "text" && part.text.trim() === "");
}
