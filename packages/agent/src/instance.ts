// Which agent is meant: a name and an instance key become one agent id of the roster.
//
//   I1. The id follows from project, name and key alone, so that two processes that want the same instance name the same
//       agent and no mapping is kept. The roster row's metadata holds name and key in the clear.

import { createHash } from "node:crypto";
import { type SharedWorkdir, safeLabel } from "@tessera/protocol";

export const INSTANCE_KEY_DEFAULT = "default";
const NAME_CHARS_KEPT = 40;
const HASH_CHARS = 16;

/** The id of an instance of an agent, as the roster and `AskedTurn.agentId` have it. */
export function agentIdOf(projectId: string, agentName: string, instanceKey: string = INSTANCE_KEY_DEFAULT): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([projectId, agentName, instanceKey]))
    .digest("hex");
  return `${safeLabel(agentName).slice(0, NAME_CHARS_KEPT)}_${hash.slice(0, HASH_CHARS)}`;
}

/** Metadata of the roster row. */
export type InstanceMetadata = {
  readonly agent_name: string;
  readonly instance_key: string;
  readonly owner_agent?: string;
  readonly owner_instance_key?: string;
  /** As it was asked for, relative to the workdir of the caller that made the instance. */
  readonly cwd?: string | undefined;
  /** Where that is. */
  readonly workdir?: SharedWorkdir | undefined;
  /** Inactive because its agent went out of its bundle: where the agent comes back, so does the instance. */
  readonly is_withdrawn?: true;
};
