// Message events of extensions, in the loop: what the model is sent, what the store keeps, and what is left when something fails.

import type { Message } from "@tessera/tool";
import { describe, expect, it } from "vitest";
import {
  callOnce,
  extension,
  fx,
  host,
  listed,
  runs,
  turnWith,
  useExtensionBench,
} from "../../test/extension-bench.ts";
import type { ExtensionModule, MessageEvent, StepContext, TurnContext } from "./api.ts";

useExtensionBench();

const message = (content: unknown, role = "user", more: object = {}) =>
  ({ data: { role, content }, ...more }) as Message;
const append = (content: unknown, role?: string, more?: object): MessageEvent => {
  return { type: "append", message: message(content, role, more) };
};
const onStep = (layer: (ctx: StepContext) => unknown, name?: string) =>
  extension((api) => api.pipeline.register("step", layer), name);
const onTurn = (layer: (ctx: TurnContext) => unknown, name?: string) =>
  extension((api) => api.pipeline.register("turn", layer), name);
/** What the model was sent, call by call. */
const sent = () =>
  fx.modelCalls.map(({ messages }) => messages.map(({ role, content }) => `${role}: ${textOf(content)}`));
const textOf = (content: unknown) =>
  typeof content === "string"
    ? content
    : (content as { type: string; text?: string; toolCallId?: string }[])
        .map((part) => part.text ?? `${part.type} ${part.toolCallId}`)
        .join(" + ");
const eventsIn = async (id: string) =>
  (await fx.cards(id)).flatMap((card) => (card.type === "sys.message_event" ? [card.content.data] : []));

async function turnsWith(module: ExtensionModule, inputs: readonly string[]) {
  await fx.worker({ extensions: host(module) });
  const agent = await fx.agent(listed(module.name));
  const ids: string[] = [];
  for (const input of inputs) {
    ids.push(await fx.enqueue(agent, input));
    await fx.ended(String(ids.at(-1)));
  }
  return ids;
}

