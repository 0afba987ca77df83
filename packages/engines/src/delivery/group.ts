// A group: those who share messages inside this process. A durable is one group; every `str` subscriber is its own.
//
//   G1. Each message of a group is in the hands of at most one member at a time.
//   G2. Members take turns; one that has `inFlightMax` unanswered deliveries is passed over.
//   G3. A delivery is answered once. What comes later (a second call, a late ack) changes nothing.

import type { BusHeaders, BusMessage, Delivery } from "@tessera/kernel/ports";
import { Fifo } from "./fifo.ts";

/** Messages that wait for one group. More are rung again by the sweeper, so the oldest may go. */
const QUEUE_MESSAGES_MAX = 100_000;

export type Handler = (delivery: Delivery) => void | Promise<void>;

export interface Envelope {
  readonly message: BusMessage;
  readonly deliveries: number;
}

export interface Member {
  readonly handler: Handler;
  readonly inFlightMax: number;
  unanswered: number;
  running: number;
  /** Set by stop(): called when the last running handler returned. */
  whenIdle: (() => void) | null;
}

export class Group {
  readonly name: string;
  readonly pattern: string;
  /** False for `str`: what was not handled is gone. */
  readonly redelivers: boolean;
  readonly members: Member[] = [];
  readonly queue = new Fifo<Envelope>(QUEUE_MESSAGES_MAX);
  #turn = 0;

  constructor(name: string, pattern: string, redelivers: boolean) {
    this.name = name;
    this.pattern = pattern;
    this.redelivers = redelivers;
  }

  /** The member whose turn it is, or null when all hands are full (G2). */
  nextMember(): Member | null {
    const count = this.members.length;
    for (let step = 0; step < count; step++) {
      const index = (this.#turn + step) % count;
      const member = this.members[index];
      if (member !== undefined && member.unanswered < member.inFlightMax) {
        this.#turn = index + 1;
        return member;
      }
    }
    return null;
  }
}

export type Answer = { kind: "ack" } | { kind: "nak"; delayMs: number } | { kind: "term"; reason: string };

const ACK: Answer = { kind: "ack" };

/** What a handler holds. It knows who must hear its answer, and nothing of queues and timers. */
export class LocalDelivery implements Delivery {
  readonly subject: string;
  readonly headers: BusHeaders;
  readonly data: Uint8Array;
  readonly deliveries: number;
  readonly group: Group;
  readonly member: Member;
  readonly message: BusMessage;
  /** On the dispatcher's monotonic clock; 0 while it has no watcher. */
  deadlineMs = 0;
  #onAnswer: ((delivery: LocalDelivery, answer: Answer) => void) | null;

  constructor(
    envelope: Envelope,
    group: Group,
    member: Member,
    onAnswer: (delivery: LocalDelivery, answer: Answer) => void,
  ) {
    this.message = envelope.message;
    this.subject = envelope.message.subject;
    this.headers = envelope.message.headers;
    this.data = envelope.message.data;
    this.deliveries = envelope.deliveries;
    this.group = group;
    this.member = member;
    this.#onAnswer = onAnswer;
  }

  get isAnswered(): boolean {
    return this.#onAnswer === null;
  }

  ack(): void {
    this.#answer(ACK);
  }

  nak(delayMs = 0): void {
    this.#answer({ kind: "nak", delayMs });
  }

  term(reason: string): void {
    this.#answer({ kind: "term", reason });
  }

  #answer(answer: Answer): void {
    const onAnswer = this.#onAnswer;
    if (onAnswer === null) return;
    this.#onAnswer = null; // G3
    onAnswer(this, answer);
  }
}
