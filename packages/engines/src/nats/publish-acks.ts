// Whether the streams take what is published. A core publish has no answer (index.ts, N1), so a stream that is full, or whose
// disk is, drops every wakeup without an error.
//
//   A1. A sample of what is published asks the stream for its answer: at most one message of a stream at a time, and one every
//       SAMPLE_EVERY_MS. Publishing waits for none.
//   A2. One refusal, and the stream counts as closed: what is published to it is refused here at once, so that the caller knows.
//       It lasts until the stream takes a message again.
//   A3. What was refused is published again, the last one every PROBE_EVERY_MS: it is a wakeup that was not delivered, and a
//       second delivery is harmless. So a stream that has room again is noticed without an operator.
//   A4. No answer says nothing: a role that may not hear one, or a connection that broke, is no stream that refuses.

import { createInbox, type Msg, type NatsConnection } from "@nats-io/transport-node";
import { streamsKept } from "@tessera/protocol";
import type { Warnings } from "../delivery/warnings.ts";
import type { EncodedMessage } from "./message.ts";

const SAMPLE_EVERY_MS = 100;
const PROBE_EVERY_MS = 1_000;
/** An answer that has not come by then does not come. */
const ANSWER_MS_MAX = 5_000;

/** By name: those of the current version, and the one for commands to peers of an older one. */
const KEPT: ReadonlySet<string> = new Set(streamsKept().map(({ name }) => name));

interface Stream {
  readonly name: string;
  askedAtMs: number;
  asked: EncodedMessage | null;
  /** Why it takes nothing; null: it takes what it is given. */
  refusal: string | null;
  /** The last message that it did not take (A3). */
  refused: EncodedMessage | null;
}

interface PublishAcksOptions {
  readonly inboxPrefix: string | undefined;
  readonly warnings: Warnings;
  /** Every stream takes messages again, after one did not. */
  readonly onTaken: () => void;
}

export class PublishAcks {
  readonly #options: PublishAcksOptions;
  readonly #streams = new Map<string, Stream>();
  #nc: NatsConnection | null = null;
  #inbox = "";
  #probing: NodeJS.Timeout | null = null;

  constructor(options: PublishAcksOptions) {
    this.#options = options;
  }

  /** Why what is published is not taken; undefined: it is. */
  get refuses(): string | undefined {
    for (const { refusal } of this.#streams.values()) if (refusal !== null) return refusal;
    return undefined;
  }

  /** With a new connection nothing is known: another server may answer. */
  attach(nc: NatsConnection): void {
    this.#nc = nc;
    this.#inbox = createInbox(this.#options.inboxPrefix);
    for (const stream of this.#streams.values()) stream.asked = null;
    nc.subscribe(`${this.#inbox}.*`, {
      callback: (error, msg) => {
        if (error === null) this.#onAnswer(msg);
      },
    });
  }

  stop(): void {
    if (this.#probing !== null) clearInterval(this.#probing);
    this.#probing = null;
  }

  /** Publishes; the reason if the stream is known to take nothing (A2). */
  publish(nc: NatsConnection, message: EncodedMessage): string | null {
    const stream = this.#streamOf(message.subject);
    if (stream !== null && stream.refusal !== null) {
      stream.refused = message;
      return stream.refusal;
    }
    const nowMs = performance.now();
    const isAsked = stream !== null && nc === this.#nc && isDue(stream, nowMs); // A1
    if (stream !== null && isAsked) this.#ask(nc, stream, message);
    else nc.publish(message.subject, message.data, message.publishOptions);
    return null;
  }

  #ask(nc: NatsConnection, stream: Stream, message: EncodedMessage): void {
    stream.asked = message;
    stream.askedAtMs = performance.now();
    const reply = `${this.#inbox}.${stream.name}`;
    nc.publish(message.subject, message.data, { ...message.publishOptions, reply });
  }

  /** Null: no stream keeps it. */
  #streamOf(subject: string): Stream | null {
    const [, version, , , category] = subject.split(".", 5);
    const name = `cg_${category}_${version}`;
    const known = this.#streams.get(name);
    if (known !== undefined) return known;
    if (!KEPT.has(name)) return null;
    const stream: Stream = { name, askedAtMs: 0, asked: null, refusal: null, refused: null };
    this.#streams.set(name, stream);
    return stream;
  }

  #onAnswer(msg: Msg): void {
    const stream = this.#streams.get(msg.subject.slice(this.#inbox.length + 1));
    const asked = stream?.asked ?? null;
    if (stream === undefined || asked === null) return;
    stream.asked = null;
    const said = refusalOf(msg, stream.name);
    if (said === null) this.#onTaken(stream);
    else this.#onRefused(stream, asked, said);
  }

  #onRefused(stream: Stream, message: EncodedMessage, said: string): void {
    stream.refusal = said;
    stream.refused ??= message;
    this.#options.warnings.raise(`refused ${stream.name}`, said);
    this.#probing ??= setInterval(() => this.#probe(), PROBE_EVERY_MS).unref();
  }

  #onTaken(stream: Stream): void {
    if (stream.refusal === null) return;
    stream.refusal = null;
    stream.refused = null;
    this.#options.warnings.clear(`refused ${stream.name}`);
    if (this.refuses !== undefined) return;
    this.stop();
    this.#options.warnings.tell("the streams of NATS take messages again");
    this.#options.onTaken();
  }

  /** A3 */
  #probe(): void {
    const nc = this.#nc;
    if (nc === null || nc.isClosed()) return;
    for (const stream of this.#streams.values()) {
      const { refusal, refused } = stream;
      if (refusal === null || refused === null || !isDue(stream, performance.now())) continue;
      this.#ask(nc, stream, refused);
    }
  }
}

function isDue({ asked, askedAtMs }: Stream, nowMs: number): boolean {
  return nowMs - askedAtMs >= (asked === null ? SAMPLE_EVERY_MS : ANSWER_MS_MAX); // A4
}

/** Null: taken. */
function refusalOf(msg: Msg, name: string): string | null {
  // Of the client's own status for "no responders": no stream stores the subject.
  if (msg.headers?.code === 503) {
    return `NATS has no stream ${name}; let the kernel's user make it, or make it again`;
  }
  const { error } = readAnswer(msg);
  if (error === undefined) return null;
  const why = typeof error.description === "string" ? error.description : "no reason given";
  return `the stream ${name} of NATS refuses messages (${why}); raise its limits, or let it discard the oldest (discard: old)`;
}

function readAnswer(msg: Msg): { readonly error?: { readonly description?: unknown } } {
  try {
    const answer: unknown = msg.json();
    return typeof answer === "object" && answer !== null ? answer : {};
  } catch {
    return {};
  }
}
