// One member of a durable: keeps the durable in being, pulls from it, runs the handler.
//
//   V1. For every connection there is one loop: make sure of stream and durable, pull until that fails, pause, again.
//       So a wiped broker, a deleted stream and a deleted durable are the same case.
//   V2. Unanswered deliveries are counted over connections: a handler that outlives one still holds its place.
//   V3. `stop` resolves when no handler runs and nothing can arrive.
//   V4. It pulls from the durable of its store (durable-owner.ts) and looks again whose that is every LOOK_AGAIN_MS, or when
//       it hears a message of another store.

import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection, Subscription as NatsSubscription } from "@nats-io/transport-node";
import type { Delivery } from "@tessera/kernel/ports";
import { HEADERS, type StreamSpec } from "@tessera/protocol";
import { pause, pauseMs } from "../delivery/backoff.ts";
import { IN_FLIGHT_DEFAULT, THROW_DELAYS_MS } from "../delivery/dispatcher.ts";
import type { Handler } from "../delivery/group.ts";
import type { Warnings } from "../delivery/warnings.ts";
import { unbundle } from "./bundle.ts";
import { describe } from "./connection.ts";
import { DurableOwner } from "./durable-owner.ts";
import { LateAcks } from "./late-acks.ts";
import { type DeliveryOwner, NatsDelivery } from "./nats-delivery.ts";
import { Pull } from "./pull.ts";
import { type DurableSpec, durableName, ensureDurable, ensureStream, hasChangedHands } from "./topology.ts";

/** A pull that lived this long was healthy. */
const HEALTHY_MS = 5_000;
const LOOK_AGAIN_MS = 30_000;
const CHANGED_HANDS = "the durable serves another store now";
/** Between two looks, however many messages of other stores are heard. */
const LOOK_PAUSE_MS = 1_000;

export interface DurableConsumerOptions {
  readonly stream: StreamSpec;
  readonly durable: string;
  /** Undefined: this is an executor that is no part of a store. */
  readonly storeId: string | undefined;
  readonly pattern: string;
  readonly inFlightMax: number | undefined;
  readonly inboxPrefix: string | undefined;
  readonly streamReplicas: number;
  readonly warnings: Warnings;
}

export class DurableConsumer implements DeliveryOwner {
  readonly #options: DurableConsumerOptions;
  readonly #handler: Handler;
  readonly #inFlightMax: number;
  readonly #owner: DurableOwner;
  readonly #stopping = new AbortController();
  readonly #loops = new Set<Promise<void>>();
  #pull: Pull | null = null;
  #acks: LateAcks | null = null;
  #unanswered = 0;
  #running = 0;
  #attached: { nc: NatsConnection; firstAttempt: Promise<void> } | null = null;
  #streamMade: string | null = null;
  #lastSequence = 0;
  #whenIdle: (() => void) | null = null;
  #heardAnother: () => void = () => {};

  constructor(options: DurableConsumerOptions, handler: Handler) {
    this.#options = options;
    this.#handler = handler;
    this.#inFlightMax = Math.max(1, options.inFlightMax ?? IN_FLIGHT_DEFAULT);
    this.#owner = new DurableOwner(options.storeId, options.durable, durableName);
  }

  /** The store that has the published name of this durable; null: this one. */
  get neighbour(): string | null {
    return this.#owner.neighbour;
  }

  /** Takes up work on a new connection. Resolves after the first attempt, well or not; the loop goes on by itself. */
  attach(nc: NatsConnection): Promise<void> {
    if (this.#attached?.nc === nc) return this.#attached.firstAttempt;
    const firstAttempt = new Promise<void>((resolve) => {
      const loop = this.#keepPulling(nc, resolve).finally(() => this.#loops.delete(loop));
      this.#loops.add(loop);
    });
    this.#attached = { nc, firstAttempt };
    return firstAttempt;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#pull?.stop();
    await Promise.all(this.#loops);
    this.#options.warnings.clear(this.#warningKey);
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
    this.#acks?.send();
  }

  answered(): void {
    this.#unanswered -= 1;
    this.#pull?.handFreed();
  }

  givenUp({ subject, deliveries }: NatsDelivery): void {
    const { name: durable } = this.#owner;
    this.#options.warnings.tell(
      `the durable ${durable} gave up a message on ${subject} after ${deliveries} deliveries`,
    );
  }

  get #warningKey(): string {
    return `durable ${this.#options.durable}`;
  }

