// Which claims are being answered: how many may wait, and what a repeated one means.
//
//   P1. A waiting claim takes one of the waiting places, a claim that does not wait takes none.
//   P2. A claim that comes again with its claim id was given up by its client, who may have gone unnoticed: the earlier
//       one is ended first. Otherwise it could take calls after the later one was answered, and no executor would run them.

import type { Holder } from "../http/shares.ts";
import type { WaitingPlaces } from "../http/waiting-places.ts";

interface ClaimPoll {
  readonly holder: Holder;
  readonly claim_id?: string | undefined;
  readonly wait_ms: number;
}

export interface ClaimPolls {
  /** `work` is told to stop when the client has gone or has asked again. */
  run<T>(poll: ClaimPoll, gone: AbortSignal, work: (stopped: AbortSignal) => Promise<T>): Promise<T>;
}

interface Running {
  readonly superseded: AbortController;
  readonly ended: Promise<void>;
}

export function createClaimPolls(places: WaitingPlaces): ClaimPolls {
  const running = new Map<string, Running>();

  return {
    async run({ holder, claim_id, wait_ms }, gone, work) {
      const name = claim_id === undefined ? null : `${holder.key.key_id}/${claim_id}`;
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const own: Running = { superseded: new AbortController(), ended };
      const earlier = name === null ? undefined : running.get(name);
      if (name !== null) running.set(name, own);
      try {
        earlier?.superseded.abort();
        await earlier?.ended; // P2
        if (wait_ms > 0) places.enter(holder); // P1
        try {
          return await work(AbortSignal.any([gone, own.superseded.signal]));
        } finally {
          if (wait_ms > 0) places.leave(holder);
        }
      } finally {
        if (name !== null && running.get(name) === own) running.delete(name);
        end();
      }
    },
  };
}
