// Waits until a turn has ended.
//
//   W1. Events are only a signal; what getTurn answers counts. Without events (no right to them, a proxy in between that
//       holds them back) the turn is looked at every POLL_MS.
//   W2. Time that ran out is an answer, not an error: the turn as it is, whose `endedAt` is null. The turn goes on.

import type { Client } from "./client-methods.ts";
import type { Turn } from "./operations.gen.ts";
import { pause, type Timers } from "./timers.ts";

/** What `waitForTurn` takes. */
export interface TurnWait {
  /** The id of the project. */
  readonly project: string;
  /** The id of the turn: `agentTurnId` of the answer that it was asked for with. */
  readonly turn: string;
  /** How long to wait at most. Absent: as long as it takes. */
  readonly timeoutMs?: number;
  /** Ends the wait, which rejects with the signal's reason. The turn goes on. */
  readonly signal?: AbortSignal;
}

const POLL_MS = 5_000;

export async function waitForTurn(
  client: Pick<Client, "getTurn" | "streamEvents">,
  timers: Timers,
  { project, turn, timeoutMs, signal: given }: TurnWait,
): Promise<Turn> {
  given?.throwIfAborted();
  const turnSignal = createSignal(timers);
  const done = new AbortController();
  const signal = given === undefined ? done.signal : AbortSignal.any([given, done.signal]);
  let isLate = false;
  const onLate = () => {
    isLate = true;
    turnSignal.send();
  };
  const late = timeoutMs === undefined ? null : timers.after(timeoutMs, onLate);
  const listening = listen().catch(() => undefined); // W1
  try {
    for (;;) {
      const document = await client.getTurn({ project, turn, ...(given === undefined ? {} : { signal: given }) });
      if (document.endedAt !== null || isLate) return document; // W2
      await turnSignal.wait(signal);
    }
  } finally {
    late?.cancel();
    done.abort();
    await listening;
  }

  async function listen(): Promise<void> {
    // What happened before the connection stood is not in it, so the turn is looked at again then.
    const events = client.streamEvents({ project, agentTurnId: turn, signal, onOpen: turnSignal.send });
    for await (const _ of events) turnSignal.send();
  }
}

/** A signal is kept until the next wait, so that none is missed between looking and waiting. */
function createSignal(timers: Timers): { send(): void; wait(signal: AbortSignal): Promise<void> } {
  let isSignaled = false;
  let wake: (() => void) | null = null;
  return {
    send() {
      isSignaled = true;
      wake?.();
    },
    async wait(signal) {
      const stop = new AbortController();
      wake = () => stop.abort();
      if (isSignaled) stop.abort();
      await pause(timers, POLL_MS, AbortSignal.any([signal, stop.signal])).catch(() => undefined);
      isSignaled = false;
      wake = null;
      signal.throwIfAborted();
    },
  };
}
