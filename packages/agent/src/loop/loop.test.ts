// The turn loop on a store in memory: what a model says becomes cards, calls and a deliverable, and nothing dangles.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentFixture } from "../../test/agent-fixture.ts";

let fx: AgentFixture;
beforeEach(async () => {
  fx = await AgentFixture.open();
});
afterEach(() => fx.close());

const echo = () =>
  fx.tool({
    name: "echo__say",
    parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    effect: "read",
    handler: (_ctx: unknown, input: { text: string }) => ({ said: input.text }),
  } as never);

describe("a turn", () => {
  it("whose model answers in text ends with that text as its deliverable", async () => {
    fx.script = (call) => ({
      text: `you said ${JSON.stringify(call.messages.at(-1)?.content)}`,
      usage: { total_tokens: 7 },
    });
    await fx.worker();
    const turn = await fx.ended(await fx.enqueue(await fx.agent(), "hello"));
    expect(turn).toMatchObject({ status: "success", deliverable: { text: expect.stringContaining("hello") } });
    expect(fx.modelCalls[0]).toMatchObject({
      agentName: "planner",
      step: 0,
      system: expect.stringContaining("planner"),
    });
    await fx.expectSafe();
  });

  it("with a local tool call thinks again with its result, without letting go of the turn", async () => {
    await echo();
    fx.script = ({ step, messages }) =>
      step === 0
        ? { text: "I will echo", tool_calls: [{ name: "echo__say", arguments: '{"text":"hi"}' }] }
        : { text: JSON.stringify(messages.at(-1)) };
    await fx.worker();
    const id = await fx.enqueue(await fx.agent(), "go");
    const turn = await fx.ended(id);
    expect(turn.status).toBe("success");
    expect(JSON.stringify(turn.deliverable)).toContain("said");
    expect((await fx.cards(id)).map((card) => card.type)).toEqual([
      "agent.thought",
      "tool.call",
      "tool.result",
      "agent.thought",
      "task.deliverable",
    ]);
    expect(fx.modelCalls).toHaveLength(2);
  });

  it("whose call no tool offers, or whose arguments do not fit, is answered to the model, which may correct it", async () => {
    await echo();
    fx.script = ({ step }) =>
      step === 0
        ? {
            tool_calls: [
              { name: "nothing__here", arguments: "{}" },
              { name: "echo__say", arguments: "{not json" },
              { name: "echo__say", arguments: { text: "fine" } },
            ],
          }
        : { text: "done" };
    await fx.worker();
    const id = await fx.enqueue(await fx.agent(), "go");
    await fx.ended(id);
    const results = (await fx.cards(id)).filter((card) => card.type === "tool.result").map((card) => card.content);
    expect(results).toMatchObject([
      { status: "failed", error: { code: "tool_not_in_catalog" } },
      { status: "failed", error: { code: "bad_request" } },
      { status: "success", result: { said: "fine" } },
    ]);
    const tool = fx.modelCalls[1]?.messages.at(-1);
    expect(tool).toMatchObject({ role: "tool", content: [{}, {}, {}] });
  });

  it("ends when a tool says so by its result", async () => {
    await fx.tool({
      name: "stop__now",
      effect: "read",
      handler: () => ({ answer: 42, __cg_control: { after_execution: "terminate" } }),
    } as never);
    fx.script = () => ({ tool_calls: [{ name: "stop__now", arguments: {} }] });
    await fx.worker();
    const turn = await fx.ended(await fx.enqueue(await fx.agent(), "go"));
    expect(turn).toMatchObject({ status: "success" });
    expect(JSON.stringify(turn.deliverable)).toContain("42");
    expect(fx.modelCalls).toHaveLength(1);
  });

  it("of a model that never stops ends at its step limit, as partial", async () => {
    await echo();
    fx.script = ({ step }) => ({ tool_calls: [{ name: "echo__say", arguments: { text: `again ${step}` } }] });
    await fx.worker();
    const turn = await fx.ended(await fx.enqueue(await fx.agent({ max_steps: 3 }), "go"));
    expect(turn).toMatchObject({ status: "partial", error_code: "max_steps_reached" });
    expect(fx.modelCalls).toHaveLength(3);
  });

  it("must end with what its profile says: a reminder, then the tool, then the text", async () => {
    await echo();
    fx.script = ({ step }) =>
      step === 1 ? { tool_calls: [{ name: "echo__say", arguments: { text: "x" } }] } : { text: `text ${step}` };
    await fx.worker();
    const id = await fx.enqueue(await fx.agent({ must_end_with: ["echo__say"] }), "go");
    const turn = await fx.ended(id);
    expect(turn).toMatchObject({ status: "success", deliverable: { text: "text 2" } });
    expect((await fx.cards(id)).map((card) => card.type)).toContain("sys.must_end_with_required");
  });

  it("submits fields, and gets an answer with those that are missing", async () => {
    fx.script = ({ step }) => ({
      tool_calls: [
        {
          name: "submit_result",
          arguments: step === 0 ? { result: { fields: [{ name: "a", value: 1 }] } } : { result: { b: 2, a: 1 } },
        },
      ],
    });
    await fx.worker();
    const agent = await fx.agent({ allowed_internal_tools: ["submit_result"] });
    const outcome = await fx.kernel.enqueueTurn({
      project_id: fx.project,
      agent_id: agent,
      context_cards: [
        { card_id: fx.ids.mint("card"), type: "task.instruction", content: { text: "x" }, author_id: "sys.t" },
        {
          card_id: fx.ids.mint("card"),
          type: "task.result_fields",
          content: {
            fields: [
              { name: "a", description: "" },
              { name: "b", description: "" },
            ],
          },
          author_id: "sys.t",
        },
      ],
    });
    if (outcome.outcome === "rejected") throw new Error(outcome.code);
    const turn = await fx.ended(outcome.agent_turn_id);
    expect(turn.deliverable).toEqual({
      data: {
        fields: [
          { name: "a", value: 1 },
          { name: "b", value: 2 },
        ],
      },
    });
    const [refused] = (await fx.cards(outcome.agent_turn_id)).filter((card) => card.type === "tool.result");
    expect(refused?.content).toMatchObject({ status: "failed", error: { message: expect.stringContaining("b") } });
  });

  it("whose model fails for good fails with a clear code", async () => {
    const { TesseraError } = await import("@tessera/protocol");
    fx.script = () => {
      throw new TesseraError("model_failed", "no key");
    };
    await fx.worker();
    const turn = await fx.ended(await fx.enqueue(await fx.agent(), "go"));
    expect(turn).toMatchObject({ status: "failed", error_code: "model_failed", error_message: "no key" });
  });

  it("that is stopped aborts its model call and ends canceled, once", async () => {
    let aborted = false;
    fx.script = ({ signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          aborted = true;
          reject(new Error("aborted"));
        }),
      );
    await fx.worker({ leaseMs: 2_400 });
    const id = await fx.enqueue(await fx.agent(), "go");
    while (fx.modelCalls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await fx.kernel.stopTurn({ project_id: fx.project, agent_turn_id: id });
    const turn = await fx.ended(id);
    expect(turn.status).toBe("canceled");
    while (!aborted) await new Promise((resolve) => setImmediate(resolve));
    await fx.expectSafe();
  });
});

