// A worker goes away while tools of its turn run beside it: the tool's effect decides, the turn goes on elsewhere.

import type { Kernel } from "@tessera/kernel";
import { TesseraError } from "@tessera/protocol";
import { type ToolContext, ToolError } from "@tessera/tool";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentFixture } from "../../test/agent-fixture.ts";

let fx: AgentFixture;
let runs: string[];
beforeEach(async () => {
  fx = await AgentFixture.open();
  runs = [];
  for (const [name, effect] of [
    ["pay__once", "once"],
    ["look__up", "read"],
  ] as const) {
    const handler = (ctx: ToolContext) => {
      runs.push(`${name} ${ctx.attempt} ${JSON.stringify(ctx.message)}`);
      if (ctx.attempt > 1) return { attempt: ctx.attempt };
      return new Promise((resolve) => ctx.signal?.addEventListener("abort", () => resolve({ late: true })));
    };
    await fx.tool({ name, effect, handler } as never);
  }
  await fx.tool({ name: "far__away", placement: "service", effect: "read", handler: () => ({}) } as never);
});
afterEach(() => fx.close());

const call = (name: string) => ({ name, arguments: {} });

async function loseWorkerDuring(calls: readonly string[], localRuns: number): Promise<string> {
  fx.script = ({ step }) => (step === 0 ? { text: "I try", tool_calls: calls.map(call) } : { text: "went on" });
  const first = await fx.worker();
  const turn = await fx.enqueue(await fx.agent(), "go");
  await fx.until(() => runs.length === localRuns, "the tools to run");
  await first.stop({ graceMs: 0 });
  await fx.worker();
  await fx.makeCallsDue();
  return turn;
}

async function resultsOf(turn: string): Promise<unknown[]> {
  return (await fx.cards(turn)).filter((card) => card.type === "tool.result").map((card) => card.content);
}

const UNKNOWN = { status: "failed", error: { code: "outcome_unknown" } };

describe("a turn whose worker goes away", () => {
  it("runs again what may run again, is answered that the rest is not known, and goes on", async () => {
    const turn = await loseWorkerDuring(["pay__once", "look__up"], 2);
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "went on" } });
    expect(await resultsOf(turn)).toMatchObject([UNKNOWN, { status: "success", result: { attempt: 2 } }]);
    expect(runs.filter((run) => run.startsWith("pay__once"))).toHaveLength(1);
    expect(fx.modelCalls.at(-1)?.messages.at(-1)).toMatchObject({ role: "tool", content: [{}, {}] });
    await fx.expectSafe();
  });

  it("goes on where nothing may run again", async () => {
    const turn = await loseWorkerDuring(["pay__once"], 1);
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "went on" } });
    expect(await resultsOf(turn)).toMatchObject([UNKNOWN]);
    await fx.expectSafe();
  });

  it("in a step that others work on, too, reports nothing of its own end as a tool's", async () => {
    const turn = await loseWorkerDuring(["far__away", "pay__once", "look__up"], 2);
    await fx.answerCalls("far", 1, () => ({ status: "success", result: { far: true } }));
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "went on" } });
    expect(await resultsOf(turn)).toMatchObject([
      { result: { far: true } },
      UNKNOWN,
      { status: "success", result: { attempt: 2 } },
    ]);
    const [before, after] = runs
      .filter((run) => run.startsWith("look__up"))
      .map((run) => run.slice("look__up 1 ".length));
    expect(after).toBe(before); // ctx.message is the same assistant message
    await fx.expectSafe();
  });
});

describe("a step that others work on, too, whose second worker goes away as well", () => {
  it("does not get the end of that worker as a tool's result: the third runs the call", async () => {
    const attempts: number[] = [];
    const handler = (ctx: ToolContext) => {
      attempts.push(ctx.attempt);
      if (ctx.attempt > 2) return { attempt: ctx.attempt };
      return new Promise((resolve) => ctx.signal?.addEventListener("abort", () => resolve({ late: true })));
    };
    await fx.tool({ name: "look__twice", effect: "read", handler } as never);
    fx.script = ({ step }) =>
      step === 0 ? { tool_calls: ["far__away", "look__twice"].map(call) } : { text: "went on" };
    let worker = await fx.worker();
    const turn = await fx.enqueue(await fx.agent(), "go");
    for (const attempt of [1, 2]) {
      await fx.until(() => attempts.includes(attempt), `attempt ${attempt}`);
      await worker.stop({ graceMs: 0 });
      worker = await fx.worker();
      await fx.makeCallsDue();
    }
    await fx.answerCalls("far", 1, () => ({ status: "success", result: { far: true } }));
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "went on" } });
    expect(attempts).toEqual([1, 2, 3]);
    expect(await resultsOf(turn)).toMatchObject([{ result: { far: true } }, { result: { attempt: 3 } }]);
    await fx.expectSafe();
  });
});

