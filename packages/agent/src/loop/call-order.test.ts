// `toolCalls: sequential`: the calls of a message are made one after the other, and no crash, stop or end between them
// repeats one, skips one or leaves one without a result.

import type { Kernel } from "@tessera/kernel";
import type { ToolContext } from "@tessera/tool";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentFixture, type Script } from "../../test/agent-fixture.ts";

let fx: AgentFixture;
/** What tools did, in order. */
let log: string[];
let gates: Map<string, () => void>;

beforeAll(async () => {
  fx = await AgentFixture.open();
  const handler = (ctx: ToolContext, { word = "?" }: { word?: string }) => {
    log.push(`${word} starts`);
    const said = { word, attempt: ctx.attempt };
    if (!word.startsWith("slow")) return said;
    return new Promise((resolve) => gates.set(word, () => resolve(said)));
  };
  const parameters = { type: "object", properties: { word: { type: "string" } } };
  await fx.tool({ name: "say__it", effect: "once", parameters, handler } as never);
  await fx.tool({ name: "say__last", effect: "once", afterExecution: "terminate", parameters, handler } as never);
  const far = { name: "far__away", placement: "service", effect: "read", parameters };
  await fx.tool({ ...far, handler: () => ({}) } as never);
});
afterAll(() => fx.close());
beforeEach(() => {
  log = [];
  gates = new Map();
});

const say = (word: string, name = "say__it") => ({ id: `c-${word}-${fx.ids.mint("x")}`, name, arguments: { word } });
const once =
  (...calls: readonly ReturnType<typeof say>[]): Script =>
  ({ messages }) =>
    messages.some(({ role }) => role === "tool") ? { text: "done" } : { text: "I do", tool_calls: calls };

let targets = 0;
/** An agent of a worker of its own. */
async function start(profile: object = {}, options: object = {}) {
  targets += 1;
  const worker_target = `workers_${targets}`;
  const agent = await fx.agent({ tool_calls: "sequential", worker_target, ...profile });
  const worker = await fx.worker({ workerTargets: [worker_target], ...options });
  return { agent, worker, worker_target };
}

async function resultsOf(turn: string) {
  const results = (await fx.cards(turn)).filter((card) => card.type === "tool.result");
  return results.map(({ content }) => content);
}

/** The transcript that the model was last asked with: its calls, and the results behind each message. */
function lastTranscript() {
  return (fx.modelCalls.at(-1)?.messages ?? []).flatMap(({ role, content }) => {
    if (role !== "assistant" && role !== "tool") return [];
    const ids = (content as { toolCallId?: string }[]).flatMap(({ toolCallId }) => toolCallId ?? []);
    return [`${role} ${ids.map((id) => id.split("-")[1]).join(" ")}`];
  });
}

