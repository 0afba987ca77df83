// A tool service: serves the commands of a target (the kernel's serveCommands) and runs their tools.
//
//   S1. Name, after_execution and arguments come from the card and the pinned definition; a command that says otherwise is
//       counted, not obeyed.

import {
  type ClaimedCall,
  type CommandService,
  type OpenedCall,
  type ServeCommandsOptions,
  serveCommands,
  unwatched,
  type WhileAtWork,
} from "@tessera/kernel";
import { durableOfProject, SUBJECT_VERSION, type SubjectVersion, toolDurable } from "@tessera/protocol";
import type { AgentToolRuntime, ToolLogEntry, ToolRunner } from "@tessera/tool";
import { runOpenedCall } from "../calls/run-opened-call.ts";
import { progressPublisher } from "./progress.ts";

export interface ToolServiceOptions extends Omit<ServeCommandsOptions, "sources" | "work" | "onWarning"> {
  readonly runner: ToolRunner;
  /** Protocol versions of the commands it hears. */
  readonly versions?: readonly SubjectVersion[] | undefined;
  /** Around each call that is run. */
  readonly whileAtWork?: WhileAtWork | undefined;
  readonly runtimeFor?: ((call: OpenedCall) => AgentToolRuntime | undefined) | undefined;
  readonly onLog?: ((entry: ToolLogEntry) => void) | undefined;
  readonly onWarning?: ((warning: string) => void) | undefined;
}

const VERSIONS_DEFAULT: readonly SubjectVersion[] = [SUBJECT_VERSION];

export async function startToolService(options: ToolServiceOptions): Promise<CommandService> {
  const { bus, clock, target, project, runner, runtimeFor, onLog, whileAtWork = unwatched } = options;
  const publishProgress = progressPublisher({ bus, clock });
  return await serveCommands({
    ...options,
    onWarning: options.onWarning ?? (() => undefined),
    sources: (options.versions ?? VERSIONS_DEFAULT).map((version) => ({
      pattern: `cg.${version}.${project ?? "*"}.*.cmd.tool.${target}.>`,
      durable: durableOfProject(toolDurable(target, version), project),
    })),
    async work(claimed) {
      const { call } = claimed;
      countDifferences(claimed);
      const run = { runner, onLog, runtime: runtimeFor?.(call), onProgress: publishProgress(call) };
      const atWork = { agent_turn_id: call.agent_turn_id, isSuspect: call.attempt > 1 };
      return await whileAtWork(atWork, () => runOpenedCall(call, { ...claimed.options, ...run }));
    },
  });
}

/** S1 */
function countDifferences({ call, command: { command, dropped, trace_restarted }, count }: ClaimedCall): void {
  if (dropped.length > 0) count("dropped_fields");
  if (trace_restarted) count("trace_restarted");
  const { after_execution, tool_name } = command;
  if (after_execution !== null && after_execution !== call.after_execution) count("after_execution_mismatch");
  if (tool_name !== null && tool_name !== call.tool_name) count("tool_name_mismatch");
}
