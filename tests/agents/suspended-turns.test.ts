// Turns that wait cost nothing but rows: no place, no timer, no memory of their worker (agent-worker's W2).
//
// 1,000 of them here; TESSERA_SUSPENDED_TURNS=5000 for the number that the product promises.

import { describe, expect, it } from "vitest";
import { AgentFixture } from "../../packages/agent/test/agent-fixture.ts";

const TURNS = Number(process.env.TESSERA_SUSPENDED_TURNS ?? 1_000);
const AT_ONCE = 50;
const IDLE_MS = 1_000;
/** Of one core: what is left is the sweeper's look, ten times a second in this fixture. */
const IDLE_CPU_SHARE_MAX = 0.25;
const BYTES_PER_TURN_MAX = 200 * 1_024;

describe(`${TURNS} turns that wait for a tool`, () => {
  it("cost no CPU and bounded memory, and all go on when they are answered", { timeout: 600_000 }, async () => {
    const fx = await AgentFixture.open("postgres");
    try {
      await fx.tool({
        name: "far__away",
        placement: "service",
        effect: "read",
        timeoutMs: 600_000,
        handler: () => ({}),
      } as never);
      fx.script = ({ step }) =>
        step === 0 ? { tool_calls: [{ name: "far__away", arguments: {} }] } : { text: "done" };
      const worker = await fx.worker({ concurrencyMax: 32 });
      const warmUp = await fx.enqueue(await fx.agent(), "go");
      await fx.answerCalls("far", 1, () => ({ status: "success", result: {} }));
      await fx.ended(warmUp);
      globalThis.gc?.();
      const before = process.memoryUsage();
      const profile_box_id = String((await fx.kernel.reads.turn(fx.project, warmUp))?.profile_box_id);
      const turns: string[] = [];
      for (let n = 0; n < TURNS; n += AT_ONCE)
        turns.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => startOne(fx, profile_box_id)))));
      await fx.until(async () => (await suspended(fx)) === TURNS, "all turns to wait", 300_000);
      await fx.until(() => worker.running === 0, "the worker to be idle");
      fx.published.length = 0;
      fx.modelCalls.length = 0;

      const cpuBefore = process.cpuUsage();
      await new Promise<void>((resolve) => void fx.clock.after(IDLE_MS, resolve));
      const { user, system } = process.cpuUsage(cpuBefore);
      const share = (user + system) / 1_000 / IDLE_MS;
      globalThis.gc?.();
      const after = process.memoryUsage();
      const perTurn = (key: "rss" | "heapUsed") => Math.round((after[key] - before[key]) / TURNS / 1_024);
      console.log(
        `${TURNS} suspended: CPU ${(share * 100).toFixed(1)} %, RSS ${perTurn("rss")} KiB, heap ${perTurn("heapUsed")} KiB per turn`,
      );
      // Unclaimed calls are rung for now and then; of the turns themselves nothing is heard.
      expect(fx.published.filter(({ subject }) => !subject.includes(".cmd.tool."))).toEqual([]);
      expect(share).toBeLessThan(IDLE_CPU_SHARE_MAX);
      expect(after.rss - before.rss).toBeLessThan(TURNS * BYTES_PER_TURN_MAX + 64 * 1_024 * 1_024);

      await fx.answerCalls("far", TURNS, () => ({ status: "success", result: {} }), 300_000);
      for (const turn of turns) expect(await fx.ended(turn, 300_000)).toMatchObject({ status: "success" });
      expect(fx.modelCalls).toHaveLength(TURNS);
      await fx.expectSafe();
    } finally {
      await fx.close();
    }
  });
});

async function startOne(fx: AgentFixture, profile_box_id: string): Promise<string> {
  const agent_id = fx.ids.mint("agent");
  const worker_target = "worker_generic";
  await fx.kernel.putAgent({ project_id: fx.project, agent_id, worker_target, profile_box_id });
  return await fx.enqueue(agent_id, "go");
}

async function suspended(fx: AgentFixture): Promise<number> {
  return await fx.count("state.agent_state_head where status = 'suspended'");
}
