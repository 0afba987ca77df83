// Waiting on the Clock, ended early by a signal.

import type { Clock } from "@tessera/kernel/ports";
import { errorOf, type TesseraError } from "@tessera/protocol";

/** Throws `canceled` when the signal ends it, also when it has ended before. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(canceled());
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(canceled());
    };
    const timer = clock.after(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** The work's outcome, or a rejection with the signal's reason as soon as it ends: not every client listens to it. */
export function orAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.then(
      (value) => {
        signal.removeEventListener("abort", onAbort);
        resolve(value);
      },
      (error) => {
        signal.removeEventListener("abort", onAbort);
        reject(error);
      },
    );
  });
}

export function canceled(): TesseraError {
  return errorOf("canceled", "the model was not asked to the end: the turn was stopped");
}
