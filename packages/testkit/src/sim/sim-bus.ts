// The broker of a simulated run and the bus that each process sees of it: everything that P2 of the kernel's ports allows.
//
//   B1. A durable hands each message to one of its members; without a member it is kept. A delivery that is not answered in
//       time goes to a member again, a bounded number of times; then it is stranded.
//   B2. A process that is cut off can neither publish nor be reached, and is still counted as a member: what it is handed is
//       lost until its wait is over.
//   B3. Wiped, the broker forgets what it had not delivered and what it waits to be answered.
//   B4. A message counts as reordered when a later one of its durable has overtaken it, not when it was only held up.

import {
  type Bus,
  BusError,
  type BusMessage,
  type Delivery,
  type SubscribeOptions,
  type Subscription,
} from "@tessera/kernel/ports";
import { MESSAGE_BYTES_MAX, matchesPattern } from "@tessera/protocol";
import type { SimWorld } from "./sim-database.ts";
import type { SimProcess } from "./sim-process.ts";

type Handler = (delivery: Delivery) => void | Promise<void>;

interface Member {
  readonly process: SimProcess;
  readonly handler: Handler;
}

interface Durable {
  readonly name: string;
  readonly pattern: string;
  readonly members: Set<Member>;
  kept: BusMessage[];
  /** B4: how many messages it has taken, and the latest of them that was on its way to a member. */
  taken: number;
  latest: number;
}

const ACK_WAIT_MS = 30_000;
const DELIVERIES_MAX = 3;
const KEPT_MAX = 1_000;
const COPIES_MAX = 4;
const DELAY_MS = [500, 25_000] as const;
const REORDER_MS = 300;
/** A handler that throws meets its message again after this. */
const THROW_DELAY_MS = 500;

export class SimBroker {
  readonly #world: SimWorld;
  readonly #durables = new Map<string, Durable>();
  #listeners = 0;
  #generation = 0;
  /** What is on its way, or delivered and not answered. */
  #open = 0;

  constructor(world: SimWorld) {
    this.#world = world;
  }

  /** B3. False: there was nothing to forget. */
  wipe(): boolean {
    const durables = [...this.#durables.values()];
    const hadAny = this.#open > 0 || durables.some(({ kept }) => kept.length > 0);
    this.#generation += 1;
    this.#open = 0;
    for (const durable of durables) durable.kept = [];
    return hadAny;
  }

  busOf(process: SimProcess): Bus {
    return {
      capabilities: {
        kind: "nats",
        messageBytesMax: MESSAGE_BYTES_MAX,
        exclusiveDurables: true,
        keepsForAbsent: true,
      },
      publish: (messages) => this.#publish(process, messages),
      subscribe: (options, handler) => this.#subscribe(process, options, handler),
      health: () => ({ connected: !process.isBusCut, connections: 1 + this.#generation, warnings: [] }),
      close: async () => undefined,
    };
  }

  #publish(process: SimProcess, messages: readonly BusMessage[]): Promise<void> {
    const { scheduler, random, faults } = this.#world;
    return new Promise((resolve, reject) => {
      if (process.state === "dead") return;
      const isCut = process.isBusCut;
      const isFailing = isCut || faults.hits("bus.publish_error");
      const isTaken = !isFailing || (!isCut && random.chance(0.5)); // an ambiguous publish
      if (isTaken) for (const message of messages) this.#accept(message);
      scheduler.schedule(process, random.int(0, 1), "published", () => {
        if (isFailing) reject(new BusError("disconnected", "injected: the publish failed"));
        else resolve();
      });
    });
  }

  #accept(message: BusMessage): void {
    const { random, faults } = this.#world;
    for (const durable of this.#durables.values()) {
      if (!matchesPattern(message.subject, durable.pattern)) continue;
      if (faults.hits("bus.drop")) continue;
      const number = ++durable.taken;
      const copies = faults.hits("bus.duplicate") ? random.int(2, COPIES_MAX) : 1;
      for (let copy = 0; copy < copies; copy++) {
        const isLate = faults.hits("bus.delay");
        const isHeldUp = !isLate && faults.draws("bus.reorder");
        const delayMs = isLate
          ? random.between(...DELAY_MS)
          : isHeldUp
            ? random.between(0, REORDER_MS)
            : random.int(0, 2);
        this.#route(durable, message, 1, delayMs, () => {
          if (isHeldUp && number < durable.latest) faults.happened("bus.reorder"); // B4
          durable.latest = Math.max(durable.latest, number);
        });
      }
    }
  }

  #route(durable: Durable, message: BusMessage, deliveries: number, delayMs: number, onWay?: () => void): void {
    const { scheduler, random } = this.#world;
    const generation = this.#generation;
    this.#open += 1;
    scheduler.schedule(null, delayMs, `route ${durable.name}`, () => {
      if (generation !== this.#generation) return; // B3
      this.#open -= 1;
      onWay?.();
      if (durable.members.size === 0) {
        if (durable.kept.length < KEPT_MAX) durable.kept.push(message);
        return;
      }
      this.#deliver(durable, random.pick([...durable.members]), message, deliveries);
    });
  }

  #deliver(durable: Durable, member: Member, message: BusMessage, deliveries: number): void {
    const { scheduler, random } = this.#world;
    const generation = this.#generation;
    let isAnswered = false;
    this.#open += 1;
    /** Whether it was open until now. */
    const answered = () => {
      if (isAnswered || generation !== this.#generation) return false;
      isAnswered = true;
      this.#open -= 1;
      return true;
    };
    const again = (delayMs: number) => {
      if (answered() && deliveries < DELIVERIES_MAX) this.#route(durable, message, deliveries + 1, delayMs);
    };
    scheduler.schedule(null, ACK_WAIT_MS, `ack wait ${durable.name}`, () => again(0)); // B1
    scheduler.schedule(member.process, random.int(0, 1), `deliver ${durable.name}`, () => {
      if (member.process.isBusCut || !durable.members.has(member)) return; // B2
      const delivery: Delivery = {
        ...message,
        deliveries,
        ack: () => void answered(),
        nak: (ms = 0) => again(ms),
        term: () => void answered(),
      };
      void handle(member.handler, delivery).then(answered, () => again(THROW_DELAY_MS));
    });
  }

  async #subscribe(process: SimProcess, options: SubscribeOptions, handler: Handler): Promise<Subscription> {
    const durable = this.#durableOf(options);
    const member: Member = { process, handler };
    const leave = () => {
      durable.members.delete(member);
      if (options.durable === undefined) this.#durables.delete(durable.name);
    };
    durable.members.add(member);
    process.onKill(leave);
    for (const message of durable.kept.splice(0)) this.#route(durable, message, 1, 0);
    return { stop: async () => leave() };
  }

  #durableOf({ durable: named, pattern }: SubscribeOptions): Durable {
    const name = named ?? `listener ${++this.#listeners}`;
    const known = this.#durables.get(name);
    if (known !== undefined) return known;
    const durable: Durable = { name, pattern, members: new Set(), kept: [], taken: 0, latest: 0 };
    this.#durables.set(name, durable);
    return durable;
  }
}

async function handle(handler: Handler, delivery: Delivery): Promise<void> {
  await handler(delivery);
}
