// Cards that are one message, or none: everything but thoughts, calls and results.
//
//   M1. What the system says in the middle of a conversation is a `user` message with a mark. The AI SDK refuses system
//       messages among others unless an option forbids it, and Google takes them only at the beginning.
//   M2. No message is empty or blank: providers refuse it.
//   M3. The model is not made to say what it never said: a deliverable that the kernel wrote for a turn is a note.

import type { CardDocument } from "@tessera/kernel";
import { isJsonObject, type JsonValue } from "@tessera/protocol";
import type { ModelMessage } from "ai";

/** The part of a card that a transcript reads. */
export type TranscriptCard = Pick<
  CardDocument,
  "card_id" | "type" | "content" | "metadata" | "tool_calls" | "tool_call_id"
> &
  Partial<Pick<CardDocument, "created_at">>;

export const NOTE_MARK = "[system note]";

/** M1 */
export function noteMessage(text: string): ModelMessage {
  return { role: "user", content: `${NOTE_MARK} ${text}` };
}

/** The message of a card that stands alone; null where the model sees nothing of it. */
export function cardMessage(card: TranscriptCard): ModelMessage | null {
  switch (card.type) {
    case "task.deliverable":
      return deliverableMessage(card);
    case "sys.must_end_with_required":
    case "sys.judge_feedback":
      return ifText(textOf(card), noteMessage);
    case "agent.answer":
      return answerMessage(card);
    case "agent.error":
      return errorNote(card);
    // The system prompt speaks for these.
    case "task.result_fields":
    case "sys.profile":
    case "sys.tools":
    case "sys.rendered_prompt":
    case "agent.reset":
    case "meta.parent_pointer":
      return null;
    default:
      // task.instruction, and what another writer of cards marked as the user's.
      return card.metadata.role === "user" || card.type === "task.instruction"
        ? ifText(textOf(card), (content) => ({ role: "user", content }))
        : null;
  }
}

export function assistantMessage(text: string): ModelMessage {
  return { role: "assistant", content: [{ type: "text", text }] };
}

/** The text of a card; empty where it has none, or only blanks (M2). */
export function textOf(card: Pick<TranscriptCard, "content">): string {
  const { text } = card.content;
  return typeof text === "string" && text.trim() !== "" ? text : "";
}

/** A deliverable as the assistant would have said it: its text, or its data as JSON. */
function deliverableText(card: Pick<TranscriptCard, "content">): string {
  return card.content.data === undefined ? textOf(card) : JSON.stringify(card.content.data);
}

/** Whether the deliverable of a turn only says again what the thought before it said. */
export function repeatsThought(card: TranscriptCard, thought: TranscriptCard | undefined): boolean {
  if (card.type !== "task.deliverable" || thought === undefined) return false;
  const isSameTurn = thought.metadata.agent_turn_id === card.metadata.agent_turn_id;
  return isSameTurn && textOf(thought).trim() === deliverableText(card).trim();
}

function deliverableMessage(card: TranscriptCard): ModelMessage | null {
  const { data } = card.content;
  if (isJsonObject(data) && data.kind === "fallback_deliverable") {
    const status = isJsonObject(data.diagnostics) ? (data.diagnostics.terminal_status ?? data.status) : data.status;
    return noteMessage(`A turn ended ${String(status)} without a result of its own: ${String(data.message ?? "")}`); // M3
  }
  return ifText(deliverableText(card), assistantMessage);
}

/** What another agent answered to a request that was not waited for. */
function answerMessage(card: TranscriptCard): ModelMessage {
  const data = isJsonObject(card.content.data) ? card.content.data : {};
  const name = typeof card.metadata.agent_name === "string" ? card.metadata.agent_name : "an agent";
  const said = typeof data.text === "string" ? data.text : JSON.stringify(data.data ?? null);
  const text = data.error === undefined ? said : `It ended ${String(data.status)}: ${errorText(data.error)}`;
  return { role: "user", content: `[answer of ${name}] ${text}` };
}

function errorNote(card: TranscriptCard): ModelMessage {
  const data = isJsonObject(card.content.data) ? card.content.data : {};
  const status = typeof data.status === "string" ? ` (${data.status})` : "";
  return noteMessage(`An error ended a turn${status}: ${errorText(data.error ?? null)}`);
}

function errorText(error: JsonValue): string {
  if (typeof error === "string") return error;
  return isJsonObject(error) && typeof error.message === "string" ? error.message : JSON.stringify(error);
}

function ifText(text: string, make: (text: string) => ModelMessage): ModelMessage | null {
  return text === "" ? null : make(text);
}
