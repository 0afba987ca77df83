// Requests that wait for a turn to end.
//
//   W1. Giving up, a lost connection and a closing server change nothing: the turn goes on.
//   W2. A request that waits takes one of the waiting places, like a claim. One that does not wait takes none.
//   W3. The place is taken before anything is committed: a request that is refused for want of a place has changed nothing.

import { awaitTurnEnd, type Kernel, type Row } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import type { WaitingPlaces } from "../http/waiting-places.ts";
import type { ApiRequest } from "../routing/route-spec.ts";

export interface TurnWaits {
  /** Commits a turn of the request's project by `commit`, which answers its id, and waits for it: the turn as soon as it has
   *  ended, or as it was when the wait was over. */
  forEnd(
    request: Pick<ApiRequest, "key" | "address" | "param" | "stopped">,
    waitSeconds: number,
    commit: () => Promise<string>,
  ): Promise<Row>;
}

export function createTurnWaits(world: {
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly places: WaitingPlaces;
}): TurnWaits {
  const { places } = world;
  return {
    async forEnd(request, waitSeconds, commit) {
      if (waitSeconds > 0) places.enter(request); // W2
      try {
        const agent_turn_id = await commit(); // W3
        const turn = { project_id: request.param("project"), agent_turn_id };
        return await awaitTurnEnd(world, turn, { waitMs: waitSeconds * 1_000, signal: request.stopped() }); // W1
      } finally {
        if (waitSeconds > 0) places.leave(request);
      }
    },
  };
}
