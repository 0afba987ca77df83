// Message events of extensions: cards of the turn's output (docs/design.md#conversations).
//
//   E1. An event is durable when its promise resolves, and seen by the conversation at once. An extension that does not wait for it loses
//       nothing: what was emitted is written before the step goes on, and before the turn ends.
//   E2. The id of its card comes from turn, place, extension and order: a step or a stretch that is run again after a crash finds
//       what its first run emitted, and emits it once.
//   E3. While a step is at work (the model is asked, its calls are committed and run) an event waits for its end, so that the cards
//       are in the order in which they count.
//   E4. An answer that would end the turn is held until its layers have returned. An event behind it writes it first: what was said
//       before the event is before it in the transcript, too.
//   E5. A failure is reported with the extension's name and rejects the promise; where the rejection is not handled, nothing happens. What could not
//       be written although it should have been fails the stretch, because the conversation here is ahead of the store.
//   E6. A target that is not there: the event is recorded with E_MESSAGE_TARGET_NOT_FOUND and changes nothing.
//   E7. An event that comes when the layers of the turn are over (from a timer, say) is refused, and reported like any other mistake.

import { createHash } from "node:crypto";
import { type CardDocument, type CardDraft, shownTime } from "@tessera/kernel";
import { errorOf, gateJson, isJsonObject, type JsonObject, TesseraError } from "@tessera/protocol";
import { stackOf } from "@tessera/tool/run";
import type { TurnSession } from "../loop/turn-session.ts";
import {
  MESSAGE_EVENT,
  MESSAGE_ROLES,
  type StoredEvent,
  shownMessage,
  type WrittenMessage,
} from "../transcript/index.ts";

export interface MessageEvents {
  /** For the layers around one place of the turn. */
  at(place: string): (extension: string, event: unknown) => Promise<void>;
  /** Resolves when everything that was emitted is written, or reported (E1). */
  flush(): Promise<void>;
  /** E7 */
  close(): void;
  /** E3 */
  whileAtWork<T>(work: () => Promise<T>): Promise<T>;
  /** E4. `onKept` is called when the card is written. */
  holdBack(thought: CardDraft, onKept: () => void): void;
  /** The answer that was held back becomes a card, although no event came behind it. */
  keepHeld(): Promise<void>;
}

interface Waiting {
  readonly extension: string;
  readonly card: CardDocument;
  readonly done: PromiseWithResolvers<void>;
}

const CARDS_PER_WRITE_MAX = 64;
const MESSAGE_BYTES_MAX = 512 * 1_024;
const ID_CHARS_MAX = 256;

