// The end of a turn, awaited by reading the store.
//
//   W1. Waiting only reads: giving up changes nothing, and the turn goes on.
//   W2. A turn that ends in this process is read when it does (announcer.ts, A3), any other one at growing intervals.

import { NotFound } from "@tessera/protocol";
import type { Announcer } from "../messages/announcer.ts";
import type { Clock, Row } from "../ports.ts";
import type { Reads } from "../reads/reads.ts";
import { pause } from "./pause.ts";

const LOOK_FIRST_MS = 10;
const LOOK_MAX_MS = 250;

/** The turn as soon as it has ended, or as it was when `waitMs` were over or `signal` was aborted. Without either the wait has no
 *  end but the turn's. Throws `not_found` for a turn that does not exist. */
export async function awaitTurnEnd(
  world: {
    readonly kernel: { readonly announcer: Announcer; readonly reads: Pick<Reads, "turn"> };
    readonly clock: Clock;
  },
  { project_id, agent_turn_id }: { readonly project_id: string; readonly agent_turn_id: string },
  {
    waitMs = Number.POSITIVE_INFINITY,
    signal,
  }: { readonly waitMs?: number | undefined; readonly signal?: AbortSignal | undefined },
): Promise<Row> {
  const { kernel, clock } = world;
  const until = clock.monotonicMs() + waitMs;
  const ended = endSignal(kernel.announcer, agent_turn_id); // W2
  try {
    for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
      const turn = await kernel.reads.turn(project_id, agent_turn_id);
      if (turn === null) throw new NotFound(`there is no turn ${agent_turn_id} in this project`);
      const leftMs = until - clock.monotonicMs();
      if (hasTurnEnded(turn) || leftMs <= 0 || signal?.aborted) return turn; // W1
      await ended.orAfter(clock, Math.min(pauseMs, leftMs), signal);
    }
  } finally {
    ended.close();
  }
}

export const hasTurnEnded = (turn: Row): boolean => turn.ended_at !== null;

/** Resolves pauses early when the turn ends in this process. */
function endSignal(announcer: Announcer, agentTurnId: string) {
  let ended = new AbortController();
  const close = announcer.onEnded(agentTurnId, () => ended.abort());
  return {
    close,
    /** Resolves after `ms`, when the turn has ended here since the last read, or when `signal` is aborted. */
    async orAfter(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
      const either = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
      if (!ended.signal.aborted) await pause(clock, ms, either);
      // One read for each signal: a reader that lags behind the commit must not make this a loop without a pause.
      ended = new AbortController();
    },
  };
}
