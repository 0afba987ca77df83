// For whoever waits for the end of a turn: a pause between two looks at the store that is over when the turn ends in this
// process (announcer.ts, A3). Turns that end elsewhere are found by the next look.

import type { Announcer } from "../messages/announcer.ts";
import type { Clock } from "../ports.ts";
import { pause } from "./pause.ts";

export interface TurnBell {
  /** Resolves after `ms`, when the turn has ended here since the last look, or when `signal` is aborted. */
  orAfter(ms: number, signal?: AbortSignal): Promise<void>;
  close(): void;
}

export function turnBell(
  { announcer }: { readonly announcer: Announcer },
  clock: Clock,
  agentTurnId: string,
): TurnBell {
  let hasRung = false;
  let rung = new AbortController();
  const close = announcer.onEnded(agentTurnId, () => {
    hasRung = true;
    rung.abort();
  });
  return {
    async orAfter(ms, signal) {
      if (!hasRung) await pause(clock, ms, signal === undefined ? rung.signal : AbortSignal.any([signal, rung.signal]));
      // One look for each ring: a reader that lags behind the commit must not make this a loop without a pause.
      hasRung = false;
      rung = new AbortController();
    },
    close,
  };
}
