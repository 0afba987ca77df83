// What the UI worker needs from outside, in one record that its files pass on.

import type { Bus, Clock, Ids, Kernel, WhileAtWork } from "@tessera/kernel";
import type { ToolLogEntry, ToolProgress, ToolRunner } from "@tessera/tool";
import type { ProjectTools } from "@tessera/tool/catalog";

export interface UiWorkerOptions {
  readonly bus: Bus;
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Runs inline and isolated calls. */
  readonly runner: ToolRunner;
  /** Whether this process has the code of a tool that runs where its turn runs. */
  readonly isHosted: (toolName: string) => boolean;
  /** Work for one project only, as a tool host does; default all. */
  readonly project?: string;
  /** Actions whose tools run here at once. */
  readonly concurrencyMax?: number;
  readonly leaseMs?: number;
  /** Around all that is run of an action. */
  readonly whileAtWork?: WhileAtWork | undefined;
  readonly onLog?: (entry: ToolLogEntry) => void;
  readonly onProgress?: (toolCallId: string, update: ToolProgress) => void;
  readonly onWarning?: (warning: string) => void;
}

export interface UiWorld extends UiWorkerOptions {
  readonly workerId: () => string;
  readonly tools: ProjectTools;
  readonly onWarning: (warning: string) => void;
}
