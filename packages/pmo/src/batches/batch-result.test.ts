// What a deliverable looks like in one line.

import { describe, expect, it } from "vitest";
import { summaryOf } from "./batch-result.ts";

describe("a summary", () => {
  it.each([
    ["text is the text", { text: "all is well" }, "all is well"],
    [
      "five fields are shown of many",
      { data: { fields: [1, 2, 3, 4, 5, 6].map((n) => ({ name: `n${n}`, value: n })) } },
      "n1: 1 | n2: 2 | n3: 3 | n4: 4 | n5: 5",
    ],
    [
      "values that are not text are shown as JSON",
      { data: { fields: [{ name: "a", value: { b: [1] } }, { name: "c" }] } },
      'a: {"b":[1]} | c: null',
    ],
    ["data without fields is shown as JSON", { data: { answer: 42 } }, '{"answer":42}'],
    ["content that says nothing has none", { other: 1 }, null],
  ])("%s", (_what, content, expected) => {
    expect(summaryOf(content)).toBe(expected);
  });

  it("is cut, so that fifty of them fit into a card", () => {
    const summary = summaryOf({ text: "x".repeat(100_000) });
    expect(summary).toHaveLength(4_000);
    expect(summary).toMatch(/truncated/);
  });
});