export function createMessageEvents(session: TurnSession, onWarning: (warning: string) => void): MessageEvents {
  const { worker, turn } = session;
  const counts = new Map<string, number>();
  const known = new Set(session.cards.map((card) => card.card_id));
  /** Emitted while the step was at work (E3). */
  let later: (() => void)[] = [];
  let atWork = 0;
  const unwritten: Waiting[] = [];
  let writing: Promise<void> | null = null;
  let held: { readonly thought: CardDraft; readonly onKept: () => void } | null = null;
  let broken: unknown = null;
  let isClosed = false;

  function emit(place: string, extension: string, event: unknown): Promise<void> {
    const done = Promise.withResolvers<void>();
    done.promise.catch((error: unknown) => tell(extension, error)); // E5
    const key = JSON.stringify([place, extension]);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    const card_id = cardIdOf(turn.agent_turn_id, place, extension, count); // E2
    const take = () => {
      if (isClosed) return done.reject(errorOf("conflict", "the layers of its turn are over")); // E7
      if (known.has(card_id)) return done.resolve();
      try {
        const stored = readEvent(event);
        apply({ extension, done, card: cardOf(card_id, extension, stored) });
      } catch (error) {
        done.reject(error);
      }
    };
    if (atWork > 0) later.push(take);
    else take();
    return done.promise;
  }

  function apply(waiting: Waiting): void {
    known.add(waiting.card.card_id);
    if (held !== null) session.append([documentOf(held.thought)]); // E4
    session.append([waiting.card]);
    unwritten.push(waiting);
    const thought = held;
    held = null;
    writing = (writing ?? Promise.resolve()).then(() => write(thought));
  }

  /** Writes all that waits, with the answer that was held back before it. Never rejects. */
  async function write(thought: typeof held): Promise<void> {
    const some = unwritten.splice(0, CARDS_PER_WRITE_MAX);
    if (some.length === 0 && thought === null) return;
    const cards = some.map(({ card: { card_id, type, content, metadata } }) => ({ card_id, type, content, metadata }));
    try {
      const written = thought === null ? cards : [thought.thought, ...cards];
      const outcome = await worker.kernel.appendCards({ ...turn, cards: written as CardDraft[] });
      if (outcome.outcome === "rejected") throw errorOf(outcome.code, "the turn takes no messages now");
      thought?.onKept();
      for (const { done } of some) done.resolve();
    } catch (error) {
      if (!TesseraError.is(error) || !NOT_OURS.has(error.code)) broken ??= error;
      for (const { done } of some) done.reject(error);
    }
  }

  function tell(extension: string, error: unknown): void {
    if (TesseraError.is(error) && error.code === "stale_epoch") return; // another worker has the turn
    const why = TesseraError.is(error) ? `${error.code}: ${error.message}` : stackOf(error);
    onWarning(`the extension ${extension}: a message event was not kept: ${why}`);
  }

  /** E6 */
  function readEvent(event: unknown): StoredEvent {
    const stored = storedOf(event);
    if (!("target_id" in stored) || session.transcript.has(stored.target_id)) return stored;
    return { ...stored, error: "E_MESSAGE_TARGET_NOT_FOUND" };
  }

  function cardOf(card_id: string, extension: string, stored: StoredEvent): CardDocument {
    if ("error" in stored && stored.error !== undefined) {
      onWarning(`the extension ${extension}: ${stored.error}: no message ${stored.target_id} to ${stored.event}`);
    }
    return documentOf({
      card_id,
      type: MESSAGE_EVENT,
      content: { data: stored as JsonObject },
      metadata: { extension },
    });
  }

  function documentOf(card: CardDraft): CardDocument {
    const { project_id, agent_id: author_id, agent_turn_id, trace_id } = turn;
    const { step_id } = card;
    return {
      ...card,
      ...{ project_id, author_id, tool_calls: null, tool_call_id: null },
      metadata: { ...card.metadata, step_id, agent_turn_id, trace_id },
      created_at: shownTime(worker.clock).toISOString(),
    } as CardDocument;
  }

  return {
    at: (place) => (extension, event) => emit(place, extension, event),
    async flush() {
      while (unwritten.length > 0) {
        writing = (writing ?? Promise.resolve()).then(() => write(null));
        await writing;
      }
      await writing;
      if (broken !== null) throw broken; // E5
    },
    close() {
      isClosed = true;
    },
    async whileAtWork(work) {
      atWork += 1;
      try {
        return await work();
      } finally {
        atWork -= 1;
        const waited = later;
        later = [];
        for (const take of waited) take();
      }
    },
    holdBack(thought, onKept) {
      held = { thought, onKept };
    },
    async keepHeld() {
      const thought = held;
      if (thought === null) return;
      held = null;
      session.append([documentOf(thought.thought)]);
      writing = (writing ?? Promise.resolve()).then(() => write(thought));
      await writing;
    },
  };
}

/** The turn was stopped, lost, or waits for others. */
const NOT_OURS: ReadonlySet<string> = new Set(["stale_epoch", "conflict", "not_found"]);

/** Throws what is the extension's mistake. */
function storedOf(given: unknown): StoredEvent {
  const event = isJsonObject(given) ? given : {};
  switch (event.type) {
    case "append":
      return { event: "append", message: writtenMessage(event.message) };
    case "replace":
      return { event: "replace", target_id: targetId(event.targetId), message: writtenMessage(event.message) };
    case "remove":
      return { event: "remove", target_id: targetId(event.targetId) };
    case "truncate":
      return { event: "truncate" };
    default: {
      const kinds =
        "{type: append, message}, {type: replace, targetId, message}, {type: remove, targetId} or {type: truncate}";
      throw errorOf("bad_request", `a message event is ${kinds}`);
    }
  }
}

function writtenMessage(given: unknown): WrittenMessage {
  const { id, data, metadata } = isJsonObject(given) ? given : {};
  const { role, content } = isJsonObject(data) ? data : {};
  if (!MESSAGE_ROLES.some((known) => known === role) || content === undefined) {
    throw errorOf("bad_request", `a message has data: {role, content}; role is ${MESSAGE_ROLES.join(", ")}`);
  }
  const isId = typeof id === "string" && id !== "" && id.length <= ID_CHARS_MAX;
  // As JSON says it: a field that is undefined is none, a date is text.
  const plain: unknown = JSON.parse(JSON.stringify({ ...(isId ? { id } : {}), data, metadata: metadata ?? {} }));
  const written = gateJson(plain, { bytesMax: MESSAGE_BYTES_MAX }) as WrittenMessage;
  if (shownMessage(written.data) === null) throw errorOf("bad_request", "a message has text, calls or results");
  return written;
}

function targetId(given: unknown): string {
  if (typeof given === "string" && given !== "" && given.length <= ID_CHARS_MAX) return given;
  throw errorOf("bad_request", "targetId is the id of a message");
}

/** E2 */
function cardIdOf(...parts: readonly (string | number)[]): string {
  return `card_${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)}`;
}
