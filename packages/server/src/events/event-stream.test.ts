// A stream over a store that the test holds in its hands: the seam between past and present, slow readers, a failing store.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import type { EventRow } from "@tessera/kernel";
import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { createEventFeeds } from "./event-feed.ts";
import { type EventStreamOrder, eventStream, HEARTBEAT_MS } from "./event-stream.ts";

const eventOf = (seq: number): EventRow => ({
  ...{ seq, agent_id: "a", agent_turn_id: "t", kind: "state", status: "running", turn_epoch: 1 },
  ...{ step_id: null, payload: null, created_at: "2026-01-01T00:00:00Z" },
});

async function world() {
  const clock = new VirtualClock();
  const bus = await openMemoryBus({});
  const events: EventRow[] = [];
  const looks: number[] = [];
  const state: { onLook(cursor: number): void } = { onLook: () => undefined };
  const reads = {
    async eventsAfter(_project: string, cursor: number, limit = 1_000) {
      looks.push(cursor);
      const page = events.filter(({ seq }) => seq > cursor).slice(0, limit);
      state.onLook(cursor);
      return page;
    },
    lastEventSeq: async () => events.at(-1)?.seq ?? 0,
  };
  const warnings: string[] = [];
  const kernel = { reads };
  const feeds = createEventFeeds({ kernel, bus, clock, onWarning: (warning) => warnings.push(warning) });
  const gone = new AbortController();
  const open = (order: Partial<EventStreamOrder> = {}) =>
    eventStream(
      { kernel, feeds, clock },
      { project_id: "p", after: 0, stopped: gone.signal, isKeyGood: async () => true, ...order },
    );
  const add = (count: number) => {
    const last = events.at(-1)?.seq ?? 0;
    for (let n = 1; n <= count; n += 1) events.push(eventOf(last + n));
  };
  return { clock, feeds, looks, state, open, add, gone };
}

/** Of events: a number without one only says where the stream stands. */
const idsIn = (text: string) => [...text.matchAll(/^id: (\d+)\nevent: /gm)].map(([, id]) => Number(id));
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

/** What comes until `count` events have come. */
async function take(stream: AsyncGenerator<string>, clock: VirtualClock, count: number): Promise<number[]> {
  const ids: number[] = [];
  while (ids.length < count) {
    let isDone = false;
    const next = stream.next().finally(() => {
      isDone = true;
    });
    for (let n = 0; n < 1_000 && !isDone; n += 1) await clock.advance(250);
    ids.push(...idsIn(String((await next).value)));
  }
  return ids;
}

describe("a stream of events", () => {
  it("misses nothing that happens while it reads the past, joins the feed, or waits", async () => {
    const { clock, open, add, state } = await world();
    add(450);
    let adding = 3;
    state.onLook = () => {
      if (adding-- > 0) add(7); // behind the page that is just being handed out
    };
    const stream = open();
    expect(await take(stream, clock, 471)).toEqual(numbers(1, 471));
    add(3);
    expect(await take(stream, clock, 3)).toEqual([472, 473, 474]);
    await stream.return(undefined);
  });

  it("that joins a feed which is further on reads what lies between from the store", async () => {
    const { clock, open, add, state } = await world();
    add(5);
    const first = open({ after: 5 });
    await first.next();
    const waiting = first.next();
    await clock.advance(500);
    // The second reads the past up to 5; before it joins, the feed has handed out 6 to 9.
    let isLate = true;
    state.onLook = (cursor) => {
      if (!isLate || cursor !== 3) return;
      isLate = false;
      add(4);
    };
    const second = open({ after: 3 });
    await second.next();
    expect(idsIn(String((await second.next()).value))).toEqual([4, 5]);
    await clock.advance(500);
    expect(idsIn(String((await waiting).value))).toEqual([6, 7, 8, 9]);
    expect(await take(second, clock, 4)).toEqual([6, 7, 8, 9]);
    await Promise.all([first.return(undefined), second.return(undefined)]);
  });

  it("whose reader is too slow is cut off with a word, costs no more memory, and is resumed where it was", async () => {
    const { clock, open, add } = await world();
    const slow = open();
    const quick = open();
    for (const stream of [slow, quick]) await stream.next();
    const [first, second] = [slow.next(), quick.next()];
    await clock.advance(500);
    add(10);
    await clock.advance(500);
    expect(idsIn(String((await first).value))).toEqual(numbers(1, 10));
    expect(idsIn(String((await second).value))).toEqual(numbers(1, 10));
    // The slow one does not read; the other one does.
    add(1_200);
    expect(await take(quick, clock, 1_200)).toEqual(numbers(11, 1_210));
    const last = await slow.next();
    expect(last.value).toMatch(/^: you read too slowly/);
    expect((await slow.next()).done).toBe(true);
    const resumed = open({ after: 10 });
    expect(await take(resumed, clock, 1_200)).toEqual(numbers(11, 1_210));
    await Promise.all([quick.return(undefined), resumed.return(undefined)]);
  });

  it("says where it stands before its first event, and when its filter lets nothing pass, so that no gap follows a cut", async () => {
    const { clock, open, add } = await world();
    add(5);
    const quiet = open({ after: 3, agent_id: "nobody" });
    expect((await quiet.next()).value).toMatch(/\n\nid: 3\n\n$/);
    expect((await quiet.next()).value).toBe("id: 5\n\n");
    const beat = quiet.next();
    await clock.advance(1_000);
    add(4);
    await clock.advance(HEARTBEAT_MS);
    expect((await beat).value).toBe(": \nid: 9\n\n");
    await quiet.return(undefined);
  });

  it("ends when its client has gone, and the feed with its last listener", async () => {
    const { clock, open, looks, gone } = await world();
    const stream = open();
    await stream.next();
    const ended = stream.next();
    await clock.advance(500);
    gone.abort();
    expect(await ended).toEqual({ value: undefined, done: true });
    const before = looks.length;
    await clock.advance(5_000);
    expect(looks.length).toBe(before);
    expect(clock.pending).toBe(0);
  });
});
