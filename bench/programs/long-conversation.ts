// A long conversation: turns of one instance, each a question and an answer without a call. The cost of a turn is the time from asking
// for it to its end: commits, what is read of earlier turns, and the transcript that the model is sent; the model takes no time.
//
//   --turns 1000   how many turns the long conversation has when it is measured
//
// Turn 5 is that of new instances, measured in between, so that what the machine does meanwhile concerns both.

import { enqueueAgentTurn, type ModelAnswer } from "@tessera/agent";
import { defineTool } from "@tessera/tool";
import { median, rounded } from "../statistics.ts";
import { AGENT, openProduct, PROJECT } from "./product-world.ts";
import { flags, seconds, tell } from "./program.ts";

const TURNS = Number(flags.turns ?? 1_000);
const SHORT = 5;
const MEASURED_MIN = 20;
const TURN_MS_MAX = 60_000;
/** As long as a paragraph, which is what people and models say. */
const TEXT = "What was asked and answered here is remembered by the turns that follow. ".repeat(4);

let turnEnded: () => void = () => undefined;
let sent = 0;
const world = await openProduct({
  postgres: flags.postgres,
  nats: undefined,
  tool: defineTool({ name: "echo", effect: "read", placement: "inline", handler: () => ({ text: "hello world" }) }),
  model: async ({ messages }): Promise<ModelAnswer> => {
    sent = messages.length;
    return { provider: "bench", model: "bench", text: TEXT, tool_calls: [], finish_reason: "stop" };
  },
  onFinished: () => turnEnded(),
});

/** Milliseconds from asking to the end. */
async function turnOf(instance_key: string): Promise<number> {
  const ended = new Promise<void>((resolve, reject) => {
    turnEnded = resolve;
    setTimeout(() => reject(new Error(`a turn took more than ${TURN_MS_MAX} ms`)), TURN_MS_MAX).unref();
  });
  const { kernel, ids } = world.node;
  const startedAt = performance.now();
  await enqueueAgentTurn(kernel, ids, { project_id: PROJECT, agent: AGENT, instance_key, input: TEXT });
  await ended;
  return performance.now() - startedAt;
}

for (let n = 1; n < TURNS; n += 1) await turnOf("long");
const short: number[] = [];
const long: number[] = [];
const messages = { short: 0, long: 0 };
const end = performance.now() + seconds * 1_000;
for (let n = 0; n < MEASURED_MIN || performance.now() < end; n += 1) {
  for (let turn = 1; turn < SHORT; turn += 1) await turnOf(`short-${n}`);
  short.push(await turnOf(`short-${n}`));
  messages.short = sent;
  long.push(await turnOf("long"));
  messages.long = sent;
}
tell({
  [`turn${SHORT}_p50_ms`]: rounded(median(short)),
  [`turn${TURNS}_p50_ms`]: rounded(median(long)),
  [`turn${SHORT}_messages`]: messages.short,
  [`turn${TURNS}_messages`]: messages.long,
  turns: long.length,
});
await world.close();
