// Looks after what the PMO is responsible for: batches that need a hand, and children of turns that were stopped.
//
//   R1. It looks every second, soon after any turn has ended, and at once when a batch was opened. The store says what
//       there is to do, so a look that finds nothing costs two reads, and a lost event costs a second.
//   R2. Looks of one process never overlap; those of several do, and every move is a compare-and-set.
//   R3. Stopping a turn stops its children, and theirs, level by level (docs/faults.md#f41). Their workers learn of it as any
//       worker whose turn is stopped.
//   R4. stop() resolves when no look is under way.

import { type Bus, type Clock, repeatEvery, type Timer } from "@tessera/kernel";
import { batchDurable, SUBJECT_VERSION, SWEEP_INTERVAL_MS } from "@tessera/protocol";
import { attendBatch, type BatchKernel } from "./attend-batch.ts";

export interface Reconciler {
  /** Looks now, or once more if a look is under way. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

/** Events within this time cause one look. Most turns that end belong to no batch. */
const LOOK_PAUSE_MS = 25;
/** The same while batches are being brought forward here: an agent waits for their last child. */
const BATCH_LOOK_PAUSE_MS = 2;
const BATCH_SEEN_MS = 1_000;
const BATCHES_PER_LOOK = 50;
const CHILDREN_PER_LOOK = 200;
/** What is left after so many rounds is left for the next look. */
const ROUNDS_MAX = 40;

export async function startReconciler(options: {
  readonly bus: Bus;
  readonly kernel: BatchKernel;
  readonly clock: Clock;
  readonly onWarning: (warning: string) => void;
}): Promise<Reconciler> {
  const { bus, kernel, clock, onWarning } = options;
  let looking: Promise<void> | null = null;
  let isAskedAgain = false;
  let isStopped = false;
  let nextLook: Timer | null = null;
  let batchSeenAt = Number.NEGATIVE_INFINITY;

  async function stopOrphans(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const children = await kernel.childrenOfStopped(CHILDREN_PER_LOOK);
      const outcomes = await Promise.all(
        children.map((child) => kernel.stopTurn({ ...child, reason: "the turn that asked for it was stopped" })), // R3
      );
      if (!outcomes.some((outcome) => outcome.outcome === "accepted")) return;
    }
  }

  async function attendBatches(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX && !isStopped; round += 1) {
      const batches = await kernel.takeDueBatches(BATCHES_PER_LOOK);
      if (batches.length === 0) return;
      batchSeenAt = clock.monotonicMs();
      await Promise.all(
        batches.map((batch) =>
          attendBatch(kernel, batch).catch((error) =>
            onWarning(`the batch ${batch.batch_id} was not brought forward: ${String(error)}`),
          ),
        ),
      );
    }
  }

  async function lookOnce(): Promise<void> {
    for (const part of [stopOrphans, attendBatches]) {
      try {
        await part();
      } catch (error) {
        onWarning(`the PMO could not look: ${String(error)}`);
      }
    }
  }

  function look(): Promise<void> {
    isAskedAgain = true;
    looking ??= (async () => {
      while (isAskedAgain && !isStopped) {
        isAskedAgain = false;
        await lookOnce(); // R2
      }
    })().finally(() => {
      looking = null;
    });
    return looking;
  }

  const subscription = await bus.subscribe(
    { pattern: `cg.${SUBJECT_VERSION}.*.*.evt.agent.*.task`, durable: batchDurable() },
    () => {
      const isBatchNear = clock.monotonicMs() - batchSeenAt < BATCH_SEEN_MS;
      nextLook ??= clock.after(isBatchNear ? BATCH_LOOK_PAUSE_MS : LOOK_PAUSE_MS, () => {
        nextLook = null;
        void look();
      });
    },
  );
  const repetition = repeatEvery({
    clock,
    everyMs: SWEEP_INTERVAL_MS,
    task: look,
    onFailure: (error) => onWarning(`the PMO could not look: ${String(error)}`),
  });

  return {
    look,
    async stop() {
      isStopped = true;
      nextLook?.cancel();
      await Promise.all([subscription.stop(), repetition.stop(), looking]); // R4
    },
  };
}
