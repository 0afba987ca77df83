// What a model, a tool or an impatient user can do to a turn, and how it ends all the same (docs/faults.md#swarms,
// docs/reference/security.md#t-a-models-arguments).

import type { ToolContext } from "@tessera/tool";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { AgentFixture, PROFILE, type Script } from "../../test/agent-fixture.ts";
import { createModels } from "../models/index.ts";
import { modelServer, sendEvents, sendJson, testClock } from "../models/model-server.fixture.ts";
import type { AgentProfile } from "../profile.ts";

let fx: AgentFixture;
const scripts = new Map<string, Script>();
let runningTools = 0;
let abortedTools = 0;

beforeAll(async () => {
  fx = await AgentFixture.open();
  fx.script = (call) => scripts.get(call.agentName)?.(call) ?? { text: "done" };
  const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
  await fx.tool({
    ...{ name: "echo__say", effect: "read", parameters: text },
    handler: (_ctx: unknown, input: { text: string }) => ({ said: input.text }),
  } as never);
  await fx.tool({
    ...{ name: "boom__now", effect: "read" },
    handler: () => {
      throw Object.assign(new Error("it broke"), { code: "E_BROKE", stack: "SECRET STACK" });
    },
  } as never);
  await fx.tool({
    ...{ name: "stop__now", effect: "read" },
    handler: () => ({ answer: 42, __cg_control: { after_execution: "terminate" } }),
  } as never);
  await fx.tool({
    ...{ name: "hang__on", effect: "read" },
    handler: (ctx: ToolContext) =>
      new Promise((resolve) => {
        runningTools += 1;
        ctx.signal?.addEventListener("abort", () => {
          abortedTools += 1;
          resolve({ late: true });
        });
      }),
  } as never);
  await fx.tool({ name: "far__away", placement: "service", effect: "read", handler: () => ({}) } as never);
  await fx.worker({ leaseMs: 2_400 });
});
afterEach(() => fx.expectSafe());
afterAll(() => fx.close());

let agents = 0;
async function start(script: Script, profile: Partial<AgentProfile> = {}): Promise<{ turn: string; agent: string }> {
  const name = `agent${++agents}`;
  scripts.set(name, script);
  const agent = await fx.agent({ ...profile, name });
  return { agent, turn: await fx.enqueue(agent, "go") };
}

async function resultsOf(turn: string): Promise<Record<string, unknown>[]> {
  return (await fx.cards(turn)).filter((card) => card.type === "tool.result").map((card) => card.content as never);
}

const say = (text: string, id?: string) => ({
  ...(id === undefined ? {} : { id }),
  name: "echo__say",
  arguments: { text },
});

