// Asks the store until it answers, for a caller that holds the only copy of something.

import type { Clock } from "../ports.ts";
import { pause } from "../waiting/pause.ts";

const AGAIN_FIRST_MS = 100;
const AGAIN_MAX_MS = 5_000;

/** The answer, after failures with growing pauses; null when `signal` ended the wait before there was one. */
export async function askPatiently<Answer>(
  ask: () => Promise<Answer>,
  options: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly onFailure: (error: unknown) => void;
  },
): Promise<Answer | null> {
  for (let pauseMs = AGAIN_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, AGAIN_MAX_MS)) {
    try {
      return await ask();
    } catch (error) {
      options.onFailure(error);
      await pause(options.clock, pauseMs, options.signal);
      if (options.signal.aborted) return null;
    }
  }
}
