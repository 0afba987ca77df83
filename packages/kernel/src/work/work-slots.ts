// A bounded number of places for work that runs at once.
//
//   S1. Waiting for a place is first come, first served.
//   S2. `idle()` resolves when nothing runs; together with no longer asking for places that is a drain.

export class WorkSlots {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  readonly #idleWaiters: (() => void)[] = [];
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get taken(): number {
    return this.#taken;
  }

  get free(): number {
    return Math.max(0, this.#max - this.#taken);
  }

  async take(): Promise<void> {
    if (this.#taken < this.#max) {
      this.#taken += 1;
      return;
    }
    // The place is handed over, not freed and taken, so no other caller can slip in between (S1).
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next();
      return;
    }
    this.#taken -= 1;
    if (this.#taken === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  idle(): Promise<void> {
    if (this.#taken === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }
}
