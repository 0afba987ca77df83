import { expect, it } from "vitest";
import type { Message } from "./api.ts";
import { createConversationState, isJsonValue, type MessageEvent } from "./conversation.ts";

const message = (id: string): Message => ({
  ...{ id, data: { role: "user", content: id }, metadata: {}, createdAt: new Date(0), source: { type: "user" } },
});

it("events are folded in order, and a target that is not there changes nothing", () => {
  const events: MessageEvent[] = [
    { type: "append", message: message("c") },
    { type: "replace", targetId: "a", message: message("A") },
    { type: "remove", targetId: "b" },
    { type: "remove", targetId: "gone" },
    { type: "replace", targetId: "gone", message: message("x") },
  ];
  const state = createConversationState([message("a"), message("b")], events);
  expect(state.nextMessages.map(({ id }) => id)).toEqual(["A", "c"]);
  expect(state.toLlmMessages()).toEqual([
    { role: "user", content: "A" },
    { role: "user", content: "c" },
  ]);
  expect(state.baseMessages.map(({ id }) => id)).toEqual(["a", "b"]);
  expect(createConversationState(state.nextMessages, [{ type: "truncate" }]).nextMessages).toEqual([]);
});

it("only what JSON can say is a JSON value", () => {
  for (const value of [null, 0, "", false, [1, { a: [] }], Object.create(null)]) expect(isJsonValue(value)).toBe(true);
  for (const value of [undefined, Number.NaN, new Date(), [undefined], { a: () => 1 }, 1n]) {
    expect(isJsonValue(value)).toBe(false);
  }
});
