// Rings after a commit. A ring that fails costs time, never a call: the row that waits is its own outbox
// (docs/design.md#messages-are-hints).
//
//   A1. Nothing here runs before the commit it announces, and nothing durable depends on its success.
//   A2. What the items of one batch announce goes out together, and each agent in it is woken once.
//   A3. A waiter in this process for a turn that ends in it is woken without a bus: after the commit, too, and it reads
//       the outcome from the store.

import type { Command, EndedTurn, Wake } from "../moves/outcomes.ts";
import type { Bus, BusMessage, Ids, KillPoints } from "../ports.ts";
import { commandMessage, taskEventMessage, wakeMessage } from "./messages.ts";

interface Announcement {
  /** Sent as they are, before everything else: what an observer should hear first. */
  readonly messages?: readonly BusMessage[];
  readonly commands?: readonly Command[];
  readonly wakes?: readonly (Wake | null | undefined)[];
  readonly ended?: readonly EndedTurn[];
}

export interface Announcer {
  /** Hands the messages to the bus; never rejects. */
  announce(announcement: Announcement): void;
  /** Calls back when a turn is announced as ended in this process (A3). Returns how to stop hearing. */
  onEnded(agentTurnId: string, hear: () => void): () => void;
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
  let gathered: BusMessage[] = [];
  let woken = new Set<string>();
  const hearing = new Map<string, Set<() => void>>();

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

  function flush(): void {
    const messages = gathered;
    gathered = [];
    woken = new Set();
    const sending = send(messages).finally(() => pending.delete(sending));
    pending.add(sending);
  }

  function gather(message: BusMessage): void {
    gathered.push(message);
    if (gathered.length === 1) queueMicrotask(flush);
  }

  return {
    announce({ messages = [], commands = [], wakes = [], ended = [] }) {
      for (const message of messages) gather(message);
      for (const command of commands) gather(commandMessage(command));
      for (const wake of wakes) {
        if (!wake?.worker_target) continue;
        const agent = `${wake.project_id}/${wake.agent_id}`;
        if (woken.has(agent)) continue;
        woken.add(agent);
        gather(wakeMessage(wake, ids.spanId()));
      }
      for (const turn of ended) {
        gather(taskEventMessage(turn, ids.spanId()));
        for (const hear of hearing.get(turn.agent_turn_id) ?? []) hear(); // A3
      }
    },
    onEnded(agentTurnId, hear) {
      const listeners = hearing.get(agentTurnId) ?? new Set();
      hearing.set(agentTurnId, listeners.add(hear));
      return () => {
        listeners.delete(hear);
        if (listeners.size === 0) hearing.delete(agentTurnId);
      };
    },
    get lost() {
      return lost;
    },
    async settled() {
      await Promise.resolve(); // what was just gathered is being sent after this
      await Promise.all(pending);
    },
  };
}
