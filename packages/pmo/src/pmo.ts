// The PMO: answers the internal tools (the kernel's serveCommands), and carries on batches and stopped turns.
//
//   S1. What an internal tool makes has ids of its call, so a run that died half-way is done again by the next claim
//       without doubling anything: the tools are `idempotent`.
//   S2. A batch that waits for its children takes no place of those that work at once.

import {
  type Bus,
  type Clock,
  type Ids,
  type Kernel,
  type OpenedCall,
  serveCommands,
  type WorkedCall,
} from "@tessera/kernel";
import { pmoDurable, SUBJECT_VERSION, TesseraError, type ToolCommand } from "@tessera/protocol";
import { startReconciler } from "./batches/reconciler.ts";
import { inCallersName } from "./delegation/caller.ts";
import { INTERNAL_TOOL_NAMES, type InternalToolName, internalToolOf } from "./internal-tools.ts";
import { contentOf, failedContent } from "./tool-answer.ts";

export interface PmoOptions {
  readonly bus: Bus;
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly ids: Ids;
  /** This process's name in claims. */
  readonly executor: string;
  readonly concurrencyMax?: number | undefined;
  /** Default: all of them. */
  readonly tools?: readonly InternalToolName[] | undefined;
  readonly onWarning?: (warning: string) => void;
}

export interface Pmo {
  /** How often each answer was given: result statuses, `withheld`, codes of refused commands. */
  readonly counts: ReadonlyMap<string, number>;
  /** Looks after batches and stopped turns now, without waiting for the next second. */
  reconcile(): Promise<void>;
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/** The target of its commands, as the kernel names it (l0.target_of). */
const PMO_TARGET = "sys.pmo";

export async function startPmo(options: PmoOptions): Promise<Pmo> {
  const { kernel, onWarning = () => undefined } = options;
  const offered = options.tools ?? INTERNAL_TOOL_NAMES;

  async function answer(command: ToolCommand, call: OpenedCall): Promise<WorkedCall | "withheld"> {
    try {
      const tool = internalToolOf(command, call, offered);
      const result = await tool(kernel, await inCallersName(kernel.reads, call));
      return result === "withheld" ? result : { content: contentOf(result, call) };
    } catch (error) {
      if (!TesseraError.is(error)) onWarning(`${call.tool_name} failed: ${String(error)}`);
      return { content: failedContent(error, call) };
    }
  }

  const reconciler = await startReconciler({ ...options, onWarning });
  const service = await serveCommands({
    ...options,
    onWarning,
    target: PMO_TARGET,
    sources: [{ pattern: `cg.${SUBJECT_VERSION}.*.*.cmd.sys.pmo.>`, durable: pmoDurable() }],
    async work({ call, command }) {
      const worked = await answer(command, call);
      if (worked === "withheld") void reconciler.look(); // S2
      return worked;
    },
  }).catch(async (error) => {
    await reconciler.stop();
    throw error;
  });

  return {
    counts: service.counts,
    reconcile: () => reconciler.look(),
    async stop(stop) {
      await Promise.all([service.stop(stop), reconciler.stop()]);
    },
  };
}
