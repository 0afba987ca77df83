// A trace that comes with a request is continued: by the turn's row, by the commands on the bus, by the spans.

import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { defineAgent, defineModel } from "@tessera/agent";
import { createClient } from "@tessera/client";
import type { Subscription } from "@tessera/kernel";
import { defineTool } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTessera } from "../create-tessera.ts";
import { openProcess, type Process } from "../process/open-process.ts";

const project = "default";
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const far = defineTool({ name: "far__away", placement: "service", effect: "read", handler: () => ({ ok: true }) });
const script = defineModel({
  name: "script",
  provider: "scripted",
  options: {
    rules: [
      { when: { step: 0 }, reply: { toolCalls: [{ name: "far__away", arguments: {} }] } },
      { reply: { text: "done" } },
    ],
  },
});
const walker = defineAgent({ name: "walker", model: script, tools: [far] });

let process: Process;
let commands: Subscription;
const traceparents = new Map<string, string>();

beforeAll(async () => {
  process = await openProcess({
    ...{ project, env: {}, executor: "test", onWarning: () => {}, onFatal: () => {} },
    tools: [far],
    resources: { models: [script], agents: [walker] },
    roles: ["kernel", "worker", "pmo", "tools", "api"],
    api: { port: 0 },
  } as never);
  commands = await process.node.bus.subscribe(
    { pattern: "cg.v1r4.*.*.cmd.tool.>", durable: "seen" },
    async (delivery) => {
      traceparents.set(String(delivery.headers["CG-Turn-Id"]), String(delivery.headers.traceparent));
      delivery.ack();
    },
  );
});
afterAll(async () => {
  await commands.stop();
  await process.close({ graceMs: 0 });
});

