// Wakeups that are published together for one subject travel as one message: at 64 concurrent calls a report commits some
// twenty of them at once, and storing, delivering and acknowledging each cost more than all it says.
//
//   K1. Only wakeups: L0 alone sends them, to its own workers (docs/protocol/subjects.md#families). Commands and events stay one
//       message each, because others read those, too.
//   K2. The message is the first wakeup as it always was; the others are in one more header, as what differs from it.
//       A receiver that does not know that header wakes the first agent; the sweeper announces the rest again.
//   K3. Each part is a delivery of its own. The message is answered when all its parts are: nak'ed if one of them was, which
//       repeats them all (hearing twice is harmless), acked otherwise.

import type { BusHeaders, BusMessage, Delivery } from "@tessera/kernel/ports";

const ALSO = "Tessera-Also";
const PARTS_MAX = 32;
const WAKEUP = /\.cmd\.agent\.[^.]+\.wakeup$/;

/** What differs from the first message: headers, and the data byte by byte as characters. */
type Difference = readonly [Record<string, string>, string];

/** The messages as they are to be sent, in order; only neighbours of one subject are put together. */
export function bundleWakeups(messages: readonly BusMessage[]): readonly BusMessage[] {
  if (messages.length < 2) return messages;
  const sent: BusMessage[] = [];
  for (let at = 0; at < messages.length; ) {
    const first = messages[at] as BusMessage;
    const others: Difference[] = [];
    if (WAKEUP.test(first.subject)) {
      for (let next = at + 1; next < messages.length && others.length < PARTS_MAX - 1; next += 1) {
        const message = messages[next] as BusMessage;
        const difference = message.subject === first.subject ? differenceOf(first, message) : null;
        if (difference === null) break;
        others.push(difference);
      }
    }
    at += 1 + others.length;
    const headers = others.length === 0 ? first.headers : { ...first.headers, [ALSO]: JSON.stringify(others) };
    sent.push({ ...first, headers });
  }
  return sent;
}

/** Null when the two do not have the same headers. */
function differenceOf(first: BusMessage, message: BusMessage): Difference | null {
  const headers: Record<string, string> = {};
  let common = 0;
  for (const name in message.headers) {
    const value = message.headers[name] ?? "";
    if (first.headers[name] === undefined) return null;
    common += 1;
    if (first.headers[name] !== value) headers[name] = value;
  }
  return common === Object.keys(first.headers).length ? [headers, Buffer.from(message.data).toString("latin1")] : null;
}

/** The deliveries that one message stands for: itself, or its parts (K3). */
export function unbundle<D extends Delivery>(delivery: D): readonly (D | Part)[] {
  const also = delivery.headers[ALSO];
  if (also === undefined || !WAKEUP.test(delivery.subject)) return [delivery];
  const differences = readDifferences(also);
  const { [ALSO]: _, ...headers } = delivery.headers;
  const bundle = { delivery, left: 1 + differences.length, nakDelayMs: null };
  return [
    new Part(bundle, headers, delivery.data),
    ...differences.map(([other, data]) => new Part(bundle, { ...headers, ...other }, Buffer.from(data, "latin1"))),
  ];
}

function readDifferences(text: string): readonly Difference[] {
  try {
    const read: unknown = JSON.parse(text);
    return Array.isArray(read) ? read.filter(isDifference) : [];
  } catch {
    return [];
  }
}

function isDifference(value: unknown): value is Difference {
  if (!Array.isArray(value) || typeof value[1] !== "string" || typeof value[0] !== "object") return false;
  return value[0] !== null && Object.values(value[0]).every((header) => typeof header === "string");
}

interface Bundle {
  readonly delivery: Delivery;
  left: number;
  nakDelayMs: number | null;
}

export class Part implements Delivery {
  readonly subject: string;
  readonly headers: BusHeaders;
  readonly data: Uint8Array;
  readonly deliveries: number;
  #bundle: Bundle | null;

  constructor(bundle: Bundle, headers: BusHeaders, data: Uint8Array) {
    this.subject = bundle.delivery.subject;
    this.headers = headers;
    this.data = data;
    this.deliveries = bundle.delivery.deliveries;
    this.#bundle = bundle;
  }

  ack(): void {
    this.#answer(null);
  }

  nak(delayMs = 0): void {
    this.#answer(delayMs);
  }

  term(_reason: string): void {
    this.#answer(null);
  }

  #answer(nakDelayMs: number | null): void {
    const bundle = this.#bundle;
    if (bundle === null) return;
    this.#bundle = null;
    bundle.left -= 1;
    if (nakDelayMs !== null) bundle.nakDelayMs = Math.max(bundle.nakDelayMs ?? 0, nakDelayMs);
    if (bundle.left > 0) return;
    if (bundle.nakDelayMs === null) bundle.delivery.ack();
    else bundle.delivery.nak(bundle.nakDelayMs);
  }
}
