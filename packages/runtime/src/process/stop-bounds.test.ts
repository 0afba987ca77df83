import { VirtualClock } from "@tessera/testkit";
import { expect, it } from "vitest";
import { STOP_MS, STOP_MS_MAX, stopParts, withinBound } from "./stop-bounds.ts";

const never = () => new Promise<void>(() => undefined);

it("a part that does not end is left behind and named, and the others are ended all the same", async () => {
  const clock = new VirtualClock();
  const ended: string[] = [];
  const stopping = stopParts(clock, [
    { name: "the sweeper", stop: never },
    { name: "the bus", stop: async () => void ended.push("the bus") },
    { name: "the store", stop: never },
  ]);
  const failure = stopping.catch((error: unknown) => error);
  await clock.advance(STOP_MS["the sweeper"]);
  expect(ended).toEqual(["the bus"]);
  await clock.advance(STOP_MS["the store"]);
  expect(await failure).toMatchObject({
    code: "stop_incomplete",
    message: expect.stringContaining("the sweeper, the store"),
  });
});

it("what fails for another reason is told as it is", async () => {
  const parts = [{ name: "the bus" as const, stop: () => Promise.reject(new Error("broken")) }];
  await expect(stopParts(new VirtualClock(), parts)).rejects.toThrow("broken");
  await withinBound(new VirtualClock(), { name: "a part", ms: 1 }, async () => undefined);
});

it("a stop takes a minute at most, besides the grace of what runs", () => {
  expect(STOP_MS_MAX).toBeLessThanOrEqual(60_000);
});
