// What extensions bring along and keep: tools, state, configurations, events.

import { describe, expect, it } from "vitest";
import {
  callOnce,
  extension,
  fx,
  host,
  listed,
  logs,
  runnerWith,
  turnWith,
  useExtensionBench,
} from "../../test/extension-bench.ts";
import type { ExtensionApi } from "./api.ts";

useExtensionBench();

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
    const second = { ...adds("second", "x__y"), onError: "skip" as const };
    const extensions = host(adds("shadow", "echo__say"), adds("first", "x__y"), second);
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
