// Natural batching (docs/design.md#functions-take-batches): while batches are in flight, later items gather; there is no timer.
//
//   B1. Outcomes come back in item order; each item gets its own.
//   B2. A bad item never fails its neighbours: on a statement error the batch is split until the culprit stands alone.
//   B3. Two items with one key never share a batch, and keep their order: the later one waits until the earlier one is
//       answered, also where the earlier one was left out for its size or is under way in a slow batch (B5).
//   B4. All batchers of a client share its slots, first come, first served: while one batcher's batch is in flight the items
//       of all of them gather. Measured at 64 concurrent calls: fewer, larger batches beat more connections.
//   B5. One batch is in flight while batches are quick. Only one that takes long (a lock, a slow disk) lets the next go
//       beside it, so that it delays no other item for longer than SLOW_MS.
//   B6. Text that the database can never hold is refused before it is sent, as the database would.
//   B7. A row that another session keeps locked is not waited for long. A batch that met one is given up, its slot with it, and
//       its items are asked impatiently, in halves: what needs no locked row is done within moments. An item that stands alone at a
//       locked row is asked again with growing pauses, LOCKED_MS_MAX in all, and then refused. Until it is answered, later items of
//       its key wait (B3).

import { BATCH_BYTES_MAX, BATCH_ITEMS_MAX } from "@tessera/protocol";
import { type Clock, DatabaseError, type Timer } from "../ports.ts";
import { pause } from "../waiting/pause.ts";

const SLOW_MS = 10;
/** B7 */
const LOCKED_MS_MAX = 7_000;
const LOCKED_PAUSE_FIRST_MS = 25;
const LOCKED_PAUSE_MAX_MS = 400;
export const UNSTORABLE_TEXT = "22P05";
/** NUL or half of a surrogate pair, as JSON.stringify writes it; a backslash that is itself escaped begins nothing. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

export interface BatcherOptions<Outcome> {
  /** Runs one transaction over the items, given as JSON texts. Impatiently: it fails at once where a row is locked (B7). */
  readonly run: (items: readonly string[], isImpatient: boolean) => Promise<readonly Outcome[]>;
  /** What to answer when a single item makes the statement fail; rethrow to reject its promise. */
  readonly refuse: (error: DatabaseError) => Outcome;
  readonly slots: Slots;
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  /** Of one batch. */
  readonly itemsMax?: number;
}

/** B4, B5: how many batches may be in flight, and who is next. */
export class Slots {
  readonly #max: number;
  readonly #clock: Pick<Clock, "after">;
  readonly #queue: (() => void)[] = [];
  #taken = 0;
  #patience: Timer | null = null;

  constructor(max: number, clock: Pick<Clock, "after">) {
    this.#max = max;
    this.#clock = clock;
  }

