// Who asks: the policy of the caller's profile, and the boxes it may hand on.
//
//   C1. Everything comes from the stored turn and head, nothing from the command.
//   C2. The profile is the one the turn began with, whatever its name means today.
//   C3. A turn may be in another agent's name (an operator's call): then policy, boxes and property are that agent's. Only
//       the stored turn can say so, and nothing that an agent or a tool sends gets there.

import type { Kernel, OpenedCall } from "@tessera/kernel";
import { type DelegationPolicy, isJsonObject, readDelegationPolicy } from "@tessera/protocol";

export interface Caller {
  readonly call: OpenedCall;
  readonly policy: DelegationPolicy | null;
  /** The boxes it may hand on (docs/protocol/internal-tools.md#targets-and-context). */
  readonly inheritable: ReadonlySet<string>;
  readonly output_box_id: string;
}

/** What the PMO reads of a profile. */
export interface ProfileFacts {
  readonly profile_box_id: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly worker_target: string | null;
}

/** The call as the agent's in whose name it was made (C3). */
export async function inCallersName(reads: Kernel["reads"], call: OpenedCall): Promise<OpenedCall> {
  const turn = await reads.turn(call.project_id, call.agent_turn_id);
  const config = turn?.runtime_config;
  const name = isJsonObject(config) ? textOf(config.in_name_of) : null;
  return name === null ? call : { ...call, agent_id: name };
}

export async function readCaller(reads: Kernel["reads"], call: OpenedCall): Promise<Caller> {
  const [turn, head] = await Promise.all([
    reads.turn(call.project_id, call.agent_turn_id),
    reads.head(call.project_id, call.agent_id),
  ]);
  const profileBox = textOf(turn?.profile_box_id); // C2
  const document = profileBox === null ? null : await profileDocument(reads, call.project_id, profileBox);
  const boxes = [
    turn?.profile_box_id,
    turn?.context_box_id,
    turn?.output_box_id,
    head?.memory_context_box_id,
    head?.last_output_box_id,
  ];
  return {
    call,
    policy: readDelegationPolicy(document?.delegation_policy),
    inheritable: new Set(boxes.map(textOf).filter((box) => box !== null)),
    output_box_id: String(turn?.output_box_id),
  };
}

/** The profile in a box: by the name that means it today, else by its own document. */
export async function profileOfBox(
  reads: Kernel["reads"],
  projectId: string,
  boxId: string,
): Promise<ProfileFacts | null> {
  const row = await reads.profileByBox(projectId, boxId);
  if (row !== null) return row;
  const document = await profileDocument(reads, projectId, boxId);
  const name = textOf(document?.name);
  if (document === null || name === null) return null;
  const tags = Array.isArray(document.tags) ? document.tags.filter((tag) => typeof tag === "string") : [];
  return { profile_box_id: boxId, name, tags, worker_target: textOf(document.worker_target) };
}

async function profileDocument(reads: Kernel["reads"], projectId: string, boxId: string) {
  const cards = await reads.boxCards(projectId, boxId);
  const data = cards.find((card) => card.type === "sys.profile")?.content.data;
  return isJsonObject(data) ? data : null;
}

export function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
