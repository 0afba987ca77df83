// What a call says of the instance that made it, beside its ids. It stands in the metadata of the `tool.call` card and, for
// executors over HTTP, in `caller` of the claimed call. The worker that committed the call wrote it; a field of another
// shape counts as absent, because an older build wrote less.

import { isJsonObject } from "../json/json-value.ts";

/** Where the tools of a spawned instance work: a directory in the workspace of the agent that made it, or of one before. */
export type SharedWorkdir = {
  readonly agent_id: string;
  /** From that workspace on, names with `/` between them; empty for the workspace itself. */
  readonly path: string;
};

export type CallerFacts = {
  /** Of the agent's resource and instance, where they differ from the ids. */
  readonly agent_name?: string;
  readonly instance_key?: string;
  /** Absent: a workspace of its own. */
  readonly workdir?: SharedWorkdir;
};

export function readCallerFacts(metadata: unknown): CallerFacts {
  if (!isJsonObject(metadata)) return {};
  const { agent_name, instance_key } = metadata;
  const workdir = readSharedWorkdir(metadata.workdir);
  return {
    ...(typeof agent_name === "string" ? { agent_name } : {}),
    ...(typeof instance_key === "string" ? { instance_key } : {}),
    ...(workdir === null ? {} : { workdir }),
  };
}

/** Null where there is none. Whether the path may be used is for the host that opens it to check. */
export function readSharedWorkdir(value: unknown): SharedWorkdir | null {
  if (!isJsonObject(value)) return null;
  const { agent_id, path } = value;
  return typeof agent_id === "string" && typeof path === "string" ? { agent_id, path } : null;
}
