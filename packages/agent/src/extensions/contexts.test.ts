// What layers see of who asked for their turn: through several agents, and where an answer began it.

import type { AgentEvent, ToolContext } from "@tessera/tool";
import { expect, it } from "vitest";
import { extension, fx, host, useExtensionBench } from "../../test/extension-bench.ts";
import { agentIdOf } from "../instance.ts";
import type { RuntimeInfo, StepContext, TurnContext } from "./api.ts";

useExtensionBench();

interface Told {
  readonly layer: string;
  readonly inputEvent: AgentEvent;
  readonly runtime: RuntimeInfo;
}

/** boss asks middle, middle asks leaf. Each tool call asks the agent that is named in the text before it. */
async function crew(isAsync: boolean, wantsAnswer = true) {
  const told: Told[] = [];
  const sees = extension((api) => {
    const see = (layer: string) => async (ctx: TurnContext | StepContext) => {
      told.push({ layer: `${ctx.agentName} ${layer}`, inputEvent: ctx.inputEvent, runtime: ctx.runtime });
      return (await ctx.next()) as never;
    };
    api.pipeline.register("turn", see("turn"));
    api.pipeline.register("step", see("step"));
  });
  const extensions = [{ name: "guard", config: null }];
  await fx.define({ name: "boss", extensions }, { name: "middle", extensions }, { name: "leaf", extensions });
  await fx.tool({
    name: "ask__next",
    parameters: { type: "object", properties: {} },
    effect: "idempotent",
    handler: async ({ runtime, agentName }: ToolContext) => {
      const event: AgentEvent = {
        ...{ id: `evt-of-${agentName}`, type: "agent.request", createdAt: new Date(0), input: `from ${agentName}` },
        source: { kind: "agent", name: agentName },
        ...(wantsAnswer ? { replyTo: { target: agentName, correlationId: `corr-of-${agentName}` } } : {}),
      };
      const next = agentName === "boss" ? "middle" : "leaf";
      const answer = await runtime?.request(next, event, { async: isAsync });
      return { correlationId: answer?.correlationId ?? "" };
    },
  } as never);
  fx.script = ({ agentName, step, messages }) => {
    const isAnswered = messages.some(({ role }) => role === "assistant");
    const asks = agentName !== "leaf" && step === 0 && !isAnswered && !(isAsync && agentName === "middle");
    return asks ? { tool_calls: [{ name: "ask__next", arguments: {} }] } : { text: `${agentName} is done` };
  };
  await fx.worker({ extensions: host(sees) });
  const id = await fx.ask("boss", "go");
  await fx.ended(id);
  return { id, of: (layer: string) => told.filter((each) => each.layer === layer) };
}

it("all agents behind the turn are in callStack, and the request has the name that its caller gave it", async () => {
  const { of } = await crew(false);
  const [turn] = of("leaf turn");
  expect(turn?.runtime.call).toMatchObject({
    ...{ callerAgent: "middle", callerInstanceKey: "default", callSource: "agent" },
    callStack: ["boss@default", "middle@default"],
    replyTo: { target: "middle", correlationId: "corr-of-middle" },
  });
  expect(turn?.inputEvent).toMatchObject({
    ...{ id: "evt-of-middle", type: "agent.request", input: "from middle" },
    source: { kind: "agent", name: "middle" },
    replyTo: { target: "middle", correlationId: "corr-of-middle" },
  });
  expect(of("leaf step").map(({ inputEvent }) => inputEvent)).toEqual([turn?.inputEvent]);
  expect(of("boss turn").map(({ runtime, inputEvent }) => [runtime.call, inputEvent.replyTo])).toEqual([
    [undefined, undefined],
  ]);
  expect(of("middle turn")[0]?.runtime.call?.callStack).toEqual(["boss@default"]);
});

it("a request without a name of its own is answered under the call that waits for it", async () => {
  const { of } = await crew(false, false);
  const call = of("leaf turn")[0]?.runtime.call;
  expect(call?.replyTo).toEqual({ target: "middle", correlationId: expect.stringMatching(/^tc_|^call_/) });
});

it("a turn that an answer began is from the agent that answers, and no agent has called it", async () => {
  const { id, of } = await crew(true);
  const agent_id = agentIdOf(fx.project, "boss", "default");
  await fx.until(async () => {
    const turns = await fx.kernel.reads.turns(fx.project, { agent_id });
    return turns.length === 2 && turns.every(({ ended_at }) => ended_at !== null);
  }, "the turn for the answer to end");
  const [later] = of("boss turn").filter(({ inputEvent }) => inputEvent.input !== "go");
  expect(later?.inputEvent).toMatchObject({ input: "middle is done", source: { kind: "agent", name: "middle" } });
  expect(later?.runtime.inbound).toMatchObject({ sourceKind: "agent", sourceName: "middle" });
  expect(later?.runtime.call).toBeUndefined();
  expect(of("middle turn")[0]?.runtime.call).toMatchObject({
    ...{ callerAgent: "boss", callerTurnId: id },
    replyTo: { target: "boss", correlationId: "corr-of-boss" },
  });
});
