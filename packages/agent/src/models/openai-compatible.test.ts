// The OpenAI-compatible path over real HTTP: the server of these tests speaks /v1/chat/completions with server-sent events.

import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import type { Clock } from "@tessera/kernel/ports";
import { TesseraError } from "@tessera/protocol";
import { VirtualClock, waitFor } from "@tessera/testkit";
import type { ModelMessage } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelCall, ModelChunk } from "../model-port.ts";
import type { ModelSpec } from "../profile.ts";
import { createModels, MODEL_LIMITS, type ModelLimits } from "./create-models.ts";
import { type ModelServer, modelServer, sendEvents, sendJson, testClock } from "./model-server.fixture.ts";

const KEY = "sk-canary-5f1c9d";
const PROMPT = "PROMPT-CANARY what is the weather?";

const open: ModelServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server[Symbol.asyncDispose]();
});

async function serve(answer: (response: ServerResponse, n: number) => void): Promise<ModelServer> {
  const server = await modelServer(answer);
  open.push(server);
  return server;
}

interface AskOptions {
  readonly spec?: Partial<ModelSpec>;
  readonly call?: Partial<ModelCall>;
  readonly limits?: Partial<ModelLimits>;
  readonly env?: Record<string, string>;
  readonly clock?: Clock;
}

function ask(url: string, { spec = {}, call = {}, limits = {}, env = { LOCAL_KEY: KEY }, ...rest }: AskOptions = {}) {
  const chunks: ModelChunk[] = [];
  const warnings: string[] = [];
  const clock = testClock();
  const onWarning = (warning: string) => warnings.push(warning);
  const models = createModels({ env, clock: rest.clock ?? clock, limits, onWarning });
  const answer = models.call(
    {
      model: {
        provider: "local",
        model: "llama",
        endpoint: `${url}/v1`,
        apiKey: { valueFrom: { env: "LOCAL_KEY" } },
        ...spec,
      },
      agentName: "planner",
      step: 0,
      system: "Be brief.",
      messages: [{ role: "user", content: PROMPT }],
      tools: [{ name: "forecast", description: "The weather", parameters: { type: "object", properties: {} } }],
      signal: new AbortController().signal,
      ...call,
    },
    (chunk) => chunks.push(chunk),
  );
  answer.catch(() => undefined);
  return { answer, chunks, warnings, clock };
}

const delta = (content: object, finish: string | null = null) => ({
  id: "r1",
  choices: [{ index: 0, delta: content, finish_reason: finish }],
});
const USAGE = { id: "r1", choices: [], usage: { prompt_tokens: 12, completion_tokens: 8, total_tokens: 20 } };
const HELLO = [
  delta({ role: "assistant", content: "Hel" }),
  delta({ content: "lo" }),
  delta({}, "stop"),
  USAGE,
  "[DONE]",
];

async function failure(asked: ReturnType<typeof ask>): Promise<TesseraError> {
  const error = await asked.answer.then(
    () => expect.fail("the call succeeded"),
    (thrown: unknown) => thrown,
  );
  if (!TesseraError.is(error)) throw error;
  // No secret, header or word of the prompt is in what becomes a card, and the key is in nothing at all.
  const told = JSON.stringify([error.message, error.details, error.stack, String(error.cause)]);
  expect(error.cause).toBeUndefined();
  expect(told).not.toContain("CANARY");
  expect(told + JSON.stringify([asked.chunks, asked.warnings])).not.toContain(KEY);
  expect(error.message.length).toBeLessThan(300);
  return error;
}

