// The dispatcher: hands messages that have reached this process to the handlers in it.
//
// The memory bus is little more than this; the postgres bus feeds it from LISTEN.
//
//   D1. No handler runs inside `accept`: deliveries start on a later turn of the event loop, so a publisher that holds
//       locks or counts on its own state is never re-entered, and I/O is not starved by a chain of publishes.
//   D2. An unanswered delivery goes back to its group after `ackWaitMs`; a message is delivered `deliverMax` times at
//       most, then dropped with a warning. Nothing durable is lost: the sweeper rings again.
//   D3. Members of one durable share one pattern; a second pattern under the same name is refused.

import type { BusMessage, SubscribeOptions, Subscription, Timer } from "@tessera/kernel/ports";
import { BusError } from "@tessera/kernel/ports";
import { matchesPattern } from "@tessera/protocol";
import { type Answer, type Envelope, Group, type Handler, LocalDelivery, type Member } from "./group.ts";
import type { LocalClock } from "./local-clock.ts";
import { readPattern, readSubject } from "./subject.ts";

export const IN_FLIGHT_DEFAULT = 64;
/** docs/protocol/subjects.md#streams-and-consumers */
export const ACK_WAIT_MS = 30_000;
export const DELIVER_MAX = 3;
/** A handler that throws meets its message again after these pauses: most causes (a database that restarts) need some. */
export const THROW_DELAYS_MS: readonly number[] = [50, 500];
/** Deliveries started before the event loop gets a turn. */
const DELIVERIES_PER_TURN_MAX = 1_024;
/** Subjects whose receivers are remembered, and durables without a member: the longest absent one is forgotten first. */
const REMEMBERED_MAX = { routes: 10_000, absentDurables: 256 };
/** Redeliveries that wait for their pause. */
const DELAYED_MAX = 10_000;

