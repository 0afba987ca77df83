// Requests that wait for a turn to end.
//
//   W1. Waiting is only looking: whoever gives up, is cut off or meets a closing server changes nothing, and the turn goes on.
//   W2. A request that waits takes one of the waiting places, like a claim. One that does not wait takes none.
//   W3. The place is taken before anything is committed: who is told to come again later has changed nothing.

import { type Kernel, pause, type Row } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import { NotFound } from "@tessera/protocol";
import type { Holder } from "../http/shares.ts";
import type { WaitingPlaces } from "../http/waiting-places.ts";

export interface TurnWaits {
  /** The turn that `commit` answers, as soon as it has ended, or as it was when the wait was over. */
  forEnd(wait: TurnWait): Promise<Row>;
}

export interface TurnWait {
  readonly project_id: string;
  readonly holder: Holder;
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
  readonly places: WaitingPlaces;
}): TurnWaits {
  const { kernel, clock, places } = world;

  async function look({ project_id, waitMs, stopped }: TurnWait, agent_turn_id: string): Promise<Row> {
    const until = clock.monotonicMs() + waitMs;
    for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
      const turn = await kernel.reads.turn(project_id, agent_turn_id);
      if (turn === null) throw new NotFound(`there is no turn ${agent_turn_id} in this project`);
      const leftMs = until - clock.monotonicMs();
      if (hasEnded(turn) || leftMs <= 0 || stopped.aborted) return turn; // W1
      await pause(clock, Math.min(pauseMs, leftMs), stopped);
    }
  }

  return {
    async forEnd(wait) {
      if (wait.waitMs > 0) places.enter(wait.holder); // W2
      try {
        return await look(wait, await wait.commit()); // W3
      } finally {
        if (wait.waitMs > 0) places.leave(wait.holder);
      }
    },
  };
}

export const hasEnded = (turn: Row): boolean => turn.ended_at !== null;
