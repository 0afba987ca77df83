// Bells for claims that wait: while somebody waits for the calls of a target, the bus is heard on their behalf.
//
//   W1. A bell only says "look again"; whoever is rung asks the database, which decides (docs/design.md#messages-are-hints). A
//       bus that is away costs latency: everybody who waits also looks every LOOK_EVERY_MS.
//   W2. One ring is one call: it wakes one waiter, the one that has waited longest. A ring that finds nobody waiting is
//       kept for the next one, so that a call that comes between a look and a wait is not slept over.
//   W3. The subscription stays for LINGER_MS after the last waiter has gone, because long polls come back at once.
//   W4. There are at most BELLS_MAX bells; who comes later only looks. A bell leaves nothing on the broker: it hears what is
//       rung while it hangs, beside the services of its target, whatever name a client gave for that.
//   W5. close() resolves when no subscription is left.

import type { Bus, Clock, Delivery, Subscription, Timer } from "@tessera/kernel/ports";
import { SUBJECT_VERSIONS } from "@tessera/protocol";

export interface Ear {
  /** Resolves when the bell rings, after `ms`, or when `signal` is aborted, whichever is first. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  release(): void;
}

export interface WorkBells {
  listen(projectId: string, target: string): Ear;
  close(): Promise<void>;
}

export const LOOK_EVERY_MS = 1_000;
const LINGER_MS = 30_000;
const BELLS_MAX = 1_000;

interface Bell {
  /** One for each version of the protocol that a target may speak. */
  readonly subscriptions: Promise<readonly Subscription[]>;
  readonly waiters: Set<() => void>;
  ears: number;
  hasRung: boolean;
  linger: Timer | null;
}

export function createWorkBells(options: {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly onWarning: (warning: string) => void;
}): WorkBells {
  const { bus, clock, onWarning } = options;
  const bells = new Map<string, Bell>();
  const stopping = new Set<Promise<void>>();

  function hang(projectId: string, target: string): Bell {
    const patterns = SUBJECT_VERSIONS.map((version) => `cg.${version}.${projectId}.*.cmd.tool.${target}.>`);
    const hear = (delivery: Delivery) => {
      delivery.ack();
      ring(bell);
    };
    const subscribed = patterns.map((pattern) =>
      bus.subscribe({ pattern }, hear).catch((error: unknown) => {
        onWarning(`no doorbell for ${target} of ${projectId}, claims look every second: ${String(error)}`); // W1
        return null;
      }),
    );
    const there = Promise.all(subscribed).then((all) => all.filter((subscription) => subscription !== null));
    const bell = newBell(there);
    bells.set(`${projectId}/${target}`, bell);
    return bell;
  }

  function ring(bell: Bell): void {
    const [longest] = bell.waiters;
    if (longest === undefined)
      bell.hasRung = true; // W2
    else longest();
  }

  function takeDown(name: string, bell: Bell): void {
    bells.delete(name);
    bell.linger?.cancel();
    const stopped = bell.subscriptions
      .then(async (all) => void (await Promise.all(all.map((subscription) => subscription.stop()))))
      .catch((error: unknown) => onWarning(`a doorbell could not be taken down: ${String(error)}`))
      .finally(() => stopping.delete(stopped));
    stopping.add(stopped);
  }

  return {
    listen(projectId, target) {
      const name = `${projectId}/${target}`;
      const hasRoom = bells.size < BELLS_MAX;
      const bell = bells.get(name) ?? (hasRoom ? hang(projectId, target) : newBell(Promise.resolve([]))); // W4
      bell.ears += 1;
      bell.linger?.cancel();
      bell.linger = null;
      return {
        wait: (ms, signal) => waitAt(bell, clock, ms, signal),
        release() {
          bell.ears -= 1;
          if (bell.ears === 0 && bells.get(name) === bell) {
            bell.linger = clock.after(LINGER_MS, () => takeDown(name, bell)); // W3
          }
        },
      };
    },
    async close() {
      for (const [name, bell] of bells) takeDown(name, bell);
      await Promise.all(stopping); // W5
    },
  };
}

function newBell(subscriptions: Bell["subscriptions"]): Bell {
  return { subscriptions, waiters: new Set(), ears: 0, hasRung: false, linger: null };
}

function waitAt(bell: Bell, clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (bell.hasRung || signal.aborted) {
    bell.hasRung = false;
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const done = () => {
      bell.waiters.delete(done);
      timer.cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.after(ms, done);
    bell.waiters.add(done);
    signal.addEventListener("abort", done);
  });
}
