// Waiting that ends early: when there is news, or when a signal comes.

import type { Clock } from "../connect/connection.ts";

interface WakeSignal {
  /** Ends every wait that is under way. */
  wake(): void;
  /** Until it wakes or the signal comes. */
  woken(signal: AbortSignal): Promise<void>;
  /** Until it wakes, the signal comes or the time is over. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

export function createWakeSignal(clock: Clock): WakeSignal {
  const waiting = new Set<() => void>();

  function wait(signal: AbortSignal, ms: number | null): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = ms === null ? null : clock.after(ms, done);
      signal.addEventListener("abort", done);
      waiting.add(done);
      function done(): void {
        timer?.cancel();
        signal.removeEventListener("abort", done);
        waiting.delete(done);
        resolve();
      }
    });
  }

  return {
    wake() {
      for (const done of [...waiting]) done();
    },
    woken: (signal) => wait(signal, null),
    pause: (ms, signal) => wait(signal, ms),
  };
}
