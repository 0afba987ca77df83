// Ids of everything that a call brings into being.
//
//   I1. They follow from the call and the task's place in it alone. A call that is run again after a crash names the same
//       agents, cards, boxes and turns, finds them, and starts nothing twice.

import { createHash } from "node:crypto";

const HASH_CHARS = 32;
const ID_CHARS_MAX = 64;

export interface CallKey {
  readonly project_id: string;
  readonly tool_call_id: string;
}

export function idOfCall(prefix: string, call: CallKey, taskIndex: number): string {
  return `${prefix}_${hashOf(prefix, call, taskIndex)}`;
}

/**
 * A new agent's id begins with what it was made from, as far as an id has room for it
 * (docs/protocol/internal-tools.md#targets-and-context).
 */
export function agentIdOfCall(origin: string, call: CallKey, taskIndex: number): string {
  const start = origin.toLowerCase().slice(0, ID_CHARS_MAX - HASH_CHARS - 1);
  return `${start}_${hashOf("agent", call, taskIndex)}`;
}

/** The one turn that a task of a batch may ever start. */
export function turnIdOfTask(batchTaskId: string): string {
  return `turn_${createHash("sha256").update(batchTaskId).digest("hex").slice(0, HASH_CHARS)}`;
}

function hashOf(prefix: string, { project_id, tool_call_id }: CallKey, taskIndex: number): string {
  const said = JSON.stringify([project_id, tool_call_id, taskIndex, prefix]);
  return createHash("sha256").update(said).digest("hex").slice(0, HASH_CHARS);
}
