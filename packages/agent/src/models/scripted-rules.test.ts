import type { JsonObject } from "@tessera/protocol";
import { expect, it } from "vitest";
import { readScriptedRules } from "./scripted-rules.ts";

const rule = (over: object) => ({ rules: [{ reply: { text: "a" } }, { reply: { text: "b" }, ...over }] });

it("reads rules with their defaults", () => {
  const [read] = readScriptedRules({ rules: [{ when: { text: "a+" }, reply: { toolCalls: [{ name: "t" }] } }] });
  expect(String(read?.when.text)).toBe("/a+/");
  expect(read?.reply).toEqual({ text: "", toolCalls: [{ name: "t", arguments: {} }], delayMs: 0 });
});

const MISTAKES: [string, object | undefined, string, string][] = [
  ["no options", undefined, "/rules", "needs `rules`"],
  ["no rules", { rules: [] }, "/rules", "needs `rules`"],
  ["rules that are no list", { rules: {} }, "/rules", "needs `rules`"],
  ["a rule that is no object", { rules: ["x"] }, "/rules/0", "must be an object with when, reply"],
  ["a rule without a reply", { rules: [{ when: {} }] }, "/rules/0/reply", "needs a `reply`"],
  ["a misspelt field of a rule", rule({ wen: {} }), "/rules/1/wen", "known are when, reply"],
  [
    "a misspelt condition",
    rule({ when: { "te/xt": "a" } }),
    "/rules/1/when/te~1xt",
    "known are agent, step, text, tool",
  ],
  ["a step below 0", rule({ when: { step: -1 } }), "/rules/1/when/step", "whole number from 0"],
  ["a step that is text", rule({ when: { step: "0" } }), "/rules/1/when/step", "whole number from 0"],
  ["a pattern that is no text", rule({ when: { text: 42 } }), "/rules/1/when/text", "must be text, not 42"],
  [
    "a broken pattern",
    rule({ when: { text: "(" } }),
    "/rules/1/when/text",
    "not a regular expression that can be used",
  ],
  ["a pattern that could hang an engine", rule({ when: { text: "(a+)+$" } }), "/rules/1/when/text", "only repeats"],
  ["a lookahead", rule({ when: { text: "a(?=b)" } }), "/rules/1/when/text", "(?=…) is a lookahead"],
  ["a back reference", rule({ when: { text: "(a)\\1" } }), "/rules/1/when/text", "\\1 is a back reference"],
  [
    "patterns that are too large together",
    { rules: Array.from({ length: 10 }, () => ({ when: { text: "a{900}" }, reply: { text: "a" } })) },
    "/rules/5/when/text",
    "too large together",
  ],
  ["a misspelt field of a reply", rule({ reply: { txt: "a" } }), "/rules/1/reply/txt", "known are text, toolCalls"],
  ["calls that are no list", rule({ reply: { toolCalls: {} } }), "/rules/1/reply/toolCalls", "must be a list"],
  [
    "a call without a name",
    rule({ reply: { toolCalls: [{}] } }),
    "/rules/1/reply/toolCalls/0/name",
    "needs the `name`",
  ],
  ["a delay that is no number", rule({ reply: { delayMs: "1s" } }), "/rules/1/reply/delayMs", "from 0 to 3600000"],
];

it.each(MISTAKES)("refuses %s and says where it is", (_, options, pointer, message) => {
  expect(() => readScriptedRules(options as JsonObject | undefined)).toThrow(
    expect.objectContaining({
      code: "E_CONFIG_SCHEMA_INVALID",
      message: expect.stringContaining(message),
      details: { pointer },
    }),
  );
});
