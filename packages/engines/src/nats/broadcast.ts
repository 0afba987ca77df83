// A listener of `str` subjects: plain core NATS, everybody hears everything, nothing is repeated.

import type { NatsConnection, Subscription as NatsSubscription } from "@nats-io/transport-node";
import type { SubscribeOptions } from "@tessera/kernel/ports";
import { ACK_WAIT_MS, Dispatcher } from "../delivery/dispatcher.ts";
import type { Handler } from "../delivery/group.ts";
import { localClock } from "../delivery/local-clock.ts";
import type { Warnings } from "../delivery/warnings.ts";
import { decodeMessage } from "./message.ts";

export class Broadcast {
  readonly #pattern: string;
  readonly #dispatcher: Dispatcher;
  #attachedTo: NatsConnection | null = null;
  #subscription: NatsSubscription | null = null;

  constructor(options: SubscribeOptions, handler: Handler, warnings: Warnings) {
    this.#pattern = options.pattern;
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
        if (error === null) this.#dispatcher.accept(decodeMessage(msg));
      },
    });
    // Only behind a round trip is it sure that the next publish of anybody is heard.
    await nc.flush().catch(() => {});
  }

  async stop(): Promise<void> {
    if (this.#attachedTo?.isClosed() === false) this.#subscription?.unsubscribe();
    await this.#dispatcher.close();
  }
}
