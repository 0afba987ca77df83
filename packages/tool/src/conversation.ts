// Messages and what is done to them, as modules that import `@goondan/types` find it: the published shapes, and the functions
// over them.

import type { CoreMessage, JsonValue, Message } from "./api.ts";

/** What happens to a conversation: a message is appended, replaced or removed, or all are. */
export type MessageEvent =
  | { readonly type: "append"; readonly message: Message }
  | { readonly type: "replace"; readonly targetId: string; readonly message: Message }
  | { readonly type: "remove"; readonly targetId: string }
  | { readonly type: "truncate" };

/** A conversation as it was, what happened to it since, and how it is now. */
export interface ConversationState {
  /** As it was. */
  readonly baseMessages: Message[];
  /** What happened to it since, in order. */
  readonly events: MessageEvent[];
  /** As it is now. */
  readonly nextMessages: Message[];
  /** What a model is sent: `data` of each message as it is now. */
  toLlmMessages(): CoreMessage[];
}

/** A target that is not there changes nothing. */
export function applyMessageEvent(messages: readonly Message[], event: MessageEvent): Message[] {
  if (event.type === "truncate") return [];
  if (event.type === "append") return [...messages, event.message];
  const at = messages.findIndex(({ id }) => id === event.targetId);
  if (at < 0) return [...messages];
  return messages.toSpliced(at, 1, ...(event.type === "replace" ? [event.message] : []));
}

/** The messages after all events, in order. */
export function foldMessageEvents(messages: readonly Message[], events: readonly MessageEvent[]): Message[] {
  return events.reduce<Message[]>(applyMessageEvent, [...messages]);
}

/** A conversation from its messages and what happened to them. */
export function createConversationState(
  baseMessages: readonly Message[],
  events: readonly MessageEvent[],
): ConversationState {
  const nextMessages = foldMessageEvents(baseMessages, events);
  return {
    baseMessages: [...baseMessages],
    events: [...events],
    nextMessages,
    toLlmMessages: () => nextMessages.map(({ data }) => data),
  };
}

/** An object that is only a record: of no class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether a value is one that JSON can say. */
export function isJsonValue(value: unknown): value is JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isJsonValue);
  return isPlainObject(value) && Object.values(value).every(isJsonValue);
}
