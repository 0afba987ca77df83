import { isJsonObject } from "@tessera/protocol";
import { seededRandom, seedFromEnvironment } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { answeredCalls } from "../../test/transcript-rules.ts";
import type { TranscriptCard } from "./card-message.ts";
import { projectTranscript } from "./transcript.ts";
import { charactersOf, type SizedTurn, trimTurn, windowOf } from "./window.ts";

let made = 0;
function card(type: string, content: object, rest: Partial<TranscriptCard> = {}): TranscriptCard {
  made += 1;
  const metadata = { agent_turn_id: "turn_1" };
  return {
    card_id: `card_${made}`,
    type,
    content: content as never,
    metadata,
    tool_calls: null,
    tool_call_id: null,
    ...rest,
  };
}
const instruction = (text: string) => card("task.instruction", { text });
const sized = (turn_number: number, characters: number): SizedTurn => ({
  turn_number,
  characters,
  context: [instruction(`turn ${turn_number}`)],
  output: [],
});
const turnsUpTo = (last: number, characters: (n: number) => number = () => 10) =>
  Array.from({ length: last }, (_, n) => sized(n + 1, characters(n + 1)));
const numbers = (window: ReturnType<typeof windowOf>) =>
  window.map(({ context }) => Number(String(context[0]?.content.text).split(" ")[1]));

function stepOf(id: string, said: string): TranscriptCard[] {
  const named = [{ id, name: "echo__run" }];
  return [
    card("agent.thought", { text: said }, { tool_calls: named }),
    card(
      "tool.call",
      { tool_name: "echo__run", arguments: {}, status: "called", target_subject: "s" },
      { tool_call_id: id },
    ),
    card(
      "tool.result",
      { status: "success", after_execution: "suspend", result: said, error: null },
      { tool_call_id: id },
    ),
  ];
}

describe("the window", () => {
  it("is the whole conversation while it fits, and nothing for a memory of nothing", () => {
    const turns = turnsUpTo(5);
    expect(numbers(windowOf(turns, { turns: 5, characters: 50 }, true))).toEqual([1, 2, 3, 4, 5]);
    expect(windowOf(turns, { turns: 0, characters: 50 }, true)).toEqual([]);
  });

  it("never holds more turns or characters than the policy says, and at least half of what fits", () => {
    for (let last = 1; last < 200; last += 1) {
      const window = numbers(windowOf(turnsUpTo(last), { turns: 16, characters: 10_000 }, true));
      expect(window.at(-1)).toBe(last);
      expect(window.length).toBeLessThanOrEqual(16);
      expect(window.length).toBeGreaterThanOrEqual(Math.min(last, 8));
      const narrow = windowOf(turnsUpTo(last), { turns: 100, characters: 95 }, true);
      expect(narrow.length * 10).toBeLessThanOrEqual(95);
    }
  });

  it("begins alike for many turns, so that what a provider keeps of a request serves the next ones", () => {
    const beginnings = Array.from({ length: 400 }, (_, n) =>
      windowOf(turnsUpTo(n + 1), { turns: 16, characters: 10_000 }, true),
    )
      .map(numbers)
      .map(([first]) => first);
    const jumps = beginnings.filter((first, n) => n > 0 && first !== beginnings[n - 1]).length;
    expect(jumps).toBeLessThanOrEqual(400 / 4);
    expect(beginnings).toEqual(beginnings.toSorted((a, b) => Number(a) - Number(b)));
  });

  it("is the same whether more of the past was read than it holds, or not", () => {
    const seed = seedFromEnvironment();
    const random = seededRandom(seed.value);
    for (let round = 0; round < 300; round += 1) {
      const turns = turnsUpTo(1 + Math.floor(random() * 80), () => 1 + Math.floor(random() * 100));
      const policy = { turns: 1 + Math.floor(random() * 40), characters: 50 + Math.floor(random() * 1_500) };
      const whole = numbers(windowOf(turns, policy, true));
      const newest = turns.slice(-policy.turns);
      expect(numbers(windowOf(newest, policy, newest.length === turns.length)), seed.hint).toEqual(whole);
    }
  });

  it("holds the last turn even where that alone is too long", () => {
    const turns = turnsUpTo(3, (n) => (n === 3 ? 1_000 : 10));
    expect(numbers(windowOf(turns, { turns: 5, characters: 100 }, true))).toEqual([3]);
  });
});

