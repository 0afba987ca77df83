// A worker's lease, renewed while it lives (design D7). Losing it is told once; the database fences what it writes anyway.

import type { Clock, Kernel, Timer } from "@tessera/kernel";
import { errorOf, LEASE_MS } from "@tessera/protocol";

const BEATS_PER_LEASE = 3;

export async function keepWorkerAlive(options: {
  readonly kernel: Pick<Kernel, "renewWorker">;
  readonly clock: Clock;
  readonly workerId: string;
  readonly workerTarget: string;
  readonly leaseMs?: number;
  readonly onWarning: (warning: string) => void;
}): Promise<{ stop(): Promise<void> }> {
  const { kernel, clock, workerId, workerTarget, leaseMs = LEASE_MS, onWarning } = options;
  const renew = () => kernel.renewWorker({ worker_id: workerId, worker_target: workerTarget, lease_ms: leaseMs });
  const first = await renew();
  if (first.outcome === "rejected") throw errorOf(first.code, `worker ${workerId} was not admitted`);
  let isStopped = false;
  let timer: Timer | null = null;
  let beating: Promise<void> = Promise.resolve();
  function schedule(): void {
    if (isStopped) return;
    timer = clock.after(leaseMs / BEATS_PER_LEASE, () => {
      beating = renew()
        .then(
          (outcome) => {
            if (outcome.outcome === "rejected") onWarning(`worker ${workerId} lost its lease: ${outcome.code}`);
          },
          (error: unknown) => onWarning(`the lease of worker ${workerId} could not be renewed: ${String(error)}`),
        )
        .then(schedule);
    });
  }
  schedule();
  return {
    async stop() {
      isStopped = true;
      timer?.cancel();
      await beating;
    },
  };
}
