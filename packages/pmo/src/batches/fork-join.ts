// fork_join: a call becomes a batch of child turns, and the batch answers it.
//
//   J1. All tasks are checked before anything is made; one that cannot be done refuses the call.
//   J2. Agents, boxes and the batch have ids of the call, so a run that died on the way is done again without doubling
//       anything. Once the batch is open the call is its own: no lease, and any PMO carries it on.

import type { Kernel, OpenedCall } from "@tessera/kernel";
import { TesseraError } from "@tessera/protocol";
import { idOfCall } from "../call-ids.ts";
import { readCaller } from "../delegation/caller.ts";
import { type DelegationKernel, depthRefusal, prepareChild } from "../delegation/delegate.ts";
import { resolveTarget, type Target } from "../delegation/resolve-target.ts";
import { forkJoinArguments } from "../delegation/task-arguments.ts";
import { isRefused, type Refused, type ToolAnswer } from "../tool-answer.ts";

export type ForkJoinKernel = DelegationKernel & Pick<Kernel, "openBatch">;

export async function forkJoin(kernel: ForkJoinKernel, call: OpenedCall): Promise<ToolAnswer> {
  const { tasks, fail_fast, deadline_ms } = forkJoinArguments(call.arguments, call);
  const tooDeep = depthRefusal(call);
  if (tooDeep !== null) return tooDeep;
  const caller = await readCaller(kernel.reads, call);
  const resolved = await Promise.all(tasks.map((task, index) => resolveTarget(kernel.reads, caller, task, index)));
  const targets: Target[] = [];
  for (const [index, target] of resolved.entries()) {
    if (isRefused(target)) return ofTask(index, target); // J1
    targets.push(target);
  }
  const boxes = await Promise.all(
    targets.map((target, index) =>
      prepareChild(kernel, call, target, { index, instruction: tasks[index]?.instruction ?? "" }),
    ),
  );
  const missing = boxes.findIndex((box) => typeof box !== "string");
  if (missing >= 0) return ofTask(missing, boxes[missing] as Refused);

  const outcome = await kernel.openBatch({
    project_id: call.project_id,
    tool_call_id: call.tool_call_id,
    capability: call.capability,
    batch_id: idOfCall("batch", call, 0),
    deadline_ms,
    fail_fast,
    tasks: targets.map((target, index) => ({
      batch_task_id: idOfCall("bt", call, index),
      agent_id: target.agent_id,
      profile_box_id: target.profile_box_id,
      context_box_id: boxes[index] as string,
      ...(target.output_box_id === null ? {} : { output_box_id: target.output_box_id }),
      metadata: { task_index: index, target_strategy: tasks[index]?.target_strategy },
    })),
  });
  if (outcome.outcome !== "rejected") return "withheld"; // J2
  throw new TesseraError(outcome.code, `the batch of ${call.tool_call_id} was not opened: ${outcome.code}`);
}

function ofTask(index: number, refusal: Refused): Refused {
  return { ...refusal, message: `fork_join: args.tasks[${index}]: ${refusal.message}` };
}
