// A pause that can be cut short, for loops that look again at something in the store.

import type { Clock } from "../ports.ts";

/** Resolves after `ms`, or as soon as `signal` is aborted; which of the two, the signal says. */
export function pause(clock: Pick<Clock, "after">, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.after(ms, done);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}