describe("an answer", () => {
  it("streams its text and carries usage, cost and the reason it ended", async () => {
    const server = await serve((response) => sendEvents(response, HELLO));
    const pricing = { input_per_million: 2, output_per_million: 10 };
    const asked = ask(server.url, { spec: { options: { pricing } } });
    expect(await asked.answer).toEqual({
      text: "Hello",
      tool_calls: [],
      finish_reason: "stop",
      usage: { input_tokens: 12, output_tokens: 8, total_tokens: 20 },
      response_cost: (12 * 2 + 8 * 10) / 1e6,
      provider: "local",
      model: "llama",
    });
    expect(asked.chunks).toEqual([
      { type: "content", text: "Hel" },
      { type: "content", text: "lo" },
    ]);
    expect(asked.clock.limits.size).toBe(0);
  });

  it("comes from a request with the key, the trace, the tools, the settings and unknown options as they are", async () => {
    const server = await serve((response) => sendEvents(response, HELLO));
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const asked = ask(server.url, {
      spec: {
        params: { temperature: 0.2, maxTokens: 50, top_p: 0.9, stop: ["END"], min_p: 0.1, seed: "x" },
        options: { repetition_penalty: 1.1 },
      },
      call: { headers: { traceparent } },
    });
    await asked.answer;
    const request = server.requests[0];
    expect(request?.url).toBe("/v1/chat/completions");
    expect(request?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, traceparent });
    expect(request?.body).toMatchObject({
      model: "llama",
      stream: true,
      temperature: 0.2,
      max_tokens: 50,
      top_p: 0.9,
      stop: ["END"],
      min_p: 0.1,
      repetition_penalty: 1.1,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: PROMPT },
      ],
      tools: [{ type: "function", function: { name: "forecast", description: "The weather" } }],
    });
    expect(request?.body).not.toHaveProperty("seed");
    expect(asked.warnings).toEqual(["model llama of local: params.seed must be a whole number; it is left out"]);
  });

  it("needs no key where none is named", async () => {
    const server = await serve((response) => sendEvents(response, HELLO));
    const models = createModels({ env: {}, clock: testClock(), onWarning: () => undefined });
    const model = { provider: "openai-compatible", model: "llama", endpoint: `${server.url}/v1` };
    const call = { model, agentName: "a", step: 0, system: "", messages: [{ role: "user" as const, content: "hi" }] };
    await models.call({ ...call, tools: [], signal: new AbortController().signal }, () => undefined);
    expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(server.requests[0]?.body).not.toHaveProperty("tools");
  });

  it("assembles parallel tool calls from interleaved fragments", async () => {
    const piece = (index: number, args: string, id?: string) => ({
      index,
      ...(id === undefined ? {} : { id, type: "function" }),
      function: { ...(id === undefined ? {} : { name: "forecast" }), arguments: args },
    });
    const server = await serve((response) =>
      sendEvents(response, [
        delta({ tool_calls: [piece(0, "", "call_a")] }),
        delta({ tool_calls: [piece(0, '{"city":')] }),
        delta({ tool_calls: [piece(1, '{"ci', "call_b")] }),
        delta({ tool_calls: [piece(0, '"Oslo"}'), piece(1, 'ty":"Bergen"}')] }),
        delta({}, "tool_calls"),
        USAGE,
        "[DONE]",
      ]),
    );
    const asked = ask(server.url);
    expect(await asked.answer).toMatchObject({
      text: "",
      finish_reason: "tool-calls",
      tool_calls: [
        { id: "call_a", name: "forecast", arguments: '{"city":"Oslo"}' },
        { id: "call_b", name: "forecast", arguments: '{"city":"Bergen"}' },
      ],
    });
    expect(asked.chunks).toEqual([
      { type: "tool_call", text: 'forecast {"city":"Oslo"}' },
      { type: "tool_call", text: 'forecast {"city":"Bergen"}' },
    ]);
  });

  it.each(['{"city": "Os', "city=Oslo", "[1,"])("hands on arguments that are not JSON as text: %s", async (args) => {
    const call = { index: 0, id: "c", type: "function", function: { name: "unknown_tool", arguments: args } };
    const server = await serve((response) =>
      sendEvents(response, [delta({ tool_calls: [call] }), delta({}, "tool_calls"), "[DONE]"]),
    );
    expect((await ask(server.url).answer).tool_calls).toEqual([{ id: "c", name: "unknown_tool", arguments: args }]);
  });

  it("keeps reasoning apart from text", async () => {
    const server = await serve((response) =>
      sendEvents(response, [delta({ reasoning_content: "hm, " }), delta({ reasoning_content: "rain" }), ...HELLO]),
    );
    const asked = ask(server.url);
    expect(await asked.answer).toMatchObject({ text: "Hello", reasoning: "hm, rain" });
    expect(asked.chunks[0]).toEqual({ type: "reasoning", text: "hm, " });
  });

  it("follows a transcript with tool results of any JSON", async () => {
    const values = [null, 0, "text", [1, [2]], { a: { b: null } }, false];
    const calls = values.map((_, index) => ({
      type: "tool-call" as const,
      toolCallId: `c${index}`,
      toolName: "t",
      input: index === 0 ? "not an object" : { index },
    }));
    const messages: ModelMessage[] = [
      { role: "user", content: "u" },
      { role: "assistant", content: [{ type: "text", text: "" }, ...calls] },
      ...values.map((value, index): ModelMessage => {
        const output = { type: index === 5 ? ("error-json" as const) : ("json" as const), value };
        return { role: "tool", content: [{ type: "tool-result", toolCallId: `c${index}`, toolName: "t", output }] };
      }),
    ];
    const server = await serve((response) => sendEvents(response, HELLO));
    await ask(server.url, { call: { messages } }).answer;
    const sent = server.requests[0]?.body.messages as { role: string; content: string; tool_calls?: object[] }[];
    expect(sent.filter(({ role }) => role === "tool").map(({ content }) => content)).toEqual([
      "null",
      "0",
      '"text"',
      "[1,[2]]",
      '{"a":{"b":null}}',
      "false",
    ]);
    expect(sent[2]?.tool_calls?.[0]).toMatchObject({ function: { arguments: '{"_raw":"not an object"}' } });
  });
});

