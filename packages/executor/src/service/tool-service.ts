// A tool service: serves the commands of a target (the kernel's serveCommands) and runs their tools.

import { type CommandService, type OpenedCall, type ServeCommandsOptions, serveCommands } from "@tessera/kernel";
import { durableOfProject, SUBJECT_VERSION, type SubjectVersion, toolDurable } from "@tessera/protocol";
import type { AgentToolRuntime, ToolLogEntry, ToolRunner } from "@tessera/tool";
import { runTool } from "../calls/run-tool.ts";
import { progressPublisher } from "./progress.ts";

export interface ToolServiceOptions extends Omit<ServeCommandsOptions, "sources" | "work" | "onWarning"> {
  readonly runner: ToolRunner;
  /** Protocol versions of the commands it hears. */
  readonly versions?: readonly SubjectVersion[] | undefined;
  readonly runtimeFor?: ((call: OpenedCall) => AgentToolRuntime | undefined) | undefined;
  readonly onLog?: ((entry: ToolLogEntry) => void) | undefined;
  readonly onWarning?: ((warning: string) => void) | undefined;
}

const VERSIONS_DEFAULT: readonly SubjectVersion[] = [SUBJECT_VERSION];

export async function startToolService(options: ToolServiceOptions): Promise<CommandService> {
  const { bus, clock, target, project, runner, runtimeFor, onLog, onWarning = () => undefined } = options;
  const publishProgress = progressPublisher({ bus, clock });
  return await serveCommands({
    ...options,
    onWarning,
    sources: (options.versions ?? VERSIONS_DEFAULT).map((version) => ({
      pattern: `cg.${version}.${project ?? "*"}.*.cmd.tool.${target}.>`,
      durable: durableOfProject(toolDurable(target, version), project),
    })),
    work: ({ call }, signal) =>
      runTool(call, signal, {
        runner,
        onLog,
        runtime: runtimeFor?.(call),
        onProgress: publishProgress(call),
        onWarning,
      }),
  });
}
