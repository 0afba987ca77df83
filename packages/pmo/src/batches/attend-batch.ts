// One look at a batch that needs a hand. Any PMO may look, several may at once, and each may die at any point.
//
//   T1. A look does one thing: cut the batch short, start what is due, or end it. What it changes makes the batch due again,
//       so the next look goes on from what is stored.
//   T2. A task is settled before its child is stopped: from then on the child's end is recorded as a turn and no longer
//       applied to the batch.
//   T3. The batch ends last. A child that a dead PMO left running is stopped before it.

import type { DueBatch, DueTask, Kernel } from "@tessera/kernel";
import { type JsonObject, traceparentOf } from "@tessera/protocol";
import { turnIdOfTask } from "../call-ids.ts";
import { batchEnd, hasFailure, isOpen } from "./batch-result.ts";

export type BatchKernel = Pick<
  Kernel,
  "moveBatchTask" | "dispatchBatchTask" | "finishBatch" | "stopTurn" | "reads" | "takeDueBatches" | "childrenOfStopped"
>;

interface Cut {
  readonly status: "canceled" | "timeout" | "failed";
  readonly error: JsonObject;
}

export async function attendBatch(kernel: BatchKernel, batch: DueBatch): Promise<void> {
  const open = batch.tasks.filter(isOpen);
  if (open.length === 0) return await endBatch(kernel, batch);
  const cuts = open.map((task) => ({ task, cut: cutOf(batch, task) })).filter(({ cut }) => cut !== null);
  if (cuts.length > 0) {
    await Promise.all(cuts.map(({ task, cut }) => settle(kernel, batch, task, cut as Cut)));
    await stopChildren(
      kernel,
      batch,
      cuts.map(({ task }) => task),
    ); // T2
    return;
  }
  await Promise.all(open.filter((task) => task.is_due).map((task) => start(kernel, batch, task)));
}

/** Why an open task must end now, or null. */
function cutOf(batch: DueBatch, task: DueTask): Cut | null {
  if (!batch.is_awaited) return cut("canceled", "canceled", "nobody waits for the batch any more");
  if (batch.fail_fast && hasFailure(batch))
    return cut("canceled", "canceled", "another task failed and fail_fast is set");
  const isUntaken = task.is_untaken === true;
  if (isUntaken && (batch.fail_fast || batch.is_late)) {
    return cut("failed", "downstream_unavailable", "no worker has taken the task");
  }
  return batch.is_late ? cut("timeout", "timeout", "the batch's deadline passed") : null;
}

function cut(status: Cut["status"], code: string, message: string): Cut {
  return { status, error: { code, message } };
}

async function settle(
  kernel: BatchKernel,
  { project_id }: DueBatch,
  task: DueTask,
  { status, error }: Cut,
): Promise<void> {
  // Refused means that the task has ended by itself meanwhile, which counts.
  await kernel.moveBatchTask({
    project_id,
    batch_task_id: task.batch_task_id,
    move: "settle",
    status,
    error_detail: error,
  });
}

async function stopChildren(kernel: BatchKernel, { project_id }: DueBatch, tasks: readonly DueTask[]): Promise<void> {
  await Promise.all(
    tasks
      .filter((task) => task.is_running && task.current_agent_turn_id !== null)
      .map((task) =>
        kernel.stopTurn({
          project_id,
          agent_turn_id: task.current_agent_turn_id as string,
          reason: "the batch has ended",
        }),
      ),
  );
}

async function start(kernel: BatchKernel, batch: DueBatch, task: DueTask): Promise<void> {
  const { project_id, call } = batch;
  // What the store answers is in the task's row: dispatched, put off, or failed with its reason.
  await kernel.dispatchBatchTask({
    project_id,
    batch_task_id: task.batch_task_id,
    only_idle: task.metadata.target_strategy === "reuse",
    turn: {
      project_id,
      agent_id: task.agent_id,
      agent_turn_id: turnIdOfTask(task.batch_task_id),
      correlation_id: task.batch_task_id,
      channel_id: batch.channel_id,
      // A trace of its own, that points back: fifty children in one trace are not readable.
      parent_traceparent: traceparentOf(call.trace_id, call.span_id),
      parent_agent_turn_id: batch.parent_agent_turn_id,
      parent_step_id: call.step_id,
      source_agent_id: batch.parent_agent_id,
      context_box_id: task.context_box_id ?? "",
      ...(task.profile_box_id === null ? {} : { profile_box_id: task.profile_box_id }),
      ...(task.output_box_id === null ? {} : { output_box_id: task.output_box_id }),
      metadata: { batch_id: batch.batch_id, batch_task_id: task.batch_task_id, task_index: task.task_index },
    },
  });
}

async function endBatch(kernel: BatchKernel, batch: DueBatch): Promise<void> {
  await stopChildren(kernel, batch, batch.tasks); // T3
  const ids = batch.tasks.map((task) => task.deliverable_card_id).filter((id) => id !== null);
  // Refused means that another PMO has ended it: the call has its one answer (docs/faults.md#f39).
  await kernel.finishBatch(batchEnd(batch, await kernel.reads.cards(batch.project_id, ids)));
}
