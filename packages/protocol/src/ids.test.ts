import { expect, test } from "vitest";
import { isActorId, isId, isInstanceKey, isServiceActorId, isToolName, parseId } from "./ids.ts";

test.each(["a", "turn_0123", "A-b_9", "x".repeat(64), "contract"])("%s is an id", (text) => {
  expect(isId(text)).toBe(true);
});

test.each([
  "",
  "../x",
  "%2e%2e",
  "a/b",
  "x".repeat(65),
  "a.b",
  "*",
  "a\0",
  "🙂",
  "CON",
  "nul",
  "com1",
  "__proto__",
  "a\n",
])("%j is refused as an id", (text) => {
  expect(isId(text)).toBe(false);
  expect(() => parseId(text, "agent_id")).toThrow(expect.objectContaining({ code: "invalid_id" }));
});

test("actors may hold dots, and services start with tool. or sys.", () => {
  expect(isActorId("sys.pmo.batch_manager")).toBe(true);
  expect(isActorId(".x") || isActorId("a..b") || isActorId("") || isActorId("a".repeat(129))).toBe(false);
  expect([isServiceActorId("tool.search"), isServiceActorId("sys.pmo"), isServiceActorId("tools.x")]).toEqual([
    true,
    true,
    false,
  ]);
});

test("an instance key may hold colons, dots and at signs", () => {
  expect(isInstanceKey("user:a@b.c")).toBe(true);
  expect(isInstanceKey("a b") || isInstanceKey("")).toBe(false);
});

test.each([
  ["search", true],
  ["web__search", true],
  ["a__b__c", false],
  ["__b", false],
  ["fоrk_join", false],
  ["fork_join ", false],
])("tool name %j is legal: %s", (name, legal) => {
  expect(isToolName(name)).toBe(legal);
});
