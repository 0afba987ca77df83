// Requests that stay open keep their connections, so they are counted, whatever they are: a claim that waits for work, a caller
// that waits for a result, a stream of events.
//
//   W1. Of one key, of one project, and in all, which leaves connections for everything else; the last places are for tenants
//       that have none (shares.ts).
//   W2. One too many is answered 429 before it changes anything.

import { HttpRefusal } from "../routing/problem.ts";
import { createShares, type Holder, type ShareLimits } from "./shares.ts";

export interface WaitingPlaces {
  /** Throws 429 (W2). */
  enter(holder: Holder): void;
  leave(holder: Holder): void;
}

export function createWaitingPlaces(
  limits: ShareLimits,
  refusal: { readonly message: string; readonly retryAfterS: number },
): WaitingPlaces {
  const shares = createShares(limits); // W1
  return {
    enter(holder) {
      const full = shares.take(holder);
      if (full === null) return;
      throw new HttpRefusal("rate_limited", refusal.message, {
        headers: { "retry-after": String(refusal.retryAfterS) },
        details: { full },
      });
    },
    leave: (holder) => shares.give(holder),
  };
}
