// The handler skeleton that CommonGround published, on the low-level API, in a process of its own kind: bus and kernel, no
// @tessera/tool.

import {
  buildNatsIngressContext,
  CardBox,
  parseSubject,
  publishToolResultReport,
  subscribeToolCommands,
  ToolResultBuilder,
  ToolResultContext,
} from "@tessera/executor/wire";
import type { Subscription } from "@tessera/kernel";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handleToolCommand } from "../../examples/raw-tool-service/handler.ts";
import { CallWorld } from "./call-world.ts";

let world: CallWorld;
let subscription: Subscription;
const runs: string[] = [];
const warnings: string[] = [];

beforeAll(async () => {
  world = await CallWorld.open();
  const { kernel, clock, bus, ids } = world;
  const cardbox = new CardBox({ port: kernel, clock, executor: "raw-1", principal: "raw", leaseMs: 300 });
  const doSomething = async (args: Readonly<Record<string, unknown>>) => {
    runs.push(String(args.name));
    if (args.fail === true) throw new Error("told to fail");
    if (typeof args.ms === "number") await new Promise<void>((resolve) => clock.after(args.ms as number, resolve));
    return { echo: args };
  };
  subscription = await subscribeToolCommands({
    bus,
    kernel,
    clock,
    target: "example",
    cardbox,
    handler: (msg) => handleToolCommand(msg, { cardbox, ids, doSomething }),
    onWarning: (warning) => warnings.push(warning),
  });
});
afterAll(async () => {
  await subscription.stop();
  await world.close();
});

const example = (args: Record<string, string | number | boolean>) => ({
  tool_name: "example",
  author_id: "tool.example",
  target_subject: `cg.v1r4.${world.project}.public.cmd.tool.example.run`,
  arguments: args,
});

describe("a handler that builds its payload itself", () => {
  it("and gives a status that is none settles its call as failed at once, and the answer says so", async () => {
    const { kernel, clock, bus, ids } = world;
    const cardbox = new CardBox({ port: kernel, clock, executor: "raw-2", principal: "raw" });
    const answers: unknown[] = [];
    const careless = await subscribeToolCommands({
      bus,
      kernel,
      clock,
      target: "careless",
      cardbox,
      async handler(msg) {
        const raw = JSON.parse(new TextDecoder().decode(msg.data));
        const parts = parseSubject(msg.subject);
        if (parts === null) throw new Error("invalid subject");
        const { ctx: targetCtx, payload: cmdData } = buildNatsIngressContext(msg.headers, raw, parts, { ids });
        const [card] = await cardbox.getCards([String(cmdData.tool_call_card_id)], { projectId: world.project });
        const ctx = ToolResultContext.fromCmdData({ ctx: targetCtx, cmdData, toolCallMeta: card?.metadata ?? {} });
        const author = { authorId: "tool.careless", functionName: "careless" };
        const { payload, resultCard } = new ToolResultBuilder(ctx, author).build({ status: "success", result: 7 });
        await cardbox.saveCard(resultCard);
        const sourceCtx = targetCtx.evolve({ agent_id: "tool.careless", agent_turn_id: "", step_id: null });
        const said = { ...payload, status: "OK" };
        answers.push(await publishToolResultReport({ cardbox, sourceCtx, targetCtx, payload: said }));
      },
      onWarning: (warning) => warnings.push(warning),
    });
    try {
      const call = await world.commit({
        ...example({}),
        tool_name: "careless",
        author_id: "tool.careless",
        target_subject: `cg.v1r4.${world.project}.public.cmd.tool.careless.run`,
      });
      expect(await world.resultOf(call.tool_call_id)).toMatchObject({
        status: "failed",
        result: 7,
        error: { code: "invalid_status", detail: { warning: { code: "schema_invalid" } } },
      });
      await waitFor(() => answers.length > 0, { what: "the handler's answer" });
      expect(answers).toMatchObject([{ outcome: "accepted", warning: { code: "schema_invalid" } }]);
    } finally {
      await careless.stop();
    }
  });
});

describe("the published handler", () => {
  it("reads the card, saves a result card and reports it", async () => {
    const call = await world.commit(example({ name: "ok", n: 1 }));
    expect(await world.resultOf(call.tool_call_id)).toMatchObject({
      status: "success",
      result: { echo: { name: "ok", n: 1 } },
      error: null,
    });
    const row = await world.call(call.tool_call_id);
    const [card] = await world.kernel.reads.cards(world.project, [String(row.result_card_id)]);
    expect(card).toMatchObject({
      author_id: "tool.example",
      metadata: { step_id: call.step_id, trace_id: row.trace_id, function_name: "example", role: "tool" },
    });
    expect(row.report_span_id).not.toBe(row.span_id);
    await world.expectSafe();
  });

  it("reports what it threw as the failed result that the contract has", async () => {
    const call = await world.commit(example({ name: "bad", fail: true }));
    expect(await world.resultOf(call.tool_call_id)).toMatchObject({
      status: "failed",
      result: { error_code: "internal_error", error_message: "told to fail" },
      error: { code: "internal_error", message: "told to fail" },
    });
  });

  it("runs once, though its command comes again and again and it is slower than its lease", async () => {
    const call = await world.commit(example({ name: "slow", ms: 1_200 }));
    for (let n = 0; n < 20; n += 1) await world.bus.publish([call.command]);
    expect(await world.resultOf(call.tool_call_id)).toMatchObject({ status: "success" });
    expect(await world.call(call.tool_call_id)).toMatchObject({ attempt: 1 });
    expect(runs.filter((name) => name === "slow")).toHaveLength(1);
  });

  it("signing as another tool is refused, and the call stays open for its holder's lease", async () => {
    const call = await world.commit({ ...example({ name: "forged" }), author_id: "tool.other" });
    await waitFor(() => warnings.some((warning) => warning.includes("refused")), { what: "a refusal" });
    expect(await world.call(call.tool_call_id)).toMatchObject({ wait_status: "waiting" });
  });
});
