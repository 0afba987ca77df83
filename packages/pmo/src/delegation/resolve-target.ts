// Which agent is meant by a strategy and a name, and whether the caller may use it
// (docs/protocol/internal-tools.md#targets-and-context). Only reads: a batch of which one task cannot be done starts none.
//
//   new     a new agent of the profile
//   reuse   this agent, which goes on in the box it wrote last
//   clone   a new agent with this agent's profile, which is handed what this agent wrote

import type { AgentRecord, Kernel } from "@tessera/kernel";
import { isDelegationAllowed } from "@tessera/protocol";
import { agentIdOfCall, idOfCall } from "../call-ids.ts";
import { isRefused, type Refused, refused } from "../tool-answer.ts";
import { type Caller, type ProfileFacts, profileOfBox, textOf } from "./caller.ts";
import type { TaskArguments } from "./task-arguments.ts";

export interface Target {
  readonly agent_id: string;
  readonly profile_box_id: string;
  /** The roster row to write first; null for an agent that exists. */
  readonly newcomer: AgentRecord | null;
  /** Boxes whose cards come first in the child's context. */
  readonly inherited: readonly string[];
  readonly output_box_id: string | null;
}

export async function resolveTarget(
  reads: Kernel["reads"],
  caller: Caller,
  task: TaskArguments,
  taskIndex: number,
): Promise<Target | Refused> {
  const handedOver = await handedOverBoxes(reads, caller, task);
  if (isRefused(handedOver)) return handedOver;
  const found = await (task.target_strategy === "new"
    ? newAgent(reads, caller, task, taskIndex)
    : existingAgent(reads, caller, task, taskIndex));
  if (isRefused(found)) return found;
  return { ...found, inherited: [...found.inherited, ...handedOver.boxes] };
}

/** The caller's right to give work to a profile. */
export function denied({ policy }: Caller, profile: ProfileFacts, agentId?: string): Refused | null {
  if (isDelegationAllowed(policy, profile)) return null;
  const message = `the caller's delegation policy does not allow the profile ${JSON.stringify(profile.name)}`;
  return refused("delegation_denied", message, agentId);
}

async function newAgent(
  reads: Kernel["reads"],
  caller: Caller,
  { target_ref }: TaskArguments,
  taskIndex: number,
): Promise<Target | Refused> {
  const { call } = caller;
  const profile = await reads.profile(call.project_id, target_ref);
  if (profile === null) return refused("profile_not_found", `there is no profile named ${JSON.stringify(target_ref)}`);
  const denial = denied(caller, profile);
  if (denial !== null) return denial;
  const { profile_box_id, worker_target, tags, name } = profile;
  const agent_id = agentIdOfCall(profile_box_id, call, taskIndex);
  const newcomer: AgentRecord = {
    project_id: call.project_id,
    agent_id,
    profile_box_id,
    worker_target,
    tags,
    display_name: name,
    owner_agent_id: call.agent_id,
    metadata: { agent_name: name, created_by_tool_call_id: call.tool_call_id },
    identity_edge: identityEdge(caller, "create", call.agent_id, taskIndex),
  };
  return { agent_id, profile_box_id, newcomer, inherited: [], output_box_id: null };
}

async function existingAgent(
  reads: Kernel["reads"],
  caller: Caller,
  { target_strategy, target_ref }: TaskArguments,
  taskIndex: number,
): Promise<Target | Refused> {
  const { call } = caller;
  const [agent, head] = await Promise.all([
    reads.agent(call.project_id, target_ref),
    reads.head(call.project_id, target_ref),
  ]);
  if (agent === null || agent.status !== "active") {
    return refused("agent_not_found", `there is no agent ${JSON.stringify(target_ref)}`);
  }
  const profileBox = textOf(agent.profile_box_id);
  const profile = profileBox === null ? null : await profileOfBox(reads, call.project_id, profileBox);
  if (profileBox === null || profile === null) {
    return refused("profile_not_found", `the agent ${target_ref} has no profile`, target_ref);
  }
  const denial = denied(caller, profile, target_ref);
  if (denial !== null) return denial;
  const written = textOf(head?.output_box_id) ?? textOf(head?.last_output_box_id);
  if (target_strategy === "reuse") {
    const base = { agent_id: target_ref, profile_box_id: profileBox, newcomer: null };
    return { ...base, inherited: [], output_box_id: written };
  }
  if (written === null) {
    return refused("bad_request", `the agent ${target_ref} has written nothing that a clone could have`, target_ref);
  }
  const agent_id = agentIdOfCall(target_ref, call, taskIndex);
  const newcomer: AgentRecord = {
    project_id: call.project_id,
    agent_id,
    profile_box_id: profileBox,
    worker_target: String(agent.worker_target),
    tags: agent.tags as string[],
    display_name: textOf(agent.display_name) ?? profile.name,
    owner_agent_id: call.agent_id,
    metadata: { agent_name: profile.name, derived_from: target_ref, created_by_tool_call_id: call.tool_call_id },
    identity_edge: identityEdge(caller, "derive", target_ref, taskIndex),
  };
  return { agent_id, profile_box_id: profileBox, newcomer, inherited: [written], output_box_id: null };
}

export function identityEdge({ call }: Caller, action: string, source_agent_id: string, taskIndex: number) {
  return {
    edge_id: idOfCall("edge", call, taskIndex),
    action,
    source_agent_id,
    channel_id: call.channel_id,
    trace_id: call.trace_id,
    parent_step_id: call.step_id,
  };
}

/** The boxes that the task names for handing over; only the caller's own may be. */
async function handedOverBoxes(
  reads: Kernel["reads"],
  { call, inheritable, output_box_id }: Caller,
  { context_box_id, include_history }: TaskArguments,
): Promise<{ readonly boxes: readonly string[] } | Refused> {
  if (include_history === true) return { boxes: [output_box_id] };
  if (context_box_id === undefined) return { boxes: [] };
  if (inheritable.has(context_box_id)) return { boxes: [context_box_id] };
  if ((await reads.box(call.project_id, context_box_id)) === null) {
    return refused("not_found", `inherit_context: there is no box ${context_box_id}`);
  }
  return refused("auth_failed", `inherit_context: unauthorized box_id ${context_box_id}`);
}
