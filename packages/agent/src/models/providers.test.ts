// The three providers by name, each asked once in its own wire format, and what is loaded for whom.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ModelMessage } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelAnswer, ModelChunk } from "../model-port.ts";
import type { ModelSpec } from "../profile.ts";
import { createModels } from "./create-models.ts";
import { type ModelServer, modelServer, sendEvents, sendJson, testClock } from "./model-server.fixture.ts";

const KEY = "canary-key-77";
const ENV = { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY, GOOGLE_GENERATIVE_AI_API_KEY: KEY };

const open: ModelServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server[Symbol.asyncDispose]();
});

async function serve(events: readonly unknown[]): Promise<ModelServer> {
  const server = await modelServer((response) => sendEvents(response, events));
  open.push(server);
  return server;
}

const MESSAGES: ModelMessage[] = [
  { role: "user", content: "the weather?" },
  {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "c0", toolName: "forecast", input: { city: "Rome" } }],
  },
  {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "c0", toolName: "forecast", output: { type: "json", value: [21] } }],
  },
];

async function ask(model: ModelSpec, env: Record<string, string> = ENV) {
  const chunks: ModelChunk[] = [];
  const warnings: string[] = [];
  const models = createModels({ env, clock: testClock(), onWarning: (warning) => warnings.push(warning) });
  const answer: ModelAnswer = await models.call(
    {
      model,
      agentName: "planner",
      step: 1,
      system: "Be brief.",
      messages: MESSAGES,
      tools: [{ name: "forecast", description: "The weather", parameters: { type: "object", properties: {} } }],
      signal: new AbortController().signal,
    },
    (chunk) => chunks.push(chunk),
  );
  expect(JSON.stringify([answer, chunks, warnings])).not.toContain(KEY);
  return { answer, chunks, warnings };
}

const CALL = { name: "forecast", arguments: '{"city":"Oslo"}' };

describe("by its own wire format", () => {
  it("openai is asked for responses", async () => {
    const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: "forecast", arguments: "" };
    const server = await serve([
      { type: "response.created", response: { id: "r", created_at: 1, model: "gpt" } },
      { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m_1" } },
      { type: "response.output_text.delta", item_id: "m_1", delta: "Hel" },
      { type: "response.output_text.delta", item_id: "m_1", delta: "lo" },
      { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "m_1" } },
      { type: "response.output_item.added", output_index: 1, item },
      { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 1, delta: CALL.arguments },
      {
        type: "response.output_item.done",
        output_index: 1,
        item: { ...item, arguments: CALL.arguments, status: "completed" },
      },
      { type: "response.completed", response: { usage: { input_tokens: 5, output_tokens: 7 } } },
    ]);
    const spec = { provider: "openai", model: "gpt-5", endpoint: `${server.url}/v1`, options: { api: "responses" } };
    const { answer } = await ask(spec);
    expect(answer).toMatchObject({
      text: "Hello",
      tool_calls: [{ id: "call_1", ...CALL }],
      finish_reason: "tool-calls",
      usage: { input_tokens: 5, output_tokens: 7, total_tokens: 12 },
    });
    expect(server.requests[0]).toMatchObject({
      url: "/v1/responses",
      headers: { authorization: `Bearer ${KEY}` },
      body: { model: "gpt-5", stream: true },
    });
    expect(JSON.stringify(server.requests[0]?.body)).toContain('"function_call_output"');
  });

  it("openai at an endpoint of its own is asked for chat completions", async () => {
    const server = await serve([
      { id: "r", choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }] },
      { id: "r", choices: [], usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } },
      "[DONE]",
    ]);
    const { answer } = await ask({ provider: "openai", model: "gpt-4o", endpoint: `${server.url}/v1` });
    expect(answer).toMatchObject({ text: "Hello", usage: { total_tokens: 12 } });
    expect(server.requests[0]?.url).toBe("/v1/chat/completions");
  });

  it("anthropic is asked for messages", async () => {
    const server = await serve([
      {
        type: "message_start",
        message: {
          id: "m",
          type: "message",
          role: "assistant",
          model: "claude",
          content: [],
          stop_reason: null,
          usage: { input_tokens: 5, output_tokens: 1 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hello" } },
      { type: "content_block_stop", index: 1 },
      {
        type: "content_block_start",
        index: 2,
        content_block: { type: "tool_use", id: "tu_1", name: "forecast", input: {} },
      },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"city":' } },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '"Oslo"}' } },
      { type: "content_block_stop", index: 2 },
      { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 7 } },
      { type: "message_stop" },
    ]);
    const { answer } = await ask({ provider: "anthropic", model: "claude-sonnet-4-5", endpoint: `${server.url}/v1` });
    expect(answer).toMatchObject({
      text: "Hello",
      reasoning: "hm",
      tool_calls: [{ id: "tu_1", ...CALL }],
      finish_reason: "tool-calls",
      usage: { input_tokens: 5, output_tokens: 7 },
    });
    expect(server.requests[0]).toMatchObject({
      url: "/v1/messages",
      headers: { "x-api-key": KEY },
      body: { model: "claude-sonnet-4-5", stream: true },
    });
    expect(JSON.stringify(server.requests[0]?.body)).toContain('"tool_result"');
  });

  it("google is asked for generated content", async () => {
    const server = await serve([
      { candidates: [{ content: { role: "model", parts: [{ text: "Hel" }] } }] },
      { candidates: [{ content: { role: "model", parts: [{ text: "lo" }] } }] },
      {
        candidates: [
          {
            content: { role: "model", parts: [{ functionCall: { name: "forecast", args: { city: "Oslo" } } }] },
            finishReason: "STOP",
          },
        ],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 7, totalTokenCount: 12 },
      },
    ]);
    const { answer, chunks } = await ask({
      provider: "google",
      model: "gemini-2.5-pro",
      endpoint: `${server.url}/v1beta`,
    });
    expect(answer).toMatchObject({
      text: "Hello",
      tool_calls: [CALL],
      finish_reason: "tool-calls",
      usage: { input_tokens: 5, output_tokens: 7, total_tokens: 12 },
    });
    expect(chunks.map((chunk) => chunk.type)).toEqual(["content", "content", "tool_call"]);
    expect(server.requests[0]).toMatchObject({
      url: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
      headers: { "x-goog-api-key": KEY },
    });
    expect(JSON.stringify(server.requests[0]?.body)).toContain('"functionResponse"');
  });
});

