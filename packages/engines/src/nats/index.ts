// The NATS bus: for many processes and foreign executors. Commands and events pass through JetStream streams and are
// shared by durables; `str` subjects are plain core NATS.
//
//   N1. Publishing is a core publish into the stream's subjects: no answer is awaited, because the bus only rings (P2). A sample
//       is answered all the same, so that a stream that takes nothing is known (publish-acks.ts).
//   N2. Nothing waits for the broker: opening and subscribing work without it and take effect when it is there;
//       publishing while it is away is refused at once.
//   N3. Whatever is missing on the broker is made again (topology.ts, durable-consumer.ts, stream-keeper.ts).
//   N4. A connection counts once the streams were looked after: before that, a publish would vanish without a word.
//   N6. What a store rings for names the store (durable-owner.ts); `str` messages carry no headers.
//   N5. Bytes on their way to the broker are bounded: past the limit, publish waits for a round trip.

import type { NatsConnection } from "@nats-io/transport-node";
import type {
  Bus,
  BusCapabilities,
  BusHealth,
  BusMessage,
  SubscribeOptions,
  Subscription,
} from "@tessera/kernel/ports";
import { BusError } from "@tessera/kernel/ports";
import { MESSAGE_BYTES_MAX } from "@tessera/protocol";
import type { Handler } from "../delivery/group.ts";
import { readPattern, readSubject } from "../delivery/subject.ts";
import { Warnings } from "../delivery/warnings.ts";
import { Broadcast } from "./broadcast.ts";
import { bundleWakeups } from "./bundle.ts";
import { Connection, type ConnectionOptions, inboxOf } from "./connection.ts";
import { DurableConsumer } from "./durable-consumer.ts";
import { type EncodedMessage, encodeMessage } from "./message.ts";
import { PublishAcks } from "./publish-acks.ts";
import { StreamKeeper } from "./stream-keeper.ts";
import { streamOf } from "./topology.ts";

export { type DurableLook, lookAtDurables } from "./look-at-durables.ts";

const UNFLUSHED_BYTES_MAX = 4 * 1_048_576;
/** A bundle is some ten thousand bytes; a broker that takes much less gets each wakeup alone. */
const BUNDLING_BYTES_MIN = 131_072;

export interface NatsBusOptions extends ConnectionOptions {
  /** Whose messages these are. Without it, this is an executor that is no part of a store. */
  readonly storeId?: string | undefined;
  /** Copies of each stream that this bus creates; 1 unless the broker is a cluster. */
  readonly streamReplicas?: number;
  /** Hears each warning once, when it starts. */
  readonly onWarning?: (warning: string) => void;
}

export async function openNatsBus(options: NatsBusOptions): Promise<Bus> {
  const bus = new NatsBus(options);
  await bus.start();
  return bus;
}

class NatsBus implements Bus {
  readonly #options: NatsBusOptions;
  readonly #warnings: Warnings;
  readonly #connection: Connection;
  readonly #streamKeeper: StreamKeeper;
  readonly #acks: PublishAcks;
  readonly #listeners = new Set<DurableConsumer | Broadcast>();
  readonly #patterns = new Map<string, { pattern: string; members: number }>();
  #unflushedBytes = 0;
  /** Until a broker has sent its own. */
  #messageBytesMax = MESSAGE_BYTES_MAX;
  #prepared: NatsConnection | null = null;
  #connections = 0;
  #closed: Promise<void> | null = null;

