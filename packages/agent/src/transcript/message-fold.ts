// Message events folded over the messages of a conversation (docs/design.md#conversations).
//
//   F1. Events apply in order, each to the messages before it: `append` adds at the end, `replace` and `remove` find their target by
//       its id, `truncate` takes away everything so far.
//   F2. An event whose target is not there changes nothing: it may have left the window, or was never there.
//   F3. Ids are unique. A message that would repeat one gets the other id that it comes with.
//   F4. Pairing is enforced after the fold, whatever the events were: an assistant message with calls is followed by one message
//       with exactly one result for each of them, in call order, and there is no other result. What has lost its counterpart is
//       taken away; text beside a call stays.
//   F5. No message is empty, none of the assistant opens the conversation, and there is at least one: a note stands in.

import type { ModelMessage, ToolCallPart, ToolResultPart } from "ai";

export interface FoldedMessage {
  readonly id: string;
  /** Made when it is read: a step gets its results after it has its place. */
  readonly message: () => ModelMessage;
}

export type MessageChange<E extends FoldedMessage> =
  | { readonly type: "append"; readonly entry: E; readonly otherId: string }
  | { readonly type: "replace"; readonly targetId: string; readonly entry: E; readonly otherId: string }
  | { readonly type: "remove"; readonly targetId: string }
  | { readonly type: "truncate" };

export interface MessageFold<E extends FoldedMessage> {
  push(entry: E): void;
  /** False: its target is not there (F2). */
  apply(change: MessageChange<E>): boolean;
  has(id: string): boolean;
  /** In order. What is changed later does not change this list. */
  entries(): E[];
  /** Whether any event has changed what was pushed. */
  readonly isChanged: boolean;
}

export function createMessageFold<E extends FoldedMessage>(): MessageFold<E> {
  /** Null where one was removed: the places of the others stay. */
  let places: (E | null)[] = [];
  const placeOf = new Map<string, number>();
  let isChanged = false;

  function add(entry: E): void {
    placeOf.set(entry.id, places.length);
    places.push(entry);
  }
  /** F3 */
  function unique(entry: E, otherId: string): E {
    return placeOf.has(entry.id) ? { ...entry, id: otherId } : entry;
  }
  function take(targetId: string): number | undefined {
    const place = placeOf.get(targetId);
    if (place !== undefined) placeOf.delete(targetId);
    return place;
  }

  return {
    push: add,
    has: (id) => placeOf.has(id),
    apply(change) {
      if (change.type === "append") {
        isChanged = true;
        add(unique(change.entry, change.otherId));
        return true;
      }
      if (change.type === "truncate") {
        isChanged = true;
        places = [];
        placeOf.clear();
        return true;
      }
      const place = take(change.targetId);
      if (place === undefined) return false; // F2
      isChanged = true;
      if (change.type === "remove") {
        places[place] = null;
        return true;
      }
      const entry = unique(change.entry, change.otherId);
      places[place] = entry;
      placeOf.set(entry.id, place);
      return true;
    },
    entries: () => places.filter((entry) => entry !== null),
    get isChanged() {
      return isChanged;
    },
  };
}

interface Read {
  readonly id: string;
  readonly message: ModelMessage;
}

/** F4 */
export function pairMessages<R extends Read>(messages: readonly R[]): R[] {
  const paired: R[] = [];
  const called = new Set<string>();
  for (let at = 0; at < messages.length; at += 1) {
    const entry = messages[at] as R;
    const { message } = entry;
    if (message.role === "tool") continue; // not directly behind its calls
    if (message.role !== "assistant") {
      if (!isEmpty(message)) paired.push(entry);
      continue;
    }
    const calls = callsOf(message);
    if (calls.length === 0) {
      if (!isEmpty(message)) paired.push(entry);
      continue;
    }
    const next = messages[at + 1];
    const results = new Map(next === undefined ? [] : resultsOf(next.message).map((part) => [part.toolCallId, part]));
    const kept = new Map<string, ToolResultPart>();
    for (const { toolCallId } of calls) {
      const result = results.get(toolCallId);
      if (result === undefined || called.has(toolCallId)) continue;
      called.add(toolCallId);
      kept.set(toolCallId, result);
    }
    const asked = withCalls(message, new Set(kept.keys()));
    if (!isEmpty(asked)) paired.push(asked === message ? entry : { ...entry, message: asked });
    if (next === undefined || kept.size === 0) continue;
    const answered = withResults(next.message, [...kept.values()]);
    paired.push(answered === next.message ? next : { ...next, message: answered });
    at += 1;
  }
  return paired;
}

/** F5. `note` makes the message that stands in for what is gone. */
export function openMessages<R extends Read>(messages: readonly R[], note: (before: R | undefined) => R): R[] {
  const opened: R[] = [];
  for (const entry of messages) {
    const last = opened.at(-1)?.message;
    const isUnasked = last === undefined || (last.role === "assistant" && callsOf(last).length === 0);
    if (entry.message.role === "assistant" && isUnasked) opened.push(note(entry));
    opened.push(entry);
  }
  return opened.length === 0 ? [note(undefined)] : opened;
}

function callsOf({ role, content }: ModelMessage): ToolCallPart[] {
  if (role !== "assistant" || typeof content === "string") return [];
  return content.filter((part) => part.type === "tool-call");
}

function resultsOf({ role, content }: ModelMessage): ToolResultPart[] {
  return role === "tool" ? content.filter((part) => part.type === "tool-result") : [];
}

/** The same message where nothing changes; a call that is named twice is kept once. */
function withCalls(message: ModelMessage, kept: ReadonlySet<string>): ModelMessage {
  if (message.role !== "assistant" || typeof message.content === "string") return message;
  const left = new Set(kept);
  const content = message.content.filter((part) => part.type !== "tool-call" || left.delete(part.toolCallId));
  return content.length === message.content.length ? message : { ...message, content };
}

function withResults(message: ModelMessage, results: readonly ToolResultPart[]): ModelMessage {
  if (message.role !== "tool") return message;
  const { content } = message;
  const isSame = content.length === results.length && content.every((part, n) => part === results[n]);
  return isSame ? message : { ...message, content: [...results] };
}

function isEmpty({ content }: ModelMessage): boolean {
  if (typeof content === "string") return content.trim() === "";
  return !content.some((part) => part.type !== "text" || part.text.trim() !== "");
}
