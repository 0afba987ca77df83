// The only timers and randomness of the client. Tests hand in their own.

/** Pauses, time limits and chance, as the client uses them. */
export interface Timers {
  /** Runs a task once after so many milliseconds, unless it is canceled. */
  after(ms: number, task: () => void): { cancel(): void };
  /** From 0 up to 1, without 1. */
  random(): number;
}

export const webTimers: Timers = {
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return { cancel: () => clearTimeout(timer) };
  },
  random: () => Math.random(),
};

/** Resolves after so many milliseconds, or rejects with the signal's reason as soon as that is aborted. */
export function pause(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = timers.after(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Doubles with each failure in a row up to a limit. A part of it is left to chance, so that many clients do not come back at once. */
export function backoffMs(
  timers: Timers,
  failures: number,
  { firstMs, maxMs }: { firstMs: number; maxMs: number },
): number {
  const whole = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(whole / 2 + (whole / 2) * timers.random());
}
