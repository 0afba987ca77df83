// A task that is done again and again: the sweeper's sweep, a listener's look.
//
//   E1. The next run is scheduled when the last has ended, so runs never overlap.
//   E2. A run that fails is reported and does not end the repetition.
//   E3. stop() resolves when no run is under way.

import type { Clock, Timer } from "../ports.ts";

export interface Repetition {
  stop(): Promise<void>;
}

export function repeatEvery(options: {
  clock: Clock;
  everyMs: number;
  task: () => Promise<unknown>;
  onFailure: (error: unknown) => void;
}): Repetition {
  let isStopped = false;
  let timer: Timer | null = null;
  let running: Promise<void> = Promise.resolve();

  function schedule(): void {
    if (isStopped) return;
    timer = options.clock.after(options.everyMs, () => {
      running = options
        .task()
        .then(() => undefined, options.onFailure)
        .then(schedule);
    });
  }

  schedule();
  return {
    async stop() {
      isStopped = true;
      timer?.cancel();
      await running;
    },
  };
}
