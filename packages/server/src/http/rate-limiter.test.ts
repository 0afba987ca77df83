import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { createRateLimiter } from "./rate-limiter.ts";

describe("a bucket", () => {
  it("gives its burst at once, then as much as time brings, and says how long to wait", async () => {
    const clock = new VirtualClock();
    const limiter = createRateLimiter(clock, { perSecond: 2, burst: 3 });
    expect([1, 2, 3, 4].map(() => limiter.take("a"))).toEqual([0, 0, 0, 500]);
    expect(limiter.take("b")).toBe(0);
    await clock.advance(250);
    expect(limiter.take("a")).toBe(250);
    await clock.advance(250);
    expect([limiter.take("a"), limiter.take("a")]).toEqual([0, 500]);
    await clock.advance(60_000);
    expect([1, 2, 3, 4].map(() => limiter.take("a"))).toEqual([0, 0, 0, 500]);
  });

  it("is dropped when it is full again and another needs its place, and never before", async () => {
    const clock = new VirtualClock();
    const limiter = createRateLimiter(clock, { perSecond: 1, burst: 2 }, 2);
    limiter.take("old");
    await clock.advance(1_000);
    limiter.take("busy");
    limiter.take("busy");
    limiter.take("new");
    expect(limiter.take("busy")).toBe(1_000);
  });

  it("starts over when a flood of names fills the table with buckets in use", () => {
    const limiter = createRateLimiter(new VirtualClock(), { perSecond: 1, burst: 1 }, 10);
    for (let n = 0; n < 10; n++) limiter.take(`name_${n}`);
    expect(limiter.take("name_0")).toBe(1_000);
    expect(limiter.take("one_more")).toBe(0);
    expect(limiter.take("name_0")).toBe(0);
  });
});
