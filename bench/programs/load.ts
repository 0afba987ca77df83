// How a load is kept up and what is reported of it.
//
//   L1. A program first works with many at once, whatever it measures. One at a time makes some hundred calls per second,
//       so that its code would still be half compiled when it counts: an agent's CPU per call was 1.1 to 1.7 ms in runs of
//       2 s and 0.8 to 1.0 ms in runs of 12 s.

import { type Figures, quantile, rounded } from "../statistics.ts";

/** What `warmUp` takes at most. */
export const WARM_LANES = 64;

/** Lanes that hold nothing: for work that needs none of its own. */
export function lanesOf(count: number): null[] {
  return Array.from({ length: count }, () => null);
}

export interface Load {
  /** Milliseconds, ascending. */
  readonly latencies: readonly number[];
  readonly elapsedMs: number;
}

/** Keeps every lane busy for a time; each lane does at least one piece of work. */
export async function keepUp<Lane>(
  lanes: readonly Lane[],
  seconds: number,
  work: (lane: Lane) => Promise<void>,
): Promise<Load> {
  const latencies: number[] = [];
  const began = performance.now();
  const end = began + seconds * 1_000;
  await Promise.all(
    lanes.map(async (lane) => {
      let now = performance.now();
      do {
        const started = now;
        await work(lane);
        now = performance.now();
        latencies.push(now - started);
      } while (now < end);
    }),
  );
  const elapsedMs = performance.now() - began;
  return { latencies: latencies.sort((a, b) => a - b), elapsedMs };
}

/** L1 */
export async function warmUp<Lane>(
  lanes: readonly Lane[],
  seconds: number,
  work: (lane: Lane) => Promise<void>,
): Promise<void> {
  await keepUp(lanes.slice(0, WARM_LANES), Math.max(1, seconds / 3), work);
}

/** One warm-up of a sixth of the time, at least half a second, then the load that counts. */
export async function measureLoad<Lane>(
  lanes: readonly Lane[],
  seconds: number,
  work: (lane: Lane) => Promise<void>,
): Promise<Load> {
  await keepUp(lanes, Math.max(0.5, seconds / 6), work);
  return await keepUp(lanes, seconds, work);
}

/** `c64_p50_ms`, `c64_p99_ms`, `c64_per_second` for the prefix `c64_`. */
export function loadFigures(prefix: string, { latencies, elapsedMs }: Load): Figures {
  return {
    [`${prefix}p50_ms`]: rounded(quantile(latencies, 0.5)),
    [`${prefix}p99_ms`]: rounded(quantile(latencies, 0.99)),
    [`${prefix}per_second`]: rounded((latencies.length / elapsedMs) * 1_000),
  };
}
