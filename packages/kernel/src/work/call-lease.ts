// The lease of one opened call, renewed while it is held.
//
//   L1. It is lost when a renewal answers `cancel`, when it has lapsed without one that got through, and when the host stops.
//   L2. The local clock only ever gives it up, never prolongs it: a lease runs from when it was asked for, not from when the
//       answer came, and a renewal that is never answered does not hold up its end.
//   L3. A claim whose answer came after the lease had lapsed is renewed at once, and that renewal decides.

import { LEASE_MS, TesseraError } from "@tessera/protocol";
import type { ExecutorPort } from "../moves/executor-port.ts";
import type { CallHold } from "../moves/outcomes.ts";
import type { Clock, Timer } from "../ports.ts";

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
    readonly leaseMs?: number | undefined;
    /** When the call was asked for, by the clock's monotonicMs (L2). */
    readonly askedAtMs: number;
    /** The host is going away. */
    readonly stopping?: AbortSignal | undefined;
  },
): CallLease {
  const { clock, port, leaseMs = LEASE_MS, stopping } = options;
  const controller = new AbortController();
  let lostBecause: string | null = null;
  let renewedAtMs = options.askedAtMs;
  let nextBeat: Timer | null = null;
  let lapse: Timer | null = null;
  let isReleased = false;

  const elapsedMs = () => clock.monotonicMs() - renewedAtMs;

  function end(): void {
    nextBeat?.cancel();
    lapse?.cancel();
    stopping?.removeEventListener("abort", onStopping);
  }
  function lose(why: string): void {
    if (lostBecause !== null || isReleased) return;
    lostBecause = why;
    end();
    controller.abort(new TesseraError("lease_lost", `the call is no longer ours: ${why}`));
  }
  const onStopping = () => lose("shutting_down");

  function awaitLapse(): void {
    lapse?.cancel();
    if (elapsedMs() < leaseMs) lapse = clock.after(leaseMs - elapsedMs(), () => lose("lease_lost")); // L1
  }
  async function beat(): Promise<void> {
    const askedAtMs = clock.monotonicMs();
    try {
      const outcome = await port.renewCall({ ...hold, lease_ms: leaseMs });
      if (outcome.cancel) lose(outcome.code); // L1
      if (lostBecause !== null || isReleased) return;
      renewedAtMs = askedAtMs; // L2
      awaitLapse();
    } catch {
      // Not reached: the lease may still be ours, until it has run out.
      if (elapsedMs() >= leaseMs) lose("lease_lost"); // L3
    }
  }
  function schedule(afterMs: number): void {
    if (isReleased || lostBecause !== null) return;
    nextBeat = clock.after(afterMs, () => void beat().then(() => schedule(leaseMs / BEATS_PER_LEASE)));
  }

  stopping?.addEventListener("abort", onStopping);
  if (stopping?.aborted) onStopping();
  else {
    awaitLapse();
    schedule(Math.max(0, leaseMs / BEATS_PER_LEASE - elapsedMs()));
  }

  return {
    signal: controller.signal,
    lostBecause: () => lostBecause,
    release() {
      isReleased = true;
      end();
    },
  };
}
