// A bounded first-in-first-out queue whose ends both cost constant time.
//
//   Q1. It never holds more than its limit: pushing onto a full queue drops the oldest entry and says so. Rings are
//       worth less the older they are, because the sweeper rings again what still waits.

/** How many spent slots may lead the array before they are cut off. */
const SPENT_SLOTS_MAX = 1_024;

export class Fifo<T> {
  readonly #limit: number;
  #slots: (T | undefined)[] = [];
  #head = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#slots.length - this.#head;
  }

  /** Returns false when the oldest entry had to go (Q1). */
  push(entry: T): boolean {
    const fits = this.size < this.#limit;
    if (!fits) this.shift();
    this.#slots.push(entry);
    return fits;
  }

  shift(): T | undefined {
    if (this.#head === this.#slots.length) return undefined;
    const entry = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head += 1;
    if (this.#head === this.#slots.length) this.clear();
    else if (this.#head > SPENT_SLOTS_MAX && this.#head * 2 > this.#slots.length) {
      this.#slots = this.#slots.slice(this.#head);
      this.#head = 0;
    }
    return entry;
  }

  clear(): void {
    this.#slots = [];
    this.#head = 0;
  }
}
