// Spans and metrics of a delegated run, as an exporter gets them: planner → fork_join and request → children → a service tool.

import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { startToolService } from "@tessera/executor";
import type { CommandService } from "@tessera/kernel";
import { type Pmo, startPmo } from "@tessera/pmo";
import type { ToolContext } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentFixture, PROFILE } from "../../test/agent-fixture.ts";
import { enqueueAgentTurn } from "../deploy/index.ts";
import { createModels } from "../models/index.ts";
import { modelServer, sendEvents } from "../models/model-server.fixture.ts";
import { traceEnqueue } from "./telemetry.ts";

const SECRET = "CANARY-41c9";
const spans = new InMemorySpanExporter();
const numbers = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: numbers, exportIntervalMillis: 3_600_000 });
let fx: AgentFixture;
let pmo: Pmo;
let service: CommandService;
let root: { trace_id?: string; span_id?: string } = {};

beforeAll(async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  fx = await AgentFixture.open();
  await fx.tool({
    ...{ name: "ask__helper", effect: "idempotent" },
    parameters: { type: "object", properties: { text: { type: "string" } } },
    handler: async (ctx: ToolContext, { text }: { text: string }) => {
      const source = { kind: "agent" as const, name: "planner" };
      const event = { id: "e", type: "agent.request", createdAt: new Date(0), source, input: text };
      return { response: (await ctx.runtime?.request("helper", event))?.response ?? null };
    },
  } as never);
  await fx.tool({
    name: "far__away",
    placement: "service",
    effect: "once",
    handler: () => ({ found: SECRET }),
  } as never);
  await fx.tool({
    ...{ name: "flaky__run", effect: "read", retry: { maxAttempts: 2, backoffMs: 0 } },
    handler: ({ attempt }: ToolContext) => {
      if (attempt === 1) throw Object.assign(new Error("again"), { retryable: true });
      return { attempt };
    },
  } as never);
  const policy = { delegation_policy: { target_tags: [], target_profiles: null } };
  await fx.define(
    { name: "planner", allowed_internal_tools: ["fork_join"], ...policy },
    { name: "helper" },
    { name: "child" },
  );
  fx.script = ({ agentName, step }) => {
    if (agentName === "planner" && step === 0) {
      const task = (text: string) => ({ target_strategy: "new", target_ref: "child", instruction: text });
      return {
        tool_calls: [
          { name: "ask__helper", arguments: { text: SECRET } },
          { name: "fork_join", arguments: { tasks: [task(`${SECRET} one`), task("two")] } },
        ],
        usage: { input_tokens: 11, output_tokens: 7 },
      };
    }
    if (agentName === "helper" && step === 0)
      return { tool_calls: [{ name: "far__away", arguments: { text: SECRET } }] };
    return { text: `${SECRET} done` };
  };
  await fx.worker({ runner: fx.tracedRunner });
  pmo = await startPmo({ ...fx.parts, executor: "pmo" });
  service = await startToolService({ ...fx.parts, target: "far", runner: fx.tracedRunner, executor: "far-1" });
});
afterAll(async () => {
  await service.stop();
  await pmo.stop();
  await fx.close();
  for (const api of [context, trace, metrics, propagation]) api.disable();
});

async function ask(agent: string): Promise<string> {
  const turn = await traceEnqueue({ agent_name: agent }, (ids) => {
    root = ids;
    return enqueueAgentTurn(fx.kernel, fx.ids, { project_id: fx.project, agent, input: `plan ${SECRET}`, ...ids });
  });
  await fx.ended(turn.agent_turn_id, 25_000);
  return turn.agent_turn_id;
}

const finished = (of: string) => spans.getFinishedSpans().filter(({ name }) => name.startsWith(of));