  /** Runs `enter` when a slot is free: at once, or when its turn comes. It must call `leave` exactly once. */
  ask(enter: () => void): void {
    this.#queue.push(enter);
    if (this.#taken === 0) this.#enterNext();
    else if (this.#patience === null) this.#wait();
  }

  leave(): void {
    this.#taken -= 1;
    this.#patience?.cancel();
    this.#patience = null;
    if (this.#queue.length === 0) return;
    if (this.#taken === 0) this.#enterNext();
    else this.#wait();
  }

  #enterNext(): void {
    const enter = this.#queue.shift();
    if (enter === undefined) return;
    this.#taken += 1;
    if (this.#queue.length > 0) this.#wait();
    enter();
  }

  /** B5 */
  #wait(): void {
    if (this.#taken >= this.#max) return;
    this.#patience = this.#clock.after(SLOW_MS, () => {
      this.#patience = null;
      this.#enterNext();
    });
  }
}

interface Entry<Outcome> {
  readonly text: string;
  readonly key: string | null;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<Outcome> {
  readonly #options: BatcherOptions<Outcome>;
  #waiting: Entry<Outcome>[] = [];
  /** B3: the keys of the batches in flight. */
  readonly #keysInFlight = new Set<string>();
  #isQueued = false;

  constructor(options: BatcherOptions<Outcome>) {
    this.#options = options;
  }

  add(item: unknown, key: string | null = null): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const entry = { text: JSON.stringify(item), key, resolve, reject };
      if (isUnstorable(entry.text)) {
        this.#refuse(
          entry,
          new DatabaseError("statement", "the text holds NUL or half of a surrogate pair", {
            sqlstate: UNSTORABLE_TEXT,
          }),
        ); // B6
        return;
      }
      this.#waiting.push(entry);
      this.#queue();
    });
  }

  // Items of one turn of the event loop share a batch: a socket often delivers many messages at once.
  #queue(): void {
    if (this.#isQueued || this.#waiting.length === 0) return;
    this.#isQueued = true;
    setImmediate(() => this.#options.slots.ask(() => void this.#flush()));
  }

  async #flush(): Promise<void> {
    this.#isQueued = false;
    const batch = this.#take();
    if (batch.length === 0) {
      this.#options.slots.leave(); // everything waits for a batch in flight, and is queued again when that one ends
      return;
    }
    this.#queue();
    let locked: readonly Entry<Outcome>[] = [];
    try {
      locked = await this.#settle(batch);
    } finally {
      this.#letGo(batch.filter((entry) => !locked.includes(entry)));
      this.#options.slots.leave();
      this.#queue();
    }
    const { clock } = this.#options;
    await this.#settleLocked(locked, clock.monotonicMs() + LOCKED_MS_MAX);
  }

  #letGo(answered: readonly Entry<Outcome>[]): void {
    for (const { key } of answered) if (key !== null) this.#keysInFlight.delete(key);
  }

  #take(): Entry<Outcome>[] {
    const batch: Entry<Outcome>[] = [];
    const left: Entry<Outcome>[] = [];
    const keys = new Set(this.#keysInFlight);
    const { itemsMax = BATCH_ITEMS_MAX } = this.#options;
    let bytes = 0;
    for (const entry of this.#waiting) {
      const isFull = batch.length >= itemsMax || (batch.length > 0 && bytes + entry.text.length > BATCH_BYTES_MAX);
      const isBehind = entry.key !== null && keys.has(entry.key);
      if (entry.key !== null) keys.add(entry.key); // B3: also of one that is left out
      if (isFull || isBehind) {
        left.push(entry);
        continue;
      }
      if (entry.key !== null) this.#keysInFlight.add(entry.key);
      bytes += entry.text.length;
      batch.push(entry);
    }
    this.#waiting = left;
    return batch;
  }

  /** Answers every item, save those of a batch that met a locked row: these are given back (B7). */
  async #settle(batch: readonly Entry<Outcome>[], isImpatient = false): Promise<readonly Entry<Outcome>[]> {
    try {
      const outcomes = await this.#options.run(
        batch.map((entry) => entry.text),
        isImpatient,
      );
      for (const [n, entry] of batch.entries()) entry.resolve(outcomes[n] as Outcome);
      return [];
    } catch (error) {
      const kind = error instanceof DatabaseError ? error.kind : null;
      if (kind === "locked") return batch;
      if (kind === "statement" && batch.length > 1) {
        const locked: Entry<Outcome>[] = [];
        for (const half of halves(batch)) locked.push(...(await this.#settle(half, isImpatient)));
        return locked;
      }
      for (const entry of batch) this.#refuse(entry, error);
      return [];
    }
  }

  /** B7 */
  async #settleLocked(
    batch: readonly Entry<Outcome>[],
    untilMs: number,
    pauseMs = LOCKED_PAUSE_FIRST_MS,
  ): Promise<void> {
    if (batch.length === 0) return;
    const locked = await this.#settle(batch, true);
    this.#letGo(batch.filter((entry) => !locked.includes(entry)));
    this.#queue();
    if (locked.length > 1) {
      await Promise.all(halves(locked).map((half) => this.#settleLocked(half, untilMs)));
      return;
    }
    if (locked.length === 0) return;
    const { clock } = this.#options;
    if (clock.monotonicMs() >= untilMs) {
      for (const entry of locked)
        this.#refuse(entry, new DatabaseError("locked", "another session keeps the row locked"));
      this.#letGo(locked);
      this.#queue();
      return;
    }
    await pause(clock, pauseMs);
    await this.#settleLocked(locked, untilMs, Math.min(pauseMs * 2, LOCKED_PAUSE_MAX_MS));
  }

  #refuse(entry: Entry<Outcome>, error: unknown): void {
    if (!(error instanceof DatabaseError)) {
      entry.reject(error);
      return;
    }
    try {
      entry.resolve(this.#options.refuse(error));
    } catch (refused) {
      entry.reject(refused);
    }
  }
}

function halves<Item>(items: readonly Item[]): Item[][] {
  const middle = items.length >> 1;
  return [items.slice(0, middle), items.slice(middle)];
}

/** B6. Nearly no text holds such an escape, and looking for two characters is cheap. */
function isUnstorable(text: string): boolean {
  return text.includes("\\u") && UNSTORABLE.test(text);
}
