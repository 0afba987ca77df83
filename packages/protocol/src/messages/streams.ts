// Streams and durable consumers of a broker that keeps messages.
//
//   D1. Instances of one system share a durable; different systems never do.
//   D2. `str` subjects have no stream: they may be lost and must never change state.
//   D3. No two pairs of a target and a project meet in one durable, though both are any tokens: a name that could be read in
//       two ways ends in a part of its hash.

import { createHash } from "node:crypto";
import { SUBJECT_VERSION, SUBJECT_VERSIONS, type SubjectVersion, safeLabel } from "./subject.ts";

/** Stands between a target and a project, once. */
const VERSION_MARK = "_v1r";
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

/** What a broker should have for us: the streams of the current version, and one for the commands to peers of an older one. */
export function streamsKept(): readonly StreamSpec[] {
  return SUBJECT_VERSIONS.flatMap((version) => {
    const streams = streamsOf(version);
    return version === SUBJECT_VERSION ? streams : streams.filter(({ filter }) => filter.endsWith(".cmd.>"));
  });
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

/** The durable of a service that hears one project only; without a project the one that hears all (D3). */
export function durableOfProject(durable: string, project_id: string | undefined): string {
  if (project_id === undefined) return durable;
  const name = `${durable}_${project_id}`;
  const isOneWay = name.split(VERSION_MARK).length === 2;
  return isOneWay
    ? name
    : `${name}_${createHash("sha256").update(`${durable}.${project_id}`).digest("hex").slice(0, 24)}`;
}
