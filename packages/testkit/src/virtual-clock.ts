// A clock that stands still until the test moves it.
//
//   C1. Time moves only in `advance`; timers that fall due run in the order of their time, then of their making.
//   C2. After each timer the event loop gets to run, so that what the timer started can set timers of its own, and
//       those that fall due within the same `advance` run as well.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock, Timer } from "@tessera/kernel/ports";

const START = Date.UTC(2026, 0, 1);
/** Turns of the event loop that work started by a timer gets before time moves on. */
const TURNS_PER_TIMER = 3;
const TIMERS_PER_ADVANCE_MAX = 100_000;

interface Pending {
  readonly dueMs: number;
  readonly task: () => void;
}

export class VirtualClock implements Clock {
  readonly #startMs: number;
  readonly #pending = new Set<Pending>();
  #elapsedMs = 0;

  constructor(start: Date = new Date(START)) {
    this.#startMs = start.getTime();
  }

  databaseTime(): Date {
    return new Date(this.#startMs + this.#elapsedMs);
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  after(ms: number, task: () => void): Timer {
    const pending = { dueMs: this.#elapsedMs + Math.max(0, ms), task };
    this.#pending.add(pending);
    return { cancel: () => void this.#pending.delete(pending) };
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Moves time forward and runs what falls due (C1, C2). `settle` is awaited after each timer, e.g. "the kernel is idle". */
  async advance(ms: number, settle: () => Promise<void> = async () => {}): Promise<void> {
    const target = this.#elapsedMs + ms;
    for (let ran = 0; ran < TIMERS_PER_ADVANCE_MAX; ran++) {
      await turns();
      const next = this.#next(target);
      if (next === null) {
        this.#elapsedMs = target;
        return;
      }
      this.#pending.delete(next);
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      next.task();
      await turns();
      await settle();
    }
    throw new Error(
      `more than ${TIMERS_PER_ADVANCE_MAX} timers ran while time moved by ${ms} ms: a timer sets itself at once`,
    );
  }

  #next(target: number): Pending | null {
    let first: Pending | null = null;
    for (const pending of this.#pending) {
      if (pending.dueMs <= target && (first === null || pending.dueMs < first.dueMs)) first = pending;
    }
    return first;
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS_PER_TIMER; turn++) await nextTurn();
}
