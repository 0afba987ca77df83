// What a model asked for, turned into calls that the kernel can commit.
//
//   C1. Every request gets a draft that can be committed, also a refused one: the model's message names the call, so the
//       call exists and has a result. A refused draft is local, runs nothing and is settled at once with its refusal.
//   C2. Order of the checks: offered by this step? → arguments → does a host here run it?
//       (docs/protocol/tool-api.md#order-of-the-checks)
//   C3. Arguments are read, never repaired: text that is not JSON, or JSON inside a JSON string, is refused.
//   C4. A call id is the model's where it is legal and new, else ours.
//   C5. A refusal never ends the turn: a tool that terminates it has not run.

import {
  type AfterExecution,
  ARGUMENTS_BYTES_MAX,
  CALLS_PER_STEP_MAX,
  errorOf,
  isId,
  type JsonObject,
  parseJson,
  renderTargetSubject,
  TesseraError,
  type ToolEffect,
  type ToolResultContent,
} from "@tessera/protocol";
import { invalidArguments, suggestionOf } from "../arguments/argument-check.ts";
import { type GatedArguments, gateArguments } from "../arguments/gate-arguments.ts";
import type { RegisteredTool, ToolDefinition, ToolPolicy } from "../definition.ts";
import { toolPolicy } from "../policy.ts";
import { checkInternalArguments, internalPolicy, internalSubject, isInternalTool } from "./internal-tools.ts";
import { modelParameters } from "./model-tool.ts";
import { notHosted, notInCatalog, refusedCall } from "./refused-call.ts";
import type { TemplateVars } from "./template.ts";
import type { ToolCatalog } from "./tool-registry.ts";

export interface CallRequest {
  readonly id?: string;
  readonly name: string;
  /** JSON text as the model wrote it, or the value that its client read. */
  readonly arguments: unknown;
}

/** The kernel's CallDraft, by structure. */
export interface PlannedCallDraft {
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly arguments: JsonObject;
  readonly target_subject: string;
  readonly author_id: string;
  readonly tool_digest?: string | undefined;
  readonly effect: ToolEffect;
  readonly after_execution: AfterExecution;
  readonly timeout_ms?: number;
  readonly queue_timeout_ms?: number;
  readonly attempts_max: number;
  readonly backoff_ms?: number;
  readonly can_reconcile?: boolean;
  readonly local: boolean;
  readonly metadata: JsonObject;
}

export interface PlannedCall {
  readonly draft: PlannedCallDraft;
  /** Where the call may not run: its result. */
  readonly refusal?: ToolResultContent;
}

export interface PlanCallsOptions {
  readonly catalog: Pick<ToolCatalog, "get" | "list">;
  readonly vars: TemplateVars & {
    readonly project_id: string;
    readonly channel_id: string;
    readonly agent_id: string;
  };
  readonly mintCallId: () => string;
  /** Whether a call of this id exists already, in this project. */
  readonly isCallIdUsed?: (id: string) => boolean;
  /** Whether this process can run a local tool; by default, whether its code is here. */
  readonly isHosted?: (tool: RegisteredTool) => boolean;
  readonly digestOf?: (definition: ToolDefinition) => string | undefined;
}

/** One planned call for each request, in order. The kernel takes CALLS_PER_STEP_MAX of them in a step. */
export function planCalls(requests: readonly CallRequest[], options: PlanCallsOptions): readonly PlannedCall[] {
  const idsOfStep = new Set<string>();
  return requests.map((request, index) => {
    const id = callId(request.id, idsOfStep, options);
    idsOfStep.add(id);
    const tool = typeof request.name === "string" ? options.catalog.get(request.name) : undefined;
    try {
      if (index >= CALLS_PER_STEP_MAX) throw tooManyCalls();
      if (tool === undefined) throw notInCatalog(request.name, offeredNames(options)); // C2
      return { draft: draftOf(id, tool, request.arguments, options) };
    } catch (error) {
      if (!TesseraError.is(error)) throw error;
      return refusedCall(id, request, error, tool?.definition ?? null, options); // C1
    }
  });
}

/** C4 */
function callId(given: unknown, idsOfStep: ReadonlySet<string>, options: PlanCallsOptions): string {
  const isUsable = isId(given) && !idsOfStep.has(given) && options.isCallIdUsed?.(given) !== true;
  return isUsable ? given : options.mintCallId();
}

function draftOf(id: string, tool: RegisteredTool, given: unknown, options: PlanCallsOptions): PlannedCallDraft {
  const { definition } = tool;
  const { vars } = options;
  const gated = gateArguments(definition, readArguments(definition, given), { ...vars, tool_call_id: id });
  const { policy, target_subject } = isInternalTool(definition)
    ? internalDestination(definition, gated.arguments, vars)
    : { policy: policyOf(definition), target_subject: renderTargetSubject(definition.target_subject, vars) };
  const local = policy.placement === "inline" || policy.placement === "isolated";
  if (local && !(options.isHosted?.(tool) ?? tool.code !== null)) throw notHosted(definition.tool_name); // C2
  const digest = options.digestOf?.(definition);
  return {
    tool_call_id: id,
    tool_name: definition.tool_name,
    arguments: gated.arguments,
    target_subject,
    author_id: policy.author_id,
    tool_digest: digest,
    effect: policy.effect,
    after_execution: definition.after_execution,
    timeout_ms: policy.timeout_ms,
    ...(local || policy.queue_timeout_ms === null ? {} : { queue_timeout_ms: policy.queue_timeout_ms }),
    attempts_max: policy.attempts_max,
    backoff_ms: policy.backoff_ms,
    can_reconcile: policy.can_reconcile,
    local,
    metadata: metadataOf(gated, vars),
  };
}

/** Read once for each definition: that parses its subject. */
const policies = new WeakMap<ToolDefinition, ToolPolicy>();

function policyOf(definition: ToolDefinition): ToolPolicy {
  const policy = policies.get(definition) ?? toolPolicy(definition);
  policies.set(definition, policy);
  return policy;
}

function internalDestination(definition: ToolDefinition, args: JsonObject, vars: PlanCallsOptions["vars"]) {
  checkInternalArguments(definition.tool_name, args, vars);
  return { policy: internalPolicy(definition, args), target_subject: internalSubject(definition.tool_name, vars) };
}

/** The arguments as a value: text is JSON, and no text at all is an empty object (C3). */
function readArguments(definition: ToolDefinition, given: unknown): unknown {
  if (given === undefined) return {};
  if (typeof given !== "string") return given;
  if (given.trim() === "") return {};
  try {
    return parseJson(given, { bytesMax: ARGUMENTS_BYTES_MAX });
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    throw invalidArguments(definition.tool_name, [error.message], suggestionOf(modelParameters(definition)));
  }
}

function metadataOf({ metadata }: GatedArguments, { context_box_id }: TemplateVars): JsonObject {
  return typeof context_box_id === "string" ? { ...metadata, context_box_id } : metadata;
}

function offeredNames({ catalog }: PlanCallsOptions): readonly string[] {
  return catalog.list().map(({ definition }) => definition.tool_name);
}

function tooManyCalls(): TesseraError {
  return errorOf("too_many_calls", `one step makes at most ${CALLS_PER_STEP_MAX} calls; this one was not run`, {
    details: { suggestion: "Ask for the rest in the next step." },
  });
}
