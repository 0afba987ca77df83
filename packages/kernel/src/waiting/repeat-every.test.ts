import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { repeatEvery } from "./repeat-every.ts";

describe("a repeated task", () => {
  it("runs again after each end, also after a failure, and not after it was stopped", async () => {
    const clock = new VirtualClock();
    const failures: unknown[] = [];
    let runs = 0;
    const repetition = repeatEvery({
      clock,
      everyMs: 1_000,
      task: async () => {
        runs += 1;
        if (runs === 2) throw new Error("once");
      },
      onFailure: (error) => failures.push(error),
    });
    await clock.advance(3_000);
    expect(runs).toBe(3);
    expect(failures).toHaveLength(1);
    await repetition.stop();
    await clock.advance(5_000);
    expect(runs).toBe(3);
    expect(clock.pending).toBe(0);
  });

  it("is never under way twice, and stop waits for it", async () => {
    const clock = new VirtualClock();
    let finish = () => {};
    let runs = 0;
    const repetition = repeatEvery({
      clock,
      everyMs: 10,
      task: () => {
        runs += 1;
        return new Promise<void>((resolve) => {
          finish = resolve;
        });
      },
      onFailure: () => {},
    });
    await clock.advance(100);
    expect(runs).toBe(1);
    let isStopped = false;
    const stopping = repetition.stop().then(() => {
      isStopped = true;
    });
    await clock.advance(100);
    expect(isStopped).toBe(false);
    finish();
    await stopping;
    expect(runs).toBe(1);
  });
});
