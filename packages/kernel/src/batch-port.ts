// Fork and join, as moves on rows. Which child to start, and when, is the PMO's business.

import type { Announcer } from "./announcer.ts";
import type { BatchEnd, BatchRequest, BatchTaskMove, Rejected, Wake, WriteOutcome } from "./outcomes.ts";
import { type TransitionWorld, transition } from "./transitions.ts";

export interface BatchPort {
  /** Turns a held call into a batch: from now on the batch answers it, whoever dies. */
  openBatch(request: BatchRequest): Promise<WriteOutcome>;
  moveBatchTask(move: BatchTaskMove): Promise<WriteOutcome>;
  /** Ends a batch and answers its call, once. */
  finishBatch(end: BatchEnd): Promise<BatchOutcome>;
}
export type BatchOutcome = Rejected | { readonly outcome: "accepted" | "duplicate"; readonly wake?: Wake | null };

export function createBatchPort(world: TransitionWorld & { announcer: Announcer }): BatchPort {
  const open = transition<BatchRequest, WriteOutcome>(world, "open_batch", { keyOf: (item) => item.tool_call_id });
  const move = transition<BatchTaskMove, WriteOutcome>(world, "move_batch_task", {
    keyOf: (item) => item.batch_task_id,
  });
  const finish = transition<BatchEnd, BatchOutcome>(world, "finish_batch", { keyOf: (item) => item.batch_id });
  return {
    openBatch: (request) => open(request),
    moveBatchTask: (request) => move(request),
    async finishBatch(end) {
      const outcome = await finish(end);
      if (outcome.outcome === "accepted") world.announcer.announce({ wakes: [outcome.wake] });
      return outcome;
    },
  };
}
