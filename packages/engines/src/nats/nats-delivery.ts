// A delivery from JetStream in a handler's hands.
//
//   A1. It is answered once; an answer that finds the connection closed is lost, and the broker delivers again.
//   A2. On the last delivery a nak becomes a term: after `max_deliver` JetStream would keep the message and report nothing.

import { type Msg, type NatsConnection, nanos } from "@nats-io/transport-node";
import type { BusHeaders, Delivery } from "@tessera/kernel/ports";
import { DELIVER_MAX } from "../delivery/dispatcher.ts";
import type { LateAcks } from "./late-acks.ts";
import { headersOf } from "./message.ts";

export interface DeliveryOwner {
  answered(delivery: NatsDelivery): void;
  /** The last delivery failed (A2). */
  givenUp(delivery: NatsDelivery): void;
}

export class NatsDelivery implements Delivery {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly deliveries: number;
  /** The message's place in its stream. */
  readonly sequence: number;
  readonly #msg: Msg;
  readonly #nc: NatsConnection;
  readonly #acks: LateAcks;
  #owner: DeliveryOwner | null;
  #headers: BusHeaders | null = null;

  constructor(msg: Msg, nc: NatsConnection, acks: LateAcks, owner: DeliveryOwner) {
    this.subject = msg.subject;
    this.data = msg.data;
    this.#msg = msg;
    this.#nc = nc;
    this.#acks = acks;
    this.#owner = owner;
    ({ deliveries: this.deliveries, sequence: this.sequence } = readAckSubject(msg.reply ?? ""));
  }

  get headers(): BusHeaders {
    this.#headers ??= headersOf(this.#msg);
    return this.#headers;
  }

  ack(): void {
    this.#answer("+ACK");
  }

  nak(delayMs = 0): void {
    if (this.#owner === null) return;
    if (this.deliveries >= DELIVER_MAX) {
      this.#owner.givenUp(this);
      this.term(`not handled after ${this.deliveries} deliveries`); // A2
    } else this.#answer(delayMs > 0 ? `-NAK ${JSON.stringify({ delay: nanos(delayMs) })}` : "-NAK");
  }

  /** The reason stays here: older brokers know only the bare word, and would redeliver for what they cannot read. */
  term(_reason: string): void {
    this.#answer("+TERM");
  }

  #answer(answer: string): void {
    const owner = this.#owner;
    if (owner === null) return;
    this.#owner = null; // A1
    const { reply } = this.#msg;
    if (reply !== undefined && answer === "+ACK") this.#acks.add(reply);
    else if (reply !== undefined && !this.#nc.isClosed()) this.#nc.publish(reply, answer);
    owner.answered(this);
  }
}

/** `$JS.ACK.<stream>.<durable>.<deliveries>.<sequence>.…`; newer brokers put domain and account before the stream. */
export function readAckSubject(reply: string): { deliveries: number; sequence: number } {
  const tokens = reply.split(".");
  const first = tokens.length === 9 ? 4 : 6;
  return { deliveries: Number(tokens[first] ?? 1), sequence: Number(tokens[first + 1] ?? 0) };
}
