// Extensions in the loop, on a store in memory: what they may change, what they may not, and that their errors are theirs.

import { HEADERS } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit";
import type { ToolRunner } from "@tessera/tool";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentFixture } from "../../test/agent-fixture.ts";
import type { ExtensionApi, ExtensionModule, ToolCallContext } from "./api.ts";
import { createExtensionHost } from "./create-extension-host.ts";
import type { ExtensionHost } from "./extension-host.ts";

let fx: AgentFixture;
beforeEach(async () => {
  fx = await AgentFixture.open();
});
afterEach(() => fx.close());

const runs: unknown[] = [];
beforeEach(async () => {
  runs.length = 0;
  await fx.tool({
    name: "echo__say",
    parameters: {
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
      additionalProperties: false,
    },
    effect: "read",
    handler: (_ctx: unknown, input: { text: string }) => {
      runs.push(input.text);
      return { said: input.text };
    },
  } as never);
});

const logs: string[] = [];
function host(...extensions: ExtensionModule[]): ExtensionHost {
  return createExtensionHost({
    extensions,
    kernel: fx.kernel,
    onLog: ({ extension, level, message }) => void logs.push(`${extension} ${level} ${message}`),
    onWarning: (warning) => void fx.warnings.push(warning),
  });
}

/** The runner of a process with extensions: their tools are found where the host says. */
function runnerWith(extensions: ExtensionHost): ToolRunner {
  return {
    run: (invocation, options) => {
      const tool = extensions.toolOf(invocation);
      if (tool !== null) fx.tools.set(invocation.tool_name, tool);
      return fx.runner.run(invocation, options);
    },
    close: async () => undefined,
  };
}

const extension = (register: ExtensionModule["register"], name = "guard"): ExtensionModule => ({ name, register });
const listed = (...names: string[]) => ({ extensions: names.map((name) => ({ name, config: null })) });

async function turnWith(extensions: ExtensionHost, profile: Parameters<AgentFixture["agent"]>[0]) {
  await fx.worker({ extensions, runner: runnerWith(extensions) });
  const agent = await fx.agent(profile);
  const id = await fx.enqueue(agent, "go");
  const ended = await fx.ended(id);
  const cards = await fx.cards(id);
  return { agent, id, ended, results: cards.filter((card) => card.type === "tool.result").map((card) => card.content) };
}

