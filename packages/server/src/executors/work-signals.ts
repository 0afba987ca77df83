// Signals for claims that wait: while claims wait for the calls of a target, the server is subscribed to its commands.
//
//   W1. A signal only says "look again"; the claim that it wakes asks the database, which decides
//       (docs/design.md#messages-are-hints). A bus that is away costs latency: every claim also looks every LOOK_EVERY_MS.
//   W2. One signal is one call: it wakes one claim, the one that has waited longest. A signal that comes while none waits is
//       kept for the next one, so that a call that comes between a look and a wait is not missed.
//   W3. The subscription stays for LINGER_MS after the last claim has gone, because long polls come back at once.
//   W4. There are at most CHANNELS_MAX subscribed channels; claims of further targets only look. A channel leaves nothing on the
//       broker: it hears what is sent while it is subscribed, beside the services of its target, whatever id a client gave for
//       that.
//   W5. close() resolves when no subscription is left.

import { pause } from "@tessera/kernel";
import type { Bus, Clock, Delivery, Subscription, Timer } from "@tessera/kernel/ports";
import { SUBJECT_VERSIONS } from "@tessera/protocol";

interface WorkSignal {
  /** Resolves at a signal, after `ms`, or when `aborted` is, whichever is first. */
  wait(ms: number, aborted: AbortSignal): Promise<void>;
  release(): void;
}

export interface WorkSignals {
  /** To be released. */
  of(projectId: string, target: string): WorkSignal;
  close(): Promise<void>;
}

export const LOOK_EVERY_MS = 1_000;
const LINGER_MS = 30_000;
const CHANNELS_MAX = 1_000;

/** The signals of one target. */
interface Channel {
  /** One for each version of the protocol that a target may speak. */
  readonly subscriptions: Promise<readonly Subscription[]>;
  /** Those that wait, longest first. */
  readonly waiters: Set<() => void>;
  users: number;
  isSignaled: boolean;
  linger: Timer | null;
}

export function createWorkSignals(options: {
  readonly bus: Pick<Bus, "subscribe">;
  readonly clock: Clock;
  readonly onWarning: (warning: string) => void;
}): WorkSignals {
  const { bus, clock, onWarning } = options;
  const channels = new Map<string, Channel>();
  const stopping = new Set<Promise<void>>();

  function subscribe(projectId: string, target: string): Channel {
    const patterns = SUBJECT_VERSIONS.map((version) => `cg.${version}.${projectId}.*.cmd.tool.${target}.>`);
    const hear = (delivery: Delivery) => {
      delivery.ack();
      signal(channel);
    };
    const subscribed = patterns.map((pattern) =>
      bus.subscribe({ pattern }, hear).catch((error: unknown) => {
        onWarning(`no signals for calls of ${target} in ${projectId}; claims look every second: ${String(error)}`); // W1
        return null;
      }),
    );
    const there = Promise.all(subscribed).then((all) => all.filter((subscription) => subscription !== null));
    const channel = newChannel(there);
    channels.set(`${projectId}/${target}`, channel);
    return channel;
  }

  function unsubscribe(name: string, channel: Channel): void {
    channels.delete(name);
    channel.linger?.cancel();
    const stopped = channel.subscriptions
      .then(async (all) => void (await Promise.all(all.map((subscription) => subscription.stop()))))
      .catch((error: unknown) => onWarning(`a subscription to calls could not be ended: ${String(error)}`))
      .finally(() => stopping.delete(stopped));
    stopping.add(stopped);
  }

  return {
    of(projectId, target) {
      const name = `${projectId}/${target}`;
      const hasRoom = channels.size < CHANNELS_MAX;
      const channel = channels.get(name) ?? (hasRoom ? subscribe(projectId, target) : newChannel(Promise.resolve([]))); // W4
      channel.users += 1;
      channel.linger?.cancel();
      channel.linger = null;
      return {
        wait: (ms, aborted) => waitFor(channel, clock, ms, aborted),
        release() {
          channel.users -= 1;
          if (channel.users === 0 && channels.get(name) === channel) {
            channel.linger = clock.after(LINGER_MS, () => unsubscribe(name, channel)); // W3
          }
        },
      };
    },
    async close() {
      for (const [name, channel] of channels) unsubscribe(name, channel);
      await Promise.all(stopping); // W5
    },
  };
}

function newChannel(subscriptions: Channel["subscriptions"]): Channel {
  return { subscriptions, waiters: new Set(), users: 0, isSignaled: false, linger: null };
}

/** W2 */
function signal(channel: Channel): void {
  const [longest] = channel.waiters;
  if (longest === undefined) channel.isSignaled = true;
  else longest();
}

async function waitFor(channel: Channel, clock: Clock, ms: number, aborted: AbortSignal): Promise<void> {
  if (channel.isSignaled || aborted.aborted) {
    channel.isSignaled = false;
    return;
  }
  const signaled = new AbortController();
  const wake = () => {
    channel.waiters.delete(wake);
    signaled.abort();
  };
  channel.waiters.add(wake);
  await pause(clock, ms, AbortSignal.any([aborted, signaled.signal]));
  channel.waiters.delete(wake);
}
