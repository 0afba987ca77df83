// The onion alone: order, and whose fault is whose.

import { systemClock } from "@tessera/engines/system";
import { foreignCode } from "@tessera/tool/run";
import { describe, expect, it } from "vitest";
import { inOrder, type Layer, runOnion } from "./layers.ts";

type Next = { next: () => Promise<string> };
type Run = (ctx: Next) => unknown;

const layer = (run: Run, options: Partial<Omit<Layer, "run">> = {}): Layer => ({
  ...{ extension: "ext", type: "toolCall", priority: 0, onError: "fail", timeoutMs: 60_000 },
  ...options,
  run: run as never,
});
const boomLayer: Run = () => boom();

async function run(
  layers: readonly Layer[],
  inside: () => Promise<string> = async () => "inside",
  signal?: AbortSignal,
) {
  const faults: string[] = [];
  const shared = { value: "given" };
  let runs = 0;
  const outcome = await runOnion<string, string>({
    layers: inOrder(layers, "toolCall"),
    inside: async () => {
      runs += 1;
      return `${await inside()} of ${shared.value}`;
    },
    show: (text) => text,
    contextFor: (next) => Object.assign(shared, { next }),
    take(returned, below) {
      if (typeof returned === "string") return returned;
      if (returned !== undefined || below === undefined) throw new Error("no result");
      return below;
    },
    save: () => {
      const { value } = shared;
      return () => void Object.assign(shared, { value });
    },
    signal: signal ?? new AbortController().signal,
    refuse: ({ hasRun }, below) => (hasRun ? `refused after ${below}` : "refused"),
    clock: systemClock,
    foreignOf: (name) => ({ name, onStray: () => undefined }),
    onFault: ({ error }) => void faults.push(String(error)),
  }).catch((error: unknown) => `thrown: ${String(error)}`);
  return { outcome, faults, runs };
}

it("a layer is foreign code, before next() and after, and what it wraps is not", async () => {
  const whose: unknown[] = [];
  const note = () => void whose.push(foreignCode()?.name);
  const around = layer(async ({ next }) => {
    note();
    await next();
    note();
  });
  await run([around, around], async () => {
    note();
    return "inside";
  });
  expect(whose).toEqual(["ext", "ext", undefined, "ext", "ext"]);
});

describe("the order of layers", () => {
  it.each([
    ["as registered where priorities are equal", [0, 0, 0], "0 1 2"],
    ["lower priority further out", [5, -5, 0], "1 2 0"],
    ["mixed", [1, 0, 1, 0], "1 3 0 2"],
  ])("is %s", async (_, priorities, expected) => {
    const said: string[] = [];
    const layers = priorities.map((priority, n) =>
      layer(
        async ({ next }) => {
          said.push(`${n}`);
          await next();
          said.push(`/${n}`);
        },
        { priority },
      ),
    );
    await run(layers);
    const order = expected.split(" ");
    expect(said).toEqual([...order, ...order.toReversed().map((n) => `/${n}`)]);
  });
});

const change = (ctx: Next) => Object.assign(ctx, { value: "changed" });

describe("what a layer that fails wraps does not run, and an outcome that is there is not let through", () => {
  it.each<[string, Run, string, string[]]>([
    ["throws before next()", boomLayer, "refused", ["Error: boom"]],
    ["rejects before next()", async () => boom(), "refused", ["Error: boom"]],
    ["answers what is no result", () => 7, "refused", ["Error: no result"]],
    ["returns nothing and never calls next()", () => undefined, "refused", ["Error: no result"]],
    ["hangs before next()", hang, "refused", ["Error: it did not answer within 20 ms"]],
    [
      "throws after next()",
      async ({ next }) => {
        await next();
        boom();
      },
      "refused after inside of given",
      ["Error: boom"],
    ],
    [
      "hangs after next()",
      async ({ next }) => hang(await next()),
      "refused after inside of given",
      ["Error: it did not answer within 20 ms"],
    ],
    [
      "calls next() twice",
      async ({ next }) => [await next(), await next()],
      "refused after inside of given",
      ["Error: next() was called twice"],
    ],
  ])("when it %s", async (_, mine, outcome, faults) => {
    const seen: string[] = [];
    const outer = layer(async ({ next }) => void seen.push(await next()), { priority: -1 });
    const hasRun = outcome !== "refused";
    const failing = layer(mine, { timeoutMs: 20 });
    expect(await run([outer, failing])).toEqual({ outcome, faults, runs: hasRun ? 1 : 0 });
    expect(seen).toEqual([outcome]);
  });

  it("an inner layer's refusal passes through the outer ones, and they cannot run the inside after all", async () => {
    const insists = layer(async ({ next }) => {
      await next();
      await next().catch(() => undefined);
    });
    expect(await run([insists, layer(boomLayer, { priority: 1 })])).toMatchObject({
      outcome: "refused after refused",
      runs: 0,
    });
  });

  it("a layer that was left behind cannot run the inside later", async () => {
    const late = Promise.withResolvers<void>();
    const said = Promise.withResolvers<string>();
    const slow = layer(
      async ({ next }) => {
        await late.promise;
        await next().catch((error: Error) => said.resolve(error.message));
      },
      { timeoutMs: 10 },
    );
    const { outcome, runs } = await run([slow]);
    late.resolve();
    expect([outcome, runs, await said.promise]).toEqual(["refused", 0, "next() was called after the layer was over"]);
  });

  it("the time of a layer stands still while the inside runs", async () => {
    const inner = Promise.withResolvers<string>();
    const entered = Promise.withResolvers<void>();
    const outer = layer(({ next }) => next(), { timeoutMs: 50 });
    const hanging = layer(hang, { timeoutMs: 100, priority: 1, onError: "skip" }); // twice as long as the outer one may take
    const running = run([outer, hanging], () => {
      entered.resolve();
      return inner.promise;
    });
    await entered.promise;
    inner.resolve("late");
    expect(await running).toMatchObject({ outcome: "late of given", runs: 1 });
  });
});

