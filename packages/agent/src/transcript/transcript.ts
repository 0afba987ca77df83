// What the model sees, projected from cards (design promise 7).
//
//   T1. Order: the output of earlier turns, this turn's context, this turn's output (reference Part 3 row 34). A card appears
//       once; a context card that is also in an output is read there.
//   T2. A step is one assistant message and, directly behind it, one tool message with exactly one result for each of its
//       calls, in call order, whenever and in whatever order the results came (faults F15). A call without a result card
//       has one all the same, which says what is known. Nothing can come between the two messages.
//   T3. A call id appears in one message only, and the first result of a call counts (faults F13). What has no place (a
//       result without its call, a call without its thought, a repetition) is left out and counted.
//   T4. Appending costs what is appended. The whole projection is the same thing done once, so the two cannot differ.
//   T5. No assistant message opens the transcript or follows directly on one of another turn: a note comes between, because
//       earlier turns' requests are not part of the record and providers want the user to speak first.
//   T6. Calls beyond what a step may make are in no card. A note behind the step's results says that they were not made.

import { isJsonObject } from "@tessera/protocol";
import type { ModelMessage } from "ai";
import {
  assistantMessage,
  cardMessage,
  deliverableText,
  noteMessage,
  type TranscriptCard,
  textOf,
} from "./card-message.ts";
import { OUTPUT_NOT_HANDED_OVER, OUTPUT_TURN_ENDED, OUTPUT_WAITING, type ResultOutput } from "./result-output.ts";
import { createStep, type Step, stepMessages } from "./step-messages.ts";

export interface TranscriptCards {
  /** The output box before this turn's first position. */
  readonly earlier: readonly TranscriptCard[];
  readonly context: readonly TranscriptCard[];
  /** The output box from this turn's first position on. */
  readonly current: readonly TranscriptCard[];
}

/** Cards that found no place (T3). */
export interface LeftOut {
  readonly results: number;
  readonly calls: number;
  readonly repeats: number;
}

export interface Transcript {
  /** Cards that this turn's output has gained, in box order, as they are read from the store. */
  append(cards: readonly TranscriptCard[]): void;
  /** A snapshot: what is appended later does not change it. */
  messages(): ModelMessage[];
  leftOut(): LeftOut;
}

export function projectTranscript(cards: TranscriptCards): ModelMessage[] {
  return createTranscript(cards).messages();
}

type Part = keyof TranscriptCards;

/** What is known of a call that has no result card. */
const OUTPUT_WITHOUT_RESULT: Readonly<Record<Part, ResultOutput>> = {
  earlier: OUTPUT_TURN_ENDED,
  context: OUTPUT_NOT_HANDED_OVER,
  current: OUTPUT_WAITING,
};

const BEFORE_THIS = "What was asked before this point is not shown.";

export function createTranscript(cards: TranscriptCards): Transcript {
  const entries: (ModelMessage | Step)[] = [];
  const seen = new Set<string>();
  const stepOfCall = new Map<string, Step>();
  /** Calls and results whose thought has not come, by call id. Empty for every box that the kernel wrote. */
  const early = new Map<string, TranscriptCard[]>();
  let repeats = 0;
  let lastThought = { turn: undefined as unknown, text: "" };
  /** Of the last entry, when that is an assistant message without calls. */
  let spokeLast: { readonly turn: unknown } | null = null;

  function add(card: TranscriptCard, part: Part): void {
    if (seen.has(card.card_id)) return; // T1
    seen.add(card.card_id);
    if (card.type === "agent.thought") addThought(card, part);
    else if (card.type === "tool.call" || card.type === "tool.result") addToStep(card);
    else if (card.type !== "task.deliverable" || isNews(card, part)) {
      const message = cardMessage(card);
      if (message !== null) push(message, card);
    }
  }

  function addThought(card: TranscriptCard, part: Part): void {
    const refs = callRefs(card.tool_calls);
    const fresh = refs.filter(
      (ref, n) => !stepOfCall.has(ref.id) && refs.findIndex((other) => other.id === ref.id) === n,
    );
    repeats += refs.length - fresh.length; // T3
    const text = textOf(card);
    if (refs.length > 0 && fresh.length === 0) return;
    lastThought = { turn: card.metadata.agent_turn_id, text };
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
    if (typeof dropped === "number" && dropped > 0) push(noteMessage(tooManyCalls(dropped)), card); // T6
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
    const isSameTurn = lastThought.turn === deliverable.metadata.agent_turn_id;
    return !(isSameTurn && lastThought.text.trim() === deliverableText(deliverable).trim());
  }

  function push(entry: ModelMessage | Step, { metadata }: TranscriptCard): void {
    const turn = metadata.agent_turn_id;
    const isAssistant = "fill" in entry || entry.role === "assistant";
    const isOtherTurn = spokeLast !== null && spokeLast.turn !== turn;
    if (isAssistant && (entries.length === 0 || isOtherTurn)) entries.push(noteMessage(BEFORE_THIS)); // T5
    entries.push(entry);
    spokeLast = isAssistant && !("fill" in entry) ? { turn } : null;
  }

  const inCurrent = new Set(cards.current.map((card) => card.card_id));
  for (const card of cards.earlier) add(card, "earlier");
  for (const card of cards.context) if (!inCurrent.has(card.card_id)) add(card, "context"); // T1
  for (const card of cards.current) add(card, "current");

  return {
    append(added) {
      for (const card of added) add(card, "current");
    },
    messages: () => entries.flatMap((entry) => ("fill" in entry ? stepMessages(entry) : entry)),
    leftOut() {
      const unplaced = [...early.values()].flat();
      const results = unplaced.filter((card) => card.type === "tool.result").length;
      return { results, calls: unplaced.length - results, repeats };
    },
  };
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
