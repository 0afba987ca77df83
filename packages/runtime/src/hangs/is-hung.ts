// Whether an event loop that does not answer hangs, or has only been kept from running.

/** A loop that is kept from the CPU by others gets this much longer. */
const STARVED_FACTOR = 6;
const BUSY_SHARE = 0.5;
const IDLE_SHARE = 0.02;

/** One that runs an endless loop uses the CPU, and one that is blocked in a call uses nothing of it. A process that gets a share
 *  in between waits for its turn on a machine that has too much to do. */
export function isHung(silence: { readonly ms: number; readonly cpuMs: number }, blockedMs: number): boolean {
  if (silence.ms < blockedMs) return false;
  const share = silence.cpuMs / silence.ms;
  return share >= BUSY_SHARE || share <= IDLE_SHARE || silence.ms >= blockedMs * STARVED_FACTOR;
}
