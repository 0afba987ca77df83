// Requests that wait for a turn to end.
//
//   W1. Waiting is only looking: whoever gives up, is cut off or meets a closing server changes nothing, and the turn goes on.
//   W2. Requests that wait are counted by key and in all, so that one tenant cannot take every connection. One that does not
//       wait takes no place.
//   W3. The place is taken before anything is committed: who is told to come again later has changed nothing.

import type { Kernel, Row } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import { NotFound } from "@tessera/protocol";
import { HttpRefusal } from "./problem.ts";
import type { ServerLimits } from "./server-limits.ts";

export interface TurnWaits {
  /** The turn that `commit` answers, as soon as it has ended, or as it was when the wait was over. */
  forEnd(wait: TurnWait): Promise<Row>;
}

export interface TurnWait {
  readonly project_id: string;
  readonly key_id: string;
  readonly waitMs: number;
  readonly stopped: AbortSignal;
  /** Asks for the turn; answers its id. */
  commit(): Promise<string>;
}

const LOOK_FIRST_MS = 10;
const LOOK_MAX_MS = 250;

export function createTurnWaits(world: {
  readonly kernel: { readonly reads: Pick<Kernel["reads"], "turn"> };
  readonly clock: Clock;
  readonly limits: Pick<ServerLimits, "longPollsMax" | "longPollsPerKeyMax">;
}): TurnWaits {
  const { kernel, clock, limits } = world;
  const waiting = new Map<string, number>();
  let all = 0;

  function enter(keyId: string): void {
    const own = waiting.get(keyId) ?? 0;
    if (own >= limits.longPollsPerKeyMax || all >= limits.longPollsMax) {
      throw new HttpRefusal("rate_limited", "too many requests of this key wait at the same time", {
        headers: { "retry-after": "1" },
      });
    }
    waiting.set(keyId, own + 1);
    all += 1;
  }

  function leave(keyId: string): void {
    const own = (waiting.get(keyId) ?? 1) - 1;
    if (own === 0) waiting.delete(keyId);
    else waiting.set(keyId, own);
    all -= 1;
  }

  async function look({ project_id, waitMs, stopped }: TurnWait, agent_turn_id: string): Promise<Row> {
    const until = clock.monotonicMs() + waitMs;
    for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
      const turn = await kernel.reads.turn(project_id, agent_turn_id);
      if (turn === null) throw new NotFound(`there is no turn ${agent_turn_id} in this project`);
      const leftMs = until - clock.monotonicMs();
      if (hasEnded(turn) || leftMs <= 0 || stopped.aborted) return turn; // W1
      await pause(Math.min(pauseMs, leftMs), stopped);
    }
  }

  function pause(ms: number, stopped: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel();
        stopped.removeEventListener("abort", end);
        resolve();
      };
      const timer = clock.after(ms, end);
      stopped.addEventListener("abort", end);
      if (stopped.aborted) end();
    });
  }

  return {
    async forEnd(wait) {
      if (wait.waitMs > 0) enter(wait.key_id); // W2
      try {
        return await look(wait, await wait.commit()); // W3
      } finally {
        if (wait.waitMs > 0) leave(wait.key_id);
      }
    },
  };
}

export const hasEnded = (turn: Row): boolean => turn.ended_at !== null;