describe("a layer with onError skip that fails is left out", () => {
  it.each<[string, Run, string, string[]]>([
    ["throws before next()", boomLayer, "inside of given", ["Error: boom"]],
    ["rejects before next()", async () => boom(), "inside of given", ["Error: boom"]],
    ["hangs before next()", hang, "inside of given", ["Error: it did not answer within 200 ms"]],
    [
      "changes something and throws before next()",
      (ctx) => {
        change(ctx);
        boom();
      },
      "inside of given",
      ["Error: boom"],
    ],
    [
      "throws after next()",
      async ({ next }) => {
        await next();
        boom();
      },
      "inside of given",
      ["Error: boom"],
    ],
    ["returns nothing and never calls next()", () => undefined, "inside of given", ["Error: no result"]],
    [
      "calls next() twice",
      async ({ next }) => [await next(), await next()],
      "inside of given",
      ["Error: next() was called twice"],
    ],
    [
      "calls next() twice and looks away",
      async ({ next }) => {
        await next();
        await next().catch(() => undefined);
        return "mine";
      },
      "inside of given",
      ["Error: next() was called twice"],
    ],
    ["returns what is no result", async ({ next }) => [await next()], "inside of given", ["Error: no result"]],
    ["does not wait for next()", ({ next }) => void next(), "inside of given", []],
    ["changes something", (ctx) => change(ctx) && ctx.next(), "inside of changed", []],
    ["answers instead", () => "mine", "mine", []],
    ["replaces the result", async ({ next }) => `${await next()}, mine`, "inside of given, mine", []],
  ])("when it %s", async (_, mine, outcome, faults) => {
    const around: string[] = [];
    const outer = layer(async ({ next }) => void around.push(await next()), { priority: -1 });
    const skipped = layer(mine, { onError: "skip", timeoutMs: 200 });
    expect(await run([outer, skipped])).toEqual({ outcome, faults, runs: outcome === "mine" ? 0 : 1 });
    expect(around).toEqual([outcome]);
  });
});

describe("what it wraps", () => {
  it("a failure of the inside is the failure of the whole, also if a layer catches it or does not wait", async () => {
    const fail = async () => boom();
    const swallow = layer(async ({ next }) => await next().catch(() => "fine"));
    const careless = layer(({ next }) => void next());
    for (const each of [swallow, careless])
      expect(await run([each], fail)).toMatchObject({ outcome: "thrown: Error: boom" });
  });

  it("a layer that hangs is left behind when the turn is stopped; what it wraps is waited for", async () => {
    const stop = new AbortController();
    const hung = run([layer(() => new Promise(() => undefined))], undefined, stop.signal);
    stop.abort();
    expect((await hung).outcome).toContain("the turn is over");
    const later = new AbortController();
    const inner = Promise.withResolvers<string>();
    const entered = Promise.withResolvers<void>();
    const hangsAfter = layer(async ({ next }) => {
      await next();
      await new Promise(() => undefined);
    });
    const second = run(
      [hangsAfter],
      () => {
        entered.resolve();
        return inner.promise;
      },
      later.signal,
    );
    await entered.promise;
    later.abort();
    inner.resolve("late");
    expect(await second).toEqual({ outcome: "late of given", faults: [], runs: 1 });
  });
});

function boom(): never {
  throw new Error("boom");
}

async function hang(..._: unknown[]): Promise<never> {
  return await new Promise(() => undefined);
}
