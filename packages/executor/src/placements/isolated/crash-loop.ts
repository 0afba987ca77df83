// Back-off of a tool whose process keeps dying (docs/protocol/tool-api.md#processes).
//
//   K1. Up to CRASHES_FREE crashes in a row cost nothing: a new process starts at once.
//   K2. From then on the next start waits, twice as long after each crash, at most BACKOFF_MS_MAX.
//   K3. One success forgets them all.

const CRASHES_FREE = 5;
const BACKOFF_MS_FIRST = 1_000;
const BACKOFF_MS_MAX = 300_000;

export interface CrashLoop {
  crashed(): void;
  succeeded(): void;
  /** Milliseconds until a process may start; 0 when it may start now. */
  waitMs(): number;
  readonly crashes: number;
}

export function createCrashLoop(clock: { monotonicMs(): number }): CrashLoop {
  let crashes = 0;
  let startAtMs = 0;
  return {
    get crashes() {
      return crashes;
    },
    crashed() {
      crashes++;
      startAtMs = clock.monotonicMs() + backoffMs(crashes);
    },
    succeeded() {
      crashes = 0; // K3
      startAtMs = 0;
    },
    waitMs: () => (crashes > CRASHES_FREE ? Math.max(0, Math.ceil(startAtMs - clock.monotonicMs())) : 0),
  };
}

export function backoffMs(crashes: number): number {
  if (crashes <= CRASHES_FREE) return 0; // K1
  return Math.min(BACKOFF_MS_FIRST * 2 ** (crashes - CRASHES_FREE - 1), BACKOFF_MS_MAX); // K2
}
