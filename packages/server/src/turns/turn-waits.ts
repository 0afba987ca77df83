// Requests that wait for a turn to end.
//
//   W1. Giving up, a lost connection and a closing server change nothing: the turn goes on.
//   W2. A request that waits takes one of the waiting places, like a claim. One that does not wait takes none.
//   W3. The place is taken before anything is committed: a request that is refused for want of a place has changed nothing.

import { awaitTurnEnd, type Kernel, type Row } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
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

export function createTurnWaits(world: {
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly places: WaitingPlaces;
}): TurnWaits {
  const { places } = world;
  return {
    async forEnd({ project_id, holder, waitMs, stopped, commit }) {
      if (waitMs > 0) places.enter(holder); // W2
      try {
        const agent_turn_id = await commit(); // W3
        return await awaitTurnEnd(world, { project_id, agent_turn_id }, { waitMs, signal: stopped }); // W1
      } finally {
        if (waitMs > 0) places.leave(holder);
      }
    },
  };
}
