// Pauses between attempts: doubling, bounded, and jittered so that a restarted server is not met by everybody at once.

const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 2_000;

/** `attempt` counts from 0. The pause lies between a half and the whole of the doubled base. */
export function pauseMs(attempt: number, random: () => number = Math.random): number {
  const whole = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(attempt, 16));
  return whole * (0.5 + random() / 2);
}

/** Waits, or returns at once when `signal` is aborted. Never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