describe("a message with many calls", () => {
  it("of 64 in every state brings all their results to the model, in call order", async () => {
    const kinds = ["local", "failing", "remote", "timeout", "canceled", "unknown"] as const;
    const tools = { local: "echo__say", failing: "boom__now", unknown: "no__such" } as Record<string, string>;
    const calls = [...Array(64).keys()].map((n) => {
      const kind = kinds[n % kinds.length] ?? "local";
      const name = tools[kind] ?? "far__away";
      return { name, arguments: name === "far__away" ? { kind, n } : { text: `${n}` } };
    });
    let outputs: unknown[] = [];
    const { turn } = await start(({ step, messages }) => {
      if (step === 0) return { tool_calls: calls };
      outputs = (messages.at(-1) as { content: unknown[] }).content;
      return { text: "all in" };
    });
    const remote = calls.filter((call) => call.name === "far__away");
    await fx.answerCalls("far", remote.length, ({ arguments: given }) => {
      const { kind, n } = given as { kind: string; n: number };
      if (kind === "timeout") return { status: "timeout", error: { code: "tool_timeout", message: "too slow" } };
      if (kind === "canceled") return { status: "canceled", error: { code: "canceled", message: "no longer" } };
      return { status: "success", result: { n } };
    });
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "all in" } });
    const expected = {
      local: (n: number) => ({ type: "json", value: { said: `${n}` } }),
      remote: (n: number) => ({ type: "json", value: { n } }),
      failing: () => ({
        type: "error-json",
        value: expect.objectContaining({ status: "failed", message: "it broke" }),
      }),
      timeout: () => ({
        type: "error-json",
        value: expect.objectContaining({ status: "timeout", code: "tool_timeout" }),
      }),
      canceled: () => ({ type: "error-json", value: expect.objectContaining({ status: "canceled" }) }),
      unknown: () => ({ type: "error-json", value: expect.objectContaining({ code: "tool_not_in_catalog" }) }),
    };
    expect(outputs.map((part) => (part as { output: unknown }).output)).toEqual(
      calls.map((_, n) => expected[kinds[n % kinds.length] ?? "local"](n)),
    );
    expect(JSON.stringify(await fx.cards(turn))).not.toContain("SECRET STACK");
  });

  it("of 200 runs the first 64 and shows the model the rest, now and in later turns", async () => {
    let told = "";
    const { turn, agent } = await start(({ step, messages }) => {
      if (step === 0) return { tool_calls: [...Array(200).keys()].map((n) => say(`${n}`)) };
      told = JSON.stringify(messages.at(-1));
      return { text: "enough" };
    });
    await fx.ended(turn);
    const results = await resultsOf(turn);
    expect(results.map((content) => (content.result as { said: string }).said)).toEqual(
      [...Array(64).keys()].map((n) => `${n}`),
    );
    expect(told).toContain("too_many_calls");
    expect(told).toContain("136");
    let later = "";
    scripts.set(`agent${agents}`, ({ messages }) => {
      later = JSON.stringify(messages);
      return { text: "seen" };
    });
    const output_box_id = String((await fx.kernel.reads.turn(fx.project, turn))?.output_box_id);
    await fx.ended(await fx.enqueue(agent, "again", { output_box_id }));
    expect(later).toContain("too_many_calls: 136");
  });

  it("whose ids are repeated, empty, too long or taken gets one result for each call, under ids of its own", async () => {
    const calls = [say("a", "same"), say("b", "same"), say("c", ""), say("d", "x".repeat(300)), say("e", "taken")];
    const script: Script = ({ step }) => (step === 0 ? { tool_calls: calls } : { text: "done" });
    const first = await start(script);
    const second = await start(script);
    for (const { turn } of [first, second]) {
      expect(await fx.ended(turn)).toMatchObject({ status: "success" });
      const said = (await resultsOf(turn)).map((content) => (content.result as { said: string }).said);
      expect(said).toEqual(["a", "b", "c", "d", "e"]);
      const ids = (await fx.cards(turn)).filter((card) => card.type === "tool.call").map((card) => card.tool_call_id);
      expect(new Set(ids).size).toBe(5);
    }
  });

  it("whose arguments are not an object of JSON refuses those calls and runs the others", async () => {
    const bad = ["{", '"text"', "[1]", '"{\\"text\\":\\"x\\"}"', 7, null];
    const { turn } = await start(({ step }) => {
      const broken = bad.map((given) => ({ name: "echo__say", arguments: given }));
      return step === 0 ? { tool_calls: [...broken, say("fine")] } : { text: "done" };
    });
    expect(await fx.ended(turn)).toMatchObject({ status: "success" });
    const results = await resultsOf(turn);
    expect(results.slice(0, -1).map((content) => (content.error as { code: string }).code)).toEqual(
      bad.map(() => "bad_request"),
    );
    expect(results.at(-1)).toMatchObject({ status: "success" });
  });
});

describe("a turn ends", () => {
  it("with (no content) when its model says nothing and calls nothing", async () => {
    const { turn } = await start(() => ({ text: "" }));
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "(no content)" } });
  });

  it("with all results when one tool among others terminates it; the first failing one decides how", async () => {
    const fine = await start(() => ({ tool_calls: [say("x"), { name: "stop__now", arguments: {} }] }));
    expect(await fx.ended(fine.turn)).toMatchObject({ status: "success" });
    expect(await resultsOf(fine.turn)).toHaveLength(2);
    const failing = await start(() => ({
      tool_calls: [say("x"), { name: "boom__now", arguments: {} }, { name: "stop__now", arguments: {} }],
    }));
    expect(await fx.ended(failing.turn)).toMatchObject({ status: "failed", error_message: "it broke" });
    expect(await resultsOf(failing.turn)).toHaveLength(3);
  });

  it("by submit_result only when that stands alone; the calls beside it are run and it is refused", async () => {
    const submit = { name: "submit_result", arguments: { result: { a: 1 } } };
    const { turn } = await start(({ step }) => ({ tool_calls: step === 0 ? [say("x"), submit] : [submit] }), {
      allowed_internal_tools: ["submit_result"],
    });
    expect(await fx.ended(turn)).toMatchObject({ deliverable: { data: { fields: [{ name: "a", value: 1 }] } } });
    expect(await resultsOf(turn)).toMatchObject([
      { status: "success" },
      { status: "failed", error: { code: "bad_request", message: expect.stringContaining("only call") } },
    ]);
  });
});

