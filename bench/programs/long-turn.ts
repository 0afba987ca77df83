// A long turn: 200 steps, each with a call of a tool. The cost of a step is the time from the model's answer to the next
// question to it: commits, the tool, and the transcript that the model is sent; the model's own time is not in it.
//
//   --placement inline|service   a step whose tool is a service is suspended: its worker forgets the turn and reads it again

import { enqueueAgentTurn, type ModelAnswer } from "@tessera/agent";
import { defineTool } from "@tessera/tool";
import { median, rounded } from "../statistics.ts";
import { AGENT, openProduct, PROJECT } from "./product-world.ts";
import { flags, needed, seconds, tell } from "./program.ts";

const STEPS = 200;
/** A figure is the median of the steps around it, of every turn. */
const AROUND = 4;
const TURN_MS_MAX = 120_000;

const echo = defineTool({
  name: "echo",
  effect: "read",
  placement: flags.placement === "service" ? "service" : "inline",
  handler: () => ({ text: "hello world" }),
});
const costs = new Map<number, number[]>();
let answeredAt = 0;
let turnEnded: () => void = () => undefined;

const world = await openProduct({
  postgres: needed("postgres"),
  nats: flags.nats,
  tool: echo,
  serve: true,
  model: async ({ step }): Promise<ModelAnswer> => {
    if (step > 0) costs.set(step, [...(costs.get(step) ?? []), performance.now() - answeredAt]);
    const isLast = step >= STEPS;
    if (isLast) setImmediate(() => turnEnded());
    answeredAt = performance.now();
    const said = { provider: "bench", model: "bench" };
    if (isLast) return { ...said, text: "done", tool_calls: [], finish_reason: "stop" };
    const tool_calls = [{ id: `call_${step}`, name: "echo", arguments: { n: step } }];
    return { ...said, text: "I will call echo", tool_calls, finish_reason: "tool-calls" };
  },
});

async function runTurn(n: number): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    turnEnded = resolve;
    setTimeout(
      () => reject(new Error(`a turn of ${STEPS} steps took more than ${TURN_MS_MAX} ms`)),
      TURN_MS_MAX,
    ).unref();
  });
  const { kernel, ids } = world.node;
  await enqueueAgentTurn(kernel, ids, { project_id: PROJECT, agent: AGENT, instance_key: `turn-${n}`, input: "go" });
  await ended;
}

await runTurn(0); // code is compiled and plans are made here
costs.clear();
const end = performance.now() + seconds * 1_000;
let turns = 0;
do await runTurn(++turns);
while (performance.now() < end);

const around = (step: number) => {
  const near = [...costs].filter(([n]) => Math.abs(n - step) <= AROUND).flatMap(([, ms]) => ms);
  return rounded(median(near));
};
tell({ step5_p50_ms: around(5), step100_p50_ms: around(100), step200_p50_ms: around(STEPS - AROUND), turns });
await world.close();
