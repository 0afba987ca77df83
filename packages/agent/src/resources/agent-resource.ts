// kind: Agent (reference §12), with Tessera's own optional fields.
//
//   A1. What an agent may call is what it names: an Agent without tools has none.
//   A2. A turn must be able to end: tools that it has to call are tools that it may call.

import type { DelegationPolicy, JsonObject, ToolDelegationPolicy } from "@tessera/protocol";
import { WORKER_TARGET_DEFAULT } from "../profile.ts";
import type { ReadBundleFile } from "./bundle-path.ts";
import { delegationPolicyAt, internalToolsAt, toolDelegationPolicyAt, warnWithoutPolicy } from "./delegation.ts";
import { descriptionAt, idAt, listAt, mappingAt, namesAt, numberAt, tagsAt } from "./fields.ts";
import { BUILTIN_PACKAGES, readRef, resolveLocal } from "./object-ref.ts";
import { readPrompt, warnWithoutPrompt } from "./prompt.ts";
import { given, type Mapping, type ResourceReading, shown } from "./resource-reading.ts";
import { type Resource, readSpec } from "./resource-spec.ts";
import { STEPS_MAX } from "./swarm-resource.ts";
import { resolveTool, type ToolWorld } from "./tool-refs.ts";

export interface AgentResource extends Resource {
  readonly description: string;
  readonly model: string;
  readonly params: JsonObject | null;
  readonly system_prompt: string;
  /** Tool names. */
  readonly tools: readonly string[];
  readonly required_tools: readonly string[];
  readonly extensions: readonly string[];
  readonly worker_target: string;
  readonly tags: readonly string[];
  readonly allowed_internal_tools: readonly string[];
  readonly must_end_with: readonly string[];
  readonly delegation_policy: DelegationPolicy | null;
  /** Undefined: the Swarm decides. */
  readonly tool_delegation_policy: ToolDelegationPolicy | undefined;
  /** Null: the Swarm decides. */
  readonly max_steps: number | null;
}

export interface AgentWorld extends ToolWorld {
  readonly builtinExtensions: ReadonlySet<string>;
  readonly readFile: ReadBundleFile;
  readonly scriptedModels: ReadonlySet<string>;
}

const SPEC_KEYS: ReadonlySet<string> = new Set([
  "modelConfig",
  "prompt",
  "tools",
  "requiredTools",
  "extensions",
  "description",
  "workerTarget",
  "tags",
  "allowedInternalTools",
  "mustEndWith",
  "delegationPolicy",
  "toolDelegationPolicy",
  "maxSteps",
]);
const MODEL_CONFIG_KEYS: ReadonlySet<string> = new Set(["modelRef", "params"]);
const POLICY_KEYS = { policy: "delegationPolicy", tags: "targetTags", profiles: "targetProfiles" };
const TOKENS_MAX = 100_000_000;

