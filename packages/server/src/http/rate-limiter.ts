// Token buckets, one per name.
//
//   B1. A bucket that is full again says nothing that a new one does not, so such buckets are dropped when the table is
//       full. If none is, the table starts over: a flood of names must not cost memory without end.

import type { Clock } from "@tessera/kernel/ports";
import type { Rate } from "./server-limits.ts";

export interface RateLimiter {
  /** Takes one token, or as many as are said. 0 = go on; otherwise how many milliseconds to wait. */
  take(name: string, tokens?: number): number;
  /** Takes what something turned out to cost, also below zero. */
  charge(name: string, tokens: number): void;
}

const BUCKETS_MAX = 10_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

export function createRateLimiter(clock: Clock, { perSecond, burst }: Rate, bucketsMax = BUCKETS_MAX): RateLimiter {
  const buckets = new Map<string, Bucket>();
  const filled = (bucket: Bucket, nowMs: number) =>
    Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) * perSecond) / 1_000);

  function makeRoom(nowMs: number): void {
    for (const [name, bucket] of buckets) if (filled(bucket, nowMs) >= burst) buckets.delete(name);
    if (buckets.size >= bucketsMax) buckets.clear(); // B1
  }

  function bucketOf(name: string, nowMs: number): Bucket {
    let bucket = buckets.get(name);
    if (bucket === undefined) {
      if (buckets.size >= bucketsMax) makeRoom(nowMs);
      bucket = { tokens: burst, atMs: nowMs };
      buckets.set(name, bucket);
    }
    bucket.tokens = filled(bucket, nowMs);
    bucket.atMs = nowMs;
    return bucket;
  }

  return {
    take(name, tokens = 1) {
      const bucket = bucketOf(name, clock.monotonicMs());
      if (bucket.tokens < tokens) return Math.ceil(((tokens - bucket.tokens) * 1_000) / perSecond);
      bucket.tokens -= tokens;
      return 0;
    },
    charge(name, tokens) {
      bucketOf(name, clock.monotonicMs()).tokens -= tokens;
    },
  };
}
