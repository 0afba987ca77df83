import { expect, test } from "vitest";
import { VirtualClock } from "./virtual-clock.ts";

test("timers run in the order of their time, each at its own time, and not before", async () => {
  const clock = new VirtualClock(new Date("2026-01-01T00:00:00.000Z"));
  const seen: [string, number, string][] = [];
  const note = (name: string) => () => seen.push([name, clock.monotonicMs(), clock.databaseTime().toISOString()]);
  clock.after(300, note("c"));
  clock.after(100, note("a"));
  clock.after(100, note("b"));
  await clock.advance(99);
  expect(seen).toEqual([]);
  await clock.advance(201);
  expect(seen).toEqual([
    ["a", 100, "2026-01-01T00:00:00.100Z"],
    ["b", 100, "2026-01-01T00:00:00.100Z"],
    ["c", 300, "2026-01-01T00:00:00.300Z"],
  ]);
  expect(clock.pending).toBe(0);
});

test("a timer that sets itself again runs as often as it falls due, also after asynchronous work", async () => {
  const clock = new VirtualClock();
  let ran = 0;
  const tick = () => {
    ran++;
    void Promise.resolve().then(() => clock.after(10, tick));
  };
  clock.after(10, tick);
  await clock.advance(100);
  expect(ran).toBe(10);
});

test("a cancelled timer does not run", async () => {
  const clock = new VirtualClock();
  const timer = clock.after(10, () => expect.unreachable());
  timer.cancel();
  await clock.advance(100);
  expect(clock.monotonicMs()).toBe(100);
});

test("work is awaited before time moves on", async () => {
  const clock = new VirtualClock();
  const log: string[] = [];
  clock.after(1, () => log.push("first"));
  clock.after(2, () => log.push("second"));
  await clock.advance(5, async () => void log.push("settled"));
  expect(log).toEqual(["first", "settled", "second", "settled"]);
});