export async function readAgent(
  reading: ResourceReading,
  resource: Resource,
  world: AgentWorld,
): Promise<AgentResource | null> {
  const spec = readSpec(reading, SPEC_KEYS);
  if (spec === undefined) return null;
  const { model, params } = readModelConfig(reading, spec, world);
  const tools = readTools(reading, spec, "tools", world);
  const required_tools = readTools(reading, spec, "requiredTools", world);
  const extensions = readExtensions(reading, spec, world);
  const allowed_internal_tools = internalToolsAt(reading, spec, "allowedInternalTools");
  const must_end_with = namesAt(reading, spec, "mustEndWith") ?? [];
  const delegation_policy = delegationPolicyAt(reading, spec, POLICY_KEYS);
  const callable = new Set([...tools, ...allowed_internal_tools]);
  // An extension may bring tools of its own, and of tools with mistakes the names are not known: neither is a mistake here.
  if (extensions.length === 0 && !world.unread.some(({ kind }) => kind === "Tool") && reading.mistakes.length === 0) {
    checkCallable(reading, required_tools, callable, "/spec/requiredTools"); // A2
    checkCallable(reading, must_end_with, callable, "/spec/mustEndWith");
  }
  warnWithoutPolicy(reading, allowed_internal_tools, delegation_policy, "/spec/allowedInternalTools");
  const system_prompt = await readPrompt(reading, spec, world.readFile);
  // An extension may bring one, and a script reads none.
  if (extensions.length === 0 && !world.scriptedModels.has(model)) warnWithoutPrompt(reading, spec);
  return {
    ...resource,
    description: descriptionAt(reading, spec),
    model,
    params,
    system_prompt,
    tools, // A1
    required_tools,
    extensions,
    worker_target: idAt(reading, spec, "workerTarget") ?? WORKER_TARGET_DEFAULT,
    tags: tagsAt(reading, spec, "tags"),
    allowed_internal_tools,
    must_end_with,
    delegation_policy,
    tool_delegation_policy: toolDelegationPolicyAt(reading, spec),
    max_steps: numberAt(reading, spec, "maxSteps", { min: 1, max: STEPS_MAX }) ?? null,
  };
}

function readModelConfig(
  reading: ResourceReading,
  spec: Mapping,
  world: AgentWorld,
): { readonly model: string; readonly params: JsonObject | null } {
  const config = mappingAt(reading, spec, "modelConfig");
  const modelRef = config === undefined ? undefined : given(config.value, "modelRef");
  if (config === undefined || modelRef === undefined) {
    if (config !== undefined || given(spec.value, "modelConfig") === undefined) {
      reading.misfit("/spec/modelConfig/modelRef", "modelConfig.modelRef is missing");
    }
    return { model: "", params: null };
  }
  reading.refuseOthers(config, MODEL_CONFIG_KEYS);
  const ref = readRef(reading, modelRef, "/spec/modelConfig/modelRef", "Model");
  const params = mappingAt(reading, config, "params");
  if (params !== undefined) {
    numberAt(reading, params, "temperature", { min: 0, max: 100, whole: false });
    numberAt(reading, params, "maxTokens", { min: 1, max: TOKENS_MAX });
    numberAt(reading, params, "topP", { min: 0, max: 1, whole: false });
  }
  const model = ref === undefined ? undefined : resolveLocal(reading, ref, world);
  return { model: model ?? "", params: params?.value ?? null };
}

function readTools(reading: ResourceReading, spec: Mapping, key: string, world: AgentWorld): readonly string[] {
  const names = (listAt(reading, spec, key) ?? []).flatMap((value, index) => {
    const ref = readRef(reading, value, `/spec/${key}/${index}`, "Tool");
    return ref === undefined ? [] : resolveTool(reading, ref, world);
  });
  return [...new Set(names)];
}

function readExtensions(reading: ResourceReading, spec: Mapping, world: AgentWorld): readonly string[] {
  const names = (listAt(reading, spec, "extensions") ?? []).flatMap((value, index) => {
    const ref = readRef(reading, value, `/spec/extensions/${index}`, "Extension");
    if (ref === undefined) return [];
    const isBuiltin = ref.package !== undefined && BUILTIN_PACKAGES.has(ref.package);
    if (isBuiltin && world.builtinExtensions.has(ref.name)) return [ref.name];
    return resolveLocal(reading, ref, world) ?? [];
  });
  return [...new Set(names)];
}

function checkCallable(
  reading: ResourceReading,
  needed: readonly string[],
  callable: ReadonlySet<string>,
  pointer: string,
): void {
  const isCallable = (name: string): boolean => callable.has(name) || callable.has(name.split("__")[0] ?? "");
  if (needed.length === 0 || needed.some(isCallable)) return;
  const message = `none of ${shown([...needed])} is among the tools of this agent, so that no turn could end`;
  reading.mistake("E_CONFIG_REF_NOT_FOUND", pointer, message);
}