  constructor(options: NatsBusOptions) {
    const { storeId: _, streamReplicas, onWarning, ...connection } = options;
    this.#options = options;
    this.#warnings = new Warnings(onWarning ?? (() => {}));
    this.#streamKeeper = new StreamKeeper(streamReplicas ?? 1, this.#warnings);
    this.#acks = new PublishAcks({
      inboxPrefix: inboxOf(options),
      warnings: this.#warnings,
      onTaken: () => {
        this.#connections += 1; // what was refused meanwhile is lost like what a broker lost
      },
    });
    this.#connection = new Connection(connection, this.#warnings, (nc) => this.#onUp(nc));
  }

  get capabilities(): BusCapabilities {
    return { kind: "nats", messageBytesMax: this.#messageBytesMax, exclusiveDurables: true, keepsForAbsent: true };
  }

  start(): Promise<void> {
    return this.#connection.start();
  }

  async publish(messages: readonly BusMessage[]): Promise<void> {
    if (this.#closed !== null) throw new BusError("closed", "cannot publish: the bus is closed");
    // All are checked before the first is sent: a rejection means that nothing was.
    const sent = this.#messageBytesMax >= BUNDLING_BYTES_MIN ? bundleWakeups(messages) : messages;
    const encoded = sent.map((message) => this.#encode(message));
    const nc = this.#usable;
    if (nc === null) throw new BusError("disconnected", "cannot publish: no connection to NATS");
    let refusal: string | null = null;
    for (const message of encoded) {
      const refused = this.#acks.publish(nc, message);
      if (refused === null) this.#unflushedBytes += message.bytes;
      else refusal = refused;
    }
    if (refusal !== null) throw new BusError("refused", `cannot publish: ${refusal}`);
    if (this.#unflushedBytes > UNFLUSHED_BYTES_MAX) await this.#flush(nc); // N5
  }

  async subscribe(options: SubscribeOptions, handler: Handler): Promise<Subscription> {
    if (this.#closed !== null) throw new BusError("closed", "cannot subscribe: the bus is closed");
    const parts = readPattern(options.pattern);
    const { storeId } = this.#options;
    const { durable } = options;
    const isBroadcast = parts.category === "str" || durable === undefined;
    const listener = isBroadcast
      ? new Broadcast({ ...options, storeId }, handler, this.#warnings)
      : new DurableConsumer(
          {
            stream: streamOf(parts),
            durable,
            storeId,
            pattern: options.pattern,
            inFlightMax: options.inFlightMax,
            inboxPrefix: inboxOf(this.#options),
            streamReplicas: this.#options.streamReplicas ?? 1,
            warnings: this.#warnings,
          },
          handler,
        );
    const leave = isBroadcast ? () => {} : this.#joinDurable(durable, options.pattern);
    this.#listeners.add(listener);
    const nc = this.#connection.current;
    if (nc !== null) await listener.attach(nc);
    let stopped: Promise<void> | null = null;
    return {
      stop: () => {
        stopped ??= listener.stop().finally(() => {
          this.#listeners.delete(listener);
          leave();
        });
        return stopped;
      },
    };
  }

  health(): BusHealth {
    const { refuses } = this.#acks;
    const listeners = [...this.#listeners];
    const met = listeners.map((listener) => (listener instanceof DurableConsumer ? listener.neighbour : null));
    return {
      connected: this.#usable !== null,
      connections: this.#connections,
      ...(refuses === undefined ? {} : { refuses }),
      warnings: this.#warnings.list(),
      neighbours: [...new Set(met.filter((storeId) => storeId !== null))],
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  get #usable(): NatsConnection | null {
    const nc = this.#connection.current;
    return nc !== null && nc === this.#prepared && !nc.isClosed() ? nc : null;
  }

  async #close(): Promise<void> {
    this.#streamKeeper.stop();
    this.#acks.stop();
    await Promise.all([...this.#listeners].map((listener) => listener.stop()));
    await this.#connection.close();
  }

  async #onUp(nc: NatsConnection): Promise<void> {
    this.#messageBytesMax = nc.info?.max_payload ?? MESSAGE_BYTES_MAX;
    this.#unflushedBytes = 0;
    this.#acks.attach(nc);
    await this.#streamKeeper.attach(nc);
    this.#prepared = nc; // N4
    this.#connections += 1;
    await Promise.all([...this.#listeners].map((listener) => listener.attach(nc)));
  }

  #encode(message: BusMessage): EncodedMessage {
    const { category } = readSubject(message.subject);
    const encoded = encodeMessage(message, category === "str" ? undefined : this.#options.storeId); // N6
    if (encoded.bytes > this.#messageBytesMax) {
      const limit = `${this.#messageBytesMax} are allowed`;
      throw new BusError("too_large", `a message on ${message.subject} has ${encoded.bytes} bytes; ${limit}`);
    }
    return encoded;
  }

  async #flush(nc: NatsConnection): Promise<void> {
    this.#unflushedBytes = 0;
    try {
      await nc.flush();
    } catch (error) {
      throw new BusError("disconnected", "the connection to NATS broke while publishing", { cause: error });
    }
  }

  /** One durable has one pattern. Two in one process are a mistake; between processes the newest code rules. */
  #joinDurable(durable: string, pattern: string): () => void {
    const known = this.#patterns.get(durable) ?? { pattern, members: 0 };
    if (known.pattern !== pattern) {
      throw new BusError(
        "refused",
        `the durable ${durable} subscribes to ${known.pattern} and cannot subscribe to ${pattern} as well`,
      );
    }
    known.members += 1;
    this.#patterns.set(durable, known);
    return () => {
      known.members -= 1;
      if (known.members === 0) this.#patterns.delete(durable);
    };
  }
}
