// What decides about a turn instead of a model, plugged into the one loop (decision 16): a call that a program asked for
// (caller/one-call.ts), an action of a user interface (ui/ui-driver.ts).

import type { BusMessage, JsonObject } from "@tessera/kernel";
import type { ErrorObject, ResultStatus, TesseraError, ToolResultContent } from "@tessera/protocol";
import type { RegisteredTool } from "@tessera/tool";
import type { ModelAnswer, ModelPort, ModelToolCall } from "../model-port.ts";
import type { AgentProfile } from "../profile.ts";
import type { LastStep } from "./last-step.ts";
import type { TurnSession } from "./turn-session.ts";
import type { Turn } from "./worker-context.ts";

/** How a turn ends whose driver says that it does. */
export interface DrivenEnd {
  readonly status: ResultStatus;
  /** The deliverable. */
  readonly content: JsonObject;
  readonly error: Pick<ErrorObject, "code" | "message"> | null;
}

export interface TurnDriver {
  /** Used instead of the profile in the turn's box. */
  profileOf(turn: Turn): AgentProfile | Promise<AgentProfile>;
  /** Whether the turn may call this tool of the project, which its profile allows; default: it may. */
  mayCall?(tool: RegisteredTool): boolean;
  /** The calls that the turn makes, in the form of a model's answer. Throws the error that the turn ends with. */
  decide(turn: Turn): ModelAnswer;
  /** Kept with a call in its card. `refusal`: why the call will not be run. */
  callMetadata?(refusal: ToolResultContent | undefined): JsonObject;
  /** Asked before a call gets a new id, because the one in `decide` is taken. Throws the error that the turn ends with. */
  checkTakenCallId?(turn: Turn): Promise<void>;
  /** How the turn ends after this step; null: it goes on. */
  endOf(last: LastStep, session: TurnSession): DrivenEnd | null;
  /** The deliverable of a turn that ends with this error; default: the fallback deliverable. */
  failureContent?(error: TesseraError): JsonObject;
  /** Published once the turn has ended with this deliverable. */
  endMessages?(turn: Turn, content: JsonObject): readonly BusMessage[];
}

/** The models of a worker whose driver decides. */
export const NO_MODELS: ModelPort = { call: () => Promise.reject(new Error("this worker has no model")) };

/** One step, any tool of the project, no model. */
export function drivenProfile(worker_target: string): AgentProfile {
  return {
    schema_version: 1,
    name: worker_target,
    description: "",
    worker_target,
    tags: [],
    model: { provider: "none", model: "none" },
    system_prompt: "",
    allowed_tools: null,
    allowed_internal_tools: [],
    must_end_with: [],
    required_tools: [],
    delegation_policy: null,
    max_steps: 1,
    extensions: [],
    swarm: null,
  };
}

/** One call, in the form of a model's answer. */
export function callOf(call: ModelToolCall): ModelAnswer {
  return { text: "", tool_calls: [call], finish_reason: "tool_calls", provider: "none", model: "none" };
}
