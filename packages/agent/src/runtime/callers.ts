// Who asked for a turn, and who for theirs.

import type { Kernel } from "@tessera/kernel";
import type { InstanceMetadata } from "../instance.ts";
import { CHAIN_MAX } from "./awaited-turn.ts";
import { instanceOf } from "./instances.ts";

interface AskedFor {
  readonly project_id: string;
  readonly parent_agent_id: string | null;
  readonly parent_agent_turn_id: string | null;
}

/** The agents behind a turn, who asked for it last. Empty where no agent did. */
export async function callersOf(
  { reads }: Pick<Kernel, "reads">,
  { project_id, parent_agent_id, parent_agent_turn_id }: AskedFor,
): Promise<readonly InstanceMetadata[]> {
  const callers: InstanceMetadata[] = [];
  let [agentId, turnId]: (string | null)[] = [parent_agent_id, parent_agent_turn_id];
  while (agentId && callers.length < CHAIN_MAX) {
    const row = await reads.agent(project_id, agentId);
    const caller = row === null ? null : instanceOf(row);
    if (caller === null) break;
    callers.unshift(caller);
    const turn = turnId ? await reads.turn(project_id, turnId) : null;
    agentId = typeof turn?.parent_agent_id === "string" ? turn.parent_agent_id : null;
    turnId = typeof turn?.parent_agent_turn_id === "string" ? turn.parent_agent_turn_id : null;
  }
  return callers;
}
