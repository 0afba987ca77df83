// A logical process: code that shares nothing with the others but the database and the bus, and that can die at any await.
//
//   P1. Killed, its code is abandoned where it waits: no answer, timer or delivery reaches it any more, and nothing that
//       it sends reaches another process.
//   P2. Paused, everything that reaches it waits; the world moves on. Then it goes on as if nothing had happened: a zombie.
//       Where the whole machine slept, its own clock has not moved either, and nothing in it can notice.
//   P3. Its clock runs faster or slower than the world's. The database's time is the database's (ports.ts, P3).
//   P4. What a process looks at every second may be looked at more seldom: nothing may depend on a look that comes in time,
//       and most of what happens in a run would be looks that find nothing.

import type { Clock } from "@tessera/kernel/ports";
import { SWEEP_INTERVAL_MS } from "@tessera/protocol";
import type { EventOwner, SimEvent, SimScheduler } from "./scheduler.ts";

/** Virtual time 0. */
const SIM_START_MS = Date.UTC(2026, 0, 1);

export class SimProcess implements EventOwner {
  readonly name: string;
  readonly role: string;
  readonly clock: Clock;
  state: "alive" | "paused" | "dead" = "alive";
  /** Until when it cannot reach the bus, or the store. */
  busCutUntilMs = 0;
  storeDownUntilMs = 0;
  readonly #scheduler: SimScheduler;
  readonly #beforeEvent: (process: SimProcess, label: string) => void;
  readonly #onKill: (() => void)[] = [];
  #held: SimEvent[] = [];
  #sleepsSinceMs: number | null = null;
  #sleptMs = 0;

  constructor(
    scheduler: SimScheduler,
    options: {
      readonly name: string;
      readonly role: string;
      /** Of its clock against the world's. */
      readonly rate: number;
      /** P4. Instead of a second. */
      readonly looksEveryMs?: number;
      readonly beforeEvent?: (process: SimProcess, label: string) => void;
    },
  ) {
    this.name = options.name;
    this.role = options.role;
    this.#scheduler = scheduler;
    const { rate, looksEveryMs = SWEEP_INTERVAL_MS, beforeEvent } = options;
    this.#beforeEvent = beforeEvent ?? (() => undefined);
    this.clock = {
      databaseTime: () => databaseTime(scheduler),
      monotonicMs: () => (scheduler.nowMs - this.#sleptMs) * rate,
      after: (asked, task) => {
        const ms = asked === SWEEP_INTERVAL_MS ? looksEveryMs : Math.max(0, asked); // P4
        return scheduler.schedule(this, ms / rate, "timer", task); // P3
      },
    };
  }

  get isBusCut(): boolean {
    return this.#scheduler.nowMs < this.busCutUntilMs;
  }

  get isStoreDown(): boolean {
    return this.#scheduler.nowMs < this.storeDownUntilMs;
  }

  beforeEvent(label: string): void {
    this.#beforeEvent(this, label);
  }

  hold(event: SimEvent): void {
    this.#held.push(event);
  }

  /** Runs `task` when the process dies. */
  onKill(task: () => void): void {
    this.#onKill.push(task);
  }

  /** P1 */
  kill(): void {
    if (this.state === "dead") return;
    this.state = "dead";
    this.#held = [];
    for (const task of this.#onKill.splice(0)) task();
  }

  /** P2 */
  pause(options: { readonly isAsleep?: boolean } = {}): void {
    if (this.state !== "alive") return;
    this.state = "paused";
    this.#sleepsSinceMs = options.isAsleep === true ? this.#scheduler.nowMs : null;
  }

  goOn(): void {
    if (this.state !== "paused") return;
    this.state = "alive";
    if (this.#sleepsSinceMs !== null) this.#sleptMs += this.#scheduler.nowMs - this.#sleepsSinceMs;
    this.#scheduler.release(this.#held);
    this.#held = [];
  }
}

export function databaseTime(scheduler: SimScheduler): Date {
  return new Date(SIM_START_MS + Math.floor(scheduler.nowMs));
}
