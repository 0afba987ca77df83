// The extensions that come with the product, in the loop.

import { waitFor } from "@tessera/testkit";
import { beforeEach, describe, expect, it } from "vitest";
import { fx, host, logs, runnerWith, serviceTool, useExtensionBench } from "../../../test/extension-bench.ts";
import type { AgentProfile } from "../../profile.ts";
import { BUILTIN_EXTENSIONS } from "./index.ts";

useExtensionBench();

const uses = (name: string, config: object = {}) =>
  ({ extensions: [{ name, package: "@tessera/base", config }] }) as Partial<AgentProfile>;
const sent = () => fx.modelCalls.map(({ messages }) => messages.map(({ content }) => textOf(content)));
const textOf = (content: unknown) =>
  typeof content === "string"
    ? content
    : (content as { text?: string; type: string }[]).map((p) => p.text ?? p.type).join();

let agent: Awaited<ReturnType<typeof fx.agent>>;
async function open(profile: Partial<AgentProfile>) {
  const extensions = host();
  await fx.worker({ extensions, runner: runnerWith(extensions) });
  agent = await fx.agent(profile);
}
async function ask(input: string) {
  const id = await fx.enqueue(agent, input);
  return { id, ended: await fx.ended(id) };
}

beforeEach(() => {
  fx.script = ({ messages }) => ({
    text: `answer to ${textOf(messages.findLast(({ role }) => role === "user")?.content)}`,
  });
});

it("all seven have names of Goondan's, and a process without a bundle has them", () => {
  expect(BUILTIN_EXTENSIONS.map(({ name }) => name)).toEqual([
    "context-message",
    "inter-agent-response-format",
    "logging",
    "message-compaction",
    "message-window",
    "required-tools-guard",
    "tool-search",
  ]);
});

it("a configuration with a mistake keeps the turns from running, and says which field", async () => {
  await open(uses("message-window", { maxMessage: 3 }));
  const { ended } = await ask("go");
  expect(ended.error_code).toBe("E_EXT_LOAD");
  expect(fx.warnings.join("\n")).toContain("did you mean `maxMessages`");
});

it("message-window sends the newest messages, turn by turn", async () => {
  await open(uses("message-window", { maxMessages: 3 }));
  for (const input of ["one", "two", "three"]) await ask(input);
  expect(sent()).toEqual([["one"], ["one", "answer to one", "two"], ["two", "answer to two", "three"]]);
  await fx.expectSafe();
});

describe("message-compaction", () => {
  it("takes the oldest messages until the limits hold, keeps the request, and says how many went", async () => {
    await open(uses("message-compaction", { maxMessages: 3, retainLastMessages: 1 }));
    for (const input of ["one", "two", "three", "four"]) await ask(input);
    const note = (count: number) =>
      `[system note] [message-compaction] ${count} earlier messages were taken out of this conversation.`;
    expect(sent().slice(2)).toEqual([
      ["two", "answer to two", "three", note(2)],
      ["three", expect.stringContaining("answer to"), "four", note(4)],
    ]);
    await fx.expectSafe();
  });

  it("in mode truncate takes all but the newest, and nothing where the conversation is short", async () => {
    await open(
      uses("message-compaction", { maxCharacters: 30, mode: "truncate", retainLastMessages: 1, appendSummary: false }),
    );
    for (const input of ["one", "a second question, which is long"]) await ask(input);
    expect(sent()).toEqual([["one"], ["a second question, which is long"]]);
  });
});

it("context-message says once where the agent is, and does not repeat its prompt", async () => {
  await open({
    ...uses("context-message", { includeSwarmCatalog: true, includeRouteSummary: true }),
    swarm: { name: "crew", entry_agent: "planner", agents: ["worker", "planner"] },
  });
  await ask("one");
  await ask("two");
  const [, context] = sent()[0] ?? [];
  expect(context).toContain(
    "swarm=crew\nentryAgent=planner\nselfAgent=planner\navailableAgents=planner, worker\ncallableAgents=worker",
  );
  expect(context).not.toContain("You are");
  expect(sent()[1]).toEqual(["one", context, expect.stringContaining("answer to"), "two"]);
});

