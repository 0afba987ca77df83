// One member of a durable: keeps the durable in being, pulls from it, runs the handler.
//
//   V1. For every connection there is one loop: make sure of stream and durable, pull until that fails, pause, again.
//       So a wiped broker, a deleted stream and a deleted durable are the same case.
//   V2. Unanswered deliveries are counted over connections: a handler that outlives one still holds its place.
//   V3. `stop` resolves when no handler runs and nothing can arrive.

import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection, Subscription as NatsSubscription } from "@nats-io/transport-node";
import type { Delivery } from "@tessera/kernel/ports";
import type { StreamSpec } from "@tessera/protocol";
import { pause, pauseMs } from "../delivery/backoff.ts";
import { IN_FLIGHT_DEFAULT, THROW_DELAYS_MS } from "../delivery/dispatcher.ts";
import type { Handler } from "../delivery/group.ts";
import type { Warnings } from "../delivery/warnings.ts";
import { unbundle } from "./bundle.ts";
import { describe } from "./connection.ts";
import { LateAcks } from "./late-acks.ts";
import { type DeliveryOwner, NatsDelivery } from "./nats-delivery.ts";
import { Pull } from "./pull.ts";
import { type DurableSpec, ensureDurable, ensureStream } from "./topology.ts";

/** A pull that lived this long was healthy. */
const HEALTHY_MS = 5_000;

export interface DurableConsumerOptions {
  readonly stream: StreamSpec;
  readonly durable: string;
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

  constructor(options: DurableConsumerOptions, handler: Handler) {
    this.#options = options;
    this.#handler = handler;
    this.#inFlightMax = Math.max(1, options.inFlightMax ?? IN_FLIGHT_DEFAULT);
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
    const { durable, warnings } = this.#options;
    warnings.tell(`the durable ${durable} gave up a message on ${subject} after ${deliveries} deliveries`);
  }

  get #warningKey(): string {
    return `durable ${this.#options.durable}`;
  }

  async #keepPulling(nc: NatsConnection, onFirstAttempt: () => void): Promise<void> {
    const { durable, warnings } = this.#options;
    const { signal } = this.#stopping;
    const jsm = await jetstreamManager(nc, { checkAPI: false });
    const stranded = this.#warnOfStranded(nc);
    for (let failures = 0; !signal.aborted && !nc.isClosed(); failures++) {
      try {
        await this.#ensure(jsm);
        if (signal.aborted || nc.isClosed()) break;
        const since = performance.now();
        const ended = this.#startPull(nc);
        onFirstAttempt();
        const reason = await ended;
        if (signal.aborted || nc.isClosed()) break;
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
    if (!nc.isClosed()) stranded.unsubscribe();
    onFirstAttempt();
  }

  /** A process that dies three times with a message in hand leaves it stranded in the stream; only the broker notices. */
  #warnOfStranded(nc: NatsConnection): NatsSubscription {
    const { stream, durable, warnings } = this.#options;
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
    const spec: DurableSpec = { stream, name: durable, pattern, inFlightMax: this.#inFlightMax, startSequence };
    if ((await ensureDurable(jsm, spec)) === "refiltered") warnings.tell(`the durable ${durable} now hears ${pattern}`);
    warnings.clear(this.#warningKey);
  }

  /** Resolves with the reason when pulling over this connection came to an end. */
  async #startPull(nc: NatsConnection): Promise<string> {
    const acks = new LateAcks(nc);
    this.#acks = acks;
    const pull = new Pull({
      nc,
      inboxPrefix: this.#options.inboxPrefix,
      stream: this.#options.stream.name,
      durable: this.#options.durable,
      freeHands: () => this.#inFlightMax - this.#unanswered,
      inFlightMax: this.#inFlightMax,
      onMessage: (msg) => this.#hear(new NatsDelivery(msg, nc, acks, this)),
    });
    this.#pull = pull;
    const reason = await Promise.race([pull.ended, nc.closed().then(() => "the connection was closed")]);
    if (this.#pull === pull) this.#pull = null;
    await pull.stop();
    return reason;
  }

  /** A bundle holds one hand however many parts it has: what its parts wake is bounded by whoever works. */
  #hear(delivery: NatsDelivery): void {
    this.#unanswered += 1;
    if (delivery.deliveries === 1) this.#lastSequence = delivery.sequence;
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