describe("a turn that is stopped", () => {
  const stop = (agent_turn_id: string) => fx.kernel.stopTurn({ project_id: fx.project, agent_turn_id });

  it("while its local tools run aborts them, ends canceled and drops what they say", async () => {
    const hang = { name: "hang__on", arguments: {} };
    const { turn, agent } = await start(({ step }) => (step === 0 ? { tool_calls: [hang, say("x"), hang] } : {}));
    await fx.until(() => runningTools === 2, "both tools to run");
    await stop(turn);
    expect(await fx.ended(turn)).toMatchObject({ status: "canceled" });
    await fx.until(() => abortedTools === 2, "both tools to be told");
    const after = await fx.enqueue(agent, "again");
    await fx.until(async () => (await fx.kernel.reads.turn(fx.project, after))?.status !== "queued", "the next turn");
    expect(JSON.stringify(await resultsOf(turn))).not.toContain("late");
    await stop(after);
  });

  it("while it waits ends canceled, and a late report is refused", async () => {
    const { turn } = await start(() => ({ tool_calls: [{ name: "far__away", arguments: {} }] }));
    let [call] = await fx.kernel.claimCalls({ project_id: fx.project, target: "far", executor: "e" });
    await fx.until(async () => {
      call ??= (await fx.kernel.claimCalls({ project_id: fx.project, target: "far", executor: "e" }))[0];
      return call !== undefined;
    }, "the call");
    await stop(turn);
    expect(await fx.ended(turn)).toMatchObject({ status: "canceled" });
    const { tool_call_id = "", capability = "" } = call ?? {};
    const content = { status: "success" as const, result: {} };
    const late = await fx.kernel.report({ project_id: fx.project, tool_call_id, capability, content });
    expect(late).toMatchObject({ outcome: "rejected" });
    const tasks = fx.published.filter(({ subject }) => subject.endsWith(".task"));
    expect(tasks.filter(({ data }) => new TextDecoder().decode(data).includes(turn))).toHaveLength(1);
  });

  it("while it is queued ends canceled without a thought, and the one before it goes on", async () => {
    let answer = () => {};
    const { turn, agent } = await start(() => new Promise((resolve) => (answer = () => resolve({ text: "first" }))));
    const queued = await fx.enqueue(agent, "second");
    await stop(queued);
    expect(await fx.ended(queued)).toMatchObject({ status: "canceled" });
    await fx.until(() => fx.modelCalls.some((call) => call.agentName === `agent${agents}`), "the first to think");
    answer();
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "first" } });
    expect(fx.modelCalls.filter((call) => call.agentName === `agent${agents}`)).toHaveLength(1);
  });
});

describe("a model over HTTP", () => {
  it("that fails twice and then answers costs time only; one that never does fails the turn, with a code and no stack", async () => {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      id: "r",
      choices: [{ index: 0, delta, finish_reason }],
    });
    await using server = await modelServer((response, n) => {
      if (n < 2 || n >= 3) sendJson(response, 503, { error: { message: "overloaded at /srv/secret.ts:1" } });
      else sendEvents(response, [chunk({ content: "at last" }), chunk({}, "stop"), "[DONE]"]);
    });
    const clock = testClock();
    await fx.worker({
      workerTargets: ["http_workers"],
      models: createModels({ env: {}, clock, onWarning: () => undefined }),
    });
    const model = { ...PROFILE.model, provider: "local", model: "m", endpoint: `${server.url}/v1` };
    const agent = await fx.agent({ name: "http", worker_target: "http_workers", model });
    expect(await fx.ended(await fx.enqueue(agent, "hello"))).toMatchObject({ deliverable: { text: "at last" } });
    expect(server.requests).toHaveLength(3);
    const failed = await fx.ended(await fx.enqueue(agent, "again"));
    expect(failed).toMatchObject({ status: "failed", error_code: "model_failed" });
    expect(server.requests).toHaveLength(6);
    expect(clock.waits.filter((ms) => ms >= 1_000)).toEqual([2_000, 4_000, 2_000, 4_000]);
    expect(failed.error_message).toContain("3 attempts");
    expect(JSON.stringify(failed)).not.toMatch(/secret\.ts|\bat [A-Za-z]+ \(/);
  });
});
