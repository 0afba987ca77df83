import type { JsonObject } from "@tessera/protocol";
import { VirtualClock } from "@tessera/testkit";
import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { ModelCall, ModelChunk } from "../model-port.ts";
import { createModels } from "./create-models.ts";

const user = (text: string): ModelMessage => ({ role: "user", content: text });
const called = (...names: string[]): ModelMessage => ({
  role: "assistant",
  content: names.map((name, index) => ({ type: "tool-call", toolCallId: `c${index}`, toolName: name, input: {} })),
});
type Output = Extract<Extract<ModelMessage, { role: "tool" }>["content"][number], { type: "tool-result" }>["output"];
const result = (name: string, value: unknown, type = "json"): ModelMessage => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId: "c0", toolName: name, output: { type, value } as Output }],
});

function ask(rules: unknown, messages: ModelMessage[], over: Partial<ModelCall> = {}, clock = new VirtualClock()) {
  const chunks: ModelChunk[] = [];
  const models = createModels({ env: {}, clock, onWarning: (warning) => expect.fail(warning) });
  const answer = models.call(
    {
      model: { provider: "scripted", model: "script", options: { rules } as JsonObject },
      agentName: "planner",
      step: 0,
      system: "",
      messages,
      tools: [],
      signal: new AbortController().signal,
      ...over,
    },
    (chunk) => chunks.push(chunk),
  );
  return { answer, chunks };
}

const say = (text: string, when?: object) => ({ ...(when === undefined ? {} : { when }), reply: { text } });

describe("which rule answers", () => {
  const weather = [user("the weather?"), called("weather__forecast"), result("weather__forecast", { city: "Oslo" })];
  const cases: [string, object[], ModelMessage[], Partial<ModelCall>, string][] = [
    ["the first that matches", [say("a", { text: "x" }), say("b"), say("c")], [user("y")], {}, "b"],
    ["by the agent's name", [say("a", { agent: "writer" }), say("b", { agent: "planner" })], [user("y")], {}, "b"],
    ["by the step", [say("a", { step: 0 }), say("b", { step: 2 })], [user("y")], { step: 2 }, "b"],
    [
      "by a pattern on the user's text",
      [say("a", { text: "^rain" }), say("b", { text: "r.in$" })],
      [user("no rain")],
      {},
      "b",
    ],
    [
      "by a pattern on the tool's result",
      [say("a", { text: "weather" }), say("b", { text: '"city":"Oslo"' })],
      weather,
      {},
      "b",
    ],
    [
      "by the tool that answered last",
      [say("a", { tool: "other" }), say("b", { tool: "weather__forecast" })],
      weather,
      {},
      "b",
    ],
    [
      "not by a tool of an earlier turn",
      [say("a", { tool: "weather__forecast" }), say("b")],
      [...weather, user("next")],
      {},
      "b",
    ],
    [
      "when all conditions hold",
      [say("a", { step: 0, text: "z" }), say("b", { step: 0, text: "y" })],
      [user("y")],
      {},
      "b",
    ],
    [
      "by parts of a user message",
      [say("b", { text: "one two" })],
      [
        {
          role: "user",
          content: [
            { type: "text", text: "one " },
            { type: "text", text: "two" },
          ],
        },
      ],
      {},
      "b",
    ],
  ];
  it.each(cases)("%s", async (_, rules, messages, over, expected) => {
    expect((await ask(rules, messages, over).answer).text).toBe(expected);
  });
});

