// Time inside a bus adapter: pauses, redeliveries, ack waits. Unlike the clock of ../system, its timers never keep a
// process alive: a redelivery without a receiver needs no process.

import type { Clock } from "@tessera/kernel/ports";

export type LocalClock = Pick<Clock, "monotonicMs" | "after">;

export const localClock: LocalClock = {
  monotonicMs: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
