// The fold alone: against a list that is rebuilt for every event, and the pairing of calls and results after any events.

import { seedFromEnvironment } from "@tessera/testkit";
import type { ModelMessage } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createMessageFold,
  type FoldedMessage,
  type MessageChange,
  openMessages,
  pairMessages,
} from "./message-fold.ts";

const seed = seedFromEnvironment();
const check = <T>(arbitrary: fc.Arbitrary<T>, predicate: (value: T) => void) =>
  fc.assert(fc.property(arbitrary, predicate), {
    seed: seed.value | 0,
    numRuns: 400,
    reporter: (run) => {
      if (run.failed) throw new Error(`${seed.hint}\n${fc.defaultReportMessage(run)}`, { cause: run.errorInstance });
    },
  });

type Entry = FoldedMessage & { readonly text: string };
const entry = (id: string, text = id): Entry => ({ id, text, message: () => ({ role: "user", content: text }) });

const output = (value: string) => ({ type: "text" as const, value });
const asks = (...ids: string[]): ModelMessage => ({
  role: "assistant",
  content: [
    { type: "text", text: "Let me see." },
    ...ids.map((toolCallId) => ({ type: "tool-call" as const, toolCallId, toolName: "a__b", input: {} })),
  ],
});
const answers = (...ids: string[]): ModelMessage => ({
  role: "tool",
  content: ids.map((toolCallId) => ({ type: "tool-result", toolCallId, toolName: "a__b", output: output(toolCallId) })),
});
const says = (text: string): ModelMessage => ({ role: "assistant", content: [{ type: "text", text }] });
const user = (content: string): ModelMessage => ({ role: "user", content });
const paired = (...messages: ModelMessage[]) =>
  pairMessages(messages.map((message, n) => ({ id: String(n), message }))).map(({ message }) => message);

describe("events", () => {
  const id = fc.constantFrom("a", "b", "c", "d", "e");
  const move = fc.oneof(
    fc.record({ do: fc.constant("push" as const), id }),
    fc.record({ do: fc.constant("append" as const), id }),
    fc.record({ do: fc.constant("replace" as const), id, by: id }),
    fc.record({ do: fc.constant("remove" as const), id }),
    fc.record({ do: fc.constant("truncate" as const) }),
  );

  it("fold like a list that is made anew for each of them, ids stay unique, and a missing target changes nothing", () => {
    check(fc.array(move, { maxLength: 40 }), (moves) => {
      const fold = createMessageFold<Entry>();
      let list: { id: string; text: string }[] = [];
      moves.forEach((each, n) => {
        const text = `text ${n}`;
        const otherId = `other ${n}`;
        const fresh = (wanted: string, without?: string) =>
          list.some((other) => other.id === wanted && other.id !== without) ? otherId : wanted;
        const isThere = each.do === "truncate" || list.some((other) => "id" in each && other.id === each.id);
        if (each.do === "push") {
          if (isThere) return; // cards have ids of their own
          list = [...list, { id: each.id, text }];
          fold.push(entry(each.id, text));
          return;
        }
        let change: MessageChange<Entry>;
        if (each.do === "append") {
          change = { type: "append", entry: entry(each.id, text), otherId };
          list = [...list, { id: fresh(each.id), text }];
        } else if (each.do === "replace") {
          change = { type: "replace", targetId: each.id, entry: entry(each.by, text), otherId };
          const by = { id: fresh(each.by, each.id), text };
          list = list.map((other) => (other.id === each.id ? by : other));
        } else if (each.do === "remove") {
          change = { type: "remove", targetId: each.id };
          list = list.filter((other) => other.id !== each.id);
        } else {
          change = { type: "truncate" };
          list = [];
        }
        expect(fold.apply(change)).toBe(each.do === "append" || isThere);
        expect(fold.entries().map(({ id, text }) => ({ id, text }))).toEqual(list);
        expect(list.every((other) => fold.has(other.id))).toBe(true);
      });
      expect(new Set(list.map((other) => other.id)).size).toBe(list.length);
    });
  });

  it("without any the fold is what was pushed, and says that it was not changed", () => {
    const fold = createMessageFold<Entry>();
    for (const each of ["a", "b"]) fold.push(entry(each));
    expect(fold.apply({ type: "remove", targetId: "x" })).toBe(false);
    expect([fold.isChanged, fold.entries().map((each) => each.id)]).toEqual([false, ["a", "b"]]);
  });
});

describe("pairing", () => {
  it("takes away results whose call is gone, and calls whose result is gone; text beside a call stays", () => {
    expect(paired(user("q"), answers("1"), says("done"))).toEqual([user("q"), says("done")]);
    expect(paired(user("q"), asks("1"), user("later"))).toEqual([user("q"), says("Let me see."), user("later")]);
    expect(paired(asks("1", "2"), answers("2"))).toEqual([asks("2"), answers("2")]);
    expect(paired(asks("1"), answers("1", "2"))).toEqual([asks("1"), answers("1")]);
    expect(paired(asks("1", "2"), answers("2", "1"))).toEqual([asks("1", "2"), answers("1", "2")]);
  });

  it("takes no result for a call that another message stands between", () => {
    expect(paired(asks("1"), user("between"), answers("1"))).toEqual([says("Let me see."), user("between")]);
  });

  it("keeps one message with a call id, and no empty message", () => {
    expect(paired(asks("1"), answers("1"), asks("1"), answers("1"))).toEqual([
      asks("1"),
      answers("1"),
      says("Let me see."),
    ]);
    expect(paired(user(" "), says(""), user("q"))).toEqual([user("q")]);
  });

  const someIds = fc.array(fc.constantFrom("1", "2", "3", "4"), { maxLength: 3 });
  const message = fc.oneof(
    someIds.map((ids) => asks(...ids)),
    someIds.map((ids) => answers(...ids)),
    fc.constantFrom(user("q"), user(""), says("done"), says(" ")),
  );
  const note = () => ({ id: "note", message: user("note") });

  it("holds after any messages whatever, and holds what holds already as it is", () => {
    check(fc.array(message, { maxLength: 12 }), (messages) => {
      const once = pairMessages(messages.map((each, n) => ({ id: String(n), message: each })));
      once.forEach(({ message: { role, content } }, n) => {
        const calls =
          typeof content === "string" ? [] : content.flatMap((part) => ("input" in part ? part.toolCallId : []));
        const next = once[n + 1]?.message;
        const results =
          next?.role === "tool" ? next.content.flatMap((part) => ("output" in part ? part.toolCallId : [])) : [];
        if (role === "assistant") expect(results).toEqual(calls);
        if (role === "tool") expect(once[n - 1]?.message.role).toBe("assistant");
        expect(typeof content === "string" ? content.trim() : content).not.toHaveLength(0);
      });
      expect(pairMessages(once)).toEqual(once);
      const opened = openMessages(once, note);
      expect(opened[0]?.message.role).toBe("user");
      expect(opened.filter((each) => each.id !== "note")).toEqual(once);
    });
  });
});

it("a conversation of which nothing is left, or that the assistant would open, gets a note", () => {
  const note = (before?: { id: string }) => ({ id: `${before?.id ?? "all"}:note`, message: user("gone") });
  expect(openMessages([], note).map(({ id }) => id)).toEqual(["all:note"]);
  const list = [says("a"), says("b"), user("c")].map((message, n) => ({ id: String(n), message }));
  expect(openMessages(list, note).map(({ id }) => id)).toEqual(["0:note", "0", "1:note", "1", "2"]);
});