describe("a failure that may pass", () => {
  it("is waited out as long as the server says, then answered", async () => {
    const error = { error: { message: `slow down, ${KEY}`, type: "rate_limit_error", code: "rate_limited" } };
    const server = await serve((response, n) =>
      n === 0 ? sendJson(response, 429, error, { "retry-after": "7" }) : sendEvents(response, HELLO),
    );
    const asked = ask(server.url);
    expect((await asked.answer).text).toBe("Hello");
    expect(asked.clock.waits).toEqual([7_000]);
    expect(asked.warnings).toEqual([
      "model llama of local: it said: slow down, [key]",
      "model llama of local: it answered 429 (rate_limit_error, rate_limited); attempt 2 of 3 in 7000 ms",
    ]);
  });

  it.each([
    ["86400", 60_000],
    ["0", 1_000],
    ["soon", 2_000],
    ["Wed, 21 Oct 2026 07:28:05 GMT", 5_000],
  ])("is waited out within bounds when Retry-After is %s", async (after, waited) => {
    const headers = { "retry-after": after, date: "Wed, 21 Oct 2026 07:28:00 GMT" };
    const server = await serve((response, n) =>
      n === 0 ? sendJson(response, 503, {}, headers) : sendEvents(response, HELLO),
    );
    const asked = ask(server.url);
    await asked.answer;
    expect(asked.clock.waits).toEqual([waited]);
  });

  it("fails the call after three attempts, 2 and 4 seconds apart", async () => {
    const server = await serve((response) => sendJson(response, 500, { error: { message: PROMPT } }));
    const asked = ask(server.url);
    const error = await failure(asked);
    expect(error).toMatchObject({
      code: "model_failed",
      message: "model llama of local answered 500 (3 attempts)",
      details: { provider: "local", model: "llama", status: 500, retryable: true, attempts: 3 },
    });
    expect(asked.clock.waits).toEqual([2_000, 4_000]);
    expect(server.requests).toHaveLength(3);
  });

  it("is a connection that no server accepts", async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
    const { port } = probe.address() as { port: number };
    await new Promise((resolve) => probe.close(resolve));
    const error = await failure(ask(`http://127.0.0.1:${port}`));
    expect(error.message).toContain("ECONNREFUSED");
    expect(error.details).toMatchObject({ retryable: true, attempts: 3 });
  });

  it.each([
    ["by a reset", (response: ServerResponse) => setImmediate(() => response.socket?.resetAndDestroy())],
    ["by a clean end", (response: ServerResponse) => response.end()],
  ])("is a stream that is cut in the middle %s, and the next attempt's answer counts alone", async (_, cut) => {
    const server = await serve((response, n) => {
      sendEvents(response, n === 0 ? [delta({ content: "Hel" })] : HELLO, n > 0);
      if (n === 0) cut(response);
    });
    const asked = ask(server.url);
    expect((await asked.answer).text).toBe("Hello");
    expect(server.requests).toHaveLength(2);
    expect(asked.warnings.at(-1)).toContain("attempt 2 of 3 in 2000 ms");
  });

  it.each([
    [{ error: { message: "busy", type: "overloaded_error" } }, true],
    [{ error: { message: "no", type: "invalid_request_error", code: "context_length_exceeded" } }, false],
    [{ error: { message: "no", code: 400 } }, false],
    ["this is not JSON", true],
  ])("is distinguished inside a stream: %j", async (event, retryable) => {
    const server = await serve((response) => sendEvents(response, [delta({ content: "Hel" }), event]));
    expect((await failure(ask(server.url))).details).toMatchObject({ retryable, attempts: retryable ? 3 : 1 });
  });

  it("is a server that sends no first byte, and none of the given-up connections stays open", async () => {
    const server = await serve(() => undefined);
    const asked = ask(server.url);
    for (let attempt = 1; attempt <= 3; attempt++) {
      await waitFor(() => server.requests.length === attempt, { what: `request ${attempt}` });
      asked.clock.expire(MODEL_LIMITS.silenceMs);
    }
    const error = await failure(asked);
    expect(error.message).toBe("model llama of local was silent for 180 s (3 attempts)");
    expect(error.details).toMatchObject({ retryable: true, attempts: 3 });
    await waitFor(() => server.closed === 3, { what: "closed connections" });
    expect(asked.clock.limits.size).toBe(0);
  });
});