describe("an agent that asks for it", () => {
  it("starts a call when the one before has its result, and its model is asked when all have", async () => {
    fx.script = once(say("slow1"), say("two"), say("slow3"));
    const { agent } = await start();
    const asked = fx.modelCalls.length;
    const turn = await fx.enqueue(agent, "go");
    await fx.until(() => gates.has("slow1"), "the first call");
    expect(await resultsOf(turn)).toEqual([]);
    gates.get("slow1")?.();
    await fx.until(() => gates.has("slow3"), "the third call");
    expect(log).toEqual(["slow1 starts", "two starts", "slow3 starts"]);
    expect(await resultsOf(turn)).toMatchObject([{ result: { word: "slow1" } }, { result: { word: "two" } }]);
    gates.get("slow3")?.();
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "done" } });
    expect(fx.modelCalls.length - asked).toBe(2);
    const each = ["slow1", "two", "slow3"].flatMap((word) => [`assistant ${word}`, `tool ${word}`]);
    expect(lastTranscript()).toEqual(each);
    await fx.expectSafe();
  });

  it("and one that does not, which starts them all", async () => {
    fx.script = once(say("slow1"), say("slow2"));
    const { agent } = await start({ tool_calls: undefined });
    const turn = await fx.enqueue(agent, "go");
    await fx.until(() => gates.size === 2, "both calls at once");
    for (const open of gates.values()) open();
    expect(await fx.ended(turn)).toMatchObject({ status: "success" });
  });

  it("waits in the same way for calls that run elsewhere", async () => {
    fx.script = once(say("one", "far__away"), say("two"), say("three", "far__away"));
    const { agent } = await start();
    const turn = await fx.enqueue(agent, "go");
    const project_id = fx.project;
    const claim = () => fx.kernel.claimCalls({ project_id, target: "far", executor: "test", max: 8 });
    const claimed: Awaited<ReturnType<typeof claim>>[number][] = [];
    const next = async (count: number) =>
      await fx.until(async () => claimed.push(...(await claim())) >= count, `call ${count}`);
    const report = async (n: number) => {
      const { tool_call_id, capability } = claimed[n] as { tool_call_id: string; capability: string };
      await fx.kernel.report({ project_id, tool_call_id, capability, content: { status: "success", result: { n } } });
    };
    await next(1);
    expect(claimed.map((call) => call.arguments)).toEqual([{ word: "one" }]);
    expect(log).toEqual([]);
    expect(JSON.stringify(claimed[0])).not.toContain("three"); // nor does its executor get the others
    await report(0);
    await next(2);
    expect(log).toEqual(["two starts"]);
    expect(claimed[1]?.arguments).toEqual({ word: "three" });
    await report(1);
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "done" } });
    expect(await resultsOf(turn)).toMatchObject([
      { result: { n: 0 } },
      { result: { word: "two" } },
      { result: { n: 1 } },
    ]);
    await fx.expectSafe();
  });

  it("counts the message as one step, and makes all its calls also in the last", async () => {
    fx.script = ({ step }) => ({
      text: `step ${step}`,
      tool_calls: [say(`a${step}`), say(`b${step}`), say(`c${step}`)],
    });
    const { agent } = await start({ max_steps: 2, must_end_with: ["say__it"] });
    const turn = await fx.enqueue(agent, "go");
    await fx.ended(turn);
    expect(log.map((line) => line.split(" ")[0])).toEqual(["a0", "b0", "c0", "a1", "b1", "c1"]);
    expect(await resultsOf(turn)).toHaveLength(6);
  });

  it("refuses in its turn what was not offered, cannot be read or has an id that is taken", async () => {
    const [first, again] = [say("one"), say("two")];
    const calls = [
      first,
      { ...say("x"), name: "nobody__has" },
      { ...say("y"), arguments: "{not json" },
      { ...say("z"), arguments: { word: 7, "__proto__ ": "\0" } },
      { ...again, id: first.id },
    ];
    fx.script = once(...(calls as never[]));
    const { agent } = await start();
    const turn = await fx.enqueue(agent, "go");
    expect(await fx.ended(turn)).toMatchObject({ status: "success" });
    expect(log).toEqual(["one starts", "two starts"]);
    expect((await resultsOf(turn)).map(({ status }) => status)).toEqual([
      "success",
      "failed",
      "failed",
      "failed",
      "success",
    ]);
    await fx.expectSafe();
  });

  it("refuses later calls of a tool that their step did not offer", async () => {
    fx.script = ({ step }) => (step === 0 ? { tool_calls: [say("a"), say("b")] } : { text: "x" });
    const extensions = {
      aroundTurn: async (_session: unknown, run: () => Promise<void>) => await run(),
      aroundStep: async (session: { offered: unknown[] }, _n: number, run: (offered: unknown[]) => unknown) =>
        await run(session.offered.filter((tool) => !JSON.stringify(tool).includes("say__it"))),
      aroundToolCall: async (_s: unknown, call: { order: { arguments: unknown } }, run: (args: unknown) => unknown) =>
        await run(call.order.arguments),
      beforeSending: async (_session: unknown, calls: unknown) => calls,
      toolsOf: async () => [],
      toolOf: () => null,
    };
    const { agent } = await start({}, { extensions });
    const turn = await fx.enqueue(agent, "go");
    await fx.ended(turn);
    expect(log).toEqual([]);
    expect(await resultsOf(turn)).toMatchObject([
      { error: { code: "tool_not_in_catalog" } },
      { error: { code: "tool_not_in_catalog" } },
    ]);
  });

  it("ends with a result that ends the turn: the calls behind it are not made", async () => {
    fx.script = once(say("one"), say("two", "say__last"), say("three"));
    const { agent } = await start();
    const turn = await fx.enqueue(agent, "go");
    expect(await fx.ended(turn)).toMatchObject({ status: "success" });
    expect(log).toEqual(["one starts", "two starts"]);
    expect(await resultsOf(turn)).toHaveLength(2);
    await fx.expectSafe();
  });

  it("takes a submission behind other calls, and refuses one that others follow", async () => {
    const submit = (word: string) => ({ ...say(word), name: "submit_result", arguments: { result: { word } } });
    fx.script = once(submit("early") as never, say("two"), submit("late") as never);
    const { agent } = await start({ allowed_internal_tools: ["submit_result"] });
    const turn = await fx.enqueue(agent, "go");
    expect(await fx.ended(turn)).toMatchObject({
      status: "success",
      deliverable: { data: { fields: [{ name: "word", value: "late" }] } },
    });
    expect(log).toEqual(["two starts"]);
    expect(await resultsOf(turn)).toMatchObject([{ status: "failed" }, { status: "success" }]);
  });

  it("reports calls beyond what a step may make behind the last one", async () => {
    fx.script = once(...Array.from({ length: 66 }, (_, n) => say(`w${n}`)));
    const { agent } = await start();
    await fx.ended(await fx.enqueue(agent, "go"));
    expect(log).toHaveLength(64);
    const messages = fx.modelCalls.at(-1)?.messages ?? [];
    expect(messages.at(-1)).toMatchObject({ role: "user", content: expect.stringContaining("2 more calls") });
  });
});

