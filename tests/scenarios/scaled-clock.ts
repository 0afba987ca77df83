// A clock that runs faster than the wall's, so that rings after 5 s and leases of 15 s take a fraction of that.
// The kernel's functions are told its time; timers are shortened by the same factor, so everything keeps its proportion.

import type { Clock, Timer } from "@tessera/kernel/ports";

export interface ScaledClockOptions {
  readonly factor?: number;
  /** Where both times agree, by the wall; the same in every process of a cluster. */
  readonly originMs?: number;
  /** Moves this clock into the future: what was due within that time is due at once. */
  readonly aheadMs?: number;
}

export class ScaledClock implements Clock {
  readonly #factor: number;
  readonly #originMs: number;
  readonly #aheadMs: number;

  constructor(options: ScaledClockOptions) {
    this.#factor = options.factor ?? 1;
    this.#originMs = options.originMs ?? Date.now();
    this.#aheadMs = options.aheadMs ?? 0;
  }

  databaseTime(): Date {
    return new Date(this.#originMs + (Date.now() - this.#originMs) * this.#factor + this.#aheadMs);
  }

  monotonicMs(): number {
    return performance.now() * this.#factor;
  }

  after(ms: number, task: () => void): Timer {
    const timer = setTimeout(task, ms / this.#factor);
    return { cancel: () => clearTimeout(timer) };
  }
}
