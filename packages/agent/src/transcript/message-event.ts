// The cards of message events (docs/design.md#conversations), and what a model is shown of a message that an extension wrote.
//
//   E1. A message is kept as the extension wrote it: another extension may look for what it left there. What a model is shown
//       is made of it when the transcript is projected.
//   E2. Content is text, or a list of parts: text, tool-call and tool-result. Anything else is shown as JSON.
//   E3. What the system says in the middle of a conversation is a note (card-message.ts, M1).
//   E4. An event that was refused when it was written (`error`) is a record and changes nothing.

import { isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import type { ModelMessage, TextPart, ToolCallPart, ToolResultPart } from "ai";
import { noteMessage, type TranscriptCard } from "./card-message.ts";

export const MESSAGE_EVENT = "sys.message_event";
export const MESSAGE_ROLES = ["system", "user", "assistant", "tool"] as const;

/** A message as an extension wrote it. */
export type WrittenMessage = {
  /** Its own, where it gave one. */
  readonly id?: string;
  readonly data: JsonObject & { readonly role: (typeof MESSAGE_ROLES)[number]; readonly content: JsonValue };
  readonly metadata: JsonObject;
};

/** `content.data` of the card. */
export type StoredEvent =
  | { readonly event: "append"; readonly message: WrittenMessage }
  | { readonly event: "replace"; readonly target_id: string; readonly message: WrittenMessage; readonly error?: string }
  | { readonly event: "remove"; readonly target_id: string; readonly error?: string }
  | { readonly event: "truncate" };

export function storedEvent({ type, content }: Pick<TranscriptCard, "type" | "content">): StoredEvent | null {
  return type === MESSAGE_EVENT && isJsonObject(content.data) ? (content.data as StoredEvent) : null;
}

/** E2. Null: a model is shown nothing of it. */
export function shownMessage({ role, content }: WrittenMessage["data"]): ModelMessage | null {
  const parts = Array.isArray(content) ? content : [content];
  const results = parts.flatMap(resultPart);
  if (role === "tool" || (role === "user" && results.length > 0)) {
    return results.length === 0 ? null : { role: "tool", content: results };
  }
  const texts = parts.flatMap(textPart);
  if (role === "assistant") {
    const calls = parts.flatMap(callPart);
    return texts.length + calls.length === 0 ? null : { role, content: [...texts, ...calls] };
  }
  const text = texts.map((part) => part.text).join("\n");
  if (text === "") return null;
  return role === "system" ? noteMessage(text) : { role, content: text }; // E3
}

function textPart(part: JsonValue): TextPart[] {
  if (isJsonObject(part) && (part.type === "tool-call" || part.type === "tool-result")) return [];
  const isText = isJsonObject(part) && part.type === "text" && typeof part.text === "string";
  const text = isText ? String(part.text) : typeof part === "string" ? part : JSON.stringify(part);
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

function callPart(part: JsonValue): ToolCallPart[] {
  if (!isJsonObject(part) || part.type !== "tool-call") return [];
  const { toolCallId, toolName, input } = part;
  if (typeof toolCallId !== "string" || typeof toolName !== "string") return [];
  return [{ type: "tool-call", toolCallId, toolName, input: isJsonObject(input) ? input : {} }];
}

const OUTPUT_TYPES: ReadonlySet<unknown> = new Set(["text", "json", "error-text", "error-json"]);

function resultPart(part: JsonValue): ToolResultPart[] {
  if (!isJsonObject(part) || part.type !== "tool-result") return [];
  const { toolCallId, toolName, output } = part;
  if (typeof toolCallId !== "string" || typeof toolName !== "string") return [];
  const isOutput = isJsonObject(output) && OUTPUT_TYPES.has(output.type) && output.value !== undefined;
  const shown = isOutput ? output : { type: "json", value: output ?? null };
  return [{ type: "tool-result", toolCallId, toolName, output: shown as ToolResultPart["output"] }];
}
