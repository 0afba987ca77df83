// Requests that wait keep their connections, so they are counted, whatever they wait for: a claim for work, a caller for a result.
//
//   W1. Of one key, so that it cannot take the places of the others, and in all, which leaves connections for everything else.
//   W2. One too many is told 429 before it changes anything.

import { HttpRefusal } from "./problem.ts";
import type { ServerLimits } from "./server-limits.ts";

export interface WaitingPlaces {
  /** Throws 429 (W2). */
  enter(keyId: string): void;
  leave(keyId: string): void;
}

export function createWaitingPlaces(limits: Pick<ServerLimits, "longPollsMax" | "longPollsPerKeyMax">): WaitingPlaces {
  const waiting = new Map<string, number>();
  let all = 0;
  return {
    enter(keyId) {
      const own = waiting.get(keyId) ?? 0;
      if (own >= limits.longPollsPerKeyMax || all >= limits.longPollsMax) throw tooMany(); // W1
      waiting.set(keyId, own + 1);
      all += 1;
    },
    leave(keyId) {
      const own = (waiting.get(keyId) ?? 1) - 1;
      if (own === 0) waiting.delete(keyId);
      else waiting.set(keyId, own);
      all -= 1;
    },
  };
}

function tooMany(): HttpRefusal {
  return new HttpRefusal(
    "rate_limited",
    "too many requests wait at the same time; come again when one has its answer",
    {
      headers: { "retry-after": "1" },
    },
  );
}