describe("placeholders", () => {
  const step = [
    user("Oslo"),
    called("a", "b"),
    result("a", { n: 1, list: [{ x: true }] }),
    result("b", "text", "text"),
  ];
  const cases: [string, string, string][] = [
    ["the last user text", "say {{input}}!", "say Oslo!"],
    ["the last result as it is, when it is text", "<{{result}}>", "<text>"],
    ["a result of the step as JSON inside text", "<{{results.0}}>", '<{"n":1,"list":[{"x":true}]}>'],
    ["a path with a list index", "<{{ results.0.list.0.x }}>", "<true>"],
    ["several in one text", "{{results.1}}/{{results.0.n}}", "text/1"],
    ["other braces as they are written", "{{name}} {{input.x", "{{name}} {{input.x"],
  ];
  it.each(cases)("fill in %s", async (_, text, expected) => {
    expect((await ask([say(text)], step).answer).text).toBe(expected);
  });

  it("fill in what users said earlier, oldest first, without what they say now", async () => {
    const history = [user("Ann"), called("a"), result("a", 1), user("Bob"), user("now")];
    const said = (text: string) => ask([say(text)], history).answer.then((answer) => answer.text);
    expect(await said("{{earlier}} {{earlier.1}} {{input}}")).toBe('["Ann","Bob"] Bob now');
    expect((await ask([say("{{earlier}}")], [user("now")]).answer).text).toBe("[]");
  });

  it("are not read again in what was filled in", async () => {
    expect((await ask([say("{{input}}")], [user("{{result}}")]).answer).text).toBe("{{result}}");
  });

  it("keep a value's type when they stand alone, at any depth of the arguments", async () => {
    const given = {
      a: "{{results.0}}",
      b: [{ c: "{{results.0.n}}", d: "n={{results.0.n}}" }],
      e: "{{input}}",
      f: 7,
      g: null,
    };
    const { answer } = ask([{ reply: { toolCalls: [{ name: "t", arguments: given }] } }], step);
    expect((await answer).tool_calls).toEqual([
      {
        name: "t",
        arguments: { a: { n: 1, list: [{ x: true }] }, b: [{ c: 1, d: "n=1" }], e: "Oslo", f: 7, g: null },
      },
    ]);
  });

  it("unwrap every shape of a tool's output", async () => {
    for (const [type, value] of [
      ["json", { x: "v" }],
      ["error-json", { x: "v" }],
    ] as const) {
      const messages = [user("u"), called("t"), result("t", value, type)];
      expect((await ask([say("{{result.x}}")], messages).answer).text).toBe("v");
    }
    const content = [user("u"), called("t"), result("t", [{ type: "text", text: "v" }], "content")];
    expect((await ask([say("{{result}}")], content).answer).text).toBe("v");
  });

  const failed = { error: { code: "internal_error", message: "list is not iterable" } };
  const long = { text: "x".repeat(400) };

  it.each([
    ["{{result}}", [], ": no tool has answered"],
    ["{{results.0}}", [], ": no tool has answered"],
    ["{{earlier.0}}", [], ""],
    [
      "{{result.words}}",
      [called("t"), result("t", failed, "error-json")],
      `: the last result is ${JSON.stringify(failed)}`,
    ],
    [
      "{{results.9.x}}",
      [called("t"), result("t", long)],
      `: the last result is ${JSON.stringify(long).slice(0, 300)}…`,
    ],
  ] as const)("without a value fail the call, which says what the last result is: %s", async (text, after, found) => {
    await expect(ask([say(text)], [user("u"), ...after]).answer).rejects.toMatchObject({
      code: "E_CONFIG_SCHEMA_INVALID",
      message: `the scripted model script has no value for ${text} in the reply of rules[0]${found}`,
    });
  });

  it("never reach what an object inherits", async () => {
    const messages = [user("u"), called("t"), result("t", { x: 1 })];
    await expect(ask([say("{{result.constructor}}")], messages).answer).rejects.toMatchObject({
      code: "E_CONFIG_SCHEMA_INVALID",
    });
  });
});