describe("a step with calls for others", () => {
  it("suspends, runs its local calls meanwhile, and goes on when all results are in, in call order", async () => {
    await echo();
    await fx.tool({ name: "far__away", placement: "service", effect: "read", handler: () => ({}) } as never);
    fx.script = ({ step, messages }) =>
      step === 0
        ? {
            tool_calls: [
              { name: "far__away", arguments: {} },
              { name: "echo__say", arguments: { text: "near" } },
            ],
          }
        : { text: JSON.stringify(messages.at(-1)) };
    await fx.worker();
    const id = await fx.enqueue(await fx.agent(), "go");
    let [call] = await fx.kernel.claimCalls({ project_id: fx.project, target: "far", executor: "e" });
    while (call === undefined) {
      await new Promise((resolve) => setImmediate(resolve));
      [call] = await fx.kernel.claimCalls({ project_id: fx.project, target: "far", executor: "e" });
    }
    const { tool_call_id, capability } = call;
    const content = { status: "success", result: { far: true } };
    await fx.kernel.report({ project_id: fx.project, tool_call_id, capability, content });
    const turn = await fx.ended(id);
    const text = String(turn.deliverable.text);
    expect(text.indexOf('"far"')).toBeGreaterThan(-1);
    expect(text.indexOf('"far"')).toBeLessThan(text.indexOf("near"));
    await fx.expectSafe();
  });
});
