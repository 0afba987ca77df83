// The long poll of an executor without a bus: calls when there are some, an empty list when the time is up.
//
//   C1. Nothing is claimed for a client that has gone: it is looked for before every claim. One that goes while the claim
//       runs loses it by its lease.
//   C2. The database is asked first, again at every signal, and at least every second (work-signals.ts).

import type { ClaimRequest, Kernel, OpenedCall } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import { LOOK_EVERY_MS, type WorkSignals } from "./work-signals.ts";

export interface ClaimOrder extends ClaimRequest {
  readonly wait_ms: number;
}

export interface ClaimDeps {
  readonly kernel: Pick<Kernel, "claimCalls">;
  readonly clock: Clock;
  readonly signals: WorkSignals;
}

export async function claimCalls(world: ClaimDeps, order: ClaimOrder, stopped: AbortSignal): Promise<OpenedCall[]> {
  const { kernel, clock, signals } = world;
  const { wait_ms, ...request } = order;
  if (stopped.aborted) return []; // C1
  if (wait_ms === 0) return await kernel.claimCalls(request);
  const untilMs = clock.monotonicMs() + wait_ms;
  const signal = signals.of(request.project_id, request.target);
  try {
    for (;;) {
      if (stopped.aborted) return []; // C1
      const calls = await kernel.claimCalls(request);
      const leftMs = untilMs - clock.monotonicMs();
      if (calls.length > 0 || leftMs <= 0) return calls;
      await signal.wait(Math.min(LOOK_EVERY_MS, leftMs), stopped); // C2
    }
  } finally {
    signal.release();
  }
}
