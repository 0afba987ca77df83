// Turns that wait: thousands of them suspended on a tool, how much more memory their worker has than with none, and how long
// it takes until all of them have been answered, resumed and ended. The worker is a process of its own.
//
//   --turns 5000

import { enqueueAgentTurn } from "@tessera/agent";
import type { OpenedCall } from "@tessera/kernel";
import { defineTool } from "@tessera/tool";
import { rounded } from "../statistics.ts";
import { AGENT, openProduct, PROJECT } from "./product-world.ts";
import { answerQuestions, flags, needed, role, startSecond, tell } from "./program.ts";

const TURNS = Number(flags.turns ?? 5_000);
const WARM_UP_TURNS = 200;
const AT_ONCE = 100;
const CLAIM_MAX = 64;
const WAIT_MS_MAX = 240_000;
const MIB = 1_024 * 1_024;
/** Looking costs the database milliseconds at thousands of turns, so not more often. */
const LOOK_EVERY_MS = 100;

const tool = defineTool({
  name: "far__away",
  placement: "service",
  target: "far",
  effect: "read",
  timeoutMs: 600_000,
  handler: () => ({}),
});
const address = { postgres: needed("postgres"), nats: flags.nats, tool };

if (role === "worker") {
  const said = { provider: "bench", model: "bench" };
  const calling = {
    ...said,
    text: "",
    tool_calls: [{ id: "call_1", name: "far__away", arguments: {} }],
    finish_reason: "tool-calls" as const,
  };
  const done = { ...said, text: "done", tool_calls: [], finish_reason: "stop" as const };
  await openProduct({ ...address, model: async ({ step }) => (step === 0 ? calling : done) });
  answerQuestions({
    rss() {
      globalThis.gc?.();
      return process.memoryUsage.rss();
    },
  });
} else {
  const { node, close } = await openProduct(address);
  const worker = await startSecond("worker");
  await suspend(WARM_UP_TURNS, "warm");
  await answer(WARM_UP_TURNS);
  const rssBefore = await worker.ask<number>("rss");
  await suspend(TURNS, "turn");
  const rssAfter = await worker.ask<number>("rss");
  const { resumeMs } = await answer(TURNS);
  tell({
    rss_none_mib: rounded(rssBefore / MIB),
    [`turns${TURNS}_more_rss_mib`]: rounded((rssAfter - rssBefore) / MIB),
    [`turns${TURNS}_resume_all_ms`]: rounded(resumeMs),
  });
  worker.end();
  await close();

  async function suspend(count: number, name: string): Promise<void> {
    const { kernel, ids } = node;
    for (let n = 0; n < count; n += AT_ONCE) {
      const keys = Array.from({ length: Math.min(AT_ONCE, count - n) }, (_, k) => `${name}-${n + k}`);
      const ask = (instance_key: string) =>
        enqueueAgentTurn(kernel, ids, { project_id: PROJECT, agent: AGENT, instance_key, input: "go" });
      await Promise.all(keys.map(ask));
    }
    await until(async () => (await heads("= 'suspended'")) === count, `${count} turns to wait`);
  }

  async function answer(count: number): Promise<{ resumeMs: number }> {
    const claimed: OpenedCall[] = [];
    const order = { project_id: PROJECT, target: "far", executor: "bench", max: CLAIM_MAX, lease_ms: 600_000 };
    await until(async () => {
      for (let more = await node.kernel.claimCalls(order); more.length > 0; more = await node.kernel.claimCalls(order))
        claimed.push(...more);
      return claimed.length >= count;
    }, `${count} calls to be claimed`);
    const began = performance.now();
    const report = ({ tool_call_id, capability }: OpenedCall) =>
      node.kernel.report({ project_id: PROJECT, tool_call_id, capability, content: { status: "success", result: {} } });
    await Promise.all(claimed.map(report));
    await until(async () => (await heads("<> 'idle'")) === 0, "all turns to end");
    return { resumeMs: performance.now() - began };
  }

  async function heads(that: "= 'suspended'" | "<> 'idle'"): Promise<number> {
    const text = `select count(*)::int as n from state.agent_state_head where status ${that}`;
    return Number((await node.store.database.query(text))[0]?.n);
  }
}

async function until(isTrue: () => Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + WAIT_MS_MAX;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`waited ${WAIT_MS_MAX} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
