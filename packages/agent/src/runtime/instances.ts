// Instances of defined agents: found in the roster, or made from the agent's profile.
//
//   N1. An undefined name is never made up: only a name that has a profile in the project can get an instance.
//   N2. (name, instance key) is one agent; a second request gets the one that exists, and its first owner stays.
//   N3. An instance keeps the profile it was made with until its bundle is deployed again.
//   N4. The operation that made an instance is kept with it: the same operation again gets the same answer.
//   N5. An id of ours that another agent has taken is no instance: it may run with another profile.

import type { Kernel } from "@tessera/kernel";
import { errorOf, isInstanceKey, isJsonObject, type SharedWorkdir } from "@tessera/protocol";
import { agentIdOf, type InstanceMetadata } from "../instance.ts";

export interface Instance {
  readonly agent_id: string;
  readonly agent_name: string;
  readonly instance_key: string;
  /** Made by this request, or by the same operation when it ran before (N4). */
  readonly isNew: boolean;
  readonly cwd?: string | undefined;
}

export interface InstanceRequest {
  readonly project_id: string;
  readonly agent_name: string;
  readonly instance_key: string;
  readonly owner_agent_id?: string;
  readonly owner?: { readonly agent_name: string; readonly instance_key: string };
  readonly cwd?: string;
  readonly workdir?: SharedWorkdir;
  /** Names what makes it, where that may be done again (N4). */
  readonly operation?: string;
}

/** What is stored with a roster row. */
interface StoredInstance extends InstanceMetadata {
  readonly operation?: string | undefined;
}

/** Null: no agent of this name is defined (N1). */
export async function ensureInstance(kernel: Kernel, request: InstanceRequest): Promise<Instance | null> {
  const { project_id, agent_name, instance_key } = request;
  if (!isInstanceKey(instance_key)) throw errorOf("bad_request", "instanceKey must match [A-Za-z0-9_:.@-]{1,128}");
  const agent_id = agentIdOf(project_id, agent_name, instance_key);
  const known = { agent_id, agent_name, instance_key };
  const row = await kernel.reads.agent(project_id, agent_id);
  if (row !== null) {
    const found = instanceOf(row);
    if (found?.agent_name !== agent_name || found.instance_key !== instance_key) {
      throw errorOf("conflict", `the agent ${agent_id} exists and is no instance of ${agent_name}`); // N5
    }
    const { operation, cwd } = (instanceOf(row) ?? {}) as Partial<StoredInstance>;
    const isNew = operation !== undefined && operation === request.operation; // N4
    return { ...known, isNew, cwd }; // N2
  }
  const profile = await kernel.reads.profile(project_id, agent_name);
  if (profile === null) return null;
  const metadata: StoredInstance = {
    agent_name,
    instance_key,
    ...(request.owner === undefined
      ? {}
      : { owner_agent: request.owner.agent_name, owner_instance_key: request.owner.instance_key }),
    cwd: request.cwd,
    workdir: request.workdir,
    operation: request.operation,
  };
  const outcome = await kernel.putAgent({
    project_id,
    agent_id,
    worker_target: profile.worker_target,
    profile_box_id: profile.profile_box_id,
    tags: profile.tags,
    display_name: agent_name,
    owner_agent_id: request.owner_agent_id,
    metadata: { ...metadata },
  });
  if (outcome.outcome === "rejected") throw errorOf(outcome.code, `no instance of ${agent_name} could be made`);
  return { ...known, isNew: true, cwd: request.cwd };
}

/** The instance behind a roster row. */
export function instanceOf(row: Readonly<Record<string, unknown>>): InstanceMetadata | null {
  const { metadata } = row;
  if (!isJsonObject(metadata) || typeof metadata.agent_name !== "string") return null;
  return metadata as InstanceMetadata;
}
