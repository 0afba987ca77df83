// A worker's lease, renewed while it lives (docs/design.md#crashed-turns-are-resumed).
//
//   L1. A worker that lapsed (a store that was away, an event loop that stood still) is dead to the database for ever: its
//       turns were given away. It comes back under a new name, or it would receive every wakeup and be refused every turn.
//   L2. What it was running is fenced by the database; `onLapsed` lets it stop early.

import { errorOf, LEASE_MS } from "@tessera/protocol";
import type { TurnPort } from "../moves/turn-port.ts";
import type { Clock, Ids, Timer } from "../ports.ts";

export interface WorkerLease {
  /** The name to take turns under, now. */
  workerId(): string;
  stop(): Promise<void>;
}

const BEATS_PER_LEASE = 3;

export async function keepWorkerAlive(options: {
  readonly kernel: Pick<TurnPort, "renewWorker" | "retireWorker">;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly workerTarget: string;
  readonly leaseMs?: number | undefined;
  readonly onLapsed?: (workerId: string) => void;
  readonly onWarning: (warning: string) => void;
}): Promise<WorkerLease> {
  const { kernel, clock, ids, workerTarget, leaseMs = LEASE_MS, onLapsed, onWarning } = options;
  let workerId = ids.mint("worker");
  let isStopped = false;
  let timer: Timer | null = null;
  let beating: Promise<void> = Promise.resolve();
  const renew = () => kernel.renewWorker({ worker_id: workerId, worker_target: workerTarget, lease_ms: leaseMs });

  async function beat(): Promise<void> {
    try {
      const outcome = await renew();
      if (outcome.outcome === "accepted") return;
      onWarning(`worker ${workerId} lost its lease (${outcome.code}) and goes on under another name`);
      onLapsed?.(workerId); // L2
      workerId = ids.mint("worker"); // L1
      await renew();
    } catch (error) {
      onWarning(`the lease of worker ${workerId} could not be renewed: ${String(error)}`);
    }
  }
  function schedule(): void {
    if (isStopped) return;
    timer = clock.after(leaseMs / BEATS_PER_LEASE, () => {
      beating = beat().then(schedule);
    });
  }

  const first = await renew();
  if (first.outcome === "rejected") throw errorOf(first.code, `worker ${workerId} was not admitted`);
  schedule();
  return {
    workerId: () => workerId,
    async stop() {
      isStopped = true;
      timer?.cancel();
      await beating;
      await kernel.retireWorker(workerId);
    },
  };
}
