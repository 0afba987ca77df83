// What the loop asks of extensions: a layer around each turn, step and tool call, and tools of their own.
//
//   X1. An extension's error is its own: it is told, and the turn goes on as if the extension were not there. A failure of
//       what it wraps is the turn's failure, whatever the extension makes of it.

import type { ToolResultContent } from "@tessera/protocol";
import type { RegisteredTool, ToolDefinition, ToolInvocation } from "@tessera/tool";
import type { CallRequest, PlannedCall } from "@tessera/tool/catalog";
import type { LocalCallOrder } from "@tessera/tool/run";
import type { StepEnd } from "../loop/take-step.ts";
import type { TurnSession } from "../loop/turn-session.ts";
import type { AgentProfile } from "../profile.ts";

/** Plans one call again, with the arguments that the layers left. */
export type ReplanCall = (request: CallRequest) => PlannedCall;

export interface ExtensionHost {
  aroundTurn(session: TurnSession, run: () => Promise<void>): Promise<void>;
  /** `run` takes the step with the tools that are left to offer. */
  aroundStep(
    session: TurnSession,
    step: number,
    run: (offered: readonly RegisteredTool[]) => Promise<StepEnd>,
  ): Promise<StepEnd>;
  /** Around a call that runs here. `run` takes the arguments that the layers left. */
  aroundToolCall(
    session: TurnSession,
    call: { readonly order: LocalCallOrder; readonly definition: ToolDefinition | null },
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
