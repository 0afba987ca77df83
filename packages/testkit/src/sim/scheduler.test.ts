// The scheduler and the processes on it: order, death, pauses, clocks that run differently.

import { describe, expect, it } from "vitest";
import { EventLog } from "./event-log.ts";
import { SimRandom } from "./random.ts";
import { SimScheduler } from "./scheduler.ts";
import { SimProcess } from "./sim-process.ts";

function fixture(seed = 1) {
  const log = new EventLog();
  const scheduler = new SimScheduler(new SimRandom(seed), log);
  const process = (name: string, rate = 1) => new SimProcess(scheduler, { name, role: name, rate });
  const runAll = async () => {
    while (await scheduler.step());
  };
  return { log, scheduler, process, runAll };
}

describe("the scheduler", () => {
  it("lets events happen in the order of their time and moves the clock with them", async () => {
    const { scheduler, runAll } = fixture();
    const seen: [string, number][] = [];
    for (const [name, ms] of [
      ["late", 50],
      ["early", 5],
      ["between", 20],
    ] as const) {
      scheduler.schedule(null, ms, name, () => void seen.push([name, scheduler.nowMs]));
    }
    await runAll();
    expect(seen).toEqual([
      ["early", 5],
      ["between", 20],
      ["late", 50],
    ]);
  });

  it("picks among events that are due at once as the seed says", async () => {
    const orders = await Promise.all(
      [1, 1, 2, 3, 4].map(async (seed) => {
        const { scheduler, runAll, log } = fixture(seed);
        const order: string[] = [];
        for (const name of "abcdef") scheduler.schedule(null, 0, name, () => void order.push(name));
        await runAll();
        return `${order.join("")} ${log.digest()}`;
      }),
    );
    expect(orders[0]).toBe(orders[1]);
    expect(new Set(orders).size).toBeGreaterThan(1);
  });

  it("waits until the code that an event set free has asked for something again", async () => {
    const { scheduler } = fixture();
    const seen: string[] = [];
    scheduler.schedule(null, 0, "first", () => {
      setImmediate(() => scheduler.schedule(null, 0, "asked", () => void seen.push("asked")));
    });
    expect(await scheduler.step()).toBe(true);
    expect(await scheduler.step()).toBe(true);
    expect(seen).toEqual(["asked"]);
  });
});

describe("a process", () => {
  it("that is killed is reached by nothing any more", async () => {
    const { process, runAll } = fixture();
    const victim = process("victim");
    const seen: string[] = [];
    victim.clock.after(10, () => void seen.push("timer"));
    victim.onKill(() => void seen.push("killed"));
    victim.kill();
    victim.kill();
    await runAll();
    expect(seen).toEqual(["killed"]);
  });

  it("that is paused meets everything when it goes on, later than it was due", async () => {
    const { scheduler, process, runAll } = fixture();
    const zombie = process("zombie");
    const seen: number[] = [];
    zombie.clock.after(10, () => void seen.push(scheduler.nowMs));
    zombie.pause();
    scheduler.schedule(null, 5_000, "go on", () => zombie.goOn());
    await runAll();
    expect(seen).toEqual([5_000]);
  });

  it("has a clock of its own speed, and the database's time", async () => {
    const { scheduler, process, runAll } = fixture();
    const fast = process("fast", 2);
    const seen: number[] = [];
    fast.clock.after(100, () => void seen.push(scheduler.nowMs, fast.clock.monotonicMs()));
    await runAll();
    expect(seen).toEqual([50, 100]);
    expect(fast.clock.databaseTime()?.getTime()).toBe(Date.UTC(2026, 0, 1) + 50);
  });
});
