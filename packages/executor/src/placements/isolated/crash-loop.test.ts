import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { backoffMs, createCrashLoop } from "./crash-loop.ts";

describe("the crash loop", () => {
  it("waits from the sixth crash on, twice as long each time, at most five minutes", () => {
    expect([0, 1, 5, 6, 7, 8, 14, 15, 100].map(backoffMs)).toEqual([
      0, 0, 0, 1_000, 2_000, 4_000, 256_000, 300_000, 300_000,
    ]);
  });

  it("lets a process start again when its time has come, and forgets crashes after a success", async () => {
    const clock = new VirtualClock();
    const loop = createCrashLoop(clock);
    for (let crash = 0; crash < 5; crash++) loop.crashed();
    expect(loop.waitMs()).toBe(0);
    loop.crashed();
    expect(loop.waitMs()).toBe(1_000);
    await clock.advance(400);
    expect(loop.waitMs()).toBe(600);
    await clock.advance(600);
    expect(loop.waitMs()).toBe(0);
    loop.crashed();
    expect(loop.waitMs()).toBe(2_000);
    loop.succeeded();
    expect(loop.waitMs()).toBe(0);
    loop.crashed();
    expect(loop.waitMs()).toBe(0);
  });
});