describe("an event", () => {
  it("of every type changes what the model is sent, from that moment on and in later turns", async () => {
    fx.script = () => ({ text: "ok" });
    const seen: unknown[] = [];
    const edits = onTurn(async (ctx) => {
      const { nextMessages } = ctx.conversationState;
      const idOf = (text: string) => String(nextMessages.find(({ data }) => data.content === text)?.id);
      if (ctx.inputEvent.input === "second") {
        await ctx.emitMessageEvent({ type: "replace", targetId: idOf("first"), message: message("FIRST") });
        await ctx.emitMessageEvent(append("be brief", "system", { id: "rule", metadata: { pinned: true } }));
      }
      if (ctx.inputEvent.input === "third") {
        await ctx.emitMessageEvent({ type: "remove", targetId: "rule" });
        await ctx.emitMessageEvent({ type: "remove", targetId: idOf("second") });
      }
      if (ctx.inputEvent.input === "fourth") {
        await ctx.emitMessageEvent({ type: "truncate" });
        await ctx.emitMessageEvent(append("all over again"));
      }
      seen.push(
        ctx.conversationState.nextMessages.map(({ data, source }) => `${source.type}: ${textOf(data.content)}`),
      );
      return ctx.next();
    });
    await turnsWith(edits, ["first", "second", "third", "fourth", "fifth"]);
    expect(sent()).toEqual([
      ["user: first"],
      ["user: FIRST", "assistant: ok", "user: second", "user: [system note] be brief"],
      [
        "user: FIRST",
        "assistant: ok",
        "user: [system note] What was asked before this point is not shown.",
        "assistant: ok",
        "user: third",
      ],
      ["user: all over again"],
      ["user: all over again", "assistant: ok", "user: fifth"],
    ]);
    expect(seen.slice(0, 2)).toEqual([
      ["user: first"],
      ["extension: FIRST", "assistant: ok", "user: second", "extension: be brief"],
    ]);
    await fx.expectSafe();
  });

  it("that is not awaited is written before the model is asked, and in the order of the emits", async () => {
    callOnce("echo__say", { text: "hi" });
    const dates = onStep((ctx) => {
      for (const text of ["a", "b", "c"]) void ctx.emitMessageEvent(append(`${text}${ctx.stepIndex}`));
      return ctx.next();
    });
    const { id, ended } = await turnWith(host(dates), listed("guard"));
    expect(sent()[1]).toEqual(
      [
        ...["user: go", "user: a0", "user: b0", "user: c0"],
        ...["assistant: tool-call tc_0", "tool: tool-result tc_0", "user: a1", "user: b1", "user: c1"],
      ].map((line) => line.replaceAll("tc_0", String(sent()[1]?.[4]?.split(" ")[2]))),
    );
    expect([ended.status, await eventsIn(id)]).toMatchObject([
      "success",
      Array.from({ length: 6 }, () => ({ event: "append" })),
    ]);
    expect(fx.warnings).toEqual([]);
    await fx.expectSafe();
  });

  it("that is wrong is refused, reported with the extension's name, and changes nothing; the turn goes on", async () => {
    const wrong: unknown[] = [
      { type: "prepend", message: message("x") },
      append(" "),
      append("x", "missing"),
      append(undefined),
      append([{ type: "tool-call", toolCallId: 7 }], "assistant"),
      { type: "remove" },
      { type: "replace", targetId: "", message: message("x") },
      append("x".repeat(600_000)),
      "append",
    ];
    const codes: unknown[] = [];
    const careless = onStep(async (ctx) => {
      for (const event of wrong) void ctx.emitMessageEvent(event as MessageEvent);
      for (const event of wrong)
        await ctx.emitMessageEvent(event as MessageEvent).catch(({ code }) => codes.push(code));
      return ctx.next();
    });
    const { id, ended } = await turnWith(host(careless), listed("guard"));
    expect([ended.status, await eventsIn(id), sent()]).toEqual(["success", [], [["user: go"]]]);
    expect(codes).toEqual([...wrong.slice(0, 7).map(() => "bad_request"), "payload_too_large", "bad_request"]);
    expect(fx.warnings).toHaveLength(2 * wrong.length);
    for (const warning of fx.warnings) expect(warning).toMatch(/^the extension guard: a message event was not kept: /);
  });

  it("that comes when its turn is over is refused and reported, and is in no later turn", async () => {
    fx.script = () => ({ text: "ok" });
    const codes: unknown[] = [];
    let late = async () => {};
    const dawdles = onTurn(async (ctx) => {
      await late();
      late = () =>
        ctx.emitMessageEvent(append(`after ${ctx.inputEvent.input}`)).catch(({ code }) => void codes.push(code));
      return ctx.next();
    });
    const ids = await turnsWith(dawdles, ["first", "second"]);
    expect(codes).toEqual(["conflict"]);
    expect(fx.warnings).toEqual([
      "the extension guard: a message event was not kept: conflict: the layers of its turn are over",
    ]);
    expect(sent()[1]).toEqual(["user: first", "assistant: ok", "user: second"]);
    for (const id of ids) expect(await eventsIn(id)).toEqual([]);
  });

  it("with a target that is not there is recorded and reported, and changes nothing", async () => {
    const mistaken = onStep(async (ctx) => {
      await ctx.emitMessageEvent({ type: "remove", targetId: "card_gone" });
      await ctx.emitMessageEvent({ type: "replace", targetId: "card_gone", message: message("new") });
      return ctx.next();
    });
    const { id } = await turnWith(host(mistaken), listed("guard"));
    const error = "E_MESSAGE_TARGET_NOT_FOUND";
    expect([sent(), await eventsIn(id)]).toMatchObject([
      [["user: go"]],
      [
        { event: "remove", target_id: "card_gone", error },
        { event: "replace", error },
      ],
    ]);
    expect(fx.warnings).toEqual(
      ["remove", "replace"].map((what) => `the extension guard: ${error}: no message card_gone to ${what}`),
    );
  });

  it("that takes away a call takes its result along, and the other way round", async () => {
    fx.script = ({ step }) =>
      step < 2
        ? { text: `t${step}`, tool_calls: [{ id: `c${step}`, name: "echo__say", arguments: { text: "x" } }] }
        : { text: "done" };
    const cuts = onStep(async (ctx) => {
      const messages = ctx.conversationState.nextMessages;
      const last = messages.findLast(({ data }) => data.role === (ctx.stepIndex === 1 ? "assistant" : "tool"));
      if (last !== undefined) await ctx.emitMessageEvent({ type: "remove", targetId: last.id });
      return ctx.next();
    });
    const { ended } = await turnWith(host(cuts), listed("guard"));
    expect(ended.status).toBe("success");
    expect(sent().slice(1)).toEqual([["user: go"], ["user: go", "assistant: t1"]]);
    await fx.expectSafe();
  });
});

