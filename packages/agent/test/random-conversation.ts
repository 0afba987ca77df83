// Random conversations as plain cards in the kernel's grammar, and the calls that a model must find in them. Shared by tests of
// transcripts and of what providers are sent.

import type { JsonValue } from "@tessera/protocol";
import fc from "fast-check";
import type { TranscriptCard } from "../src/transcript/card-message.ts";
import { MESSAGE_EVENT, MESSAGE_ROLES, type WrittenMessage } from "../src/transcript/message-event.ts";
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

const someId = fc.constantFrom("x", "y", "tc_2", "tc_5", "tc_7");
const part: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  text.map((said) => ({ type: "text", text: said })),
  someId.map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "echo__run", input: { q: 1 } })),
  someId.map((toolCallId) => ({ type: "tool-result", toolCallId, toolName: "echo__run", output: "said" })),
  fc.constant({ type: "image", image: "data:" }),
);
const written: fc.Arbitrary<WrittenMessage> = fc
  .record({
    id: fc.option(fc.constantFrom("note", "other", "card_1")),
    role: fc.constantFrom(...MESSAGE_ROLES),
    content: fc.oneof(text, fc.array(part, { maxLength: 4 }), fc.constant({ response: "an object" })),
  })
  .map(({ id, role, content }) => ({ ...(id === null ? {} : { id }), data: { role, content }, metadata: {} }));
/** Of an extension. `at` and `target` are taken modulo what there is. */
export const messageEvents = fc.array(
  fc.record({
    event: fc.constantFrom("append", "append", "replace", "replace", "remove", "remove", "remove", "truncate"),
    at: fc.nat(),
    target: fc.nat(),
    isResults: fc.boolean(),
    message: written,
  }),
  { maxLength: 8 },
);
type Events = typeof messageEvents extends fc.Arbitrary<infer T> ? T : never;

/** The same cards, with events of extensions anywhere among what turns wrote: at messages, results, notes, and nothing at all. */
export function withEvents({ earlier, context, current }: TranscriptCards, events: Events): TranscriptCards {
  const outputs = [...earlier.map(({ output }) => [...output]), [...current]];
  const all = [...earlier.flatMap((turn) => [...turn.context, ...turn.output]), ...context, ...current];
  const targets = [...all.map(({ card_id }) => card_id), "note", "other", "nothing"];
  for (const [n, { event, at, target, isResults, message }] of events.entries()) {
    const output = outputs[at % outputs.length] ?? [];
    const aim = targets[target % targets.length] ?? "";
    const target_id = isResults ? `${aim}:results` : aim;
    const data = { event, target_id, message };
    const agent_turn_id = String(output[0]?.metadata.agent_turn_id ?? "turn");
    output.splice(target % (output.length + 1), 0, {
      card_id: `event_${n}`,
      type: MESSAGE_EVENT,
      content: { data: JSON.parse(JSON.stringify(data)) },
      metadata: { agent_turn_id, extension: "guard" },
      tool_calls: null,
      tool_call_id: null,
    });
  }
  return {
    earlier: earlier.map((turn, n) => ({ ...turn, output: outputs[n] ?? [] })),
    context,
    current: outputs.at(-1) ?? [],
  };
}
