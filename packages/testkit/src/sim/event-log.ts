// What happened in a simulated run, line by line, and a hash over all of it: two runs with the same hash were the same run.
//
//   G1. A line holds nothing that the seed does not decide: no real time, no ids that the database drew.
//   G2. Memory is bounded: only the last lines are kept, unless all are wanted.

import { createHash, type Hash } from "node:crypto";

const LAST_KEPT = 400;

export class EventLog {
  readonly #hash: Hash = createHash("sha256");
  readonly #onLine: ((line: string) => void) | null;
  #lines: string[] = [];

  constructor(onLine: ((line: string) => void) | null = null) {
    this.#onLine = onLine;
  }

  add(line: string): void {
    this.#hash.update(line).update("\n");
    this.#lines.push(line);
    if (this.#lines.length >= 2 * LAST_KEPT) this.#lines = this.#lines.slice(-LAST_KEPT); // G2
    this.#onLine?.(line);
  }

  last(count: number): string[] {
    return this.#lines.slice(-count);
  }

  digest(): string {
    return this.#hash.copy().digest("hex");
  }
}
