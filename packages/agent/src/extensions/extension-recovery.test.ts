// Extensions around work that another process began: calls that lost their worker, turns that were parked.

import { HEADERS } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit";
import { expect, it } from "vitest";
import { extension, fx, host, listed, runnerWith, serviceTool, useExtensionBench } from "../../test/extension-bench.ts";
import type { ExtensionModule } from "./api.ts";

useExtensionBench();

const passes = extension((api) => api.pipeline.register("toolCall", ({ next }) => next()));
const fails = extension((api) =>
  api.pipeline.register("toolCall", () => {
    throw new Error("the policy server is away");
  }),
);

async function start(...modules: ExtensionModule[]) {
  const extensions = host(...modules);
  return await fx.worker({ extensions, runner: runnerWith(extensions) });
}

const resultsOf = async (id: string) =>
  (await fx.cards(id)).filter((card) => card.type === "tool.result").map((card) => card.content);

/** A tool that never ends by itself, and how often it was begun. */
async function hangingTool(effect: "read" | "once") {
  const begun = Promise.withResolvers<void>();
  const ran: string[] = [];
  const tool = {
    name: "slow__work",
    effect,
    handler: async ({ signal }: { signal: AbortSignal }) => {
      ran.push("run");
      begun.resolve();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    ...(effect === "once" ? { reconcile: () => void ran.push("reconcile") } : {}),
  };
  await fx.tool(tool as never);
  return { begun: begun.promise, ran };
}

it.each([
  ["read", { error: { code: "extension_failed", detail: { has_run: false } } }],
  ["once", { error: { code: "outcome_unknown" } }],
] as const)("a %s call that lost its worker is not run again past a layer that fails", async (effect, expected) => {
  const { begun, ran } = await hangingTool(effect);
  fx.script = ({ step }) => (step === 0 ? { tool_calls: [{ name: "slow__work", arguments: {} }] } : { text: "done" });
  const first = await start(passes);
  const id = await fx.enqueue(await fx.agent(listed("guard")), "go");
  await begun;
  await first.stop({ graceMs: 0 });
  await start(fails);
  expect((await fx.ended(id)).status).toBe("success");
  expect([ran, await resultsOf(id)]).toMatchObject([["run"], [expected]]);
  await fx.expectSafe();
});

it("an extension that was removed while a step waits: its local call is not run again, and the turn ends with E_EXT_LOAD", async () => {
  const { begun, ran } = await hangingTool("read");
  await serviceTool();
  fx.script = () => ({
    tool_calls: [
      { id: "here", name: "slow__work", arguments: {} },
      { id: "there", name: "web__find", arguments: {} },
    ],
  });
  const first = await start(passes);
  const id = await fx.enqueue(await fx.agent(listed("guard")), "go");
  await begun;
  const isCommand = ({ headers }: { headers: Readonly<Record<string, unknown>> }) =>
    headers[HEADERS.call_ticket] !== undefined;
  const { headers } = await waitFor(async () => fx.published.find(isCommand) ?? null, { what: "the command" });
  await first.stop({ graceMs: 0 });
  await start();
  const refused = await waitFor(async () => (await resultsOf(id))[0] ?? null, {
    what: "the refusal of the local call",
  });
  expect([refused, ran]).toMatchObject([{ error: { code: "extension_failed" } }, ["run"]]);
  const call = { project_id: fx.project, tool_call_id: "there" };
  const opened = await fx.kernel.openCall({ ...call, ticket: String(headers[HEADERS.call_ticket]), executor: "test" });
  if (opened.outcome === "rejected") throw new Error(opened.code);
  const content = { status: "success", after_execution: "suspend", result: { found: 1 }, error: null } as const;
  await fx.kernel.report({ ...call, capability: opened.capability, content });
  const ended = await fx.ended(id);
  expect([ended.status, ended.error_code, fx.modelCalls.length]).toEqual(["failed", "E_EXT_LOAD", 1]);
  expect(await resultsOf(id)).toMatchObject([{ status: "failed" }, { result: { found: 1 } }]); // what was found is kept
  await fx.expectSafe();
});

it("a worker that goes away while a layer holds up such a step says nothing of its call: the next one runs it", async () => {
  const attempts: number[] = [];
  await fx.tool({
    name: "slow__work",
    effect: "read",
    handler: ({ attempt, signal }: { attempt: number; signal: AbortSignal }) => {
      attempts.push(attempt);
      if (attempt > 1) return { attempt };
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  } as never);
  await fx.tool({ name: "web__find", placement: "service", target: "web", effect: "read", handler: () => 1 } as never);
  fx.script = ({ step }) =>
    step === 0
      ? { tool_calls: ["slow__work", "web__find"].map((name) => ({ id: name, name, arguments: {} })) }
      : { text: "done" };
  const first = await start(passes);
  const id = await fx.enqueue(await fx.agent(listed("guard")), "go");
  await waitFor(() => attempts.length === 1, { what: "the tool to begin" });
  await first.stop({ graceMs: 0 });
  const held = Promise.withResolvers<void>();
  const holds = extension((api) =>
    api.pipeline.register("turn", () => {
      held.resolve();
      return new Promise(() => undefined);
    }),
  );
  const second = await start(holds);
  await held.promise;
  await second.stop({ graceMs: 0 });
  expect(fx.warnings).toEqual([]);
  await start(passes);
  await waitFor(() => attempts.length === 2, { what: "the tool to begin again" });
  const local = await waitFor(async () => (await resultsOf(id))[0] ?? null, { what: "the result of the local call" });
  expect([attempts, local]).toMatchObject([[1, 3], { status: "success", result: { attempt: 3 } }]);
  await fx.expectSafe();
});
