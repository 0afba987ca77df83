// Streams and durable consumers of a broker that keeps messages.
//
//   D1. Instances of one system share a durable; different systems never do.
//   D2. `str` subjects have no stream: they may be lost and must never change state.

import { createHash } from "node:crypto";
import { DURABLE_CHARS_MAX } from "./limits.ts";
import { SUBJECT_VERSION, type SubjectVersion, safeLabel } from "./subject.ts";

const HOUR_MS = 3_600_000;

export interface StreamSpec {
  readonly name: string;
  readonly filter: string;
  readonly max_age_ms: number;
}

export function streamsOf(version: SubjectVersion = SUBJECT_VERSION): readonly StreamSpec[] {
  return [
    { name: `cg_cmd_${version}`, filter: `cg.${version}.*.*.cmd.>`, max_age_ms: 24 * HOUR_MS },
    { name: `cg_evt_${version}`, filter: `cg.${version}.*.*.evt.>`, max_age_ms: 7 * 24 * HOUR_MS },
  ];
}

/** Durable names of our services; tools share one per target. */
export function workerDurable(worker_target: string, version: SubjectVersion = SUBJECT_VERSION): string {
  return `agent_worker_${safeLabel(worker_target)}_wakeup_${version}`;
}

export function toolDurable(target: string, version: SubjectVersion = SUBJECT_VERSION): string {
  return `tool_${safeLabel(target)}_cmd_${version}`;
}

export function pmoDurable(version: SubjectVersion = SUBJECT_VERSION): string {
  return `pmo_service_cmd_${version}`;
}

export function batchDurable(version: SubjectVersion = SUBJECT_VERSION): string {
  return `pmo_batch_evt_task_${version}`;
}

/** The durable of a subscription that names none: `{queue}_{subject}` made safe, or the queue and a hash if too long. */
export function defaultDurable(queue: string, subject: string): string {
  const name = `${queue}_${subject.replaceAll(".", "_").replaceAll("*", "ALL").replaceAll(">", "REST")}`;
  if (name.length <= DURABLE_CHARS_MAX) return name;
  const hash = createHash("md5").update(name).digest("hex").slice(0, 8);
  return `${queue.slice(0, DURABLE_CHARS_MAX - 9)}_${hash}`;
}