describe("after next()", () => {
  it("a step layer lets the model think again behind an answer, which stays in the conversation", async () => {
    fx.script = ({ step }) => ({ text: `answer ${step}` });
    const critic = onStep(async (ctx) => {
      const result = await ctx.next();
      if (ctx.stepIndex > 0) return result;
      expect([result.shouldContinue, result.outcome]).toEqual([false, "ended"]);
      void ctx.emitMessageEvent(append("are you sure?"));
      return { ...result, shouldContinue: true };
    });
    const { id, ended } = await turnWith(host(critic), listed("guard"));
    expect(sent()[1]).toEqual(["user: go", "assistant: answer 0", "user: are you sure?"]);
    expect(ended.deliverable).toEqual({ text: "answer 1" });
    const types = (await fx.cards(id)).map(({ type }) => type);
    expect(types).toEqual(["agent.thought", "sys.message_event", "agent.thought", "task.deliverable"]);
    await fx.expectSafe();
  });

  it("a step layer that lets the turn go on without a word does not lose the answer", async () => {
    fx.script = ({ step }) => ({ text: `answer ${step}` });
    const twice = onStep(async ({ next, stepIndex }) => ({ ...(await next()), shouldContinue: stepIndex < 1 }));
    await turnWith(host(twice), listed("guard"));
    expect(sent()[1]).toEqual(["user: go", "assistant: answer 0"]);
  });

  it("a step layer ends a turn that would go on: what its step said is handed over, and its calls have run", async () => {
    fx.script = () => ({ text: "enough", tool_calls: [{ name: "echo__say", arguments: { text: "hi" } }] });
    const stops = onStep(async ({ next }) => ({ ...(await next()), shouldContinue: false }));
    const { ended } = await turnWith(host(stops), listed("guard"));
    expect([ended.status, ended.deliverable, runs, fx.modelCalls.length]).toEqual([
      "success",
      { text: "enough" },
      ["hi"],
      1,
    ]);
    await fx.expectSafe();
  });

  it("what turn and step layers emit behind the last answer is in the next turn, behind that answer", async () => {
    fx.script = () => ({ text: "ok" });
    const notes = extension((api) => {
      api.pipeline.register("step", async (ctx) => {
        const result = await ctx.next();
        await ctx.emitMessageEvent(append(`step of ${ctx.inputEvent.input}`));
        return result;
      });
      api.pipeline.register("turn", async (ctx) => {
        const result = await ctx.next();
        expect(result).toMatchObject({ finishReason: "text_response", responseMessage: { data: { content: "ok" } } });
        void ctx.emitMessageEvent(append(`turn of ${ctx.inputEvent.input}`));
        return result;
      });
    });
    const [id] = await turnsWith(notes, ["first", "second"]);
    expect(sent()[1]).toEqual([
      "user: first",
      "assistant: ok",
      "user: step of first",
      "user: turn of first",
      "user: second",
    ]);
    const cards = (await fx.cards(String(id))).map(({ type }) => type);
    expect(cards).toEqual(["agent.thought", "sys.message_event", "sys.message_event", "task.deliverable"]);
    await fx.expectSafe();
  });

  it("a step that waits for others takes no messages: they are refused and reported", async () => {
    await fx.tool({ name: "web__find", placement: "service", target: "web", handler: () => null } as never);
    callOnce("web__find", {});
    const codes: unknown[] = [];
    const late = onStep(async (ctx) => {
      const result = await ctx.next();
      await ctx.emitMessageEvent(append("late")).catch(({ code }) => codes.push(code));
      return { ...result, shouldContinue: false };
    });
    await fx.worker({ extensions: host(late) });
    const id = await fx.enqueue(await fx.agent(listed("guard")), "go");
    await expect.poll(() => codes, { timeout: 5_000 }).toEqual(["conflict"]);
    expect([await eventsIn(id), (await fx.kernel.reads.turn(fx.project, id))?.ended_at]).toEqual([[], null]);
    expect(fx.warnings).toEqual([
      expect.stringContaining("the extension guard: a message event was not kept: conflict"),
    ]);
    await fx.expectSafe();
  });

  it("an answer that would end the turn comes with the results of the whole turn", async () => {
    callOnce("echo__say", { text: "hi" });
    const results: unknown[] = [];
    const looks = onStep(async (ctx) => {
      const result = await ctx.next();
      results.push([result.shouldContinue, result.toolCalls.length, result.toolResults]);
      return result;
    });
    await turnWith(host(looks), listed("guard"));
    const ok = { toolName: "echo__say", status: "ok", output: { said: "hi" } };
    expect(results).toMatchObject([
      [true, 1, [ok]],
      [false, 0, [ok]],
    ]);
  });
});

