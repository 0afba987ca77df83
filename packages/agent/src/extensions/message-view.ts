// The conversation as extensions see it: Goondan's Message and ConversationState over the projected transcript.
//
//   W1. An id is the message's of the transcript (transcript.ts, T7), so what is emitted by it finds its target in every process.
//   W2. What is handed out are copies: the only way to change the conversation is an event.
//   W3. Notes that the projection puts in for providers are not part of it: no event could name them.
//   W4. An answer to a request that was not waited for carries Goondan's metadata (`__goondanInterAgentResponse`), and the response
//       as an object, until an extension replaces it. Extensions that measure messages go through the parts of what is no text, so
//       this object can be gone through, too: as one part of text.

import { isJsonObject, type JsonObject } from "@tessera/protocol";
import type { CoreMessage, Message, MessageSource } from "@tessera/tool";
import type { ModelMessage } from "ai";
import type { TurnSession } from "../loop/turn-session.ts";
import { type IdentifiedMessage, storedEvent, type TranscriptCard } from "../transcript/index.ts";
import type { ConversationState, MessageEvent } from "./api.ts";

export const INTER_AGENT_RESPONSE = "__goondanInterAgentResponse";

/** `begun`: how many cards the output had when this stretch of the turn began. */
export function conversationOf(
  session: TurnSession,
  baseMessages: readonly Message[],
  begun: number,
): ConversationState {
  const next = () => messagesOf(session);
  return {
    get baseMessages() {
      return baseMessages.map(copyOf);
    },
    get events() {
      return eventsOf(session.cards.slice(begun), next());
    },
    get nextMessages() {
      return next();
    },
    get messages() {
      return session.transcript.messages();
    },
    toLlmMessages: () => next().map(({ data }) => data),
  };
}

export function messagesOf({ transcript, agentName }: Pick<TurnSession, "transcript" | "agentName">): Message[] {
  return transcript
    .identified()
    .filter(({ isStandIn }) => isStandIn !== true) // W3
    .map((each) => messageOf(each, agentName));
}

/** What cards did to the conversation, in order. A message that was taken away since is in no event. */
function eventsOf(cards: readonly TranscriptCard[], messages: readonly Message[]): MessageEvent[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  return cards.flatMap((card): MessageEvent[] => {
    const event = storedEvent(card);
    if (event === null) {
      const own = [byId.get(card.card_id), byId.get(`${card.card_id}:results`)];
      return own.flatMap((message) => (message === undefined ? [] : { type: "append", message }));
    }
    if (event.event === "truncate") return [{ type: "truncate" }];
    if (event.event === "remove") return [{ type: "remove", targetId: event.target_id }];
    const message = byId.get(event.message.id ?? card.card_id) ?? byId.get(card.card_id);
    if (message === undefined) return [];
    return event.event === "append"
      ? [{ type: "append", message }]
      : [{ type: "replace", targetId: event.target_id, message }];
  });
}

function messageOf({ id, card, message, written }: IdentifiedMessage, self: string): Message {
  const createdAt = new Date(card.created_at ?? 0);
  if (written !== undefined) {
    const source: MessageSource = { type: "extension", extensionName: String(card.metadata.extension) };
    return {
      id,
      ...structuredClone({ data: written.data as CoreMessage, metadata: written.metadata }),
      createdAt,
      source,
    };
  }
  if (card.type === "agent.answer") return answered(id, card, createdAt, self);
  const data = structuredClone(message) as CoreMessage;
  return { id, data, metadata: {}, createdAt, source: sourceOf(card, message) };
}

function sourceOf({ card_id, type, metadata }: TranscriptCard, message: ModelMessage): MessageSource {
  if (message.role === "assistant") return { type: "assistant", stepId: String(metadata.step_id ?? card_id) };
  if (message.role === "tool") {
    const [first] = message.content.filter((part) => part.type === "tool-result");
    return { type: "tool", toolCallId: first?.toolCallId ?? "", toolName: first?.toolName ?? "" };
  }
  if (typeof metadata.extension === "string") return { type: "extension", extensionName: metadata.extension };
  return type === "task.instruction" ? { type: "user" } : { type: "system" };
}

/** W2 */
function copyOf(message: Message): Message {
  const copy = structuredClone(message);
  asParts(copy.data.content);
  return copy;
}

/** W4 */
function answered(id: string, { content, metadata }: TranscriptCard, createdAt: Date, self: string): Message {
  const data: JsonObject = isJsonObject(content.data) ? content.data : {};
  const request: JsonObject = isJsonObject(metadata.request) ? metadata.request : {};
  const error = isJsonObject(data.error) ? data.error : null;
  const text = (value: unknown, key: string) => (typeof value === "string" ? { [key]: value } : {});
  const kind = "inter_agent_response";
  const between = {
    requestId: String(metadata.correlation_id ?? metadata.answer_of ?? id),
    fromAgentId: String(metadata.agent_name ?? "agent"),
    toAgentId: self,
    status: error === null ? "ok" : data.status === "timeout" ? "timeout" : "error",
  };
  const given = error === null ? { response: data.text ?? data.data ?? null } : { error };
  return {
    id,
    data: { role: "user", content: asParts({ type: kind, ...between, ...given }) },
    metadata: {
      [INTER_AGENT_RESPONSE]: {
        kind,
        version: 1,
        ...between,
        requestEventId: String(request.event_id ?? metadata.correlation_id ?? id),
        ...text(metadata.deliverable_card_id, "responseEventId"),
        async: true,
        receivedAt: createdAt.toISOString(),
        ...text(request.event_type, "requestEventType"),
        ...(isJsonObject(request.event) ? { requestMetadata: request.event } : {}),
        ...text(error?.code, "errorCode"),
        ...text(error?.message, "errorMessage"),
      },
    },
    createdAt,
    source: { type: "user" },
  };
}

/** W4. As JSON, and by its keys, it is the object alone. */
function asParts<T>(content: T): T {
  if (!isJsonObject(content)) return content;
  const said = content.response ?? content.error ?? null;
  const text = typeof said === "string" ? said : JSON.stringify(said);
  const parts = () => [{ type: "text", text }].values();
  return Object.defineProperty(content, Symbol.iterator, { value: parts, enumerable: false });
}
