// Which claims are being answered: how many may wait, and what a repeated one means.
//
//   P1. Waiting claims are counted by key, so that one tenant cannot take the places of the others, and in all. A claim
//       that does not wait takes no place.
//   P2. A claim that comes again with its claim id was given up by its client, who may have gone unnoticed: the earlier
//       one is ended first. Otherwise it could take calls after the later one was answered, and nobody would run them.

import { HttpRefusal } from "./problem.ts";
import type { ServerLimits } from "./server-limits.ts";

export interface ClaimPoll {
  readonly key_id: string;
  readonly claim_id?: string;
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

export function createClaimPolls(limits: Pick<ServerLimits, "longPollsMax" | "longPollsPerKeyMax">): ClaimPolls {
  const waiting = new Map<string, number>();
  const running = new Map<string, Running>();
  let all = 0;

  function enter(keyId: string): void {
    const own = waiting.get(keyId) ?? 0;
    if (own >= limits.longPollsPerKeyMax || all >= limits.longPollsMax) throw tooManyPolls();
    waiting.set(keyId, own + 1);
    all += 1;
  }

  function leave(keyId: string): void {
    const own = (waiting.get(keyId) ?? 1) - 1;
    if (own === 0) waiting.delete(keyId);
    else waiting.set(keyId, own);
    all -= 1;
  }

  return {
    async run({ key_id, claim_id, wait_ms }, gone, work) {
      const name = claim_id === undefined ? null : `${key_id}/${claim_id}`;
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const own: Running = { superseded: new AbortController(), ended };
      const earlier = name === null ? undefined : running.get(name);
      if (name !== null) running.set(name, own);
      try {
        earlier?.superseded.abort();
        await earlier?.ended; // P2
        if (wait_ms > 0) enter(key_id); // P1
        try {
          return await work(AbortSignal.any([gone, own.superseded.signal]));
        } finally {
          if (wait_ms > 0) leave(key_id);
        }
      } finally {
        if (name !== null && running.get(name) === own) running.delete(name);
        end();
      }
    },
  };
}

function tooManyPolls(): HttpRefusal {
  return new HttpRefusal("rate_limited", "too many claims wait at the same time", { headers: { "retry-after": "1" } });
}
