// Looks after a turn while a local call runs in it: a turn that was stopped, or taken by another worker, has no use for
// the call, and its tool gets that through `ctx.signal`, as tools of other placements do through a heartbeat.
//
//   W1. A look that fails says nothing; the writes that follow the run are fenced anyway.
//   W2. The first look comes after a pause, so that a short call costs none.

import { LEASE_MS, TesseraError } from "@tessera/protocol";
import type { TurnHold } from "../moves/outcomes.ts";
import type { Clock, Timer } from "../ports.ts";
import type { Reads } from "../reads/reads.ts";

export interface TurnWatch {
  /** Aborted when the turn is over, or the host stops. */
  readonly signal: AbortSignal;
  release(): void;
}

const LOOKS_PER_LEASE = 3;

export function watchTurn(
  hold: TurnHold,
  options: {
    readonly kernel: { readonly reads: Pick<Reads, "head"> };
    readonly clock: Clock;
    readonly leaseMs?: number | undefined;
    readonly stopping: AbortSignal;
  },
): TurnWatch {
  const { kernel, clock, leaseMs = LEASE_MS, stopping } = options;
  const over = new AbortController();
  let timer: Timer | null = null;
  let isReleased = false;

  async function look(): Promise<void> {
    const head = await kernel.reads.head(hold.project_id, hold.agent_id).catch(() => undefined); // W1
    if (head === undefined || isReleased) return;
    const isOurs = head?.active_agent_turn_id === hold.agent_turn_id && Number(head.turn_epoch) === hold.turn_epoch;
    if (!isOurs) over.abort(new TesseraError("canceled", "the turn is over"));
  }
  function schedule(): void {
    if (isReleased || over.signal.aborted) return;
    timer = clock.after(leaseMs / LOOKS_PER_LEASE, () => void look().then(schedule)); // W2
  }
  schedule();

  return {
    signal: AbortSignal.any([over.signal, stopping]),
    release() {
      isReleased = true;
      timer?.cancel();
    },
  };
}
