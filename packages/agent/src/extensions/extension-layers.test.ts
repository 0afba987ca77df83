// Layers of extensions around turns, steps and calls: what they may change, what they may not, and that their errors are
// theirs.

import { HEADERS } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import {
  callOnce,
  extension,
  fx,
  host,
  hostWith,
  listed,
  runs,
  serviceTool,
  turnWith,
  useExtensionBench,
} from "../../test/extension-bench.ts";
import type { ToolCallContext } from "./api.ts";

useExtensionBench();

describe("a toolCall layer", () => {
  const around = (layer: (ctx: ToolCallContext) => unknown) =>
    host(extension((api) => api.pipeline.register("toolCall", layer)));

  it("can keep a tool from running, with a result that the model can read", async () => {
    callOnce("echo__say", { text: "secret" });
    const guard = around(({ toolName, toolCallId, args, next }) =>
      args.text === "secret"
        ? { toolCallId, toolName, status: "error", error: { message: "not that", code: "E_POLICY", suggestion: "ask" } }
        : next(),
    );
    const { results, ended } = await turnWith(guard, listed("guard"));
    expect(results).toMatchObject([
      { status: "failed", error: { message: "not that", detail: { code: "E_POLICY", suggestion: "ask" } } },
    ]);
    expect([runs, ended.status]).toEqual([[], "success"]);
    await fx.expectSafe();
  });

  it("can change the arguments, and the result", async () => {
    callOnce("echo__say", { text: "hi" });
    const shout = around(async (ctx) => {
      ctx.args = { text: `${ctx.args.text}!` };
      const result = await ctx.next();
      return { ...result, output: { heard: true } };
    });
    const { results } = await turnWith(shout, listed("guard"));
    expect([runs, results]).toMatchObject([["hi!"], [{ status: "success", result: { heard: true } }]]);
  });

  it("that makes arguments the tool does not take gets them refused", async () => {
    callOnce("echo__say", { text: "hi" });
    const wrong = around((ctx) => {
      ctx.args.text = 7;
      return ctx.next();
    });
    const { results } = await turnWith(wrong, listed("guard"));
    expect([runs, results]).toMatchObject([[], [{ status: "failed", error: { code: "bad_request" } }]]);
  });

  it("learns who calls what, and a result as it is stays as it is", async () => {
    callOnce("echo__say", { text: "hi" });
    const seen: unknown[] = [];
    const look = around(async ({ next, ...ctx }) => {
      const result = await next();
      seen.push({ ...ctx, frozen: Object.isFrozen(result) });
      return result;
    });
    const { id, results } = await turnWith(look, listed("guard"));
    expect(seen).toMatchObject([
      { agentName: "planner", turnId: id, toolName: "echo__say", stepIndex: 0, args: { text: "hi" }, frozen: true },
    ]);
    expect(results).toMatchObject([{ status: "success", result: { said: "hi" } }]);
  });

  const refusal = {
    status: "failed",
    error: { code: "extension_failed", detail: { extension: "guard", has_run: false } },
  };
  it.each<[string, (ctx: ToolCallContext) => unknown]>([
    ["throws", () => boom()],
    ["answers what is no result", () => "yes"],
    ["returns without next()", () => undefined],
    ["does not answer in time", () => new Promise(() => undefined)],
  ])("that %s keeps the tool from running: the model reads why, the operator gets the stack", async (_, layer) => {
    callOnce("echo__say", { text: "hi" });
    const broken = host(extension((api) => api.pipeline.register("toolCall", layer, { timeoutMs: 50 })));
    const { results, ended, id } = await turnWith(broken, listed("guard"));
    expect([runs, results, ended.status]).toMatchObject([[], [refusal], "success"]);
    const [failure, ...more] = await fx.kernel.reads.failuresOfTurn(fx.project, id);
    expect([failure?.tool_name, failure?.stack, more]).toEqual([
      "echo__say",
      expect.stringMatching(/Error: .*\n +at /),
      [],
    ]);
    expect(toolMessage()).toMatchObject({ type: "error-json", value: { code: "extension_failed" } });
    expect(JSON.stringify(results)).not.toContain("at "); // no stack
    expect(fx.warnings).toEqual([
      expect.stringMatching(
        /^extension guard: its toolCall layer failed before next\(\) and let nothing through: .*\n +at /s,
      ),
    ]);
    await fx.expectSafe();
  });

  it("that throws after next(): the tool ran once, its result is kept in the card, and the model reads that it ran", async () => {
    callOnce("echo__say", { text: "hi" });
    const broken = around(async ({ next }) => {
      await next();
      boom();
    });
    const { results } = await turnWith(broken, listed("guard"));
    expect([runs, results]).toMatchObject([
      ["hi"],
      [{ status: "failed", result: { said: "hi" }, error: { code: "extension_failed", detail: { has_run: true } } }],
    ]);
    expect(toolMessage()).toMatchObject({ value: { detail: { has_run: true, tool_status: "success" } } });
    expect(JSON.stringify(fx.modelCalls[1]?.messages)).not.toContain("said");
    expect(fx.warnings).toEqual([expect.stringContaining("failed after next() and let nothing through")]);
    await fx.expectSafe();
  });

  it("that throws after a tool that ends the turn: the turn ends, and its deliverable does not hold the result", async () => {
    await fx.tool({
      ...{ name: "last__word", effect: "once", afterExecution: "terminate" },
      handler: () => ({ secret: "s3" }),
    } as never);
    callOnce("last__word", {});
    const broken = around(async ({ next }) => {
      await next();
      boom();
    });
    const { ended, results } = await turnWith(broken, listed("guard"));
    expect([ended.status, ended.error_code, results]).toMatchObject([
      "failed",
      "extension_failed",
      [{ result: { secret: "s3" } }],
    ]);
    expect(JSON.stringify(ended.deliverable)).not.toContain("s3");
  });

  it("with onError skip is left out when it fails, before next() and after", async () => {
    callOnce("echo__say", { text: "hi" });
    const observes = host(
      extension((api) => {
        api.pipeline.register("toolCall", () => boom(), { onError: "skip" });
        api.pipeline.register("toolCall", ({ next }) => next().then(() => boom()), { onError: "skip" });
      }),
    );
    const { results, id } = await turnWith(observes, listed("guard"));
    expect([runs, results]).toMatchObject([["hi"], [{ status: "success", result: { said: "hi" } }]]);
    expect(await fx.kernel.reads.failuresOfTurn(fx.project, id)).toEqual([]);
    expect(fx.warnings.map((warning) => warning.split(":")[1])).toEqual([
      " its toolCall layer failed before next() and was left out",
      " its toolCall layer failed after next() and was left out",
    ]);
  });

  it("is governed by the word of its bundle or its profile before its own", async () => {
    callOnce("echo__say", { text: "hi" });
    const lenient = extension((api) => api.pipeline.register("toolCall", () => boom(), { onError: "skip" }), "lenient");
    const strict = extension((api) => api.pipeline.register("toolCall", () => boom()), "strict");
    const extensions = host({ ...lenient, onError: "fail" }, strict);
    const skipped = { extensions: [{ name: "strict", config: null, on_error: "skip" as const }] };
    const { results } = await turnWith(extensions, skipped);
    expect([runs, results]).toMatchObject([["hi"], [{ status: "success" }]]);
    const second = await fx.enqueue(await fx.agent(listed("lenient")), "go");
    await fx.ended(second);
    const refused = (await fx.cards(second)).filter((card) => card.type === "tool.result");
    expect([runs, refused[0]?.content]).toMatchObject([["hi"], { error: { code: "extension_failed" } }]);
  });

  it("that fails around a call for elsewhere keeps it from being sent, before next() and after", async () => {
    await fx.tool({ name: "web__find", placement: "service", target: "web", handler: () => null } as never);
    fx.script = ({ step }) =>
      step > 0
        ? { text: "done" }
        : { tool_calls: ["before", "after", "wrong"].map((id) => ({ id, name: "web__find", arguments: {} })) };
    const broken = around(async ({ toolCallId, toolName, next }) => {
      if (toolCallId === "before") boom();
      await next();
      if (toolCallId === "after") boom();
      return { toolCallId, toolName, status: "ok", output: 1 };
    });
    const { results, ended } = await turnWith(broken, listed("guard"));
    expect(results).toMatchObject([refusal, refusal, refusal]);
    expect(fx.published.filter(({ subject }) => subject.includes(".cmd.tool.web."))).toEqual([]);
    expect(ended.status).toBe("success");
    await fx.expectSafe();
  });

  it("sees a call that runs elsewhere before it is sent, and can keep it back or change it", async () => {
    const parameters = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
    await fx.tool({
      name: "web__search",
      parameters,
      placement: "service",
      target: "web",
      handler: () => null,
    } as never);
    fx.script = ({ step }) => ({
      tool_calls: [
        { id: `blocked${step}`, name: "web__search", arguments: { q: "blocked" } },
        ...(step === 0 ? [] : [{ id: "sent", name: "web__search", arguments: { q: "x" } }]),
      ],
    });
    const guard = around(async (ctx) => {
      const { toolCallId, toolName } = ctx;
      if (ctx.args.q === "blocked") return { toolCallId, toolName, status: "error", error: { message: "no" } };
      ctx.args.q = "x, safely";
      expect(await ctx.next()).toMatchObject({ status: "pending" });
      return undefined;
    });
    await fx.worker({ extensions: guard });
    const id = await fx.enqueue(await fx.agent(listed("guard")), "go");
    const call = await waitFor(async () => await fx.kernel.reads.call(fx.project, "sent"), { what: "the call" });
    const [card] = await fx.kernel.reads.cards(fx.project, [String(call.call_card_id)]);
    expect(card?.content).toMatchObject({ arguments: { q: "x, safely" } });
    const results = (await fx.cards(id)).filter((each) => each.type === "tool.result");
    expect(results[0]?.content).toMatchObject({ status: "failed", error: { message: "no" } });
    expect(fx.published.filter(({ subject }) => subject.includes(".cmd.tool.web.")).length).toBe(1);
    expect(fx.warnings).toEqual([]);
  });
});