describe("a failure that lasts", () => {
  it.each([
    [
      401,
      { error: { message: `Incorrect API key provided: ${KEY}`, code: "invalid_api_key" } },
      "answered 401 (invalid_api_key): check its key",
    ],
    [
      400,
      { error: { message: `bad: ${PROMPT}`, type: "invalid_request_error", param: "temperature" } },
      "answered 400 (invalid_request_error, temperature)",
    ],
    [404, "no such page", "answered 404: check `model` and `endpoint` (the address usually ends in /v1)"],
    [409, { error: { message: "conflict", code: KEY } }, "answered 409"],
  ])("is reported at once: %i", async (status, body, message) => {
    const server = await serve((response) => sendJson(response, status, body));
    const error = await failure(ask(server.url));
    expect(error.message).toBe(`model llama of local ${message}`);
    expect(error.details).toEqual({ provider: "local", model: "llama", status, retryable: false, attempts: 1 });
    expect(server.requests).toHaveLength(1);
  });

  it("is a redirect: the key goes nowhere else", async () => {
    const other = await serve((response) => sendEvents(response, HELLO));
    const server = await serve((response) =>
      sendJson(response, 307, {}, { location: `${other.url}/v1/chat/completions` }),
    );
    expect((await failure(ask(server.url))).message).toContain("answered 307: it redirects");
    expect(other.requests).toEqual([]);
  });

  it("is a missing key, reported with the name of its variable before anything is sent", async () => {
    const server = await serve((response) => sendEvents(response, HELLO));
    const error = await failure(ask(server.url, { env: { OTHER: KEY } }));
    expect(error.message).toBe("model llama of local has no key: set the environment variable LOCAL_KEY");
    expect(error.details).toMatchObject({ retryable: false });
    expect(server.requests).toEqual([]);
  });

  it("is a key that no header can hold, which is not quoted", async () => {
    const server = await serve((response) => sendEvents(response, HELLO));
    const asked = ask(server.url, { env: { LOCAL_KEY: `${KEY}\nx` } });
    expect((await failure(asked)).details).toMatchObject({ retryable: false });
  });

  it.each([{ endpoint: "ftp://x/v1" }, { endpoint: "http://user:pass@127.0.0.1/v1" }])(
    "is an endpoint that is none: %j",
    async (spec) => {
      expect((await failure(ask("http://127.0.0.1", { spec }))).message).toContain("has an `endpoint` that is not");
    },
  );

  it("is an answer that is too large", async () => {
    const server = await serve((response) => sendEvents(response, [delta({ content: "x".repeat(2_000) })], false));
    const error = await failure(ask(server.url, { limits: { answerBytesMax: 1_000 } }));
    expect(error.message).toContain("answered with more than 1000 bytes");
    expect(error.details).toMatchObject({ retryable: false, attempts: 1 });
  });

  it("is a stream of bytes that never becomes an event", async () => {
    const server = await serve((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${"x".repeat(10_000)}`);
    });
    const error = await failure(ask(server.url, { limits: { wireBytesMax: 5_000 } }));
    expect(error.message).toContain("sent more than 5000 bytes");
  });

  it("is a stream that does not come to an end in time", async () => {
    const server = await serve((response) => sendEvents(response, [delta({ content: "on and on" })], false));
    const asked = ask(server.url);
    await waitFor(() => asked.chunks.length > 0, { what: "a chunk" });
    asked.clock.expire(MODEL_LIMITS.totalMs);
    expect((await failure(asked)).message).toContain("did not come to an end within 900 s");
  });
});

describe("a stop", () => {
  it("ends an endless stream and closes its connection", async () => {
    const stop = new AbortController();
    const server = await serve((response) => {
      sendEvents(response, [delta({ content: "x" })], false);
      const again = () => {
        if (!response.destroyed)
          response.write(`data: ${JSON.stringify(delta({ content: "x" }))}\n\n`, () => setImmediate(again));
      };
      again();
    });
    const asked = ask(server.url, { call: { signal: stop.signal } });
    await waitFor(() => asked.chunks.length > 50, { what: "chunks" });
    stop.abort();
    expect((await failure(asked)).code).toBe("canceled");
    const seen = asked.chunks.length;
    await waitFor(() => server.closed === 1, { what: "the connection's end" });
    expect(asked.chunks).toHaveLength(seen);
    expect(asked.clock.limits.size).toBe(0);
  });

  it("ends the wait for a first byte", async () => {
    const stop = new AbortController();
    const server = await serve(() => undefined);
    const asked = ask(server.url, { call: { signal: stop.signal } });
    await waitFor(() => server.requests.length === 1, { what: "the request" });
    stop.abort();
    expect((await failure(asked)).code).toBe("canceled");
    await waitFor(() => server.closed === 1, { what: "the connection's end" });
    expect(server.requests).toHaveLength(1);
  });

  it("ends the wait before the next attempt", async () => {
    const stop = new AbortController();
    const server = await serve((response) => sendJson(response, 500, {}));
    const clock = new VirtualClock();
    const asked = ask(server.url, { call: { signal: stop.signal }, clock });
    await waitFor(() => asked.warnings.length === 1 && clock.pending === 1, { what: "the wait" });
    stop.abort();
    expect((await failure(asked)).code).toBe("canceled");
    expect(clock.pending).toBe(0);
    expect(server.requests).toHaveLength(1);
  });

  it("before the call keeps it from being sent", async () => {
    const server = await serve((response) => sendEvents(response, HELLO));
    expect((await failure(ask(server.url, { call: { signal: AbortSignal.abort() } }))).code).toBe("canceled");
    expect(server.requests).toEqual([]);
  });
});

it("an error of the listener to chunks is that error, and nothing is asked again", async () => {
  const server = await serve((response) => sendEvents(response, HELLO));
  const models = createModels({ env: {}, clock: testClock(), onWarning: () => undefined });
  const model = { provider: "local", model: "llama", endpoint: `${server.url}/v1` };
  const call = { model, agentName: "a", step: 0, system: "", messages: [{ role: "user" as const, content: "hi" }] };
  const asked = models.call({ ...call, tools: [], signal: new AbortController().signal }, () => {
    throw new RangeError("of the listener");
  });
  await expect(asked).rejects.toThrow(RangeError);
  expect(server.requests).toHaveLength(1);
});

it("a stop lets go of a stream whose fetch does not listen to signals", async () => {
  const stop = new AbortController();
  let isCanceled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from(`data: ${JSON.stringify(delta({ content: "x" }))}\n\n`)),
    cancel() {
      isCanceled = true;
    },
  });
  const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
  const models = createModels({ env: {}, clock: testClock(), fetch, onWarning: () => undefined });
  const model = { provider: "local", model: "llama", endpoint: "http://127.0.0.1/v1" };
  const call = { model, agentName: "a", step: 0, system: "", messages: [{ role: "user" as const, content: "hi" }] };
  const asked = models.call({ ...call, tools: [], signal: stop.signal }, () => stop.abort());
  await expect(asked).rejects.toMatchObject({ code: "canceled" });
  await waitFor(() => isCanceled, { what: "the stream to be let go" });
});
