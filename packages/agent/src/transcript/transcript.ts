// What the model sees, projected from cards (docs/design.md#promises).
//
//   T1. Order: each earlier turn's context (what it was asked) and output, then this turn's context and output
//       (docs/design.md#conversations). A card appears once; a context card that is also in an output is read there.
//   T2. A step is one assistant message and, directly behind it, one tool message with exactly one result for each of its
//       calls, in call order, whenever and in whatever order the results came (docs/faults.md#f15). A call without a result card
//       has one all the same, which says what is known. Nothing can come between the two messages.
//   T3. A call id appears in one message only, and the first result of a call counts (docs/faults.md#f13). What has no place (a
//       result without its call, a call without its thought, a repetition) is left out and counted.
//   T4. Appending costs what is appended. The whole projection is the same thing done once, so the two cannot differ.
//   T5. No assistant message opens the transcript or follows directly on one of another turn: a note comes between, because
//       a request may hold nothing that is shown, and providers want the user to speak first.
//   T6. Calls beyond what a step may make are in no card. A note behind the step's results says that they were not made.
//   T7. Each message has an id that follows from its card: the card's own, `<id>:results` for the tool message of a step, `<id>:note`
//       and `<id>:cut` for notes beside it. A message that an extension wrote has the id that it was given, or else its card's.
//   T8. Events of extensions change the messages before them (message-fold.ts). What is shown after one is paired and opened
//       anew; without any, nothing of this costs anything.

import { isJsonObject } from "@tessera/protocol";
import type { ModelMessage } from "ai";
import {
  assistantMessage,
  cardMessage,
  noteMessage,
  repeatsThought,
  type TranscriptCard,
  textOf,
} from "./card-message.ts";
import { shownMessage, storedEvent, type WrittenMessage } from "./message-event.ts";
import { createMessageFold, type FoldedMessage, openMessages, pairMessages } from "./message-fold.ts";
import { OUTPUT_NOT_HANDED_OVER, OUTPUT_TURN_ENDED, OUTPUT_WAITING, type ResultOutput } from "./result-output.ts";
import { createStep, type Step, stepMessages } from "./step-messages.ts";
import { inStoredOrder } from "./stored-order.ts";

/** A turn that has ended. */
export interface EarlierTurn {
  readonly context: readonly TranscriptCard[];
  readonly output: readonly TranscriptCard[];
  /** The output begins in the middle: a note says so. */
  readonly isCut?: boolean;
}

export interface TranscriptCards {
  /** The turns that are remembered, oldest first. */
  readonly earlier: readonly EarlierTurn[];
  readonly context: readonly TranscriptCard[];
  /** This turn's output so far. */
  readonly current: readonly TranscriptCard[];
}

/** A message and where it comes from (T7). */
export interface IdentifiedMessage {
  readonly id: string;
  readonly card: TranscriptCard;
  readonly message: ModelMessage;
  /** As an extension wrote it, if one did. */
  readonly written?: WrittenMessage;
  /** A note of the projection's own (T5): no card says it. */
  readonly isStandIn?: true;
}

/** Cards that found no place (T3). */
interface LeftOut {
  readonly results: number;
  readonly calls: number;
  readonly repeats: number;
}

export interface Transcript {
  /** Cards that this turn's output has gained, in box order, as they are read from the store. */
  append(cards: readonly TranscriptCard[]): void;
  /** A snapshot: what is appended later does not change it. */
  messages(): ModelMessage[];
  /** The same, each with its id and its card. */
  identified(): IdentifiedMessage[];
  /** Whether an event could find a message of this id. */
  has(messageId: string): boolean;
  leftOut(): LeftOut;
}

export function projectTranscript(cards: TranscriptCards): ModelMessage[] {
  return createTranscript(cards).messages();
}

type Part = keyof TranscriptCards;

type Entry = FoldedMessage & Omit<IdentifiedMessage, "message">;

/** What is known of a call that has no result card. */
const OUTPUT_WITHOUT_RESULT: Readonly<Record<Part, ResultOutput>> = {
  earlier: OUTPUT_TURN_ENDED,
  context: OUTPUT_NOT_HANDED_OVER,
  current: OUTPUT_WAITING,
};

const STEPS_LEFT_OUT = "Earlier steps of this turn are left out.";
const BEFORE_THIS = "What was asked before this point is not shown.";

