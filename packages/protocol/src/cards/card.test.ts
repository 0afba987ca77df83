import { describe, expect, test } from "vitest";
import { type Card, validateCard, validateCardContent } from "./card.ts";
import { validateToolCallContent } from "./card-content.ts";

const invalid = expect.objectContaining({ code: "invalid_card" });
const call: Card = {
  card_id: "card_1",
  project_id: "p1",
  type: "tool.call",
  content: {
    tool_name: "search",
    arguments: { q: "x" },
    status: "called",
    target_subject: "cg.v1r4.p1.c1.cmd.tool.s.q",
  },
  created_at: "2026-01-02T03:04:05.678Z",
  author_id: "a1",
  metadata: { step_id: "step_1" },
  tool_call_id: "tc_1",
};
const thought: Card = {
  card_id: "card_2",
  project_id: "p1",
  type: "agent.thought",
  content: { text: "" },
  created_at: "2026-01-02T03:04:05+00",
  author_id: "a1",
  metadata: {},
  tool_calls: [{ id: "tc_1", name: "search" }],
};

test("well-formed cards pass and come back equal", () => {
  expect(validateCard(call)).toEqual(call);
  expect(validateCard(thought)).toEqual(thought);
  expect(validateCard({ ...call, type: "task.deliverable", content: { data: { fields: [] } } }).type).toBe(
    "task.deliverable",
  );
  const { metadata: _, ...bare } = call;
  expect(validateCard(bare).metadata).toEqual({});
});

describe("a card is refused with", () => {
  test.each([
    ["text as content", { ...call, content: "x" }],
    ["a bare object as content", { ...call, content: { q: 1 } }],
    ["an unknown type", { ...call, type: "tool.calls" }],
    ["meta instead of metadata", { ...call, meta: {} }],
    ["metadata that is a list", { ...call, metadata: [] }],
    ["an id that is none", { ...call, card_id: "a b" }],
    ["an author that is none", { ...call, author_id: "" }],
    ["no call id on a call", { ...call, tool_call_id: null }],
    ["calls on a card that is no thought", { ...call, tool_calls: [] }],
    ["arguments inside a thought's calls", { ...thought, tool_calls: [{ id: "tc_1", name: "s", arguments: {} }] }],
    ["a time that is none", { ...call, created_at: "yesterday" }],
    ["a life of no seconds", { ...call, ttl_seconds: 0 }],
    ["a list", []],
  ])("%s", (_, card) => {
    expect(() => validateCard(card)).toThrow(invalid);
  });

  test("content that is too large or too deep, by the codes of the gate", () => {
    const large = { ...call, content: { ...call.content, arguments: { q: "x".repeat(1024 * 1024) } } };
    expect(() => validateCard(large)).toThrow(expect.objectContaining({ code: "payload_too_large" }));
    const deep = JSON.parse(`${'{"a":'.repeat(80)}1${"}".repeat(80)}`);
    expect(() => validateCardContent("agent.error", { data: deep })).toThrow(
      expect.objectContaining({ code: "too_deep" }),
    );
    expect(() => validateCardContent("agent.thought", { text: "a\0" })).toThrow(
      expect.objectContaining({ code: "schema_invalid" }),
    );
  });
});

test.each([
  ["no tool name", { arguments: {}, status: "called", target_subject: "x" }],
  ["arguments as text", { tool_name: "s", arguments: "{}", status: "called", target_subject: "x" }],
  ["another status", { tool_name: "s", arguments: {}, status: "done", target_subject: "x" }],
  ["no subject", { tool_name: "s", arguments: {}, status: "called", target_subject: "" }],
  ["an unknown key", { tool_name: "s", arguments: {}, status: "called", target_subject: "x", result: 1 }],
])("the content of a call is refused with %s", (_, content) => {
  expect(() => validateToolCallContent(content)).toThrow(invalid);
});

test.each([
  [{ fields: "x" }],
  [{ fields: [{ name: "a" }] }],
  [{ fields: [{ name: "", description: "" }] }],
  [
    {
      fields: [
        { name: "a", description: "" },
        { name: "a", description: "" },
      ],
    },
  ],
])("result fields are refused: %j", (content) => {
  expect(() => validateCardContent("task.result_fields", content)).toThrow(invalid);
});

test("metadata that is too large is refused", () => {
  expect(() => validateCard({ ...call, metadata: { x: "y".repeat(70_000) } })).toThrow(
    expect.objectContaining({ code: "payload_too_large" }),
  );
});
