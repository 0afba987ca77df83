// How often and how far earlier turns are read.

import type { CardDocument } from "@tessera/kernel";
import { describe, expect, it } from "vitest";
import { createConversations } from "./conversation.ts";

const MEMORY = { turns: 40, characters: 200_000 };

function fixture(textOf: (n: number) => string = (n) => `turn ${n}`) {
  const asked: { first: number; last: number; read: number }[] = [];
  const card = (n: number): CardDocument => ({
    ...{ card_id: `card_${n}`, project_id: "p", type: "task.instruction", author_id: "user", created_at: "" },
    ...{ content: { text: textOf(n) }, tool_calls: null, tool_call_id: null, metadata: {} },
  });
  const conversations = createConversations({
    reads: {
      async conversation(_project, _agent, { first, last, known = [] }) {
        const numbers = Array.from({ length: last - first + 1 }, (_, n) => first + n);
        const isKnown = (n: number) => known.includes(`turn_${n}`);
        asked.push({ first, last, read: numbers.filter((n) => !isKnown(n)).length });
        return numbers.map((n) => ({
          turn_number: n,
          agent_turn_id: `turn_${n}`,
          context: isKnown(n) ? [] : [card(n)],
          output: [],
        }));
      },
    },
  });
  const before = async (turn_number: number, memory = MEMORY) => {
    const place = { project_id: "p", agent_id: "a", turn_number, conversation_from: 1 };
    return (await conversations.before(place, memory)).map(({ context }) => context[0]?.content.text);
  };
  return { asked, before };
}

describe("the earlier turns of a conversation", () => {
  it("that were read before are one read together with the newest, of which alone cards are read", async () => {
    const { asked, before } = fixture();
    await before(100);
    const whole = await before(101);
    asked.length = 0;
    await before(102);
    expect(asked).toEqual([{ first: 62, last: 101, read: 1 }]);
    expect(whole.at(-1)).toBe("turn 100");
  });

  it("are read in growing pieces where none was read before, and no further than they are remembered", async () => {
    const { asked, before } = fixture();
    await before(100);
    expect(asked.map(({ first, last }) => [first, last])).toEqual([
      [92, 99],
      [76, 91],
      [60, 75],
    ]);
    const long = fixture(() => "x".repeat(1_000));
    await long.before(100, { turns: 40, characters: 5_000 });
    expect(long.asked.map(({ first, last }) => [first, last])).toEqual([[92, 99]]);
    long.asked.length = 0;
    await long.before(101, { turns: 40, characters: 5_000 });
    expect(long.asked.map(({ last, read }) => [last, read])).toEqual([[100, 1]]);
  });

  it("are the same whether they were read before or not", async () => {
    const kept = fixture();
    for (let n = 1; n <= 90; n += 1) expect(await kept.before(n)).toEqual(await fixture().before(n));
  });
});
