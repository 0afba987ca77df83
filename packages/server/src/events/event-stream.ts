// One stream of events as text (SSE): what was missed, then what happens.
//
//   S1. Every event carries its number as `id:`. A client that comes back with the last one it saw misses nothing and sees
//       nothing twice; one that was cut off for reading too slowly is told so and can do just that. Where the stream stands is
//       told without an event, too: one that is cut before its first event, or whose filter lets nothing pass, has no gap either.
//   S2. The past is read from the store page by page, as fast as the client reads. Then the stream joins the project's feed; what
//       lies between the two is read from the store, too.
//   S3. A comment every HEARTBEAT_MS keeps proxies from closing a quiet stream.
//   S4. It ends when the client goes, the server closes, or the key no longer counts (looked at every KEY_CHECK_MS).

import type { EventRow, Kernel } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import type { EventFeeds, FeedListener } from "./event-feed.ts";

export interface EventStreamOrder {
  readonly project_id: string;
  /** The last event that the client has seen, or nothing: from now on. */
  readonly after: number;
  readonly agent_id?: string | undefined;
  readonly agent_turn_id?: string | undefined;
  readonly stopped: AbortSignal;
  /** S4 */
  isKeyGood(): Promise<boolean>;
}

export interface EventStreamDeps {
  readonly kernel: { readonly reads: Pick<Kernel["reads"], "eventsAfter"> };
  readonly feeds: EventFeeds;
  readonly clock: Clock;
}

export const HEARTBEAT_MS = 15_000;
export const KEY_CHECK_MS = 30_000;
const RETRY_MS = 2_000;
const PAGE = 200;
/** How often the store may answer nothing for events that must be there, before the client is asked to come back. */
const GAP_LOOKS_MAX = 5;

export async function* eventStream(world: EventStreamDeps, order: EventStreamOrder): AsyncGenerator<string> {
  const { kernel, feeds } = world;
  const { project_id, stopped } = order;
  let cursor = order.after;
  const page = async () => {
    const events = await kernel.reads.eventsAfter(project_id, cursor, PAGE);
    cursor = events.at(-1)?.seq ?? cursor;
    const text = written(events, order);
    const isEmpty = events.length === 0;
    return { isFull: events.length === PAGE, isEmpty, text: text === "" && !isEmpty ? place(cursor) : text };
  };

  yield `retry: ${RETRY_MS}\n\n${place(cursor)}`; // S1
  for (let isFull = true; isFull && !stopped.aborted; ) {
    const past = await page(); // S2
    isFull = past.isFull;
    if (past.text !== "") yield past.text;
  }
  if (stopped.aborted) return;
  const listener = await feeds.join(project_id);
  try {
    for (let empty = 0; cursor < listener.from && !stopped.aborted; ) {
      const between = await page(); // S2
      empty = between.isEmpty ? empty + 1 : 0;
      if (between.text !== "") yield between.text;
      if (empty > GAP_LOOKS_MAX) return;
    }
    yield* live(world, order, listener, cursor);
  } finally {
    listener.leave();
  }
}

async function* live(
  { clock }: EventStreamDeps,
  order: EventStreamOrder,
  listener: FeedListener,
  cursor: number,
): AsyncGenerator<string> {
  const { stopped } = order;
  let beatMs = clock.monotonicMs() + HEARTBEAT_MS;
  let checkMs = clock.monotonicMs() + KEY_CHECK_MS;
  let at = cursor;
  for (;;) {
    const nowMs = clock.monotonicMs();
    await listener.wait(Math.max(0, Math.min(beatMs, checkMs) - nowMs), stopped);
    if (stopped.aborted) return;
    if (listener.isDropped()) {
      yield ": you read too slowly; come back with Last-Event-ID\n\n"; // S1
      return;
    }
    const events = listener.take().filter(({ seq }) => seq > cursor);
    at = events.at(-1)?.seq ?? at;
    const text = written(events, order);
    if (text !== "") yield text;
    if (clock.monotonicMs() >= beatMs) {
      beatMs = clock.monotonicMs() + HEARTBEAT_MS;
      yield `: \n${place(at)}`; // S1, S3
    }
    if (clock.monotonicMs() >= checkMs) {
      checkMs = clock.monotonicMs() + KEY_CHECK_MS;
      if (!(await order.isKeyGood())) return; // S4
    }
  }
}

/** A number without an event: it counts when the client comes back. */
const place = (seq: number): string => `id: ${seq}\n\n`;

function written(events: readonly EventRow[], { agent_id, agent_turn_id }: EventStreamOrder): string {
  return events
    .filter((event) => agent_id === undefined || event.agent_id === agent_id)
    .filter((event) => agent_turn_id === undefined || event.agent_turn_id === agent_turn_id)
    .map((event) => `id: ${event.seq}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
}
