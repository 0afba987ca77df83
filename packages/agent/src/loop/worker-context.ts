// What a worker of turns is started with, and what its files share while it runs.

import type { Bus, Clock, Ids, Kernel, ResumeOutcome, WhileAtWork } from "@tessera/kernel";
import type { AgentToolRuntime, ToolLogEntry, ToolProgress, ToolRunner } from "@tessera/tool";
import type { ProjectTools } from "@tessera/tool/catalog";
import type { ExtensionHost } from "../extensions/extension-host.ts";
import type { ModelPort } from "../model-port.ts";
import type { RuntimeCaller } from "../runtime/agent-runtime.ts";
import type { BoxCache } from "./box-cache.ts";
import type { Conversations } from "./conversation.ts";
import type { TurnDriver } from "./turn-driver.ts";

/** A turn that this worker holds. */
export type Turn = Extract<ResumeOutcome, { outcome: "accepted" }>;

export interface AgentWorkerOptions {
  readonly bus: Bus;
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly models: ModelPort;
  /** Runs inline and isolated calls. */
  readonly runner: ToolRunner;
  /** Whether this process has the code of a tool that runs where its turn runs. */
  readonly isHosted: (toolName: string) => boolean;
  readonly workerTargets?: readonly string[];
  /** Work for one project only; default all. */
  readonly project?: string;
  /** Decides what turns do; default: the model of the agent's profile. */
  readonly driver?: TurnDriver;
  /** The same, loaded with the first turn. */
  readonly loadDriver?: () => Promise<TurnDriver>;
  /** The durable consumer of a target's wakeups; default: the agent workers' (`workerDurable`). */
  readonly durableOf?: (workerTarget: string) => string;
  /** Turns that run at once; suspended ones cost nothing. */
  readonly concurrencyMax?: number | undefined;
  readonly leaseMs?: number | undefined;
  readonly extensions?: ExtensionHost;
  /** Around all that is run of a turn. */
  readonly whileAtWork?: WhileAtWork | undefined;
  readonly onLog?: ((entry: ToolLogEntry) => void) | undefined;
  readonly onProgress?: ((toolCallId: string, update: ToolProgress) => void) | undefined;
  readonly onWarning?: (warning: string) => void;
}

export interface WorkerContext extends AgentWorkerOptions {
  /** This process goes away: turns stop behind the step they are in. */
  readonly isDraining: () => boolean;
  /** Under which this process takes turns now. */
  readonly workerId: () => string;
  /** `ctx.runtime` for a local call of a turn. */
  readonly runtimeFor: (caller: RuntimeCaller, signal: AbortSignal) => AgentToolRuntime;
  readonly tools: ProjectTools;
  /** Where the cards of turns are read. */
  readonly boxes: BoxCache;
  readonly conversations: Conversations;
  /** Whether a wakeup of this agent came while its turn ran here, since the last look. */
  readonly wasWoken: (agent: { readonly project_id: string; readonly agent_id: string }) => boolean;
  readonly onWarning: (warning: string) => void;
}