export function createTranscript(cards: TranscriptCards): Transcript {
  const fold = createMessageFold<Entry>();
  let isEmpty = true;
  const seen = new Set<string>();
  const stepOfCall = new Map<string, Step>();
  /** Calls and results whose thought has not come, by call id. Empty for every box that the kernel wrote. */
  const early = new Map<string, TranscriptCard[]>();
  let repeats = 0;
  let lastThought: TranscriptCard | undefined;
  /** Of the last entry, when that is an assistant message without calls. */
  let spokeLast: { readonly turn: unknown } | null = null;

  function add(card: TranscriptCard, part: Part): void {
    if (seen.has(card.card_id)) return; // T1
    seen.add(card.card_id);
    if (storedEvent(card) !== null) applyEvent(card);
    else if (card.type === "agent.thought") addThought(card, part);
    else if (card.type === "tool.call" || card.type === "tool.result") addToStep(card);
    else if (card.type !== "task.deliverable" || isNews(card, part)) {
      const message = cardMessage(card);
      if (message !== null) push(message, card);
    }
  }

  /** T8 */
  function applyEvent(card: TranscriptCard): void {
    const event = storedEvent(card);
    if (event === null || ("error" in event && event.error !== undefined)) return;
    if (event.event === "truncate") fold.apply({ type: "truncate" });
    else if (event.event === "remove") fold.apply({ type: "remove", targetId: event.target_id });
    else {
      const written = event.message;
      const message = shownMessage(inStoredOrder(written.data)) ?? EMPTY;
      const entry = { id: written.id ?? card.card_id, card, written, message: () => message };
      if (event.event === "append") fold.apply({ type: "append", entry, otherId: card.card_id });
      else fold.apply({ type: "replace", targetId: event.target_id, entry, otherId: card.card_id });
    }
    spokeLast = null;
  }

  function addThought(card: TranscriptCard, part: Part): void {
    const refs = callRefs(card.tool_calls);
    const fresh = refs.filter(
      (ref, n) => !stepOfCall.has(ref.id) && refs.findIndex((other) => other.id === ref.id) === n,
    );
    repeats += refs.length - fresh.length; // T3
    const text = textOf(card);
    if (refs.length > 0 && fresh.length === 0) return;
    lastThought = card;
    if (fresh.length === 0) {
      if (text !== "") push(assistantMessage(text), card);
      return;
    }
    const step = createStep(text, fresh, OUTPUT_WITHOUT_RESULT[part]);
    push(step, card);
    for (const { id } of fresh) {
      stepOfCall.set(id, step);
      for (const waiting of early.get(id) ?? []) addToStep(waiting);
      early.delete(id);
    }
    const dropped = card.metadata.too_many_calls;
    if (typeof dropped === "number" && dropped > 0) push(noteMessage(tooManyCalls(dropped)), card, noteId(card)); // T6
  }

  function addToStep(card: TranscriptCard): void {
    const id = card.tool_call_id ?? "";
    const step = stepOfCall.get(id);
    if (step === undefined) early.set(id, [...(early.get(id) ?? []), card]);
    else if (!step.fill(id, card)) repeats += 1; // T3
  }

  /** A deliverable in this turn's output is of a turn that was stopped in the queue: a turn that delivers asks no more. */
  function isNews(deliverable: TranscriptCard, part: Part): boolean {
    if (part === "current") return false;
    return !repeatsThought(deliverable, lastThought);
  }

  function push(said: ModelMessage | Step, card: TranscriptCard, id = card.card_id): void {
    const turn = card.metadata.agent_turn_id;
    const isAssistant = "fill" in said || said.role === "assistant";
    const isOtherTurn = spokeLast !== null && spokeLast.turn !== turn;
    if (isAssistant && (isEmpty || isOtherTurn)) {
      fold.push({ id: noteId(card), card, message: () => noteMessage(BEFORE_THIS), isStandIn: true }); // T5
    }
    isEmpty = false;
    if ("fill" in said) {
      fold.push({ id, card, message: () => stepMessages(said)[0] });
      fold.push({ id: resultsId(id), card, message: () => stepMessages(said)[1] });
    } else fold.push({ id, card, message: () => said });
    spokeLast = isAssistant && !("fill" in said) ? { turn } : null;
  }

  function read(): IdentifiedMessage[] {
    const all = fold.entries().map((entry): IdentifiedMessage => ({ ...entry, message: entry.message() }));
    if (!fold.isChanged) return all;
    const own = all.filter(({ isStandIn }) => isStandIn !== true);
    return openMessages(pairMessages(own), (before) => ({
      id: before === undefined ? "all:note" : noteId(before.card),
      card: before?.card ?? NO_CARD,
      message: noteMessage(BEFORE_THIS),
      isStandIn: true,
    })); // T8
  }

  const outputs = [...cards.earlier.map(({ output }) => output), cards.current];
  const inOutput = new Set(outputs.flatMap((output) => output.map((card) => card.card_id)));
  const addContext = (context: readonly TranscriptCard[]) => {
    for (const card of context) if (!inOutput.has(card.card_id)) add(card, "context"); // T1
  };
  for (const { context, output, isCut = false } of cards.earlier) {
    addContext(context);
    const [first] = output;
    if (isCut && first !== undefined) push(noteMessage(STEPS_LEFT_OUT), first, `${first.card_id}:cut`);
    for (const card of output) add(card, "earlier");
  }
  addContext(cards.context);
  for (const card of cards.current) add(card, "current");

  return {
    append(added) {
      for (const card of added) add(card, "current");
    },
    messages: () => read().map(({ message }) => message),
    identified: read,
    has: fold.has,
    leftOut() {
      const unplaced = [...early.values()].flat();
      const results = unplaced.filter((card) => card.type === "tool.result").length;
      return { results, calls: unplaced.length - results, repeats };
    },
  };
}

/** Of a message that an extension emptied: it is left out. */
const EMPTY: ModelMessage = { role: "user", content: "" };
const NO_CARD: TranscriptCard = {
  card_id: "",
  type: "",
  content: {},
  metadata: {},
  tool_calls: null,
  tool_call_id: null,
};

/** T7 */
function resultsId(id: string): string {
  return `${id}:results`;
}

function noteId({ card_id }: TranscriptCard): string {
  return `${card_id}:note`;
}

function tooManyCalls(dropped: number): string {
  const were = dropped === 1 ? "1 more call of this message was" : `${dropped} more calls of this message were`;
  return `too_many_calls: ${were} not made. Ask for what is still needed in the next step.`;
}

/** The calls that a thought names; anything else in the column is not a call. */
function callRefs(toolCalls: unknown): { readonly id: string; readonly name: string }[] {
  if (!Array.isArray(toolCalls)) return [];
  return toolCalls.flatMap((ref: unknown) =>
    isJsonObject(ref) && typeof ref.id === "string" && typeof ref.name === "string"
      ? { id: ref.id, name: ref.name }
      : [],
  );
}
