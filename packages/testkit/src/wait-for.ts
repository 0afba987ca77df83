// Waiting for a condition with a deadline, instead of sleeping and hoping.
//
//   F1. A wait that fails says what was awaited, for how long, and what was seen last.
//   F2. An answer that does not come is no reason to wait for ever: one that is under way when time is up gets a little more.

import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";

export interface WaitOptions {
  /** Completes the sentence "waited for …". */
  readonly what: string;
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

const TIMEOUT_MS = 25_000;
const INTERVAL_MS = 10;
const ANSWER_MS_MIN = 2_000;
const NO_ANSWER = "no answer";

/** Asks until the answer is truthy, and returns it. An error thrown by `condition` counts as "not yet". */
export async function waitFor<T>(condition: () => T | Promise<T>, options: WaitOptions): Promise<NonNullable<T>> {
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let seen: unknown;
    try {
      const answer = await inTime(condition(), deadline);
      if (answer !== NO_ANSWER && answer) return answer;
      seen = answer;
    } catch (error) {
      seen = error;
    }
    if (performance.now() >= deadline) {
      const last = inspect(seen, { depth: 4, breakLength: 120 });
      throw new Error(`waited ${timeoutMs} ms for ${options.what}; seen last: ${last}`, { cause: seen }); // F1
    }
    await delay(options.intervalMs ?? INTERVAL_MS);
  }
}

/** F2 */
async function inTime<T>(asked: T | Promise<T>, deadline: number): Promise<T | typeof NO_ANSWER> {
  if (!(asked instanceof Promise)) return asked;
  const late = Promise.withResolvers<typeof NO_ANSWER>();
  const timer = setTimeout(() => late.resolve(NO_ANSWER), Math.max(ANSWER_MS_MIN, deadline - performance.now()));
  try {
    return await Promise.race([asked, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