describe("a delegated run", () => {
  it("is one tree: every span hangs below the one that asked for it, children with a trace of their own by a link", async () => {
    await ask("planner");
    await fx.until(() => finished("invoke_agent child").length === 2, "the spans of the children");
    const all = spans.getFinishedSpans();
    const byId = new Map(all.map((span) => [span.spanContext().spanId, span]));
    /** A span's parent, or what its trace is linked to. */
    const above = (span: ReadableSpan): ReadableSpan | undefined =>
      byId.get(span.links[0]?.context.spanId ?? span.parentSpanContext?.spanId ?? "");
    const pathOf = (span: ReadableSpan): string[] => {
      const parent = above(span);
      return parent === undefined ? [span.name] : [...pathOf(parent), span.name];
    };
    const paths = new Set(all.map((span) => pathOf(span).join(" > ")));
    const planner = "enqueue planner > invoke_agent planner";
    expect(paths).toContain(`${planner} > chat test`);
    expect(paths).toContain(`${planner} > execute_tool ask__helper`);
    const helper = `${planner} > execute_tool ask__helper > invoke_agent helper`;
    expect(paths).toContain(`${helper} > chat test`);
    expect(paths).toContain(`${helper} > execute_tool far__away`);
    expect(paths).toContain(`${planner} > invoke_agent child > chat test`);
    expect([...paths].filter((path) => !path.startsWith("enqueue planner"))).toEqual([]);

    const own = all.filter((span) => span.spanContext().traceId === root.trace_id).map(({ name }) => name);
    expect(own).toContain("execute_tool far__away"); // by the service, in the same trace
    expect(own).not.toContain("invoke_agent child");
  });

  it("says who, which model and which tool in the GenAI attributes, and nothing of what was said", () => {
    const [chat] = finished("chat");
    expect(chat?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "scripted",
      "gen_ai.request.model": "test",
      "gen_ai.agent.name": "planner",
      "gen_ai.usage.input_tokens": 11,
      "gen_ai.usage.output_tokens": 7,
      "gen_ai.response.finish_reasons": ["stop"],
    });
    expect(finished("invoke_agent planner")[0]?.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "planner",
      "gen_ai.agent.id": expect.any(String),
    });
    expect(finished("execute_tool far__away")[0]?.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "far__away",
      "gen_ai.tool.call.id": expect.any(String),
    });
    const told = spans
      .getFinishedSpans()
      .map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
    expect(JSON.stringify(told)).not.toContain(SECRET);
  });

  it("counts how calls ended, how long turns waited, and what was tried again", async () => {
    fx.script = ({ step }) => (step === 0 ? { tool_calls: [{ name: "flaky__run", arguments: {} }] } : { text: "done" });
    await ask("helper");
    fx.script = ({ step }) =>
      step === 0
        ? {
            tool_calls: [
              { name: "lost__call", arguments: {} },
              { name: "late__call", arguments: {} },
            ],
          }
        : { text: "done" };
    for (const name of ["lost__call", "late__call"]) {
      await fx.tool({ name, placement: "service", effect: "once", handler: () => ({}) } as never);
    }
    const asked = ask("helper");
    await fx.answerCalls("lost", 1, () => ({
      status: "failed",
      error: { code: "outcome_unknown", message: "who knows" },
    }));
    await fx.answerCalls("late", 1, () => ({ status: "timeout", error: { code: "tool_timeout", message: "slow" } }));
    await asked;
    await reader.forceFlush();
    const metric = (name: string) =>
      numbers
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics)
        .find(({ descriptor }) => descriptor.name === name)
        ?.dataPoints.map(({ attributes, value }) => ({ tool: attributes["gen_ai.tool.name"], value }));
    expect(metric("tessera.outcomes_unknown")).toEqual([{ tool: "lost__call", value: 1 }]);
    expect(metric("tessera.tool_timeouts")).toEqual([{ tool: "late__call", value: 1 }]);
    expect(metric("tessera.tool_retries")).toEqual([{ tool: "flaky__run", value: 1 }]);
    const calls = metric("tessera.tool_calls") ?? [];
    expect(calls).toContainEqual({ tool: "flaky__run", value: 1 });
    expect(calls).toContainEqual({ tool: "far__away", value: 1 });
    const [wait] = metric("tessera.wait") ?? [];
    expect(wait?.value).toMatchObject({ count: 3 }); // planner, helper, helper
  });
});

describe("the model's request", () => {
  it("carries the context of the chat span", async () => {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      id: "r",
      choices: [{ index: 0, delta, finish_reason }],
    });
    await using server = await modelServer((response) =>
      sendEvents(response, [chunk({ content: "hi" }), chunk({}, "stop"), "[DONE]"]),
    );
    const models = createModels({ env: {}, clock: fx.clock, onWarning: () => undefined });
    await fx.worker({ workerTargets: ["http_workers"], models });
    const model = { ...PROFILE.model, provider: "local", model: "m", endpoint: `${server.url}/v1` };
    await fx.define({ name: "talker", worker_target: "http_workers", model });
    await ask("talker");
    const [chat] = finished("chat m");
    const { traceId, spanId } = chat?.spanContext() ?? {};
    expect(server.requests[0]?.headers.traceparent).toBe(`00-${traceId}-${spanId}-01`);
    expect(traceId).toBe(root.trace_id);
  });
});

describe("a turn that fails", () => {
  it("has an error with a code on its spans", async () => {
    fx.script = () => {
      throw new Error(`broken by ${SECRET}`);
    };
    await ask("child");
    const failed = [finished("chat").at(-1), finished("invoke_agent child").at(-1)];
    for (const span of failed) {
      expect(span?.attributes["error.type"]).toBe("internal_error");
      expect(JSON.stringify([span?.status, span?.events])).not.toContain(SECRET);
    }
  });
});
