// The onion alone: order, and whose fault is whose.

import { describe, expect, it } from "vitest";
import { inOrder, type Layer, runOnion } from "./layers.ts";

type Next = { next: () => Promise<string> };
type Run = (ctx: Next) => unknown;

const layer = (run: Run, priority = 0, extension = "ext"): Layer => ({
  extension,
  type: "toolCall",
  priority,
  run: run as never,
});

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
    onFault: (_, error) => void faults.push(String(error)),
  }).catch((error: unknown) => `thrown: ${String(error)}`);
  return { outcome, faults, runs };
}

describe("the order of layers", () => {
  it.each([
    ["as registered where priorities are equal", [0, 0, 0], "0 1 2"],
    ["lower priority further out", [5, -5, 0], "1 2 0"],
    ["mixed", [1, 0, 1, 0], "1 3 0 2"],
  ])("is %s", async (_, priorities, expected) => {
    const said: string[] = [];
    const layers = priorities.map((priority, n) =>
      layer(async ({ next }) => {
        said.push(`${n}`);
        await next();
        said.push(`/${n}`);
      }, priority),
    );
    await run(layers);
    const order = expected.split(" ");
    expect(said).toEqual([...order, ...order.toReversed().map((n) => `/${n}`)]);
  });
});

describe("a layer's mistake is its own", () => {
  const change = (ctx: Next) => Object.assign(ctx, { value: "changed" });
  it.each<[string, Run, string, string[]]>([
    ["throws before next()", () => boom(), "inside of given", ["Error: boom"]],
    ["rejects before next()", async () => boom(), "inside of given", ["Error: boom"]],
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
    const outer = layer(async ({ next }) => {
      around.push(await next());
    }, -1);
    expect(await run([outer, layer(mine)])).toEqual({ outcome, faults, runs: outcome === "mine" ? 0 : 1 });
    expect(around).toEqual([outcome]);
  });

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