it.each([
  ["openai", "OPENAI_API_KEY"],
  ["anthropic", "ANTHROPIC_API_KEY"],
  ["google", "GOOGLE_GENERATIVE_AI_API_KEY"],
])("%s without a key names the variable %s", async (provider, variable) => {
  await expect(ask({ provider, model: "m" }, {})).rejects.toMatchObject({
    code: "model_failed",
    message: `model m of ${provider} has no key: set the environment variable ${variable}`,
    details: { provider, model: "m", retryable: false },
  });
});

it.each([
  [
    "anthropic",
    { type: "error", error: { type: "authentication_error", message: `invalid ${KEY}` } },
    "authentication_error",
  ],
  ["google", { error: { code: 401, message: `invalid ${KEY}`, status: "UNAUTHENTICATED" } }, "UNAUTHENTICATED"],
  ["openai", { error: { type: "invalid_request_error", code: "invalid_api_key", message: KEY } }, "invalid_api_key"],
])("%s that refuses a key is reported without it", async (provider, body, identifier) => {
  const server = await modelServer((response) => sendJson(response, 401, body));
  open.push(server);
  const error = await ask({ provider, model: "m", endpoint: server.url }).catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ code: "model_failed", details: { status: 401, retryable: false, attempts: 1 } });
  expect((error as Error).message).toContain(identifier);
  expect(JSON.stringify([(error as Error).message, error])).not.toContain(KEY);
});

it("an unknown provider without an endpoint is answered with those there are", async () => {
  await expect(ask({ provider: "acme", model: "m" })).rejects.toMatchObject({
    code: "model_failed",
    message: expect.stringContaining("use openai, anthropic, google, scripted, or give the `endpoint`"),
  });
});

it("a warning is given once, however often the model is asked", async () => {
  const server = await serve([
    { id: "r", choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop" }] },
    "[DONE]",
  ]);
  const warnings: string[] = [];
  const models = createModels({ env: {}, clock: testClock(), onWarning: (warning) => warnings.push(warning) });
  const model = { provider: "local", model: "m", endpoint: server.url, params: { topK: 3, temperature: "hot" } };
  const call = { model, agentName: "a", step: 0, system: "", messages: MESSAGES, tools: [] };
  for (let n = 0; n < 3; n++) await models.call({ ...call, signal: new AbortController().signal }, () => undefined);
  expect(server.requests).toHaveLength(3);
  expect(warnings).toEqual([
    "model m of local: params.temperature must be a number; it is left out",
    "model m of local: topK is not supported as given",
  ]);
});

it("a process with a scripted model loads no provider, and one with a provider only that one", async () => {
  const script = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({ resolve(specifier, context, next) {
      const found = next(specifier, context);
      const name = /node_modules\\/(@ai-sdk\\/[^/]+|ai)\\//.exec(found.url)?.[1];
      if (name !== undefined) loaded.add(name);
      return found;
    } });
    const { createModels } = await import(${JSON.stringify(new URL("./create-models.ts", import.meta.url).href)});
    const clock = { databaseTime: () => null, monotonicMs: () => 0, after(ms, task) {
      if (ms <= 60_000) queueMicrotask(task);
      return { cancel() {} };
    } };
    const models = createModels({ env: {}, clock, onWarning() {} });
    const call = { agentName: "a", step: 0, system: "", messages: [], tools: [], signal: new AbortController().signal };
    const scripted = { provider: "scripted", model: "m", options: { rules: [{ reply: { text: "hi" } }] } };
    const { text } = await models.call({ ...call, model: scripted }, () => {});
    const first = [...loaded];
    const google = { provider: "google", model: "m", endpoint: "http://127.0.0.1:1", apiKey: { value: "k" } };
    const failure = await models.call({ ...call, model: google }, () => {}).catch((error) => error.code);
    console.log(JSON.stringify({ text, first, failure, second: [...loaded].sort() }));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
  expect(JSON.parse(stdout)).toEqual({
    text: "hi",
    first: [],
    failure: "model_failed",
    second: ["@ai-sdk/google", "@ai-sdk/provider", "@ai-sdk/provider-utils"],
  });
});