it("context-message says what arrived and who called", async () => {
  await open(
    uses("context-message", { includeInboundContext: true, includeCallContext: true, includeRouteSummary: true }),
  );
  await ask("one");
  const [, context = ""] = sent()[0] ?? [];
  expect(context).toContain("eventType=input\nsourceKind=connector\nsourceName=sys.test");
  expect(context).toContain("[runtime_route]\nsenderKind=connector\nsenderName=sys.test");
  expect(context).not.toContain("[runtime_call]");
});

it("logging says when turns, steps and calls begin and end, and only what its level asks for", async () => {
  fx.script = ({ step }) =>
    step === 0 ? { tool_calls: [{ name: "echo__say", arguments: { text: "secret" } }] } : { text: "done" };
  await open(uses("logging", { level: "debug" }));
  await ask("go");
  const lines = logs.map((line) => line.replace(/ \{.*/s, ""));
  expect(lines).toEqual([
    "logging info turn begins",
    ...[
      "logging info step begins",
      "logging debug tool call begins",
      "logging debug tool call ends",
      "logging info step ends",
    ],
    ...["logging info step begins", "logging info step ends"],
    "logging info turn ends",
  ]);
  expect(logs.join()).not.toContain("secret");
  logs.length = 0;
  agent = await fx.agent(uses("logging", { level: "warn", includeToolArgs: true }));
  await ask("go");
  expect(logs).toEqual([]);
});

it("tool-search narrows what is offered to what was found, and can be asked again", async () => {
  for (const name of ["mail__send", "mail__read", "file__list"]) {
    await fx.tool({ name, description: `Does ${name}.`, effect: "read", handler: () => name } as never);
  }
  fx.script = ({ step }) => {
    const query = ["mail", "file"][step];
    return query === undefined
      ? { text: "done" }
      : { tool_calls: [{ name: "tool-search__search", arguments: { query } }] };
  };
  await open(uses("tool-search"));
  const { id } = await ask("go");
  const offered = fx.modelCalls.map(({ tools }) => tools.map(({ name }) => name).toSorted());
  expect(offered).toEqual([
    ["echo__say", "file__list", "mail__read", "mail__send", "tool-search__search"],
    ["mail__read", "mail__send", "tool-search__search"],
    ["file__list", "tool-search__search"],
  ]);
  const results = (await fx.cards(id))
    .filter(({ type }) => type === "tool.result")
    .map(({ content }) => content.result);
  expect(results[1]).toMatchObject({ query: "file", selectedTools: ["file__list"] });
  await fx.expectSafe();
});

describe("required-tools-guard", () => {
  it("lets no answer end the turn before a required tool has succeeded", async () => {
    fx.script = ({ step }) =>
      step === 1 ? { tool_calls: [{ name: "echo__say", arguments: { text: "x" } }] } : { text: `try ${step}` };
    await open(uses("required-tools-guard", { requiredTools: ["echo"], errorMessage: "use echo" }));
    const { ended } = await ask("go");
    expect([ended.deliverable, sent()[1]]).toEqual([{ text: "try 2" }, ["go", "try 0", "use echo"]]);
    await fx.expectSafe();
  });

  it("counts what a tool elsewhere did while the turn was parked, in whichever process it goes on", async () => {
    await serviceTool();
    fx.script = ({ step }) =>
      step === 0 ? { tool_calls: [{ id: "there", name: "web__find", arguments: {} }] } : { text: "found" };
    const extensions = host();
    const first = await fx.worker({ extensions, runner: runnerWith(extensions) });
    agent = await fx.agent(uses("required-tools-guard", { requiredTools: ["web__find"] }));
    const id = await fx.enqueue(agent, "go");
    await waitFor(async () => (await fx.kernel.reads.call(fx.project, "there")) ?? null, { what: "the call" });
    await first.stop();
    await fx.answerCalls("web", 1, () => ({
      status: "success",
      after_execution: "suspend",
      result: { n: 1 },
      error: null,
    }));
    const second = host();
    await fx.worker({ extensions: second, runner: runnerWith(second) });
    const ended = await fx.ended(id);
    expect([ended.deliverable, fx.modelCalls.length]).toEqual([{ text: "found" }, 2]);
    await fx.expectSafe();
  });
});
