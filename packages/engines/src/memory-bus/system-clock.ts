// The time of this process, for local intervals. Its timers never keep a process alive that has nothing else to do.

import type { Clock } from "@tessera/kernel/ports";

export type LocalClock = Pick<Clock, "monotonicMs" | "after">;

export const systemClock: LocalClock = {
  monotonicMs: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
