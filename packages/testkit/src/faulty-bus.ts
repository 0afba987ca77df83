// A bus that misbehaves on purpose, around any other: it loses, doubles, delays, reorders, and answers a publish with an
// error although the message may have gone out. Everything that P2 allows and nothing else.
//
//   F1. Which fault hits which message follows from the seed and the order of publishing alone; a delay's effect on
//       order also depends on the clock, so a simulation passes its own.
//   F2. Every fault is counted, so that a test can prove that it happened.
//   F3. After `heal` the bus behaves: what was held back is released, and nothing more is done to messages.

import {
  type Bus,
  type BusCapabilities,
  BusError,
  type BusHealth,
  type BusMessage,
  type Clock,
  type Subscription,
  type Timer,
} from "@tessera/kernel/ports";
import { seededRandom } from "./seeded-ids.ts";

/** A probability between 0 and 1, or a decision per message. */
export type FaultChance = number | ((message: BusMessage) => boolean);

export interface FaultyBusOptions {
  readonly seed: number;
  readonly drop?: FaultChance;
  readonly duplicate?: FaultChance;
  /** Messages hit by `delay` (all by default, once a range is given) arrive this much later: from, to. */
  readonly delayMs?: readonly [number, number];
  readonly delay?: FaultChance;
  /** A message is held back until another one has overtaken it. */
  readonly reorder?: FaultChance;
  /** The publish throws `disconnected`; one half of the time its messages have gone out. */
  readonly publishError?: FaultChance;
  readonly clock?: Pick<Clock, "after">;
}

export interface FaultCounts {
  readonly dropped: number;
  readonly duplicated: number;
  readonly delayed: number;
  readonly reordered: number;
  /** Publishes that threw and whose messages were lost. */
  readonly failedLost: number;
  /** Publishes that threw although their messages went out. */
  readonly failedSent: number;
}

const REAL_TIME: Pick<Clock, "after"> = {
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

export class FaultyBus implements Bus {
  readonly #bus: Bus;
  readonly #options: FaultyBusOptions;
  readonly #random: () => number;
  readonly #clock: Pick<Clock, "after">;
  readonly #timers = new Set<Timer>();
  readonly #counts = { dropped: 0, duplicated: 0, delayed: 0, reordered: 0, failedLost: 0, failedSent: 0 };
  #held: BusMessage[] = [];
  #isHealed = false;

  constructor(bus: Bus, options: FaultyBusOptions) {
    this.#bus = bus;
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#clock = options.clock ?? REAL_TIME;
  }

  get capabilities(): BusCapabilities {
    return this.#bus.capabilities;
  }

  /** What was injected so far (F2). */
  get counts(): FaultCounts {
    return { ...this.#counts };
  }

  async publish(messages: readonly BusMessage[]): Promise<void> {
    if (this.#isHealed) return this.#bus.publish(messages);
    const first = messages[0];
    if (first !== undefined && this.#hits(this.#options.publishError, first)) {
      const isSent = this.#random() < 0.5;
      this.#counts[isSent ? "failedSent" : "failedLost"] += 1;
      if (isSent) await this.#bus.publish(this.#distort(messages));
      throw new BusError("disconnected", `injected: the publish failed, its messages were ${isSent ? "sent" : "lost"}`);
    }
    await this.#bus.publish(this.#distort(messages));
  }

  subscribe(...[options, handler]: Parameters<Bus["subscribe"]>): Promise<Subscription> {
    return this.#bus.subscribe(options, handler);
  }

  health(): BusHealth {
    return this.#bus.health();
  }

  /** Ends all faults (F3). Delayed messages still arrive when they are due. */
  async heal(): Promise<void> {
    this.#isHealed = true;
    const held = this.#held;
    this.#held = [];
    if (held.length > 0) await this.#bus.publish(held);
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#held = [];
    await this.#bus.close();
  }

  /** What of `messages`, and of those held back before, goes out now. */
  #distort(messages: readonly BusMessage[]): BusMessage[] {
    const out: BusMessage[] = [];
    for (const message of messages) {
      if (this.#hits(this.#options.drop, message)) {
        this.#counts.dropped += 1;
        continue;
      }
      const isDoubled = this.#hits(this.#options.duplicate, message);
      if (isDoubled) this.#counts.duplicated += 1;
      for (let copy = 0; copy < (isDoubled ? 2 : 1); copy++) this.#sendOrHold(message, out);
    }
    return out;
  }

  #sendOrHold(message: BusMessage, out: BusMessage[]): void {
    const range = this.#options.delayMs;
    if (range !== undefined && this.#hits(this.#options.delay ?? 1, message)) {
      this.#counts.delayed += 1;
      this.#sendLater(message, range[0] + this.#random() * (range[1] - range[0]));
      return;
    }
    if (this.#hits(this.#options.reorder, message)) {
      this.#counts.reordered += 1;
      this.#held.push(message);
      return;
    }
    out.push(message, ...this.#held);
    this.#held = [];
  }

  #sendLater(message: BusMessage, ms: number): void {
    const timer = this.#clock.after(ms, () => {
      this.#timers.delete(timer);
      // The publisher has long had the answer that it was taken; a bus that is gone by now has lost it, as any bus may.
      this.#bus.publish([message]).catch(() => {
        this.#counts.dropped += 1;
      });
    });
    this.#timers.add(timer);
  }

  #hits(chance: FaultChance | undefined, message: BusMessage): boolean {
    if (chance === undefined) return false;
    if (typeof chance === "function") return chance(message);
    // A number is drawn even for 0 and 1, so that changing one chance does not shift the others' luck.
    return this.#random() < chance;
  }
}
