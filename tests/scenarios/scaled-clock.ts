// A clock that runs faster than the wall's, so that rings after 5 s and leases of 15 s take a fraction of that.
// The kernel's functions are told its time; timers are shortened by the same factor, so everything keeps its proportion.

import type { Clock, Timer } from "@tessera/kernel/ports";

export class ScaledClock implements Clock {
  readonly #factor: number;
  readonly #startMs: number;
  readonly #origin = performance.now();

  /** `aheadMs` moves the start into the future: what was due within that time is due at once. */
  constructor(factor: number, aheadMs = 0) {
    this.#factor = factor;
    this.#startMs = Date.now() + aheadMs;
  }

  databaseTime(): Date {
    return new Date(this.#startMs + this.monotonicMs());
  }

  monotonicMs(): number {
    return (performance.now() - this.#origin) * this.#factor;
  }

  after(ms: number, task: () => void): Timer {
    const timer = setTimeout(task, ms / this.#factor);
    return { cancel: () => clearTimeout(timer) };
  }
}