describe("a step layer", () => {
  it("limits what the model is offered and what it may call", async () => {
    callOnce("echo__say", { text: "hi" });
    const narrow = host(
      extension((api) =>
        api.pipeline.register("step", (ctx) => {
          if (ctx.stepIndex === 0) ctx.toolCatalog = ctx.toolCatalog.filter(({ name }) => name !== "echo__say");
          return ctx.next();
        }),
      ),
    );
    const { results } = await turnWith(narrow, listed("guard"));
    expect(fx.modelCalls.map(({ tools }) => tools.map(({ name }) => name))).toEqual([[], ["echo__say"]]);
    expect(results).toMatchObject([{ status: "failed", error: { code: "tool_not_in_catalog" } }]);
    expect(runs).toEqual([]);
  });

  it("takes submit_result away as well", async () => {
    fx.script = ({ step }) =>
      step === 0 ? { tool_calls: [{ name: "submit_result", arguments: { result: { a: 1 } } }] } : { text: "text" };
    const narrow = host(
      extension((api) =>
        api.pipeline.register("step", (ctx) => {
          ctx.toolCatalog.length = 0;
          return ctx.next();
        }),
      ),
    );
    const { ended, results } = await turnWith(narrow, {
      ...listed("guard"),
      allowed_internal_tools: ["submit_result"],
    });
    expect(results).toMatchObject([{ error: { code: "tool_not_in_catalog" } }]);
    expect(ended.deliverable).toEqual({ text: "text" });
  });

  it("cannot offer what the profile does not allow", async () => {
    callOnce("echo__say", { text: "hi" });
    const wide = host(
      extension((api) =>
        api.pipeline.register("step", (ctx) => {
          ctx.toolCatalog.push({
            name: "echo__say",
            description: "",
            parameters: {},
            source: { type: "config", name: "x" },
          });
          return ctx.next();
        }),
      ),
    );
    await turnWith(wide, { ...listed("guard"), allowed_tools: [] });
    expect(fx.modelCalls[0]?.tools).toEqual([]);
    expect(fx.warnings).toContainEqual(expect.stringContaining("cannot offer"));
  });
});

