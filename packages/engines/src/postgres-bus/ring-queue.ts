// Notifications on their way out, gathered naturally: while one batch is in flight the next collects; no timers.
//
//   R1. Batches go out one after the other on one connection, so messages keep their order.
//   R2. What was handed over together is answered together.
//   R3. What waits is bounded; past the limit a publish is refused at once.

import { BusError } from "@tessera/kernel/ports";
import pg from "pg";

const BATCH_MESSAGES_MAX = 512;
const WAITING_MESSAGES_MAX = 50_000;

const NOTIFY_ALL = {
  name: "tessera_bus_notify",
  text: "select count(pg_notify(ring.channel, ring.payload)) from unnest($1::text[], $2::text[]) as ring(channel, payload)",
};

export interface Ring {
  readonly channel: string;
  readonly payload: string;
}

interface Handover {
  readonly rings: readonly Ring[];
  readonly resolve: () => void;
  readonly reject: (error: BusError) => void;
}

export class RingQueue {
  readonly #client: () => pg.Client | null;
  #waiting: Handover[] = [];
  #waitingMessages = 0;
  #flush: Promise<void> | null = null;

  constructor(client: () => pg.Client | null) {
    this.#client = client;
  }

  push(rings: readonly Ring[]): Promise<void> {
    if (this.#client() === null) {
      return Promise.reject(new BusError("disconnected", "cannot publish: no connection to PostgreSQL"));
    }
    if (this.#waitingMessages + rings.length > WAITING_MESSAGES_MAX) {
      return Promise.reject(
        new BusError("refused", `cannot publish: ${WAITING_MESSAGES_MAX} notifications wait already`),
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ rings, resolve, reject });
      this.#waitingMessages += rings.length;
      this.#flush ??= this.#flushAll();
    });
  }

  /** Resolves when nothing waits and nothing is in flight. */
  async drain(): Promise<void> {
    await this.#flush;
  }

  async #flushAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      const client = this.#client();
      try {
        if (client === null) throw new Error("no connection to PostgreSQL");
        const rings = batch.flatMap((handover) => handover.rings);
        await client.query(NOTIFY_ALL, [rings.map((ring) => ring.channel), rings.map((ring) => ring.payload)]);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        const isRefusal = error instanceof pg.DatabaseError && this.#client() === client;
        const failure = isRefusal
          ? new BusError("refused", "PostgreSQL refused to notify", { cause: error })
          : new BusError("disconnected", "the connection to PostgreSQL broke while publishing", { cause: error });
        for (const { reject } of batch) reject(failure);
      }
    }
    this.#flush = null;
  }

  #take(): Handover[] {
    let messages = 0;
    let count = 0;
    for (const { rings } of this.#waiting) {
      if (count > 0 && messages + rings.length > BATCH_MESSAGES_MAX) break;
      messages += rings.length;
      count += 1;
    }
    this.#waitingMessages -= messages;
    return this.#waiting.splice(0, count);
  }
}
