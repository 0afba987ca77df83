// Random conversations of many turns, sent to each provider's client: what arrives keeps to the rules that the provider refuses
// requests by. A model server on loopback takes the requests and refuses them.

import { isJsonObject } from "@tessera/protocol";
import { seedFromEnvironment } from "@tessera/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cardsOfConversation, conversation, messageEvents, withEvents } from "../../test/random-conversation.ts";
import { answeredCalls } from "../../test/transcript-rules.ts";
import type { ModelSpec } from "../profile.ts";
import { projectTranscript, type TranscriptCards } from "../transcript/index.ts";
import { createModels } from "./create-models.ts";
import { type ModelServer, modelServer, sendJson, testClock } from "./model-server.fixture.ts";

const KEY = "no-key";
const RUNS = 40;
const seed = seedFromEnvironment();
type Item = Readonly<Record<string, unknown>>;

let server: ModelServer;
beforeAll(async () => {
  server = await modelServer((response) => sendJson(response, 400, { error: { message: "no", type: "invalid" } }));
});
afterAll(() => server[Symbol.asyncDispose]());

/** The body that the provider is sent of these cards. */
async function sent(model: Omit<ModelSpec, "endpoint">, cards: TranscriptCards): Promise<Item> {
  const env = { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY, GOOGLE_GENERATIVE_AI_API_KEY: KEY };
  const models = createModels({ env, clock: testClock(), onWarning: () => undefined });
  const before = server.requests.length;
  const spec = { ...model, endpoint: `${server.url}/v1` };
  const call = {
    model: spec,
    agentName: "a",
    step: 0,
    system: "Be brief.",
    tools: [],
    signal: new AbortController().signal,
  };
  const asked = models.call({ ...call, messages: projectTranscript(cards) }, () => undefined);
  await expect(asked).rejects.toThrow();
  expect(server.requests.length).toBeGreaterThan(before);
  return server.requests[before]?.body as Item;
}

const DIALECTS: readonly [name: string, model: Omit<ModelSpec, "endpoint">, callsIn: (body: Item) => string[]][] = [
  ["OpenAI chat completions", { provider: "openai", model: "gpt-4o" }, chatCalls],
  ["OpenAI responses", { provider: "openai", model: "gpt-5", options: { api: "responses" } }, responsesCalls],
  ["Anthropic messages", { provider: "anthropic", model: "claude-sonnet-4-5" }, anthropicCalls],
  ["Google contents", { provider: "google", model: "gemini-2.5-flash" }, googleCalls],
];

describe.each(DIALECTS)("as %s", (_, model, callsIn) => {
  it("any conversation is a request in which each call is answered once, where the provider wants it", async () => {
    const property = fc.asyncProperty(conversation, async (chosen) => {
      const { cards, expected } = cardsOfConversation(chosen);
      expectCalls(
        callsIn(await sent(model, cards)),
        expected.map(({ id }) => id),
      );
    });
    await check(property);
  });

  it("so is any conversation whose messages extensions appended, replaced, removed and truncated", async () => {
    const property = fc.asyncProperty(conversation, messageEvents, async (chosen, events) => {
      const cards = withEvents(cardsOfConversation(chosen).cards, events);
      const ids = answeredCalls(projectTranscript(cards)).map(({ id }) => id);
      expectCalls(callsIn(await sent(model, cards)), ids);
    });
    await check(property);
  });

  function expectCalls(found: readonly string[], ids: readonly string[]): void {
    expect(found).toHaveLength(ids.length);
    if (model.provider !== "google") expect(found).toEqual(ids); // Google's calls have no ids
  }
});

async function check<T>(property: fc.IAsyncProperty<T>): Promise<void> {
  await fc.assert(property, {
    seed: seed.value | 0,
    numRuns: RUNS,
    reporter: (run) => {
      if (run.failed) throw new Error(`${seed.hint}\n${fc.defaultReportMessage(run)}`, { cause: run.errorInstance });
    },
  });
}

/** Each message with calls is followed by one message for each of them, and no result stands elsewhere. */
function chatCalls({ messages }: Item): string[] {
  const open: string[] = [];
  const found: string[] = [];
  for (const { role, tool_calls, tool_call_id, content } of items(messages)) {
    if (role === "tool") expect(open.shift()).toBe(tool_call_id);
    else expect(open).toEqual([]);
    for (const { id } of items(tool_calls ?? [])) open.push(String(id));
    for (const { id } of items(tool_calls ?? [])) found.push(String(id));
    if (role === "user") expect(JSON.stringify(content).trim()).not.toBe('""');
  }
  expect(open).toEqual([]);
  return found;
}

function responsesCalls({ input }: Item): string[] {
  const list = items(input);
  const calls = list.filter(({ type }) => type === "function_call").map(({ call_id }) => String(call_id));
  const outputs = list.filter(({ type }) => type === "function_call_output").map(({ call_id }) => String(call_id));
  expect(outputs).toEqual(calls);
  for (const id of calls) {
    const [asked, answered] = [
      list.findIndex(isOf("function_call", id)),
      list.findIndex(isOf("function_call_output", id)),
    ];
    expect(answered).toBeGreaterThan(asked);
    const between = list.slice(asked, answered).map(({ type }) => type ?? "message");
    expect(between).not.toContain("message");
  }
  return calls;
}

/** User and assistant take turns; all calls of a message are answered at the beginning of the next one. No text is empty. */
function anthropicCalls({ messages }: Item): string[] {
  const found: string[] = [];
  const list = items(messages);
  if (list.length > 0) expect(list[0]?.role).toBe("user");
  for (const [n, { role, content }] of list.entries()) {
    if (n > 0) expect(role).not.toBe(list[n - 1]?.role);
    const parts = items(content);
    for (const { type, text } of parts) if (type === "text") expect(String(text).trim()).not.toBe("");
    const calls = parts.filter(({ type }) => type === "tool_use").map(({ id }) => String(id));
    found.push(...calls);
    const next = items(list[n + 1]?.content ?? []);
    expect(next.slice(0, calls.length).map(({ tool_use_id }) => tool_use_id)).toEqual(calls);
    expect(next.slice(calls.length).some(({ type }) => type === "tool_result")).toBe(false);
  }
  return found;
}

function googleCalls({ contents }: Item): string[] {
  const found: string[] = [];
  const list = items(contents);
  if (list.length > 0) expect(list[0]?.role).toBe("user");
  for (const [n, { parts }] of list.entries()) {
    const calls = items(parts).filter(({ functionCall }) => isJsonObject(functionCall));
    found.push(...calls.map(({ functionCall }) => String((functionCall as Item).name)));
    const answers = items(list[n + 1]?.parts ?? []).filter(({ functionResponse }) => isJsonObject(functionResponse));
    expect(answers).toHaveLength(calls.length);
  }
  return found;
}

const isOf = (type: string, id: string) => (item: Item) => item.type === type && item.call_id === id;

function items(value: unknown): readonly Item[] {
  if (typeof value === "string") return [{ type: "text", text: value }];
  expect(Array.isArray(value)).toBe(true);
  return value as readonly Item[];
}