describe("a tool that pauses before another attempt", () => {
  let attempts: number[];
  beforeEach(async () => {
    attempts = [];
    await fx.tool({
      name: "pay__later",
      effect: "once",
      retry: { maxAttempts: 4, backoffMs: 50 },
      handler: (ctx: ToolContext) => {
        attempts.push(ctx.attempt);
        if (ctx.attempt === 1) throw new ToolError("not now", { retryable: true });
        return { attempt: ctx.attempt };
      },
      reconcile: () => ({ outcome: "not_done" }),
    } as never);
  });

  it("is not begun by a worker that was given up: the next one begins its own, under a number that no other has", async () => {
    fx.script = ({ step }) => (step === 0 ? { tool_calls: [call("pay__later")] } : { text: "went on" });
    const answers: string[] = [];
    const repeatCall: Kernel["repeatCall"] = async (request) => {
      await fx.until(() => attempts.length === 2, "the next worker to run it");
      const answer = await fx.kernel.repeatCall(request);
      answers.push(answer.outcome);
      return answer;
    };
    let name = "";
    const renewWorker: Kernel["renewWorker"] = (request) => {
      name = request.worker_id;
      return fx.kernel.renewWorker(request);
    };
    await fx.worker({ kernel: { ...fx.kernel, repeatCall, renewWorker } });
    const turn = await fx.enqueue(await fx.agent(), "go");
    await fx.until(() => attempts.length === 1, "the tool to fail");
    await fx.kernel.retireWorker(name);
    await fx.worker();
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "went on" } });
    await fx.until(() => answers.length === 1, "the first worker to ask");
    expect(answers).toEqual(["rejected"]);
    expect(attempts).toEqual([1, 2]);
    expect(await resultsOf(turn)).toMatchObject([{ status: "success", result: { attempt: 2 } }]);
    await fx.expectSafe();
  });

  for (const beside of [[], ["far__away"]]) {
    it(`waits for a store that is away, and loses nothing (beside it: ${beside.length} calls for others)`, async () => {
      fx.script = ({ step }) =>
        step === 0 ? { tool_calls: [...beside, "pay__later"].map(call) } : { text: "went on" };
      let asked = 0;
      const repeatCall: Kernel["repeatCall"] = async (request) => {
        asked += 1;
        if (asked < 3) throw new TesseraError("storage_error", "the store is away");
        return await fx.kernel.repeatCall(request);
      };
      await fx.worker({ kernel: { ...fx.kernel, repeatCall } });
      const turn = await fx.enqueue(await fx.agent(), "go");
      if (beside.length > 0) await fx.answerCalls("far", 1, () => ({ status: "success", result: { far: true } }));
      expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "went on" } });
      expect(asked).toBe(3);
      expect(attempts).toEqual([1, 2]);
      expect((await resultsOf(turn)).at(-1)).toMatchObject({ status: "success", result: { attempt: 2 } });
      await fx.expectSafe();
    });
  }
});

describe("a worker that took a turn and never heard of it", () => {
  it("claims it again once its lease, which had run out meanwhile, is renewed", async () => {
    const resume: Kernel["resume"][] = [
      async (request) => {
        await fx.kernel.resume(request);
        throw new TesseraError("storage_error", "the answer was lost");
      },
      async () => ({ outcome: "rejected", code: "worker_lapsed" }),
    ];
    const kernel: Kernel = { ...fx.kernel, resume: (request) => (resume.shift() ?? fx.kernel.resume)(request) };
    // Its pauses are long for a test.
    const clock = { ...fx.clock, after: (ms: number, task: () => void) => fx.clock.after(ms / 20, task) };
    fx.script = () => ({ text: "took it after all" });
    await fx.worker({ kernel, clock });
    const turn = await fx.enqueue(await fx.agent(), "go");
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "took it after all" } });
    expect(resume).toEqual([]);
  });

  it("because the kernel asked twice, and was refused the second time, claims it as well", async () => {
    let isFirst = true;
    const resume: Kernel["resume"] = async (request) => {
      const answer = await fx.kernel.resume(request);
      if (!isFirst) return answer;
      isFirst = false;
      return { outcome: "rejected", code: "worker_lapsed" };
    };
    const clock = { ...fx.clock, after: (ms: number, task: () => void) => fx.clock.after(ms / 20, task) };
    fx.script = () => ({ text: "took it after all" });
    await fx.worker({ kernel: { ...fx.kernel, resume }, clock });
    const turn = await fx.enqueue(await fx.agent(), "go");
    expect(await fx.ended(turn)).toMatchObject({ status: "success", deliverable: { text: "took it after all" } });
  });
});
