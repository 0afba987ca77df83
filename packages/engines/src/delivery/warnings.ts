// What an operator should know about this bus, each thing said once while it lasts.
//
//   W1. `health()` shows what is wrong now; `onWarning` gets each problem when it starts, not each time it is noticed.
//   W2. What happened to a single message is reported and not kept.

/** Lasting warnings kept at once. */
const LASTING_MAX = 64;

export class Warnings {
  readonly #lasting = new Map<string, string>();
  readonly #onWarning: (warning: string) => void;

  constructor(onWarning: (warning: string) => void) {
    this.#onWarning = onWarning;
  }

  /** A state that lasts until `clear` is called with the same key. */
  raise(key: string, text: string): void {
    if (this.#lasting.get(key) === text) return;
    if (!this.#lasting.has(key) && this.#lasting.size >= LASTING_MAX) return;
    this.#lasting.set(key, text);
    this.#onWarning(text);
  }

  clear(key: string): void {
    this.#lasting.delete(key);
  }

  /** Something that happened once (W2). */
  tell(text: string): void {
    this.#onWarning(text);
  }

  list(): readonly string[] {
    return [...this.#lasting.values()];
  }
}
