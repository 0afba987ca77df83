// Random conversations as plain cards in the kernel's grammar, and the calls that a model must find in them. Shared by tests of
// transcripts and of what providers are sent.

import type { JsonValue } from "@tessera/protocol";
import fc from "fast-check";
import type { TranscriptCard } from "../src/transcript/card-message.ts";
import type { TranscriptCards } from "../src/transcript/transcript.ts";

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
const aside = fc.constantFrom(
  "sys.must_end_with_required",
  "sys.judge_feedback",
  "agent.error",
  "agent.answer",
  "sys.tools",
  "none",
);
const turn = fc.record({
  steps: fc.array(fc.tuple(step, aside), { maxLength: 4 }),
  lastThought: fc.option(text),
  end: fc.constantFrom("text", "json", "fallback"),
});
export const conversation = fc.record({
  /** With its request, or without one that is shown. */
  earlier: fc.array(fc.tuple(turn, fc.boolean()), { maxLength: 6 }),
  /** Of another agent, handed over; the last step may be open. */
  inherited: fc.array(turn, { maxLength: 1 }),
  pointsToOwn: fc.boolean(),
  current: turn,
  /** Where the growing transcript stops to look, and in which order results come. */
  order: fc.nat(),
});
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;
export type Conversation = typeof conversation extends fc.Arbitrary<infer T> ? T : never;

interface Expected {
  readonly id: string;
  readonly status: string;
  readonly input: unknown;
}

/** Cards of a history and, computed beside them from the same choices, the calls that the model must find. */
export function cardsOfConversation(chosen: Conversation) {
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
  const earlier = chosen.earlier.map(([each, isAsked]) => ({
    context: isAsked ? [make("task.instruction", { text: "earlier" }, "none")] : [],
    output: cardsOf(each, "canceled", true),
  }));
  const inherited = chosen.inherited.flatMap((each) => cardsOf(each, "waiting", false));
  const context = [
    ...(chosen.pointsToOwn ? earlier.flatMap(({ output }) => output).filter((_, n) => n % 2 === 0) : []),
    ...inherited,
    make("task.instruction", { text: "go" }, "none"),
    make("task.result_fields", { fields: [] }, "none", { metadata: { role: "user" } }),
    make("meta.parent_pointer", { data: {} }, "none"),
  ];
  const current = cardsOf(chosen.current, "waiting", false);
  return { cards: { earlier, context, current } satisfies TranscriptCards, expected };
}
