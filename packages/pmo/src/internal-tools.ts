// The internal tools by name, and the checks of a command before one of them runs (docs/protocol/internal-tools.md).

import type { Kernel, OpenedCall } from "@tessera/kernel";
import { type AfterExecution, isAfterExecution, TesseraError, type ToolCommand } from "@tessera/protocol";
import { type ForkJoinKernel, forkJoin } from "./batches/fork-join.ts";
import { delegate } from "./delegation/delegate.ts";
import { provision } from "./delegation/provision.ts";
import { askArguments, delegateArguments, launchArguments } from "./delegation/task-arguments.ts";
import type { ToolAnswer } from "./tool-answer.ts";

type InternalToolKernel = ForkJoinKernel & Pick<Kernel, "reads">;
type InternalTool = (kernel: InternalToolKernel, call: OpenedCall) => Promise<ToolAnswer>;

const INTERNAL_TOOLS = {
  delegate_async: async (kernel, call) => await delegate(kernel, call, delegateArguments(call.arguments)),
  launch_principal: async (kernel, call) => await delegate(kernel, call, launchArguments(call.arguments)),
  ask_expert: async (kernel, call) => await delegate(kernel, call, askArguments(call.arguments)),
  fork_join: forkJoin,
  provision_agent: provision,
} as const satisfies Record<string, InternalTool>;

export type InternalToolName = keyof typeof INTERNAL_TOOLS;
export const INTERNAL_TOOL_NAMES = Object.keys(INTERNAL_TOOLS) as readonly InternalToolName[];

/** Internal tools have no row of their own: what they do afterwards is part of what they are. */
const AFTER_EXECUTION: AfterExecution = "suspend";
const ROUTE_PREFIX = "internal.";

/** The tool that a claimed command is for; throws with the code that answers the call. */
export function internalToolOf(
  { subject, command }: ToolCommand,
  call: OpenedCall,
  offered: readonly InternalToolName[],
): InternalTool {
  const name = subject.suffix.startsWith(ROUTE_PREFIX) ? subject.suffix.slice(ROUTE_PREFIX.length) : "";
  const known = INTERNAL_TOOL_NAMES.find((tool) => tool === name);
  if (known === undefined || call.tool_name !== name || command.tool_name !== name) {
    throw new TesseraError("unsupported_pmo_route", `no internal tool answers ${JSON.stringify(name)} here`);
  }
  if (!offered.includes(known)) throw new TesseraError("not_implemented", `this PMO does not offer ${known}`);
  if (call.tool_digest !== null && call.definition === null) {
    throw new TesseraError("tool_definition_missing", `the definition that ${known} was called with is gone`);
  }
  const registered = call.definition?.after_execution;
  const defined = isAfterExecution(registered) ? registered : AFTER_EXECUTION;
  if (command.after_execution !== defined || call.after_execution !== defined) {
    throw new TesseraError("after_execution_mismatch", `${known} is defined with ${defined}`);
  }
  return INTERNAL_TOOLS[known];
}
