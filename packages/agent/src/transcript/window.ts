// Which earlier turns a turn is sent: the newest that fit the memory of its agent.
//
//   R1. It follows from the turn's place, the turns themselves and the policy, and from nothing else: a turn that is taken up again is
//       sent what it was sent before.
//   R2. The beginning moves in jumps. If it moved with every turn, no two turns would be sent the same beginning, and what a provider
//       keeps of the last request would be of no use for the next one. It is the roundest number (the one with the most twos in it)
//       among the beginnings that leave at least half of what would fit.
//   R3. Whole turns. One turn that alone is too long is cut between its steps: its request stays, its oldest steps go. A call is never
//       parted from its result.
//   R4. What an extension replaced or took away of the request stays so, also where the event is among the steps that go: the request
//       may hold what the model must not be shown again.

import type { MemoryPolicy } from "../profile.ts";
import { repeatsThought, type TranscriptCard } from "./card-message.ts";
import { storedEvent } from "./message-event.ts";
import { type EarlierTurn, projectTranscript } from "./transcript.ts";

/** An earlier turn, and how much of a request it fills. */
export interface SizedTurn extends EarlierTurn {
  /** Its place among the turns of its agent. */
  readonly turn_number: number;
  readonly characters: number;
}

/** The turns that are sent, of the newest ones. `isWhole`: the conversation has no others. */
export function windowOf(turns: readonly SizedTurn[], policy: MemoryPolicy, isWhole: boolean): readonly EarlierTurn[] {
  if (policy.turns === 0) return [];
  const fitting = fit(turns, policy);
  const first = turns.length - fitting.count;
  if (first === 0 && isWhole) return turns.map((turn) => trimTurn(turn, policy.characters));
  const last = lastBeginning(turns, first, fitting);
  const beginning = roundest(numberAt(turns, first), numberAt(turns, last)); // R2
  const kept = turns.filter(({ turn_number }) => turn_number >= beginning);
  return kept.map((turn) => trimTurn(turn, policy.characters));
}

/** How many characters a turn adds to a request. */
export function charactersOf({ context, output }: EarlierTurn): number {
  return JSON.stringify(projectTranscript({ earlier: [{ context, output }], context: [], current: [] })).length;
}

/** How many of the newest turns fit, and their size; always the last one (R3). */
function fit(
  turns: readonly SizedTurn[],
  policy: MemoryPolicy,
): { readonly count: number; readonly characters: number } {
  let [count, characters] = [0, 0];
  for (const turn of turns.toReversed()) {
    const isTooMuch = count >= policy.turns || characters + turn.characters > policy.characters;
    if (isTooMuch && count > 0) break;
    count += 1;
    characters += turn.characters;
  }
  return { count, characters };
}

/** R2. The last beginning that leaves half of the turns and half of the characters that fit. */
function lastBeginning(
  turns: readonly SizedTurn[],
  first: number,
  fitting: { readonly count: number; readonly characters: number },
): number {
  let [at, left] = [first, fitting.characters];
  while (at + 1 < turns.length) {
    left -= turns[at]?.characters ?? 0;
    if (turns.length - at - 1 < fitting.count / 2 || left < fitting.characters / 2) break;
    at += 1;
  }
  return at;
}

/** The number from `low` to `high` that the highest power of two divides. */
function roundest(low: number, high: number): number {
  let power = 1;
  while (Math.floor(high / (power * 2)) * power * 2 >= low) power *= 2;
  return Math.floor(high / power) * power;
}

function numberAt(turns: readonly SizedTurn[], index: number): number {
  return turns[index]?.turn_number ?? 1;
}

/** R3 */
export function trimTurn(turn: SizedTurn, charactersMax: number): EarlierTurn {
  const { context, output } = turn;
  if (turn.characters <= charactersMax) return { context, output };
  const parts = partsOf(output);
  let size = charactersOf({ context, output: output.filter(isEdit) });
  let first = parts.length;
  while (first > 0) {
    size += charactersOf({ context: [], output: parts[first - 1] ?? [] });
    if (size > charactersMax && first < parts.length) break;
    first -= 1;
  }
  const old = parts.slice(0, first).flat();
  const edits = old.filter(isEdit); // R4
  return { context, output: [...edits, ...parts.slice(first).flat()], isCut: edits.length < old.length };
}

/** An event that changes messages before it. */
function isEdit(card: TranscriptCard): boolean {
  const event = storedEvent(card);
  return event !== null && event.event !== "append";
}

/** A step's thought with its calls and results and the deliverable that repeats it, or one other card. */
function partsOf(output: readonly TranscriptCard[]): TranscriptCard[][] {
  const parts: TranscriptCard[][] = [];
  const partOfCall = new Map<string, TranscriptCard[]>();
  let answer: TranscriptCard[] | undefined;
  for (const card of output) {
    const ofCall = card.tool_call_id === null ? undefined : partOfCall.get(card.tool_call_id);
    const known = ofCall ?? (repeatsThought(card, answer?.[0]) ? answer : undefined);
    if (known !== undefined) known.push(card);
    else {
      const part = [card];
      parts.push(part);
      if (card.type === "agent.thought") answer = part;
      const calls = Array.isArray(card.tool_calls) ? (card.tool_calls as { readonly id?: string }[]) : [];
      for (const { id } of calls) if (id !== undefined) partOfCall.set(id, part);
    }
  }
  return parts;
}
