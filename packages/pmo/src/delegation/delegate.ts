// delegate_async, launch_principal, ask_expert: a child turn is started and nobody waits for it
// (docs/protocol/internal-tools.md#results).
//
//   L1. The child's turn id follows from the call. If that turn is there, the call has done its work already, and what is
//       stored is the answer, whatever has changed since.
//   L2. Depth and the trace's budget are the kernel's to judge; what it refuses is the tool's result (docs/faults.md#f43,
//       docs/faults.md#f44).

import type { Kernel, OpenedCall, Row } from "@tessera/kernel";
import { RECURSION_DEPTH_MAX, traceparentOf } from "@tessera/protocol";
import { idOfCall } from "../call-ids.ts";
import { isRefused, type Refused, refused, type ToolAnswer } from "../tool-answer.ts";
import { isWritten } from "../write-outcome.ts";
import { readCaller } from "./caller.ts";
import { packContext } from "./pack-context.ts";
import { resolveTarget, type Target } from "./resolve-target.ts";
import type { TaskArguments } from "./task-arguments.ts";

export type DelegationKernel = Pick<Kernel, "putAgent" | "putCard" | "putBox" | "enqueueTurn" | "reads">;

export async function delegate(kernel: DelegationKernel, call: OpenedCall, task: TaskArguments): Promise<ToolAnswer> {
  const { project_id } = call;
  const agent_turn_id = idOfCall("turn", call, 0);
  const started = await kernel.reads.turn(project_id, agent_turn_id);
  if (started !== null) return acceptedTurn(started); // L1
  const tooDeep = depthRefusal(call);
  if (tooDeep !== null) return tooDeep;
  const caller = await readCaller(kernel.reads, call);
  const target = await resolveTarget(kernel.reads, caller, task, 0);
  if (isRefused(target)) return target;
  const box = await prepareChild(kernel, call, target, { index: 0, instruction: task.instruction });
  if (typeof box !== "string") return box;
  const outcome = await kernel.enqueueTurn({
    project_id,
    agent_id: target.agent_id,
    agent_turn_id,
    correlation_id: agent_turn_id,
    channel_id: call.channel_id,
    trace_id: call.trace_id,
    parent_traceparent: traceparentOf(call.trace_id, call.span_id),
    parent_agent_turn_id: call.agent_turn_id,
    parent_step_id: call.step_id,
    profile_box_id: target.profile_box_id,
    context_box_id: box,
    ...(target.output_box_id === null ? {} : { output_box_id: target.output_box_id }),
    source_agent_id: call.agent_id,
    // Nobody waits for it (`awaited`): it may ask whoever asked for it.
    metadata: { tool_call_id: call.tool_call_id, target_strategy: task.target_strategy, awaited: false },
  });
  if (outcome.outcome === "rejected") {
    return refused(outcome.code, `the turn of ${target.agent_id} was refused: ${outcome.code}`, target.agent_id); // L2
  }
  return acceptedTurn((await kernel.reads.turn(project_id, agent_turn_id)) ?? {});
}

/** Said before anything is made, so that a call too deep leaves no agents behind. */
export function depthRefusal(call: OpenedCall): Refused | null {
  if (call.recursion_depth + 1 < RECURSION_DEPTH_MAX) return null;
  return refused("recursion_depth_exceeded", `agents call each other ${RECURSION_DEPTH_MAX} deep here`);
}

/** Writes the child's roster row, if it is new, and its context box. Answers the box. */
export async function prepareChild(
  kernel: Pick<DelegationKernel, "putAgent" | "putCard" | "putBox" | "reads">,
  call: OpenedCall,
  target: Target,
  task: { readonly index: number; readonly instruction: string },
): Promise<string | Refused> {
  if (target.newcomer !== null && !isWritten(await kernel.putAgent(target.newcomer), "not_found")) {
    return refused("profile_box_missing", `the box ${target.profile_box_id} of the profile does not exist`);
  }
  return await packContext(kernel, call, { ...task, inherited: target.inherited });
}

function acceptedTurn(turn: Row): ToolAnswer {
  return {
    accepted: {
      status: "accepted",
      agent_id: String(turn.agent_id),
      agent_turn_id: String(turn.agent_turn_id),
      // Known only while the agent is at this turn; null while it waits in the queue, and after its end.
      turn_epoch: typeof turn.turn_epoch === "number" ? turn.turn_epoch : null,
      context_box_id: String(turn.context_box_id),
      output_box_id: String(turn.output_box_id),
    },
  };
}