async function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const { url, key } = process.api ?? { url: "", key: { text: "" } };
  const response = await fetch(`${url}/projects/${project}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key.text}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

/** The turn and its call, when it has ended. */
async function ended(agent_turn_id: string) {
  const { url, key } = process.api ?? { url: "", key: { text: "" } };
  const client = createClient({ url, apiKey: key.text });
  await client.waitForTurn({ project, turn: agent_turn_id } as never);
  const turn = await process.node.kernel.reads.turn(project, agent_turn_id);
  const [call] = await process.node.kernel.reads.callsOfTurn(project, agent_turn_id);
  const row = await process.node.kernel.reads.call(project, String(call?.tool_call_id));
  return { turn, call: row, command: traceparents.get(agent_turn_id) };
}

const order = { agent: "walker", input: "go" };
const traceparent = `00-${TRACE}-${SPAN}-01`;

describe("a turn that is asked for with a traceparent", () => {
  it("is in that trace, below that span, with its calls and their commands", async () => {
    const { status, body } = await post("/turns", order, { traceparent, tracestate: "vendor=1" });
    expect(status).toBe(202);
    const { turn, call, command } = await ended(String(body.agent_turn_id));
    expect(turn).toMatchObject({ trace_id: TRACE, span_id: SPAN, tracestate: "vendor=1", status: "success" });
    expect(call).toMatchObject({ trace_id: TRACE });
    expect(command).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  });

  for (const [what, headers] of [
    ["none", {}],
    ["that is malformed", { traceparent: "nonsense", tracestate: "vendor=1" }],
    ["that is all zero", { traceparent: `00-${"0".repeat(32)}-${SPAN}-01` }],
    ["of a version that there is not", { traceparent: `ff-${TRACE}-${SPAN}-01` }],
    ["that is empty", { traceparent: "" }],
    ["of 8,000 characters", { traceparent: `00-${"a".repeat(8_000)}` }],
  ] as const) {
    it(`${what} starts a trace of its own`, async () => {
      const { status, body } = await post("/turns", order, headers);
      expect(status).toBe(202);
      const turn = await process.node.kernel.reads.turn(project, String(body.agent_turn_id));
      expect(turn?.trace_id).toMatch(/^[0-9a-f]{32}$/);
      expect(turn?.trace_id).not.toBe(TRACE);
      expect(turn?.tracestate).toBeNull();
    });
  }

  it("loses a tracestate that cannot be kept, and keeps the trace", async () => {
    const { body } = await post("/turns", order, { traceparent, tracestate: "v".repeat(600) });
    const turn = await process.node.kernel.reads.turn(project, String(body.agent_turn_id));
    expect(turn).toMatchObject({ trace_id: TRACE, tracestate: null });
  });

  it("is the same turn for the same Idempotency-Key in whatever trace", async () => {
    const key = { "idempotency-key": "one" };
    const first = await post("/turns", order, { ...key, traceparent });
    const again = await post("/turns", order, { ...key, traceparent: `00-${"a".repeat(32)}-${SPAN}-01` });
    expect(again).toMatchObject({ status: 200, body: { agent_turn_id: first.body.agent_turn_id } });
    const turn = await process.node.kernel.reads.turn(project, String(first.body.agent_turn_id));
    expect(turn?.trace_id).toBe(TRACE);
  });

  it("starts a new trace that names the old one, when the old one has had its thousand turns", async () => {
    const full = "c".repeat(32);
    const headers = { traceparent: `00-${full}-${SPAN}-01` };
    await post("/turns", order, headers);
    await process.node.store.database.query("update state.trace_budgets set turns = 1000 where trace_id = $1", [full]);
    for (const ask of [
      () => post("/turns", order, headers),
      () => post("/tools/far__away:call", { wait_seconds: 0 }, headers),
    ]) {
      const { status, body } = await ask();
      expect(status).toBe(202);
      const turn = await process.node.kernel.reads.turn(project, String(body.agent_turn_id));
      expect(turn?.trace_id).not.toBe(full);
      expect(turn?.parent_traceparent).toBe(headers.traceparent);
    }
  });
});

describe("a tool call without an agent, with a traceparent", () => {
  it("is in that trace, with its command", async () => {
    const { status, body } = await post("/tools/far__away:call", {}, { traceparent });
    expect(status).toBe(200);
    const { turn, call, command } = await ended(String(body.agent_turn_id));
    expect(turn).toMatchObject({ trace_id: TRACE, span_id: SPAN });
    expect(call).toMatchObject({ trace_id: TRACE });
    expect(command).toContain(TRACE);
  });
});

describe("a program that records spans", () => {
  it("has the request, the turn and the tool in one tree below the caller's span, over HTTP and embedded", async () => {
    const own = "d".repeat(32);
    const spans = new InMemorySpanExporter();
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
    try {
      const { body } = await post("/turns", order, { traceparent: `00-${own}-${SPAN}-01` });
      await ended(String(body.agent_turn_id));
      const mine = spans.getFinishedSpans().filter((span) => span.spanContext().traceId === own);
      const parentOf = (name: string) => mine.find((span) => span.name === name)?.parentSpanContext?.spanId;
      const idOf = (name: string) => mine.find((span) => span.name === name)?.spanContext().spanId;
      expect(parentOf("enqueue walker")).toBe(SPAN);
      expect(parentOf("invoke_agent walker")).toBe(idOf("enqueue walker"));
      expect(mine.map((span) => span.name)).toContain("execute_tool far__away");
      await using tessera = await embedded();
      const { spanId } = await trace.getTracer("app").startActiveSpan("mine", async (span) => {
        await tessera.opened.run({ agent: "walker", input: "go" });
        await tessera.opened.callTool("far__away");
        span.end();
        return span.spanContext();
      });
      const asked = spans.getFinishedSpans().filter((span) => span.parentSpanContext?.spanId === spanId);
      expect(asked.map((span) => span.name)).toEqual(["enqueue walker", "enqueue far__away"]);
    } finally {
      trace.disable();
      context.disable();
      propagation.disable();
    }
  });
});

async function embedded() {
  const opened = await createTessera({
    log: () => {},
    tools: [far],
    models: [script],
    agents: [walker],
  });
  return { opened, [Symbol.asyncDispose]: () => opened.close({ graceMs: 0 }) };
}