export interface DispatcherOptions {
  readonly ackWaitMs: number;
  readonly deliverMax: number;
  readonly clock: LocalClock;
  /** Whether a durable without members keeps its messages. */
  readonly keepsForAbsent: boolean;
  readonly onWarning: (warning: string) => void;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #durables = new Map<string, Group>();
  readonly #groups = new Set<Group>();
  readonly #routes = new Map<string, readonly Group[]>();
  readonly #ready = new Set<Group>();
  readonly #watched = new Set<LocalDelivery>();
  readonly #delayed = new Set<Timer>();
  #ackTimer: Timer | null = null;
  #isScheduled = false;
  #isClosed = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Queues the message for everyone it concerns. Throws `refused` for an impossible subject. */
  accept(message: BusMessage): void {
    for (const group of this.#routeOf(message.subject)) this.#enqueue(group, { message, deliveries: 1 });
  }

  /** Whether `subject` may be published; remembers the answer with its route. */
  check(subject: string): void {
    this.#routeOf(subject);
  }

  subscribe(options: SubscribeOptions, handler: Handler): Subscription {
    if (this.#isClosed) throw new BusError("closed", "cannot subscribe: the bus is closed");
    const group = this.#groupFor(options);
    const member: Member = {
      handler,
      inFlightMax: Math.max(1, options.inFlightMax ?? IN_FLIGHT_DEFAULT),
      unanswered: 0,
      running: 0,
      whenIdle: null,
    };
    group.members.push(member);
    this.#schedule(group);
    let stopped: Promise<void> | null = null;
    return {
      stop: () => {
        stopped ??= this.#stop(group, member);
        return stopped;
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const stops = [...this.#groups].flatMap((group) => [...group.members].map((member) => this.#stop(group, member)));
    for (const timer of this.#delayed) timer.cancel();
    this.#delayed.clear();
    await Promise.all(stops);
    this.#ackTimer?.cancel();
    for (const group of this.#groups) this.#forget(group);
  }

  #routeOf(subject: string): readonly Group[] {
    const known = this.#routes.get(subject);
    if (known !== undefined) return known;
    readSubject(subject);
    const route = [...this.#groups].filter((group) => matchesPattern(subject, group.pattern));
    if (this.#routes.size >= REMEMBERED_MAX.routes) this.#routes.clear();
    this.#routes.set(subject, route);
    return route;
  }

  #groupFor({ durable, pattern }: SubscribeOptions): Group {
    const isBroadcast = readPattern(pattern).category === "str" || durable === undefined;
    const known = isBroadcast ? undefined : this.#durables.get(durable);
    if (known !== undefined) {
      if (known.pattern === pattern) return known;
      throw new BusError(
        "refused",
        `the durable ${durable} subscribes to ${known.pattern} and cannot subscribe to ${pattern} as well (D3)`,
      );
    }
    const group = new Group(durable ?? pattern, pattern, !isBroadcast);
    if (!isBroadcast) this.#durables.set(durable, group);
    this.#groups.add(group);
    this.#routes.clear();
    return group;
  }

  #forget(group: Group): void {
    group.queue.clear();
    this.#groups.delete(group);
    this.#ready.delete(group);
    if (this.#durables.get(group.name) === group) this.#durables.delete(group.name);
    this.#routes.clear();
  }

  async #stop(group: Group, member: Member): Promise<void> {
    const index = group.members.indexOf(member);
    if (index !== -1) group.members.splice(index, 1);
    if (group.members.length === 0 && !this.#isClosed) this.#abandon(group);
    if (member.running > 0) await new Promise<void>((resolve) => (member.whenIdle = resolve));
  }

  /** The last member left: a durable may wait for the next one, anything else is over. */
  #abandon(group: Group): void {
    if (!this.#options.keepsForAbsent || !group.redelivers) {
      this.#forget(group);
      return;
    }
    // Re-inserting makes the map's order the order in which durables were left.
    this.#durables.delete(group.name);
    this.#durables.set(group.name, group);
    const absent = [...this.#durables.values()].filter((each) => each.members.length === 0);
    const oldest = absent[0];
    if (oldest !== undefined && absent.length > REMEMBERED_MAX.absentDurables) this.#forget(oldest);
  }

  #enqueue(group: Group, envelope: Envelope): void {
    if (!group.queue.push(envelope)) {
      this.#options.onWarning(`the durable ${group.name} is full; its oldest message was dropped`);
    }
    if (group.members.length > 0) this.#schedule(group);
  }

  #schedule(group: Group): void {
    if (group.queue.size === 0) return;
    this.#ready.add(group);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#deliverReady); // D1
  }

  readonly #deliverReady = (): void => {
    this.#isScheduled = false;
    let left = DELIVERIES_PER_TURN_MAX;
    for (const group of this.#ready) {
      this.#ready.delete(group);
      for (let member = group.nextMember(); member !== null; member = group.nextMember()) {
        if (left === 0) {
          this.#schedule(group);
          break;
        }
        const envelope = group.queue.shift();
        if (envelope === undefined) break;
        left -= 1;
        this.#run(new LocalDelivery(envelope, group, member, this.#onAnswer));
      }
      if (left === 0) break;
    }
    for (const group of this.#ready) this.#schedule(group);
  };

  #run(delivery: LocalDelivery): void {
    const { member } = delivery;
    member.unanswered += 1;
    member.running += 1;
    let running: void | Promise<void>;
    try {
      running = member.handler(delivery);
    } catch (error) {
      this.#returned(delivery, error);
      return;
    }
    if (running === undefined) {
      this.#returned(delivery, null);
      return;
    }
    if (!delivery.isAnswered) this.#watch(delivery);
    running.then(
      () => this.#returned(delivery, null),
      (error: unknown) => this.#returned(delivery, error ?? new Error("the handler rejected without a reason")),
    );
  }

  #returned(delivery: LocalDelivery, error: unknown): void {
    if (error === null) delivery.ack();
    else delivery.nak(THROW_DELAYS_MS[Math.min(delivery.deliveries, THROW_DELAYS_MS.length) - 1]);
    const { member } = delivery;
    member.running -= 1;
    if (member.running === 0) member.whenIdle?.();
  }

  readonly #onAnswer = (delivery: LocalDelivery, answer: Answer): void => {
    const { group, member } = delivery;
    member.unanswered -= 1;
    if (delivery.deadlineMs !== 0) this.#watched.delete(delivery);
    if (answer.kind === "nak") this.#redeliver(delivery, answer.delayMs);
    this.#schedule(group);
  };

  #redeliver({ group, message, deliveries }: LocalDelivery, delayMs: number): void {
    if (!group.redelivers || this.#isClosed) return;
    if (deliveries >= this.#options.deliverMax) {
      const who = `the durable ${group.name}`;
      this.#options.onWarning(`${who} dropped a message on ${message.subject} after ${deliveries} deliveries`);
      return;
    }
    const envelope = { message, deliveries: deliveries + 1 };
    if (delayMs <= 0 || this.#delayed.size >= DELAYED_MAX) {
      this.#enqueue(group, envelope);
      return;
    }
    const timer = this.#options.clock.after(delayMs, () => {
      this.#delayed.delete(timer);
      if (this.#groups.has(group)) this.#enqueue(group, envelope);
    });
    this.#delayed.add(timer);
  }

  /** All waits are equally long, so the set's order is the order of deadlines and one timer serves them all. */
  #watch(delivery: LocalDelivery): void {
    delivery.deadlineMs = this.#options.clock.monotonicMs() + this.#options.ackWaitMs;
    this.#watched.add(delivery);
    this.#ackTimer ??= this.#options.clock.after(this.#options.ackWaitMs, this.#expireWatched);
  }

  readonly #expireWatched = (): void => {
    this.#ackTimer = null;
    const nowMs = this.#options.clock.monotonicMs();
    for (const delivery of this.#watched) {
      if (delivery.deadlineMs > nowMs) {
        this.#ackTimer = this.#options.clock.after(delivery.deadlineMs - nowMs, this.#expireWatched);
        return;
      }
      delivery.nak(); // D2; the slow handler's own answer will be ignored (G3)
    }
  };
}
