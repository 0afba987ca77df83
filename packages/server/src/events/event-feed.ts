// The events of a project as they happen, for everybody in this process who listens.
//
//   F1. One look at the store serves all listeners of a project, however many there are; without listeners none is made.
//   F2. A signal of the bus only says "look now" (docs/design.md#messages-are-hints). Where signals would be kept for a listener that
//       never comes back there are none, and the store is looked at every LOOK_EVERY_MS, as it is where signals get lost.
//   F3. A listener gets every event behind `from`, in order, or is dropped: BUFFER_MAX events wait for a slow one, not more.
//   F4. A look that fails is made again, after growing pauses; listeners wait. The operator is told once, and again when it
//       works.

import type { EventRow, Kernel } from "@tessera/kernel";
import type { Bus, Clock, Subscription, Timer } from "@tessera/kernel/ports";
import { SUBJECT_VERSION } from "@tessera/protocol";

export interface FeedListener {
  /** Events with a higher number are handed over; earlier ones are the store's to tell. */
  readonly from: number;
  /** What has come since the last take. */
  take(): EventRow[];
  /** F3: it has missed something. */
  isDropped(): boolean;
  /** Resolves when there is something to take, after `ms`, or when `signal` is aborted, whichever is first. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  leave(): void;
}

export interface EventFeeds {
  join(projectId: string): Promise<FeedListener>;
  close(): Promise<void>;
}

export interface EventFeedDeps {
  readonly kernel: { readonly reads: Pick<Kernel["reads"], "eventsAfter" | "lastEventSeq"> };
  readonly bus: Bus;
  readonly clock: Clock;
  readonly onWarning: (warning: string) => void;
}

const LOOK_EVERY_MS = 250;
/** Between two looks: at least, however many signals come; at most, while they fail (F4). */
const PAUSE_MS = { min: 50, max: 4_000 };
const PAGE = 500;
const BUFFER_MAX = 1_000;

interface Member {
  waiting: EventRow[];
  isDropped: boolean;
  wake: (() => void) | null;
}

interface Feed {
  readonly members: Set<Member>;
  cursor: number;
  timer: Timer | null;
  isLooking: boolean;
  isSignaled: boolean;
  /** Looks in a row that failed. */
  failures: number;
  readonly subscription: Promise<Subscription | null>;
}

export function createEventFeeds({ kernel, bus, clock, onWarning }: EventFeedDeps): EventFeeds {
  const feeds = new Map<string, Promise<Feed>>();
  const stopping = new Set<Promise<unknown>>();

  async function open(projectId: string): Promise<Feed> {
    const cursor = await kernel.reads.lastEventSeq(projectId);
    const feed: Feed = {
      members: new Set(),
      cursor,
      timer: null,
      isLooking: false,
      isSignaled: false,
      failures: 0,
      subscription: listen(projectId, () => signal(projectId, feed)),
    };
    schedule(projectId, feed, LOOK_EVERY_MS);
    return feed;
  }

  function listen(projectId: string, onSignal: () => void): Promise<Subscription | null> {
    if (bus.capabilities.keepsForAbsent) return Promise.resolve(null); // F2
    const subscribed = bus.subscribe({ pattern: `cg.${SUBJECT_VERSION}.${projectId}.*.evt.>` }, (delivery) => {
      delivery.ack();
      onSignal();
    });
    return subscribed.catch((error: unknown) => {
      onWarning(`no signals for the events of ${projectId}; they are read every ${LOOK_EVERY_MS} ms: ${String(error)}`);
      return null;
    });
  }

  function schedule(projectId: string, feed: Feed, ms: number): void {
    feed.timer?.cancel();
    feed.timer = clock.after(ms, () => void look(projectId, feed));
  }

  function signal(projectId: string, feed: Feed): void {
    if (feed.members.size === 0 || feed.isSignaled) return;
    feed.isSignaled = true;
    if (!feed.isLooking) schedule(projectId, feed, PAUSE_MS.min);
  }

  async function look(projectId: string, feed: Feed): Promise<void> {
    if (feed.members.size === 0) return;
    feed.isLooking = true;
    feed.isSignaled = false;
    let isMore = false;
    let isAway = false;
    try {
      const events = await kernel.reads.eventsAfter(projectId, feed.cursor, PAGE);
      isMore = events.length === PAGE;
      for (const event of events) hand(feed, event);
      feed.cursor = events.at(-1)?.seq ?? feed.cursor;
      if (feed.failures > 0) onWarning(`the events of ${projectId} can be read again`);
      feed.failures = 0;
    } catch (error) {
      if (feed.failures === 0) onWarning(`the events of ${projectId} could not be read: ${String(error)}`); // F4
      feed.failures += 1;
      isAway = true;
    }
    feed.isLooking = false;
    if (feed.members.size === 0) return;
    const pauseMs = isMore || feed.isSignaled ? PAUSE_MS.min : LOOK_EVERY_MS;
    schedule(
      projectId,
      feed,
      isAway ? Math.min(LOOK_EVERY_MS * 2 ** Math.min(feed.failures, 10), PAUSE_MS.max) : pauseMs,
    );
  }

  function leave(projectId: string, feed: Feed, member: Member): void {
    feed.members.delete(member);
    if (feed.members.size > 0) return;
    feeds.delete(projectId); // F1
    feed.timer?.cancel();
    const stopped = feed.subscription
      .then((subscription) => subscription?.stop())
      .catch((error: unknown) => onWarning(`a subscription to events could not be ended: ${String(error)}`))
      .finally(() => stopping.delete(stopped));
    stopping.add(stopped);
  }

  return {
    async join(projectId) {
      let opened = feeds.get(projectId);
      if (opened === undefined) {
        opened = open(projectId);
        feeds.set(projectId, opened);
        opened.catch(() => feeds.delete(projectId));
      }
      const feed = await opened;
      // Its last listener may have left while it was waited for.
      if (feeds.get(projectId) !== opened) return await this.join(projectId);
      const member: Member = { waiting: [], isDropped: false, wake: null };
      feed.members.add(member);
      return {
        from: feed.cursor,
        take: () => member.waiting.splice(0),
        isDropped: () => member.isDropped,
        wait: (ms, signal) => waitFor(member, clock, ms, signal),
        leave: () => leave(projectId, feed, member),
      };
    },
    async close() {
      await Promise.all(stopping);
    },
  };
}

function hand(feed: Feed, event: EventRow): void {
  for (const member of feed.members) {
    if (member.waiting.length >= BUFFER_MAX) {
      member.isDropped = true; // F3
      member.waiting = [];
    }
    if (!member.isDropped) member.waiting.push(event);
    member.wake?.();
  }
}

function waitFor(member: Member, clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (member.waiting.length > 0 || member.isDropped || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      member.wake = null;
      timer.cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.after(ms, done);
    member.wake = done;
    signal.addEventListener("abort", done);
  });
}
