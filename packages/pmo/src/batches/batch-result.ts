// What a batch has come to: its status, and one result for each task (docs/protocol/internal-tools.md#batches).
//
//   E1. Every task that succeeded is reported, whatever became of the others: with some successes a batch is `partial`,
//       also when its deadline ended the rest. Only fail_fast and a caller that is gone make it `failed` regardless.

import type { BatchEnd, CardDocument, DueBatch, DueTask, JsonObject } from "@tessera/kernel";
import { cutMessage, isJsonObject, type JsonValue } from "@tessera/protocol";

const BATCH_AUTHOR = "sys.pmo.batch_manager";
type BatchStatus = "success" | "failed" | "timeout" | "partial";

const SUMMARY_FIELDS_MAX = 5;
/** Fifty summaries still fit into one card. */
const SUMMARY_CHARS_MAX = 4_000;
const FAILURES: ReadonlySet<DueTask["status"]> = new Set(["failed", "canceled", "timeout"]);

export const hasFailure = (batch: DueBatch): boolean => batch.tasks.some((task) => FAILURES.has(task.status));

export const isOpen = (task: DueTask): boolean => task.status === "pending" || task.status === "dispatched";

function batchStatus(batch: DueBatch): BatchStatus {
  const statuses = batch.tasks.map((task) => task.status);
  const has = (status: DueTask["status"]) => statuses.includes(status);
  if (statuses.every((status) => status === "success")) return "success";
  if (!batch.is_awaited || (batch.fail_fast && hasFailure(batch))) return "failed"; // E1
  if (has("success")) return "partial";
  if (has("failed")) return "failed";
  if (has("timeout")) return "timeout";
  return has("partial") ? "partial" : "failed";
}

/** The end of a batch whose tasks have all ended. `deliverables` are the cards its children delivered. */
export function batchEnd(batch: DueBatch, deliverables: readonly CardDocument[]): BatchEnd {
  const status = batchStatus(batch);
  const cards = new Map(deliverables.map((card) => [card.card_id, card]));
  const results = batch.tasks.map((task) => taskResult(task, cards.get(task.deliverable_card_id ?? "") ?? null));
  const done = batch.tasks.filter((task) => task.status === "success").length;
  const message = `${done} of ${batch.tasks.length} tasks succeeded`;
  return {
    batch_id: batch.batch_id,
    project_id: batch.project_id,
    status,
    result: { status, results },
    ...(status === "success"
      ? {}
      : {
          error: {
            code: "batch_failed",
            message,
            source: BATCH_AUTHOR,
            detail: { batch_id: batch.batch_id, status },
          },
        }),
  };
}

function taskResult(task: DueTask, deliverable: CardDocument | null): JsonObject {
  const hasDelivered = task.status === "success" || task.status === "partial";
  const summary = hasDelivered && deliverable !== null ? summaryOf(deliverable.content) : null;
  return {
    task_index: task.task_index,
    status: task.status,
    ...(summary === null ? {} : { summary }),
    ...(task.output_box_id === null ? {} : { output_box_id: task.output_box_id }),
    ...(task.status === "success" ? {} : { error: task.error_detail ?? { code: task.status, message: task.status } }),
  };
}

/** The first fields of a deliverable as `name: value`, or its text. */
export function summaryOf(content: JsonObject): string | null {
  if (typeof content.text === "string") return cutMessage(content.text, SUMMARY_CHARS_MAX);
  const data = content.data;
  if (!isJsonObject(data)) return null;
  if (!Array.isArray(data.fields)) return cutMessage(JSON.stringify(data), SUMMARY_CHARS_MAX);
  const parts = data.fields
    .filter(isJsonObject)
    .slice(0, SUMMARY_FIELDS_MAX)
    .map((field) => `${String(field.name)}: ${valueText(field.value)}`);
  return cutMessage(parts.join(" | "), SUMMARY_CHARS_MAX);
}

function valueText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