describe("the turn", () => {
  it("goes through the layers of the extensions that its profile lists, and no others", async () => {
    const said: string[] = [];
    const speaks = (name: string) =>
      extension((api) => {
        for (const type of ["turn", "step"] as const) {
          api.pipeline.register(type, async ({ next }: { next: () => Promise<unknown> }) => {
            said.push(`${name} ${type}`);
            const { outcome, status } = (await next()) as { outcome?: string; status: string };
            said.push(`${name} ${type} ${outcome ?? status}`);
          });
        }
      }, name);
    const { id } = await turnWith(host(speaks("a"), speaks("b"), speaks("c")), listed("c", "a"));
    expect(id).toBeTruthy();
    expect(said).toEqual([
      "c turn",
      "a turn",
      "c step",
      "a step",
      "a step ended",
      "c step ended",
      "a turn success",
      "c turn success",
    ]);
  });

  it("is wrapped again when it is resumed, and its layers see that", async () => {
    await serviceTool();
    callOnce("web__find", {});
    const stretches: unknown[] = [];
    const looks = extension((api) =>
      api.pipeline.register("turn", async ({ isResumed, next }) => {
        stretches.push([isResumed, (await next()).status]);
      }),
    );
    const extensions = host(looks);
    await fx.worker({ extensions });
    const id = await fx.enqueue(await fx.agent(listed("guard")), "go");
    const { headers } = await waitFor(
      async () => fx.published.find((message) => message.headers[HEADERS.call_ticket] !== undefined) ?? null,
      { what: "the command" },
    );
    const tool_call_id = String(headers[HEADERS.tool_call_id]);
    const call = { project_id: fx.project, tool_call_id };
    const opened = await fx.kernel.openCall({
      ...call,
      ticket: String(headers[HEADERS.call_ticket]),
      executor: "test",
    });
    if (opened.outcome === "rejected") throw new Error(opened.code);
    const content = { status: "success", after_execution: "suspend", result: {}, error: null } as const;
    await fx.kernel.report({ ...call, capability: opened.capability, content });
    await fx.ended(id);
    await waitFor(async () => stretches.length === 2 || null, { what: "the second stretch" });
    expect(stretches).toEqual([
      [false, "suspended"],
      [true, "success"],
    ]);
  });

  const failing = {
    "throws around a turn": extension((api) => api.pipeline.register("turn", () => boom())),
    "forgets next() of a turn": extension((api) => api.pipeline.register("turn", () => undefined)),
    "throws around a step": extension((api) => api.pipeline.register("step", () => boom())),
    "forgets next() of a step": extension((api) => api.pipeline.register("step", () => undefined)),
    "does not answer in time": extension((api) =>
      api.pipeline.register("step", () => new Promise(() => undefined), { timeoutMs: 20 }),
    ),
    "offers what is no list": extension((api) =>
      api.pipeline.register("step", (ctx) => {
        ctx.toolCatalog = null as never;
        return ctx.next();
      }),
    ),
  };
  it.each(Object.entries(failing))(
    "ends with extension_failed before the model is asked when a layer %s",
    async (_, module) => {
      const { ended } = await turnWith(host(module), listed("guard"));
      expect([ended.status, ended.error_code, fx.modelCalls]).toEqual(["failed", "extension_failed", []]);
      expect(fx.warnings).toEqual([
        expect.stringMatching(/^extension guard: its (turn|step) layer failed before next/),
      ]);
      await fx.expectSafe();
    },
  );

  it.each(Object.entries(failing))("goes on when a layer that is skipped %s", async (_, module) => {
    const { ended } = await turnWith(host({ ...module, onError: "skip" }), listed("guard"));
    expect([ended.status, fx.modelCalls.length]).toEqual(["success", 1]);
  });

  it("ends with extension_failed when a step layer fails after next() and the turn would go on; results stay", async () => {
    callOnce("echo__say", { text: "hi" });
    const broken = extension((api) => api.pipeline.register("step", ({ next }) => next().then(() => boom())));
    const { ended, results } = await turnWith(host(broken), listed("guard"));
    expect([ended.error_code, runs, results]).toMatchObject(["extension_failed", ["hi"], [{ status: "success" }]]);
    await fx.expectSafe();
  });

  it("stands as it ended when a layer fails after its end", async () => {
    const broken = extension((api) => {
      api.pipeline.register("turn", ({ next }) => next().then(() => boom()));
      api.pipeline.register("step", ({ next }) => next().then(() => boom()));
    });
    const { ended } = await turnWith(host(broken), listed("guard"));
    expect(ended.status).toBe("success");
    await waitFor(async () => fx.warnings.length === 2 || null, { what: "both warnings" });
  });

  it("ends with E_EXT_LOAD where an extension is not here or cannot be registered, and is tried again later", async () => {
    let isBroken = true;
    const heard: unknown[] = [];
    const flaky = extension((api) => {
      api.events.on("ping", (payload) => void heard.push(payload));
      if (isBroken) throw new Error("no policy server");
      api.pipeline.register("turn", async ({ next }) => {
        await api.events.emit("ping", 1);
        await next();
      });
    }, "flaky");
    let laterMs = 0;
    const clock = { ...fx.clock, monotonicMs: () => fx.clock.monotonicMs() + laterMs };
    const { ended, id } = await turnWith(hostWith({ clock }, flaky), listed("flaky"));
    expect([ended.status, ended.error_code]).toEqual(["failed", "E_EXT_LOAD"]);
    expect(await fx.kernel.reads.failuresOfTurn(fx.project, id)).toMatchObject([
      { tool_call_id: null, stack: expect.stringMatching(/^Error: no policy server\n +at /) },
    ]);
    expect(ended.error_message).not.toContain("policy server");
    expect(fx.warnings).toContainEqual(
      expect.stringMatching(/flaky could not be registered .*no policy server\n +at /s),
    );
    isBroken = false;
    laterMs = 60_000;
    const again = await fx.ended(await fx.enqueue(await fx.agent(listed("flaky")), "go"));
    expect([again.status, heard]).toEqual(["success", [1]]); // what the failed registration listened to hears nothing
    const absent = await fx.ended(await fx.enqueue(await fx.agent(listed("absent")), "go"));
    expect([absent.status, absent.error_code]).toEqual(["failed", "E_EXT_LOAD"]);
    expect(fx.modelCalls).toHaveLength(1);
  });

  it("goes on without an extension that is not here or cannot be registered where both may be skipped", async () => {
    const broken = { ...extension(() => boom(), "broken"), onError: "skip" as const };
    const absent = { name: "absent", config: null, on_error: "skip" as const };
    const { ended } = await turnWith(host(broken), { extensions: [absent, { name: "broken", config: null }] });
    expect(ended.status).toBe("success");
  });

  it("is not run by a process that has no extensions at all", async () => {
    await fx.worker();
    const { error_code } = await fx.ended(await fx.enqueue(await fx.agent(listed("guard")), "go"));
    expect([error_code, fx.modelCalls]).toEqual(["E_EXT_LOAD", []]);
    const skipped = { extensions: [{ name: "guard", config: null, on_error: "skip" as const }] };
    expect((await fx.ended(await fx.enqueue(await fx.agent(skipped), "go"))).status).toBe("success");
  });

  it("shows its layers what it was asked, and lets them ask other agents", async () => {
    const seen: unknown[] = [];
    const asks = extension((api) =>
      api.pipeline.register("turn", async ({ inputEvent, runtime, agents, isResumed, next }) => {
        const { input, source } = inputEvent;
        seen.push({ input, source, runtime, isResumed, sent: await agents.send({ target: "missing", input: "hi" }) });
        await next();
      }),
    );
    await turnWith(host(asks), listed("guard"));
    expect(seen).toEqual([
      {
        input: "go",
        source: { kind: "connector", name: "sys.test" },
        runtime: {
          agent: {
            ...{ name: "planner", instanceKey: "default", bundleRoot: "" },
            prompt: { system: "You are {display_name}." },
          },
          swarm: {
            ...{ name: "", swarmName: "", entryAgent: "planner", selfAgent: "planner" },
            ...{ agents: ["planner"], availableAgents: ["planner"], callableAgents: [] },
          },
          inbound: {
            ...{ eventId: expect.stringMatching(/^card_/), eventType: "input" },
            ...{ sourceKind: "connector", sourceName: "sys.test", instanceKey: "default" },
            createdAt: expect.stringMatching(/^20.*Z$/),
          },
        },
        isResumed: false,
        sent: { accepted: false },
      },
    ]);
  });
});

/** What the model read of the only call. */
function toolMessage(): unknown {
  const message = fx.modelCalls[1]?.messages.findLast(({ role }) => role === "tool");
  const [part] = (message?.content ?? []) as { output: unknown }[];
  return part?.output;
}

function boom(): never {
  throw new Error("boom");
}