it("a step that is run again after a crash emits once, and says what its first run said", async () => {
  let run = 0;
  const stamps = onStep(async (ctx) => {
    run += 1;
    await ctx.emitMessageEvent(append(`run ${run}`));
    return ctx.next();
  });
  const asked = Promise.withResolvers<void>();
  fx.script = async ({ signal }) => {
    if (run > 1) return { text: "done" };
    asked.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { text: "lost" };
  };
  const first = await fx.worker({ extensions: host(stamps) });
  const id = await fx.enqueue(await fx.agent(listed("guard")), "go");
  await asked.promise;
  await first.stop({ graceMs: 0 });
  await fx.worker({ extensions: host(stamps) });
  const ended = await fx.ended(id);
  expect([run, ended.deliverable, sent().at(-1)]).toEqual([2, { text: "done" }, ["user: go", "user: run 1"]]);
  expect(await eventsIn(id)).toHaveLength(1);
  await fx.expectSafe();
});

it("the conversation is shown as Goondan shows it: base, events since, next, and what a model would read", async () => {
  callOnce("echo__say", { text: "hi" });
  const seen: Record<string, unknown>[] = [];
  const looks = onStep(async (ctx) => {
    await ctx.emitMessageEvent(append("note", "system", { id: "n", metadata: { a: 1 }, source: { type: "user" } }));
    const { baseMessages, events, nextMessages, toLlmMessages } = ctx.conversationState;
    seen.push({ baseMessages, events: events.map(({ type }) => type), nextMessages, llm: toLlmMessages() });
    (nextMessages[0] as { metadata: object }).metadata = { changed: true };
    return ctx.next();
  });
  await turnWith(host(looks), listed("guard"));
  const [, second] = seen;
  expect(second).toMatchObject({
    baseMessages: [{ data: { role: "user", content: "go" }, source: { type: "user" }, metadata: {} }],
    events: ["append", "append", "append", "append"],
    nextMessages: [
      { data: { role: "user", content: "go" }, metadata: {} },
      {
        id: "n",
        data: { role: "system", content: "note" },
        metadata: { a: 1 },
        source: { type: "extension", extensionName: "guard" },
      },
      { data: { role: "assistant" }, source: { type: "assistant" } },
      { data: { role: "tool" }, source: { type: "tool", toolName: "echo__say" } },
      { id: expect.stringMatching(/^card_/), data: { content: "note" } },
    ],
    llm: [{ content: "go" }, { content: "note" }, { role: "assistant" }, { role: "tool" }, { content: "note" }],
  });
  for (const each of (second?.nextMessages ?? []) as Message[]) expect(each.createdAt).toBeInstanceOf(Date);
});