describe("a turn that is too long", () => {
  const context = [instruction("go")];
  const output = Array.from({ length: 20 }, (_, n) => stepOf(`tc_${n}`, `step ${n} ${"x".repeat(100)}`)).flat();
  const turn = (cards: TranscriptCard[]): SizedTurn => ({
    turn_number: 1,
    context,
    output: cards,
    characters: charactersOf({ context, output: cards }),
  });

  it("keeps its request and its last steps, whole, and says that steps are left out", () => {
    for (const characters of [100, 500, 1_500, 3_000]) {
      const trimmed = trimTurn(turn(output), characters);
      const messages = projectTranscript({ earlier: [trimmed], context: [], current: [] });
      const calls = answeredCalls(messages);
      expect(calls.length).toBeGreaterThan(0);
      expect(calls.length).toBeLessThan(20);
      expect(calls.at(-1)?.id).toBe("tc_19");
      expect(messages.slice(0, 2).map(({ content }) => content)).toEqual([
        "go",
        "[system note] Earlier steps of this turn are left out.",
      ]);
      if (calls.length > 1) expect(JSON.stringify(messages).length).toBeLessThan(characters + 200);
    }
  });

  it("counts an answer once, which its last thought and its deliverable say, and leaves no step out where only that is long", () => {
    const answer = (text: string) => [card("agent.thought", { text }), card("task.deliverable", { text })];
    const text = "y".repeat(1_000);
    const alone = trimTurn(turn(answer(text)), 500);
    expect(projectTranscript({ earlier: [alone], context: [], current: [] })).toHaveLength(2);
    const steps = [...output.slice(0, 6), ...answer(text)];
    const trimmed = trimTurn(turn(steps), charactersOf({ context, output: steps }) - 100);
    expect(trimmed.output).toEqual(steps.slice(3));
  });

  it("keeps what an extension made of its request, whose event is among the steps that are left out", () => {
    const target_id = String(context[0]?.card_id);
    const event = (data: object) => card("sys.message_event", { data });
    const message = { data: { role: "user", content: "redacted" }, metadata: {} };
    const shown = (edit: TranscriptCard) => {
      const trimmed = trimTurn(turn([edit, ...output]), 500);
      return projectTranscript({ earlier: [trimmed], context: [], current: [] }).map(({ content }) => content);
    };
    expect(shown(event({ event: "replace", target_id, message })).slice(0, 2)).toEqual([
      "redacted",
      "[system note] Earlier steps of this turn are left out.",
    ]);
    expect(shown(event({ event: "remove", target_id }))[0]).toBe(
      "[system note] Earlier steps of this turn are left out.",
    );
    expect(shown(event({ event: "truncate" }))).not.toContain("go");
    expect(shown(event({ event: "append", message }))).not.toContain("redacted");
    const alone = trimTurn(turn([event({ event: "remove", target_id: "card_gone" }), ...output.slice(-3)]), 10);
    expect(alone.isCut).toBe(false);
  });

  it("stays as it is where it fits", () => {
    expect(trimTurn(turn(output), 1_000_000)).toEqual({ context, output });
  });

  it("is cut only between steps, also where results come late", () => {
    const late = [...stepOf("tc_a", "first"), ...stepOf("tc_b", "second")];
    const [thoughtA, callA, resultA, ...rest] = late;
    const mixed = [thoughtA, callA, ...rest, resultA].filter((each) => each !== undefined);
    const trimmed = trimTurn(turn(mixed), 100);
    expect(trimmed.output.map(({ tool_call_id, type }) => [type, tool_call_id])).toEqual(
      rest.map(({ tool_call_id, type }) => [type, tool_call_id]),
    );
    expect(trimmed.output.every(({ content }) => isJsonObject(content))).toBe(true);
  });
});
