// A listener without a durable: plain core NATS, everybody hears everything, nothing is kept or repeated.

import type { NatsConnection, Subscription as NatsSubscription } from "@nats-io/transport-node";
import type { BusMessage, SubscribeOptions } from "@tessera/kernel/ports";
import { HEADERS } from "@tessera/protocol";
import { ACK_WAIT_MS, Dispatcher } from "../delivery/dispatcher.ts";
import type { Handler } from "../delivery/group.ts";
import { localClock } from "../delivery/local-clock.ts";
import type { Warnings } from "../delivery/warnings.ts";
import { decodeMessage } from "./message.ts";

export class Broadcast {
  readonly #pattern: string;
  readonly #storeId: string | undefined;
  readonly #dispatcher: Dispatcher;
  #attachedTo: NatsConnection | null = null;
  #subscription: NatsSubscription | null = null;

  constructor(
    options: SubscribeOptions & { readonly storeId: string | undefined },
    handler: Handler,
    warnings: Warnings,
  ) {
    this.#pattern = options.pattern;
    this.#storeId = options.storeId;
    // Its own dispatcher: the broker already decided that this listener hears the message.
    this.#dispatcher = new Dispatcher({
      ackWaitMs: ACK_WAIT_MS,
      deliverMax: 1,
      clock: localClock,
      keepsForAbsent: false,
      onWarning: (warning) => warnings.tell(warning),
    });
    this.#dispatcher.subscribe(options, handler);
  }

  async attach(nc: NatsConnection): Promise<void> {
    if (this.#attachedTo === nc) return;
    this.#attachedTo = nc;
    this.#subscription = nc.subscribe(this.#pattern, {
      callback: (error, msg) => {
        if (error === null) this.#accept(decodeMessage(msg));
      },
    });
    // Only after a round trip is the next publish of every client sure to be received.
    await nc.flush().catch(() => {});
  }

  /** Messages of another store are passed over (durable-owner.ts, O2); a bundle of wakeups is heard as its first one. */
  #accept(message: BusMessage): void {
    const from = message.headers[HEADERS.store_id];
    if (from === undefined || this.#storeId === undefined || from === this.#storeId) this.#dispatcher.accept(message);
  }

  async stop(): Promise<void> {
    if (this.#attachedTo?.isClosed() === false) this.#subscription?.unsubscribe();
    await this.#dispatcher.close();
  }
}