describe("a stop between two calls", () => {
  it("leaves the later ones unmade, and no call without a result", async () => {
    fx.script = once(say("slow1"), say("two"));
    const { agent } = await start();
    const turn = await fx.enqueue(agent, "go");
    await fx.until(() => gates.has("slow1"), "the first call");
    await fx.kernel.stopTurn({ project_id: fx.project, agent_turn_id: turn, reason: "enough" } as never);
    expect(await fx.ended(turn)).toMatchObject({ status: "canceled" });
    gates.get("slow1")?.();
    const types = (await fx.cards(turn)).map((card) => card.type);
    expect(types.filter((type) => type === "tool.call")).toHaveLength(1);
    expect(types.filter((type) => type === "tool.result")).toHaveLength(1);
    expect(log).toEqual(["slow1 starts"]);
    await fx.expectSafe();
  });
});

describe("a worker that dies", () => {
  type Commit = "appendCards" | "suspendOnCalls" | "applyResults";
  const COMMITS: readonly Commit[] = [
    "appendCards",
    ...Array.from({ length: 3 }, () => ["suspendOnCalls", "applyResults"] as const).flat(),
  ];
  const POINTS = COMMITS.flatMap((commit, n) => [
    { n, commit, when: "before" as const },
    { n, commit, when: "after" as const },
  ]);

  it.each(POINTS)("$when its commit $n, $commit, repeats no call and skips none", async ({ n, commit, when }) => {
    fx.script = once(say("one"), say("two"), say("three"));
    const asked = fx.modelCalls.length;
    const seen: Commit[] = [];
    let hasDied = false;
    const { promise: gone, reject: bury } = Promise.withResolvers<never>();
    gone.catch(() => undefined);
    const dying = (name: Commit) => async (request: never) => {
      if (hasDied) return await gone;
      const isNow = seen.push(name) === n + 1;
      if (isNow && when === "before") hasDied = true;
      const answer = hasDied ? null : await (fx.kernel[name] as (request: never) => Promise<unknown>)(request);
      if (isNow) hasDied = true;
      return hasDied ? await gone : answer;
    };
    const kernel = {
      ...fx.kernel,
      reads: fx.kernel.reads,
      ...Object.fromEntries([...new Set(COMMITS)].map((name) => [name, dying(name)])),
    } as Kernel;
    const { agent, worker, worker_target } = await start({}, { kernel });
    const turn = await fx.enqueue(agent, "go");
    await fx.until(() => hasDied, "the worker to die");
    expect(seen.at(-1)).toBe(commit);
    const stopped = worker.stop({ graceMs: 0 });
    fx.clock.after(1, () => bury(new Error("this worker is dead"))); // behind the grace, so that it ends nothing
    await stopped;
    await fx.worker({ workerTargets: [worker_target] });
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "done" } });
    // Of a `once` tool that ran and whose result was not stored, the outcome is not known. Nothing else is lost.
    const isUnknown = commit === "applyResults" && when === "before";
    const isBegun = commit === "suspendOnCalls" && when === "after"; // claimed for the worker that died, maybe run
    const results = await resultsOf(turn);
    expect(results).toHaveLength(3);
    results.forEach((content, index) => {
      const isOfThis = index === Math.floor((n - 1) / 2);
      const unknown = { status: "failed", error: { code: "outcome_unknown" } };
      expect(content).toMatchObject(isOfThis && (isUnknown || isBegun) ? unknown : { status: "success" });
    });
    const words = ["one", "two", "three"].filter((_, index) => !(isBegun && index === Math.floor((n - 1) / 2)));
    expect(log).toEqual(words.map((word) => `${word} starts`));
    // The answer is written down before anything of it is done: only a crash before that asks the model again.
    expect(fx.modelCalls.length - asked).toBe(commit === "appendCards" && when === "before" ? 3 : 2);
    await fx.expectSafe();
  });
});
