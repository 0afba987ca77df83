// What one look found, in the order in which it happened, however many turns it is about.
//
//   O1. The time that the server gives decides. Times are cut to milliseconds, so many are equal: then a turn lies between
//       the call that asked for it and the end of that call, and within a turn a thought comes before its calls, and these
//       before the next thought and the end.
//   O2. A turn ends after everything else in it.

import type { ProgressEvent } from "./turn-progress.ts";

/** Where in its run something is: the ranks of the calls that led to its turn, then its own. */
export type Place = readonly number[];

export interface TimedEvent {
  readonly event: ProgressEvent;
  readonly atMs: number;
  readonly place: Place;
}

/** Of what is so at the time of the look. */
export const NOW_MS = Number.MAX_SAFE_INTEGER;
const RANKS_PER_STEP = 3;

/** O1. Steps count from 0; -1: of no step that is known. */
export const RANK = {
  started: -RANKS_PER_STEP,
  step: (step: number) => step * RANKS_PER_STEP,
  called: (step: number) => step * RANKS_PER_STEP + 1,
  child: (step: number) => step * RANKS_PER_STEP + 1.5,
  settled: (step: number) => step * RANKS_PER_STEP + 2,
  ended: Number.MAX_SAFE_INTEGER,
} as const;

export function inOrder(events: readonly TimedEvent[]): ProgressEvent[] {
  return events.toSorted((a, b) => a.atMs - b.atMs || comparePlaces(a.place, b.place)).map(({ event }) => event); // O1
}

function comparePlaces(a: Place, b: Place): number {
  for (let n = 0; n < Math.min(a.length, b.length); n++) {
    const difference = (a[n] ?? 0) - (b[n] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** O2 */
export function endMs(endedAt: string, before: readonly TimedEvent[]): number {
  return Math.max(Date.parse(endedAt), ...before.map(({ atMs }) => atMs));
}
