// The lease of one opened call, renewed while it is held.
//
//   L1. It is lost when a renewal answers `cancel`, when none got through until it has lapsed, and when the host stops.
//   L2. The local clock only ever gives it up, never prolongs it: it runs from when a renewal was asked for, not from when
//       the answer came.

import type { CallHold, Clock, ExecutorPort, Timer } from "@tessera/kernel";
import { CGError, LEASE_MS } from "@tessera/protocol";

const BEATS_PER_LEASE = 3;

export interface CallLease {
  /** Aborted when the lease is lost. */
  readonly signal: AbortSignal;
  lostBecause(): string | null;
  release(): void;
}

export function holdLease(
  hold: CallHold,
  options: {
    readonly port: Pick<ExecutorPort, "renewCall">;
    readonly clock: Clock;
    readonly leaseMs?: number;
    /** The host is going away. */
    readonly stopping?: AbortSignal;
  },
): CallLease {
  const { clock, port, leaseMs = LEASE_MS, stopping } = options;
  const controller = new AbortController();
  let lostBecause: string | null = null;
  let renewedAtMs = clock.monotonicMs();
  let timer: Timer | null = null;
  let isReleased = false;

  function lose(why: string): void {
    if (lostBecause !== null || isReleased) return;
    lostBecause = why;
    controller.abort(new CGError("lease_lost", `the call is no longer ours: ${why}`));
  }
  const onStopping = () => lose("shutting_down");
  stopping?.addEventListener("abort", onStopping);
  if (stopping?.aborted) onStopping();

  async function beat(): Promise<void> {
    const askedAtMs = clock.monotonicMs();
    try {
      const outcome = await port.renewCall({ ...hold, lease_ms: leaseMs });
      if (outcome.cancel)
        lose(outcome.code); // L1
      else renewedAtMs = askedAtMs; // L2
    } catch {
      // Not reached: the lease may still be ours, until it has run out.
      if (clock.monotonicMs() - renewedAtMs >= leaseMs) lose("lease_lost");
    }
  }
  function schedule(): void {
    if (isReleased || lostBecause !== null) return;
    timer = clock.after(leaseMs / BEATS_PER_LEASE, () => void beat().then(schedule));
  }
  schedule();

  return {
    signal: controller.signal,
    lostBecause: () => lostBecause,
    release() {
      isReleased = true;
      timer?.cancel();
      stopping?.removeEventListener("abort", onStopping);
    },
  };
}
