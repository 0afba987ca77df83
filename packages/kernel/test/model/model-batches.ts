// The model of fork and join: a call that is answered by a batch of tasks instead of by its holder. Children do not run
// here: a task is started for a turn that does not exist, and ends as the operation says.

import { type CapUse, refused, settle } from "./model-calls.ts";
import { type Batch, type BatchEnd, callOf, type Model } from "./model-state.ts";

export type TaskMove = "dispatched" | "success" | "failed" | "timeout";

/** The task without which a batch does not end so. */
const NEEDED = { partial: "success", timeout: "timeout" } as const;

/** The call's own deadline lies past the batch's, so that the batch answers first. */
const ANSWER_MARGIN_MS = 30_000;

export const isOpen = (task: string): boolean => task === "pending" || task === "dispatched";

export function openBatch(model: Model, op: CapUse & { batch: string; tasks: number; deadlineMs: number }): string {
  const call = callOf(model, op.call);
  if (call.batch === op.batch) return "duplicate";
  const refusal = refused(call, op);
  if (refusal !== null) return refusal;
  const tasks = Array.from({ length: op.tasks }, () => "pending");
  model.batches[op.batch] = { id: op.batch, call: op.call, status: "running", tasks };
  Object.assign(call, { batch: op.batch, leaseUntil: null });
  call.deadline = Math.max(call.deadline, model.now + op.deadlineMs + ANSWER_MARGIN_MS);
  return "accepted";
}

/** A task that was never started may end in any way but well. */
export function moveTask(model: Model, op: { batch: string; task: number; to: TaskMove }): string {
  const { tasks } = model.batches[op.batch] as Batch;
  const from = tasks[op.task];
  const isAllowed = from === "pending" ? op.to !== "success" : from === "dispatched" && op.to !== "dispatched";
  if (!isAllowed) return "rejected conflict";
  tasks[op.task] = op.to;
  return "accepted";
}

/** A batch does not end in a way that its tasks did not come to. */
export function finishBatch(model: Model, op: { batch: string; status: BatchEnd }): string {
  const batch = model.batches[op.batch] as Batch;
  if (batch.status !== "running") return `${batch.status === op.status ? "duplicate" : "rejected"} already_settled`;
  if (!endsOf(batch.tasks).includes(op.status)) return "rejected conflict";
  batch.status = op.status;
  const call = callOf(model, batch.call);
  if (call.wait === "waiting") settle(call, "batch", op.status === "success" ? "success tag7" : `${op.status} joined`);
  return "accepted";
}

/** How a batch with such tasks may end. */
export function endsOf(tasks: readonly string[]): BatchEnd[] {
  if (tasks.some(isOpen)) return [];
  if (tasks.every((task) => task === "success")) return ["success"];
  return ["failed", ...(["partial", "timeout"] as const).filter((end) => tasks.includes(NEEDED[end]))];
}
