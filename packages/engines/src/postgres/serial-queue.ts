// Runs tasks one after the other, in the order in which they were handed over.
//
//   K1. A task starts only when every earlier one has settled; a failed task does not stop the next.

export class SerialQueue {
  #tail: Promise<void> = Promise.resolve();

  run<T>(task: () => T | Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.then(ignore, ignore); // K1; the caller sees the failure through `result`
    return result;
  }

  /** Resolves when everything handed over so far has settled. */
  idle(): Promise<void> {
    return this.#tail;
  }
}

/** The caller sees the failure through the result of `run`. */
function ignore(): void {}
