// The conversation of an instance, begun anew: its later turns remember nothing from before.

import type { Kernel } from "@tessera/kernel";
import { errorOf, isErrorCode, isInstanceKey } from "@tessera/protocol";
import { agentIdOf, INSTANCE_KEY_DEFAULT } from "../instance.ts";
import { badInstanceKey, ENTRY_AUTHOR, unknownAgent } from "./enqueue-agent-turn.ts";

export interface InstanceReset {
  readonly project_id: string;
  readonly agent: string;
  readonly instance_key?: string;
  readonly reason?: string;
}

/** False: the instance has had no turn, so there was nothing to remember. */
export async function resetInstance(
  kernel: Pick<Kernel, "resetConversation"> & { readonly reads: Pick<Kernel["reads"], "profile" | "profiles"> },
  { project_id, agent, instance_key = INSTANCE_KEY_DEFAULT, reason }: InstanceReset,
): Promise<boolean> {
  if (!isInstanceKey(instance_key)) throw badInstanceKey();
  const agent_id = agentIdOf(project_id, agent, instance_key);
  const outcome = await kernel.resetConversation({
    ...{ project_id, agent_id, author_id: ENTRY_AUTHOR },
    reason,
  });
  if (outcome.outcome !== "rejected") return outcome.conversation_from > 1;
  if (outcome.code !== "not_found") {
    throw errorOf(isErrorCode(outcome.code) ? outcome.code : "internal_error", `${agent} was not reset`);
  }
  if ((await kernel.reads.profile(project_id, agent)) === null) throw await unknownAgent(kernel, project_id, agent);
  return false;
}
