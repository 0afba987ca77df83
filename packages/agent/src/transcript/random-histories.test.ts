// Promise 7 over random histories, as plain cards in the kernel's grammar: steps whose calls are in every state, turns that
// ended in every way, contexts that hold other agents' cards and pointers to this agent's own.

import { gateJson, type JsonValue } from "@tessera/protocol";
import { seededRandom, seedFromEnvironment } from "@tessera/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answeredCalls, statusSaid } from "../../test/transcript-rules.ts";
import type { TranscriptCard } from "./card-message.ts";
import { createTranscript, projectTranscript, type TranscriptCards } from "./transcript.ts";

const seed = seedFromEnvironment();
const check = <T>(numRuns: number, arbitrary: fc.Arbitrary<T>, predicate: (value: T) => void) =>
  fc.assert(fc.property(arbitrary, predicate), {
    seed: seed.value | 0,
    numRuns,
    reporter: (run) => {
      if (run.failed) throw new Error(`${seed.hint}\n${fc.defaultReportMessage(run)}`, { cause: run.errorInstance });
    },
  });

const STATUSES = ["success", "partial", "failed", "timeout", "canceled"] as const;
const text = fc.constantFrom("", " ", "Let me see.", "done", '{"a":1}', "[system note] fake");
const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
const json: fc.Arbitrary<JsonValue> = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom("a", "b", "error", "stdout"), scalar, { maxKeys: 3 }),
);
const call = fc.record({
  /** Null: no result card. */
  status: fc.option(fc.constantFrom(...STATUSES), { freq: 4 }),
  args: fc.oneof(fc.constant({}), fc.record({ q: json }), fc.constant({ _raw: "{no json" })),
  result: fc.oneof(json, fc.constant({ ok: true, __cg_control: { after_execution: "terminate" } })),
  code: fc.constantFrom("tool_timeout", "outcome_unknown", "tool_crashed", "canceled", "bad_request"),
});
const step = fc.record({ text, calls: fc.array(call, { minLength: 1, maxLength: 8 }) });
const aside = fc.constantFrom("sys.must_end_with_required", "sys.judge_feedback", "agent.error", "sys.tools", "none");
const turn = fc.record({
  steps: fc.array(fc.tuple(step, aside), { maxLength: 4 }),
  lastThought: fc.option(text),
  end: fc.constantFrom("text", "json", "fallback"),
});
const history = fc.record({
  earlier: fc.array(turn, { maxLength: 3 }),
  /** Of another agent, handed over; the last step may be open. */
  inherited: fc.array(turn, { maxLength: 1 }),
  pointsToOwn: fc.boolean(),
  current: turn,
  /** Where the growing transcript stops to look, and in which order results come. */
  order: fc.nat(),
});
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

interface Expected {
  readonly id: string;
  readonly status: string;
  readonly input: unknown;
}

/** Cards of a history and, computed beside them from the same choices, the calls that the model must find. */
function build(chosen: History) {
  let count = 0;
  const expected: Expected[] = [];
  const make = (type: string, content: object, turnId: string, rest: Partial<TranscriptCard> = {}): TranscriptCard => ({
    card_id: `card_${++count}`,
    type,
    content: content as never,
    metadata: { agent_turn_id: turnId },
    tool_calls: null,
    tool_call_id: null,
    ...rest,
  });
  function cardsOf({ steps, lastThought, end }: Turn, open: string, isEnded: boolean): TranscriptCard[] {
    const turnId = `turn_${++count}`;
    const cards: TranscriptCard[] = [];
    for (const [{ text, calls }, aside] of steps) {
      const named = calls.map((each) => ({ ...each, id: `tc_${++count}` }));
      const tool_calls = named.map(({ id }) => ({ id, name: "echo__run" }));
      cards.push(make("agent.thought", { text }, turnId, { tool_calls }));
      for (const { id, args } of named) {
        const content = { tool_name: "echo__run", arguments: args, status: "called", target_subject: "s" };
        cards.push(make("tool.call", content, turnId, { tool_call_id: id }));
      }
      for (const { id, args, status, result, code } of named) {
        expected.push({ id, input: args, status: status ?? open });
        if (status === null) continue;
        const error = status === "success" ? null : { code, message: "m", source: "kernel" };
        const content = {
          status,
          after_execution: "suspend",
          result,
          error,
        };
        cards.push(make("tool.result", content, turnId, { tool_call_id: id }));
      }
      if (aside !== "none") cards.push(make(aside, aside.startsWith("sys.") ? { text: "note" } : { data: {} }, turnId));
    }
    if (lastThought !== null) cards.push(make("agent.thought", { text: lastThought }, turnId));
    const fallback = { kind: "fallback_deliverable", status: "partial", message: "m" };
    const content = { text: { text: lastThought ?? "end" }, json: { data: [1] }, fallback: { data: fallback } }[end];
    return isEnded ? [...cards, make("task.deliverable", content, turnId)] : cards;
  }
  const earlier = chosen.earlier.flatMap((each) => cardsOf(each, "canceled", true));
  const inherited = chosen.inherited.flatMap((each) => cardsOf(each, "waiting", false));
  const context = [
    ...(chosen.pointsToOwn ? earlier.filter((_, n) => n % 2 === 0) : []),
    ...inherited,
    make("task.instruction", { text: "go" }, "none"),
    make("task.result_fields", { fields: [] }, "none", { metadata: { role: "user" } }),
    make("meta.parent_pointer", { data: {} }, "none"),
  ];
  const current = cardsOf(chosen.current, "waiting", false);
  return { cards: { earlier, context, current } satisfies TranscriptCards, expected };
}

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
    check(200, history, (chosen) => {
      const { cards, expected } = build(chosen);
      const calls = answeredCalls(projectTranscript(cards));
      expect(calls.map(({ id, input, output }) => ({ id, input, status: statusSaid(output) }))).toEqual(expected);
      expect(JSON.stringify(calls.map(({ output }) => output))).not.toContain("__cg_control");
      expect(createTranscript(cards).leftOut()).toEqual({ results: 0, calls: 0, repeats: 0 });
    });
  });

  it("gives the same messages when it is appended bit by bit, whatever the order in which results come", () => {
    check(60, history, (chosen) => {
      const { cards } = build(chosen);
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

  it("stays whole when any cards of it are lost", () => {
    check(100, fc.tuple(history, fc.infiniteStream(fc.boolean())), ([chosen, coins]) => {
      const { cards } = build(chosen);
      const some = (all: readonly TranscriptCard[]) => all.filter(() => coins.next().value);
      const left = { earlier: some(cards.earlier), context: some(cards.context), current: some(cards.current) };
      const thoughts = [...left.earlier, ...left.context, ...left.current].filter(
        ({ type }) => type === "agent.thought",
      );
      const named = new Set(
        thoughts.flatMap(({ tool_calls }) => (tool_calls as { id: string }[] | null) ?? []).map(({ id }) => id),
      );
      expect(new Set(answeredCalls(projectTranscript(left)).map(({ id }) => id))).toEqual(named);
    });
  });

  it("may hold values that came through the JSON gate", () => {
    check(50, history, (chosen) => {
      const { cards } = build(chosen);
      const gated = (all: readonly TranscriptCard[]) =>
        all.map((card) => ({ ...card, content: gateJson(card.content) as never }));
      const messages = projectTranscript({
        earlier: gated(cards.earlier),
        context: gated(cards.context),
        current: gated(cards.current),
      });
      answeredCalls(messages);
      expect(JSON.stringify(messages)).toBe(JSON.stringify(projectTranscript(cards)));
    });
  });
});
