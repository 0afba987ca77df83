// Promise 7 over random histories, as plain cards in the kernel's grammar: steps whose calls are in every state, turns that
// ended in every way, contexts that hold other agents' cards and pointers to this agent's own.

import { gateJson } from "@tessera/protocol";
import { seededRandom, seedFromEnvironment } from "@tessera/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cardsOfConversation, conversation, messageEvents, withEvents } from "../../test/random-conversation.ts";
import { answeredCalls, statusSaid } from "../../test/transcript-rules.ts";
import type { TranscriptCard } from "./card-message.ts";
import { createTranscript, projectTranscript } from "./transcript.ts";

const seed = seedFromEnvironment();
const check = <T>(numRuns: number, arbitrary: fc.Arbitrary<T>, predicate: (value: T) => void) =>
  fc.assert(fc.property(arbitrary, predicate), {
    seed: seed.value | 0,
    numRuns,
    reporter: (run) => {
      if (run.failed) throw new Error(`${seed.hint}\n${fc.defaultReportMessage(run)}`, { cause: run.errorInstance });
    },
  });

/** The order in which cards of a box may be written: results of one step in any order, all else as it stands. */
function asWritten(cards: readonly TranscriptCard[], random: () => number): TranscriptCard[] {
  const written: TranscriptCard[] = [];
  const results: TranscriptCard[] = [];
  const flush = () => {
    for (; results.length > 0; ) written.push(...results.splice(Math.floor(random() * results.length), 1));
  };
  for (const card of cards) {
    if (card.type === "tool.result") results.push(card);
    else {
      flush();
      written.push(card);
    }
  }
  flush();
  return written;
}

describe("any history of cards", () => {
  it("becomes messages in which every call has exactly one result, in call order, saying how it ended", () => {
    check(200, conversation, (chosen) => {
      const { cards, expected } = cardsOfConversation(chosen);
      const calls = answeredCalls(projectTranscript(cards));
      expect(calls.map(({ id, input, output }) => ({ id, input, status: statusSaid(output) }))).toEqual(expected);
      expect(JSON.stringify(calls.map(({ output }) => output))).not.toContain("__cg_control");
      expect(createTranscript(cards).leftOut()).toEqual({ results: 0, calls: 0, repeats: 0 });
    });
  });

  it("gives the same messages when it is appended bit by bit, whatever the order in which results come", () => {
    check(60, conversation, (chosen) => {
      const { cards } = cardsOfConversation(chosen);
      const random = seededRandom(chosen.order);
      const growing = createTranscript({ ...cards, current: [] });
      const rest = asWritten(cards.current, random);
      for (const so: TranscriptCard[] = []; rest.length > 0; ) {
        const added = rest.splice(0, 1 + Math.floor(random() * 4));
        growing.append(added);
        so.push(...added);
        if (random() > 0.3) continue;
        expect(growing.messages()).toEqual(projectTranscript({ ...cards, current: so }));
        answeredCalls(growing.messages());
      }
      expect(growing.messages()).toEqual(projectTranscript(cards));
    });
  });

  it("keeps a result for every call and a call for every result, whatever extensions did to its messages", () => {
    const left = { calls: 0, changed: 0 };
    check(120, fc.tuple(conversation, messageEvents), ([chosen, events]) => {
      const { cards, expected } = cardsOfConversation(chosen);
      const eventful = withEvents(cards, events);
      const messages = projectTranscript(eventful);
      expect(messages.length).toBeGreaterThan(0);
      const calls = answeredCalls(messages);
      left.calls += calls.length;
      if (calls.length !== expected.length) left.changed += 1;
      const growing = createTranscript({ ...eventful, current: [] });
      for (const [n, card] of eventful.current.entries()) {
        growing.append([card]);
        if (n === chosen.order % eventful.current.length) answeredCalls(growing.messages());
      }
      expect(growing.messages()).toEqual(messages);
    });
    expect(left.calls).toBeGreaterThan(120); // events leave something to look at, and do something
    expect(left.changed).toBeGreaterThan(12);
  });

  it("stays whole when any cards of it are lost", () => {
    check(100, fc.tuple(conversation, fc.infiniteStream(fc.boolean())), ([chosen, coins]) => {
      const { cards } = cardsOfConversation(chosen);
      const some = (all: readonly TranscriptCard[]) => all.filter(() => coins.next().value);
      const earlier = cards.earlier.map(({ context, output }) => ({ context: some(context), output: some(output) }));
      const left = { earlier, context: some(cards.context), current: some(cards.current) };
      const thoughts = [...earlier.flatMap(({ output }) => output), ...left.context, ...left.current].filter(
        ({ type }) => type === "agent.thought",
      );
      const named = new Set(
        thoughts.flatMap(({ tool_calls }) => (tool_calls as { id: string }[] | null) ?? []).map(({ id }) => id),
      );
      expect(new Set(answeredCalls(projectTranscript(left)).map(({ id }) => id))).toEqual(named);
    });
  });

  it("may hold values that came through the JSON gate", () => {
    check(50, conversation, (chosen) => {
      const { cards } = cardsOfConversation(chosen);
      const gated = (all: readonly TranscriptCard[]) =>
        all.map((card) => ({ ...card, content: gateJson(card.content) as never }));
      const messages = projectTranscript({
        earlier: cards.earlier.map(({ context, output }) => ({ context: gated(context), output: gated(output) })),
        context: gated(cards.context),
        current: gated(cards.current),
      });
      answeredCalls(messages);
      expect(JSON.stringify(messages)).toBe(JSON.stringify(projectTranscript(cards)));
    });
  });
});