  async #keepPulling(nc: NatsConnection, onFirstAttempt: () => void): Promise<void> {
    const { durable, warnings } = this.#options;
    const { signal } = this.#stopping;
    const jsm = await jetstreamManager(nc, { checkAPI: false });
    for (let failures = 0; !signal.aborted && !nc.isClosed(); failures++) {
      try {
        await this.#ensure(jsm);
        if (signal.aborted || nc.isClosed()) break;
        const since = performance.now();
        const ended = this.#startPull(nc, jsm);
        onFirstAttempt();
        const reason = await ended;
        if (signal.aborted || nc.isClosed()) break;
        if (reason === CHANGED_HANDS) {
          failures = -1;
          continue;
        }
        // What ended a healthy pull is new, and the first repair should be quick.
        if (performance.now() - since > HEALTHY_MS) failures = 0;
        warnings.raise(this.#warningKey, `the durable ${durable} was interrupted: ${reason}`);
      } catch (error) {
        if (!nc.isClosed())
          warnings.raise(this.#warningKey, `cannot prepare the durable ${durable}: ${describe(error)}`);
      }
      onFirstAttempt();
      await pause(pauseMs(failures), signal);
    }
    onFirstAttempt();
  }

  /** A process that dies three times with a message in hand leaves it stranded in the stream; only the broker notices. */
  #warnOfStranded(nc: NatsConnection): NatsSubscription {
    const { stream, warnings } = this.#options;
    const durable = this.#owner.name;
    return nc.subscribe(`$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${stream.name}.${durable}`, {
      queue: durable,
      callback: (error, msg) => {
        if (error === null)
          warnings.tell(`the durable ${durable} left a message unanswered too often: ${msg.string()}`);
      },
    });
  }

  async #ensure(jsm: JetStreamManager): Promise<void> {
    const { stream, durable, pattern, streamReplicas, warnings } = this.#options;
    const made = await ensureStream(jsm, {
      stream,
      replicas: streamReplicas,
      wasThere: this.#streamMade !== null,
      signal: this.#stopping.signal,
    });
    if (made !== this.#streamMade) this.#lastSequence = 0; // another stream counts anew
    this.#streamMade = made;
    const startSequence = this.#lastSequence + 1;
    const { name, neighbour } = this.#owner;
    const did = await ensureDurable(jsm, { ...this.#spec, startSequence });
    if (did === "refiltered") warnings.tell(`the durable ${durable} now subscribes to ${pattern}`);
    if (this.#owner.neighbour !== null && this.#owner.neighbour !== neighbour) {
      const says = `the durable ${durable} serves ${this.#owner.neighbour}, another store on this broker`;
      warnings.tell(`${says}; this store pulls from ${this.#owner.name}`);
    } else if (this.#owner.name !== name) warnings.tell(`the durable ${durable} serves this store now`);
    warnings.clear(this.#warningKey);
  }

  get #spec(): Omit<DurableSpec, "startSequence"> {
    const { stream, pattern } = this.#options;
    return { stream, owner: this.#owner, pattern, inFlightMax: this.#inFlightMax };
  }

  /** V4. Resolves when the durable is another store's now, or this one's again; never if it stays. */
  async #changedHands(jsm: JetStreamManager, signal: AbortSignal): Promise<void> {
    if (this.#options.storeId === undefined) return await new Promise(() => {});
    while (!signal.aborted) {
      const heard = new Promise<void>((resolve) => (this.#heardAnother = resolve));
      await Promise.race([pause(LOOK_AGAIN_MS, signal), heard.then(() => pause(LOOK_PAUSE_MS, signal))]);
      if (!signal.aborted && (await hasChangedHands(jsm, this.#spec).catch(() => false))) return;
    }
    return await new Promise(() => {});
  }

  /** Resolves with the reason when pulling over this connection came to an end. */
  async #startPull(nc: NatsConnection, jsm: JetStreamManager): Promise<string> {
    const acks = new LateAcks(nc);
    this.#acks = acks;
    const pull = new Pull({
      nc,
      inboxPrefix: this.#options.inboxPrefix,
      stream: this.#options.stream.name,
      durable: this.#owner.name,
      freeHands: () => this.#inFlightMax - this.#unanswered,
      inFlightMax: this.#inFlightMax,
      onMessage: (msg) => this.#hear(new NatsDelivery(msg, nc, acks, this)),
    });
    this.#pull = pull;
    const stranded = this.#warnOfStranded(nc);
    const looking = new AbortController();
    const reason = await Promise.race([
      pull.ended,
      nc.closed().then(() => "the connection was closed"),
      this.#changedHands(jsm, looking.signal).then(() => CHANGED_HANDS),
    ]);
    looking.abort();
    if (!nc.isClosed()) stranded.unsubscribe();
    if (this.#pull === pull) this.#pull = null;
    await pull.stop();
    return reason;
  }

  /** A bundle takes one place however many parts it has: the workers bound what its parts wake. */
  #hear(delivery: NatsDelivery): void {
    this.#unanswered += 1;
    if (delivery.deliveries === 1) this.#lastSequence = delivery.sequence;
    if (this.#owner.isForAnother(delivery.headers[HEADERS.store_id])) {
      delivery.ack();
      this.#heardAnother(); // V4
      return;
    }
    for (const part of unbundle(delivery)) this.#run(part);
  }

  #run(delivery: Delivery): void {
    this.#running += 1;
    let running: void | Promise<void>;
    try {
      running = this.#handler(delivery);
    } catch {
      this.#returned(delivery, true);
      return;
    }
    if (running === undefined) this.#returned(delivery, false);
    else {
      running.then(
        () => this.#returned(delivery, false),
        () => this.#returned(delivery, true),
      );
    }
  }

  #returned(delivery: Delivery, hasThrown: boolean): void {
    if (hasThrown) delivery.nak(THROW_DELAYS_MS[Math.min(delivery.deliveries, THROW_DELAYS_MS.length) - 1]);
    else delivery.ack();
    this.#running -= 1;
    if (this.#running === 0) this.#whenIdle?.();
  }
}
