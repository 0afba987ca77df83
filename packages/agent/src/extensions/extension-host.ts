// What the loop asks of extensions: a layer around each turn, step and tool call, and tools of their own.
//
//   X1. An extension that fails, or is not here, is reported and fails closed: what it was to wrap does not run. Only one with
//       `onError: skip` is left out. A failure of what it wraps is the turn's failure, whatever the extension makes of it.
//   X2. A process without extensions runs no turn of a profile that lists one (`requireNone`): it would run unguarded.

import { buildErrorResultFromException, errorOf, type JsonObject, type ToolResultContent } from "@tessera/protocol";
import type { RegisteredTool, RunFailure, ToolDefinition, ToolInvocation } from "@tessera/tool";
import type { CallRequest, PlannedCall } from "@tessera/tool/catalog";
import type { LocalCallOrder } from "@tessera/tool/run";
import type { Ending } from "../loop/finish-turn.ts";
import type { StepEnd } from "../loop/take-step.ts";
import type { TurnSession } from "../loop/turn-session.ts";
import type { AgentProfile } from "../profile.ts";

/** Plans one call again, with the arguments that the layers left. */
export type ReplanCall = (request: CallRequest) => PlannedCall;

export interface ExtensionHost {
  /** `run` takes the turn as far as it can go now; how it is to end is committed when the layers have returned. */
  aroundTurn(session: TurnSession, run: () => Promise<Ending | null>): Promise<Ending | null>;
  /** `run` takes the step with the tools that are left to offer. */
  aroundStep(
    session: TurnSession,
    step: number,
    run: (offered: readonly RegisteredTool[]) => Promise<StepEnd>,
  ): Promise<StepEnd>;
  /** Around a call that runs here. `run` takes the arguments that the layers left. */
  aroundToolCall(
    session: TurnSession,
    call: {
      readonly order: LocalCallOrder;
      readonly definition: ToolDefinition | null;
      /** Told why a layer failed, for operators. */
      readonly onFailure: (failure: RunFailure) => void;
    },
    run: (args: unknown) => Promise<ToolResultContent>,
  ): Promise<ToolResultContent>;
  /** Around calls that run elsewhere, before they are committed: with other arguments, refused, or as they are. */
  beforeSending(
    session: TurnSession,
    calls: readonly PlannedCall[],
    replan: ReplanCall,
  ): Promise<readonly PlannedCall[]>;
  /** Tools of the profile's extensions, but none whose name is taken. */
  toolsOf(profile: AgentProfile, isTaken: (toolName: string) => boolean): Promise<readonly RegisteredTool[]>;
  /** For the runner of this process: the extension's tool that the call is for; null where it is for another one. */
  toolOf(call: Pick<ToolInvocation, "tool_name" | "definition">): RegisteredTool | null;
}

/** X2 */
export function requireNone({ name, extensions }: AgentProfile): void {
  const missing = extensions.find((extension) => extension.on_error !== "skip");
  if (missing !== undefined) throw missingExtension(name, missing.name);
}

export function missingExtension(agent: string, extension: string): Error {
  return errorOf("E_EXT_LOAD", `agent ${agent} lists the extension ${extension}, which this process does not have`, {
    details: { extension },
  });
}

/** The tool was not started this time. What an earlier attempt of it did, whose worker was lost, is not known. */
export function refusedByLayer(
  { effect, attempt }: Pick<LocalCallOrder, "effect" | "attempt">,
  message: string,
  details: JsonObject,
): ToolResultContent {
  const isUnknown = attempt > 1 && effect === "once";
  const error = isUnknown
    ? errorOf("outcome_unknown", `${message} again, and whether its earlier attempt took effect is not known`, {
        details,
      })
    : errorOf("extension_failed", message, { details: { ...details, has_run: false } });
  return { ...buildErrorResultFromException(error), after_execution: "suspend" };
}
