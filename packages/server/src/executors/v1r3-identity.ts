// Identity in the body of a report: a v1r3 peer repeats the ids of its call there (docs/protocol/headers.md#v1r3-and-v1r4).
// Loaded with the first report that has some.
//
//   V1. A call that was sent as v1r3 may be reported with them, if each equals the call's own.
//   V2. A call that was sent as v1r4 may not: its identity is in the path, and a second one could only differ.
//   V3. The answer is the kernel's: the report goes there as one that it must refuse, so that a forged capability is still
//       reported first, and the refusal is noted like every other.

import type { Row } from "@tessera/kernel/ports";
import { CONTROL_FIELDS, type ControlField, parseSubject } from "@tessera/protocol";

const COLUMN_OF: Partial<Record<ControlField, string>> = {
  project_id: "project_id",
  channel_id: "channel_id",
  channel: "channel_id",
  agent_id: "agent_id",
  agent_turn_id: "agent_turn_id",
  turn_epoch: "turn_epoch",
  step_id: "step_id",
  tool_call_id: "tool_call_id",
  trace_id: "trace_id",
  parent_step_id: "parent_step_id",
  recursion_depth: "recursion_depth",
};

/** Identity fields of the body that this call's report may not hold, or not with this value. */
export function refusedIdentity(call: Row, body: Readonly<Record<string, unknown>>): ControlField[] {
  const fields = CONTROL_FIELDS.filter((field) => Object.hasOwn(body, field));
  if (parseSubject(String(call.target_subject))?.version !== "v1r3") return fields; // V2
  return fields.filter((field) => {
    const column = COLUMN_OF[field];
    return column === undefined || !isSame(body[field], call[column]); // V1
  });
}

/** Null says nothing, in the body as in the call. Numbers may come as text: they travelled in headers before. */
function isSame(said: unknown, stored: unknown): boolean {
  if (said === null) return true;
  return (typeof said === "string" || typeof said === "number") && stored !== null && String(said) === String(stored);
}