const callOnce = (name: string, args: unknown) => {
  fx.script = ({ step }) => (step === 0 ? { tool_calls: [{ name, arguments: args }] } : { text: "done" });
};

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

  it("is told who calls what, and a result as it is stays as it is", async () => {
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

  it("that throws is skipped: the tool runs, and somebody is told", async () => {
    callOnce("echo__say", { text: "hi" });
    const broken = around(() => {
      throw new Error("no");
    });
    const { results } = await turnWith(broken, listed("guard"));
    expect(results).toMatchObject([{ status: "success" }]);
    expect(fx.warnings).toContainEqual(expect.stringContaining("extension guard: its toolCall layer failed"));
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

  it("adds messages that the model sees from then on, before next() and no other way", async () => {
    callOnce("echo__say", { text: "hi" });
    const refusals: unknown[] = [];
    const refuse = (error: { code?: string }) => void refusals.push(error.code);
    const dated = host(
      extension((api) =>
        api.pipeline.register("step", async (ctx) => {
          const message = (content: string) => ({ data: { role: "user" as const, content } });
          await ctx.emitMessageEvent({ type: "append", message: message(`it is step ${ctx.stepIndex}`) });
          await ctx.emitMessageEvent({ type: "remove" } as never).catch(refuse);
          await ctx.emitMessageEvent({ type: "append", message: message(" ") }).catch(refuse);
          await ctx.next();
          await ctx.emitMessageEvent({ type: "append", message: message("late") }).catch(refuse);
        }),
      ),
    );
    const { id } = await turnWith(dated, listed("guard"));
    expect(fx.modelCalls.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
      ["user", "user"],
      ["user", "user", "assistant", "tool", "user"],
    ]);
    expect(fx.modelCalls[1]?.messages.at(-1)?.content).toContain("it is step 1");
    expect(refusals.slice(0, 3)).toEqual(["not_implemented", "bad_request", "conflict"]);
    expect((await fx.cards(id)).filter((card) => card.metadata.extension === "guard")).toHaveLength(2);
    await fx.expectSafe();
  });

  it("cannot offer what the profile does not allow", async () => {
    callOnce("echo__say", { text: "hi" });
    const wide = host(
      extension((api) =>
        api.pipeline.register("step", (ctx) => {
          ctx.toolCatalog.push({ name: "echo__say", description: "", parameters: {} });
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
            said.push(`${name} ${JSON.stringify(Object.values((await next()) as object).slice(1))}`);
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
      'a ["ended"]',
      'c ["ended"]',
      'a ["success"]',
      'c ["success"]',
    ]);
  });

  it("is wrapped again when it is resumed, and its layers are told", async () => {
    await fx.tool({
      name: "web__find",
      placement: "service",
      target: "web",
      effect: "read",
      handler: () => null,
    } as never);
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

  it("is taken although a layer forgets next(), and although an extension cannot be registered or is not here", async () => {
    const forgets = extension((api) => {
      api.pipeline.register("turn", () => undefined);
      api.pipeline.register("step", () => undefined);
    }, "forgets");
    const broken = extension((api) => {
      api.pipeline.register("turn", () => {
        throw new Error("never registered");
      });
      throw new Error("broken");
    }, "broken");
    const { ended } = await turnWith(host(forgets, broken), listed("forgets", "broken", "absent"));
    expect(ended.status).toBe("success");
    expect(fx.warnings.map((warning) => warning.slice(0, 42)).toSorted()).toEqual([
      "agent planner lists extension absent, whic",
      "extension broken could not be registered a",
      "extension forgets: its step layer failed a",
      "extension forgets: its turn layer failed a",
    ]);
  });

  it("tells its layers what it was asked, and lets them ask other agents", async () => {
    const seen: unknown[] = [];
    const asks = extension((api) =>
      api.pipeline.register("turn", async ({ inputEvent, runtime, agents, isResumed, next }) => {
        const { input, source } = inputEvent;
        seen.push({ input, source, runtime, isResumed, sent: await agents.send({ target: "nobody", input: "hi" }) });
        await next();
      }),
    );
    await turnWith(host(asks), listed("guard"));
    expect(seen).toEqual([
      {
        input: "go",
        source: { kind: "connector", name: "sys.test" },
        runtime: { agent: { name: "planner", instanceKey: "default" }, swarm: null },
        isResumed: false,
        sent: { accepted: false },
      },
    ]);
  });
});

describe("a tool of an extension", () => {
  const adds = (name: string, toolName: string) =>
    extension((api) => {
      api.tools.register(
        { name: toolName, parameters: { type: "object", properties: { n: { type: "number" } } }, effect: "read" },
        async (_ctx, { n }) => {
          await api.state.set({ last: n ?? null });
          return { from: name, n: n ?? null };
        },
      );
    }, name);

  it("is called through the loop by agents that list the extension, and by no others", async () => {
    callOnce("extra__count", { n: 3 });
    const extensions = host(adds("counter", "extra__count"));
    const { results } = await turnWith(extensions, listed("counter"));
    expect(results).toMatchObject([{ status: "success", result: { from: "counter", n: 3 } }]);
    const other = await fx.enqueue(await fx.agent(), "go");
    await fx.ended(other);
    const [refused] = (await fx.cards(other)).filter((card) => card.type === "tool.result");
    expect(refused?.content).toMatchObject({ error: { code: "tool_not_in_catalog" } });
  });

  it("whose worker died in the middle of it is run again by another process, inside the same layers", async () => {
    callOnce("extra__slow", {});
    const started = Promise.withResolvers<void>();
    let [handled, wrapped] = [0, 0];
    const slow = extension((api) => {
      api.pipeline.register("toolCall", (ctx) => {
        wrapped += 1;
        return ctx.next();
      });
      api.tools.register({ name: "extra__slow", effect: "read" }, async ({ signal }) => {
        handled += 1;
        if (handled > 1) return { done: true };
        started.resolve();
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        return null;
      });
    }, "slow");
    const start = async () => {
      const extensions = host(slow);
      return await fx.worker({ extensions, runner: runnerWith(extensions) });
    };
    const first = await start();
    const id = await fx.enqueue(await fx.agent(listed("slow")), "go");
    await started.promise;
    await first.stop({ graceMs: 0 });
    await start();
    expect((await fx.ended(id)).status).toBe("success");
    const [result] = (await fx.cards(id)).filter((card) => card.type === "tool.result");
    expect([result?.content, handled, wrapped]).toMatchObject([{ result: { done: true } }, 2, 2]);
    await fx.expectSafe();
  });

  it("shadows neither a tool of the project nor that of another extension", async () => {
    callOnce("echo__say", { text: "hi" });
    const extensions = host(adds("shadow", "echo__say"), adds("first", "x__y"), adds("second", "x__y"));
    const { results } = await turnWith(extensions, listed("shadow", "first", "second"));
    expect(results).toMatchObject([{ result: { said: "hi" } }]);
    expect(fx.warnings).toEqual([
      expect.stringContaining("extension second could not be registered"),
      expect.stringContaining("extension shadow may not offer echo__say"),
    ]);
  });
});

describe("what an extension keeps", () => {
  const counts = extension((api) => {
    api.pipeline.register("step", async ({ next }) => {
      const before = (await api.state.get()) as { n: number } | null;
      await api.state.set({ n: (before?.n ?? 0) + 1 });
      await next();
    });
  }, "counts");

  it("survives a new host, is one per agent, and leaves the roster row as it was otherwise", async () => {
    const { agent } = await turnWith(host(counts), listed("counts"));
    const row = await fx.kernel.reads.agent(fx.project, agent);
    expect(row?.metadata).toMatchObject({ agent_name: "planner", extensions: { counts: { n: 1 } } });
    await fx.ended(await fx.enqueue(agent, "again"));
    const { agent: other } = await turnWith(host(counts), listed("counts"));
    const metadata = async (id: string) => (await fx.kernel.reads.agent(fx.project, id))?.metadata;
    expect(await metadata(agent)).toEqual({ ...(row?.metadata as object), extensions: { counts: { n: 2 } } });
    expect(await metadata(other)).toMatchObject({ extensions: { counts: { n: 1 } } });
  });

  it("is set by many at once without a loss", async () => {
    const many = ["a", "b", "c"].map((name) =>
      extension((api) => {
        api.pipeline.register("turn", async ({ next }) => {
          await Promise.all([1, 2, 3].map((n) => api.state.set({ n })));
          await next();
        });
      }, name),
    );
    const { agent } = await turnWith(host(...many), listed("a", "b", "c"));
    const row = await fx.kernel.reads.agent(fx.project, agent);
    expect(row?.metadata).toMatchObject({ extensions: { a: { n: 3 }, b: { n: 3 }, c: { n: 3 } } });
  });

  it("is refused where it is no JSON, and outside of a turn", async () => {
    const refusals: string[] = [];
    let outside: ExtensionApi | undefined;
    const wrong = extension((api) => {
      outside = api;
      api.pipeline.register("turn", async ({ next }) => {
        await api.state.set((() => 1) as never).catch((error: unknown) => refusals.push(String(error)));
        await next();
      });
    });
    await turnWith(host(wrong), listed("guard"));
    expect(refusals).toHaveLength(1);
    await expect(outside?.state.get()).rejects.toThrow("only while a turn runs");
  });
});

it("each configuration of an extension is registered on its own", async () => {
  const configs: unknown[] = [];
  const module = { ...extension((_, config) => void configs.push(config), "conf"), config: { from: "module" } };
  const extensions = host(module);
  await turnWith(extensions, { extensions: [{ name: "conf", config: { from: "profile" } }] });
  await fx.ended(await fx.enqueue(await fx.agent(listed("conf")), "go"));
  await fx.ended(await fx.enqueue(await fx.agent(listed("conf")), "go"));
  expect(configs).toEqual([{ from: "profile" }, { from: "module" }]);
});

it("events reach every listener of the process, whatever one of them throws", async () => {
  const heard: unknown[] = [];
  const listens = (name: string, fails: boolean) =>
    extension((api) => {
      const off = api.events.on("ping", async (payload) => {
        heard.push([name, payload]);
        off();
        if (fails) throw new Error("deaf");
      });
    }, name);
  const pings = extension((api) => {
    api.pipeline.register("turn", async ({ next }) => {
      await api.events.emit("ping", 1);
      await api.events.emit("ping", 2);
      api.logger.info("pinged %d", 2);
      await next();
    });
  }, "pings");
  logs.length = 0;
  await turnWith(host(listens("a", true), listens("b", false), pings), listed("a", "b", "pings"));
  expect(heard).toEqual([
    ["a", 1],
    ["b", 1],
  ]);
  expect(fx.warnings).toEqual([expect.stringContaining("extension a failed to handle the event ping")]);
  expect(logs).toEqual(["pings info pinged 2"]);
});

it("a guard that requires a tool works with what is here: a reminder by refusing everything else", async () => {
  const requires = extension((api, config) => {
    const { tool } = config as { tool: string };
    api.pipeline.register("step", async (ctx) => {
      if ((await api.state.get()) !== ctx.turnId) ctx.toolCatalog = ctx.toolCatalog.filter(({ name }) => name === tool);
      await ctx.next();
    });
    api.pipeline.register("toolCall", async (ctx) => {
      const result = await ctx.next();
      if (ctx.toolName === tool && result.status === "ok") await api.state.set(ctx.turnId);
      return result;
    });
  }, "required-tool");
  await fx.tool({ name: "other__one", effect: "read", handler: () => ({ other: true }) } as never);
  fx.script = ({ tools, step }) =>
    step > 2
      ? { text: "done" }
      : { tool_calls: tools.slice(-1).map(({ name }) => ({ name, arguments: { text: "x" } })) };
  const { results } = await turnWith(host(requires), {
    extensions: [{ name: "required-tool", config: { tool: "echo__say" } }],
  });
  expect(fx.modelCalls.map(({ tools }) => tools.length)).toEqual([1, 2, 2, 2]);
  expect(results).toMatchObject([{ result: { said: "x" } }, { result: { other: true } }, { result: { other: true } }]);
});
