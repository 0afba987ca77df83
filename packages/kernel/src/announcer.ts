// Rings after a commit. A ring that fails costs time, never a call: the row that waits is its own outbox (design D4).
//
//   A1. Nothing here runs before the commit it announces, and nothing durable depends on its success.
//   A2. The agents of one announcement are woken once each.

import { commandMessage, taskEventMessage, wakeMessage } from "./messages.ts";
import type { Command, EndedTurn, Wake } from "./outcomes.ts";
import type { Bus, BusMessage, Ids, KillPoints } from "./ports.ts";

export interface Announcement {
  readonly commands?: readonly Command[];
  readonly wakes?: readonly (Wake | null | undefined)[];
  readonly ended?: readonly EndedTurn[];
}

export interface Announcer {
  /** Hands the messages to the bus; never rejects. */
  announce(announcement: Announcement): void;
  /** How many messages the bus refused since the start. */
  readonly lost: number;
  /** Resolves when every announcement so far was handed over or refused. */
  settled(): Promise<void>;
}

export function createAnnouncer(options: {
  bus: Bus;
  ids: Ids;
  killPoints: KillPoints;
  onWarning: (warning: string) => void;
}): Announcer {
  const { bus, ids, killPoints } = options;
  const pending = new Set<Promise<void>>();
  let lost = 0;

  async function send(messages: readonly BusMessage[]): Promise<void> {
    try {
      await bus.publish(messages);
    } catch (error) {
      // The first loss of a streak is worth a line; the rest is counted.
      if (lost === 0) options.onWarning(`bus: ${String(error)}; the sweeper will ring again`);
      lost += messages.length;
    }
    await killPoints.at("announce.after_publish");
  }

  return {
    announce({ commands = [], wakes = [], ended = [] }) {
      const messages: BusMessage[] = commands.map(commandMessage);
      const woken = new Set<string>();
      for (const wake of wakes) {
        if (!wake?.worker_target) continue;
        const agent = `${wake.project_id}/${wake.agent_id}`;
        if (woken.has(agent)) continue;
        woken.add(agent);
        messages.push(wakeMessage(wake, ids.spanId()));
      }
      for (const turn of ended) messages.push(taskEventMessage(turn, ids.spanId()));
      if (messages.length === 0) return;
      const sending = send(messages).finally(() => pending.delete(sending));
      pending.add(sending);
    },
    get lost() {
      return lost;
    },
    async settled() {
      await Promise.all(pending);
    },
  };
}