describe("an answer", () => {
  it("streams text in several chunks that add up, then its calls, without call ids", async () => {
    const text = "It will rain in Oslo tomorrow,\nso take an umbrella with you. ";
    const reply = { text, toolCalls: [{ name: "t" }, { name: "t", arguments: "not json" }] };
    const { answer, chunks } = ask([{ reply }], [user("u")]);
    expect(await answer).toMatchObject({
      text,
      tool_calls: [
        { name: "t", arguments: {} },
        { name: "t", arguments: "not json" },
      ],
      finish_reason: "tool-calls",
      provider: "scripted",
      model: "script",
    });
    const content = chunks.filter((chunk) => chunk.type === "content");
    expect(content.length).toBeGreaterThan(2);
    expect(content.map((chunk) => chunk.text).join("")).toBe(text);
    expect(chunks.slice(content.length)).toEqual([
      { type: "tool_call", text: "t {}" },
      { type: "tool_call", text: "t not json" },
    ]);
  });

  it("that is long streams in a bounded number of chunks", async () => {
    const text = "word ".repeat(20_000);
    const { answer, chunks } = ask([say(text)], [user("u")]);
    expect((await answer).text).toBe(text);
    expect(chunks.map((chunk) => chunk.text).join("")).toBe(text);
    expect(chunks.length).toBeLessThanOrEqual(257);
  });

  it("is the same each time, usage and cost included", async () => {
    const model = {
      provider: "scripted",
      model: "script",
      options: { rules: [say("12345678")], pricing: { input_per_million: 1_000_000, output_per_million: 2_000_000 } },
    } as ModelCall["model"];
    const first = await ask([], [user("1234")], { model }).answer;
    expect(first).toEqual(await ask([], [user("1234")], { model }).answer);
    expect(first).toMatchObject({
      usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      response_cost: 5,
      finish_reason: "stop",
    });
  });

  it("waits for its delay on the clock", async () => {
    const clock = new VirtualClock();
    const { answer, chunks } = ask([{ reply: { text: "late", delayMs: 500 } }], [user("u")], {}, clock);
    await clock.advance(499);
    expect(chunks).toEqual([]);
    await clock.advance(1);
    expect((await answer).text).toBe("late");
  });

  it("that is delayed ends at once when the turn is stopped, and leaves no timer", async () => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const { answer } = ask([{ reply: { text: "late", delayMs: 500 } }], [user("u")], { signal: stop.signal }, clock);
    stop.abort();
    await expect(answer).rejects.toMatchObject({ code: "canceled" });
    expect(clock.pending).toBe(0);
  });

  it("can be an error", async () => {
    await expect(ask([{ reply: { error: "no {{input}}" } }], [user("luck")]).answer).rejects.toMatchObject({
      code: "model_failed",
      message: "the scripted model script failed as rules[0] says: no luck",
      details: { provider: "scripted", model: "script", retryable: false, attempts: 1 },
    });
  });
});

describe("no matching rule", () => {
  it("shows the message and the rules", async () => {
    const rules = [say("a", { agent: "writer", step: 1 }), say("b", { text: "^x", tool: "t" })];
    await expect(ask(rules, [user("who are you?")], { step: 3 }).answer).rejects.toMatchObject({
      code: "E_CONFIG_SCHEMA_INVALID",
      message:
        'the scripted model script has no rule for agent planner, step 3, user message "who are you?". ' +
        "There are rules[0] agent writer, step 1; rules[1] text /^x/, tool t",
    });
  });

  it("stays short for long messages and many rules, and names the tool that answered", async () => {
    const rules = Array.from({ length: 100 }, (_, index) => say("a", { step: index + 1 }));
    const messages = [user("u"), called("t"), result("t", "x".repeat(100_000))];
    const error = await ask(rules, messages).answer.catch((thrown: Error) => thrown);
    expect((error as Error).message).toContain("tool t message");
    expect((error as Error).message).toContain("; and 88 more");
    expect((error as Error).message.length).toBeLessThan(1_000);
  });
});

it("a pattern of a stored profile that could hang an engine fails the call, not the process", async () => {
  const hostile = [user(`${"a".repeat(48)}!`)];
  await expect(ask([say("a", { text: "(a+)+$" })], hostile).answer).rejects.toMatchObject({
    code: "E_CONFIG_SCHEMA_INVALID",
    message: expect.stringContaining("/rules/0/when/text"),
  });
});

it("the most expensive patterns that are accepted take bounded time on a long message", async () => {
  const rules = [say("a", { text: "(?:a?){600}a{600}b" }), say("b", { text: "(?:a?){300}a{300}b" }), say("c")];
  const started = process.cpuUsage();
  expect((await ask(rules, [user("a".repeat(1_000_000))]).answer).text).toBe("c");
  expect(process.cpuUsage(started).user / 1e3).toBeLessThan(5_000);
});

it("rules that cannot be read fail the call with their place", async () => {
  await expect(ask([{ reply: 1 }], [user("u")]).answer).rejects.toMatchObject({
    code: "E_CONFIG_SCHEMA_INVALID",
    message: expect.stringContaining("/rules/0/reply"),
  });
});
