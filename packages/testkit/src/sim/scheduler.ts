// The scheduler of a simulated run: everything that happens is an event with a virtual time, and one happens at a time.
//
//   S1. Of the events that are due, chance picks one; time moves on only when none is due.
//   S2. After an event all code it set free runs until it waits for a port again; only then comes the next event. What the
//       event itself awaits (the real database) is over before that.
//   S3. An event of a process that is dead never happens; one of a process that is paused happens when it goes on.

import type { Timer } from "@tessera/kernel/ports";
import type { EventLog } from "./event-log.ts";
import type { SimRandom } from "./random.ts";

/** Whose event it is: the scheduler only asks whether it may happen. */
export interface EventOwner {
  readonly name: string;
  readonly state: "alive" | "paused" | "dead";
  /** Called before each of its events; it may be paused or die of it. */
  beforeEvent(label: string): void;
  /** Keeps the event until the owner goes on. */
  hold(event: SimEvent): void;
}

export interface SimEvent {
  readonly atMs: number;
  readonly label: string;
  readonly owner: EventOwner | null;
  readonly run: () => void | Promise<void>;
  isCanceled: boolean;
}

/** Turns of the event loop without a new event after which all code is known to wait: the kernel's batchers take one. */
const QUIET_TURNS = 2;

export class SimScheduler {
  readonly #random: SimRandom;
  readonly #log: EventLog;
  /** Sorted by time, latest first. */
  readonly #later: SimEvent[] = [];
  readonly #due: SimEvent[] = [];
  #nowMs = 0;
  #activity = 0;
  #happened = 0;

  constructor(random: SimRandom, log: EventLog) {
    this.#random = random;
    this.#log = log;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events so far. */
  get happened(): number {
    return this.#happened;
  }

  schedule(owner: EventOwner | null, delayMs: number, label: string, run: () => void | Promise<void>): Timer {
    const event: SimEvent = { atMs: this.#nowMs + Math.max(0, delayMs), label, owner, run, isCanceled: false };
    this.#insert(event);
    return {
      cancel: () => {
        event.isCanceled = true;
      },
    };
  }

  /** Brings back what an owner held. */
  release(events: readonly SimEvent[]): void {
    for (const event of events) this.#insert({ ...event, atMs: this.#nowMs });
  }

  /** Whether an event that may still happen is labelled so. */
  awaits(isWanted: (label: string) => boolean): boolean {
    const mayHappen = (event: SimEvent) => !event.isCanceled && event.owner?.state !== "dead" && isWanted(event.label);
    return this.#due.some(mayHappen) || this.#later.some(mayHappen);
  }

  /** Lets one event happen. False: there is none. */
  async step(): Promise<boolean> {
    const event = this.#take();
    if (event === null) return false;
    this.#happened += 1;
    this.#log.add(`${this.#nowMs.toFixed(2)} ${event.owner?.name ?? "-"} ${event.label}`);
    await event.run();
    await this.settle();
    return true;
  }

  /** S2 */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; ) {
      const before = this.#activity;
      await nextTurn();
      quiet = this.#activity === before ? quiet + 1 : 0;
    }
  }

  #take(): SimEvent | null {
    for (;;) {
      this.#gatherDue();
      if (this.#due.length === 0) return null;
      const n = this.#random.int(0, this.#due.length - 1);
      const event = this.#due[n] as SimEvent;
      const last = this.#due.pop() as SimEvent;
      if (event !== last) this.#due[n] = last;
      if (event.isCanceled) continue; // S3
      if (event.owner?.state === "alive") event.owner.beforeEvent(event.label);
      if (event.owner?.state === "paused") event.owner.hold(event);
      else if (event.owner?.state !== "dead") return event;
    }
  }

  /** S1 */
  #gatherDue(): void {
    if (this.#due.length === 0) {
      const next = this.#later.at(-1);
      if (next !== undefined) this.#nowMs = Math.max(this.#nowMs, next.atMs);
    }
    for (let next = this.#later.at(-1); next !== undefined && next.atMs <= this.#nowMs; next = this.#later.at(-1)) {
      this.#due.push(next);
      this.#later.pop();
    }
  }

  #insert(event: SimEvent): void {
    this.#activity += 1;
    let low = 0;
    let high = this.#later.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#later[middle] as SimEvent).atMs > event.atMs) low = middle + 1;
      else high = middle;
    }
    this.#later.splice(low, 0, event);
  }
}

/** A turn of the event loop, four for each event: the promise of node:timers costs several times as much. */
function nextTurn(): Promise<void> {
  return new Promise(resumeLater);
}

function resumeLater(resolve: () => void): void {
  setImmediate(resolve);
}
