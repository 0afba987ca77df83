// kind: Agent (docs/protocol/documents.md#goondan), with Tessera's own optional fields.
//
//   A1. What an agent may call is what it names: an Agent without tools has none.
//   A2. A turn must be able to end: tools that it has to call are tools that it may call.
//   A3. `requiredTools` takes names beside references, as Goondan does: what it names is a tool of this agent already, so that
//       a name says which, whatever package it is from. A name that an extension may bring is taken as it is.

import { isDeepStrictEqual } from "node:util";
import {
  type DelegationPolicy,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ToolDelegationPolicy,
} from "@tessera/protocol";
import { type MemoryPolicy, WORKER_TARGET_DEFAULT } from "../profile.ts";
import type { ReadBundleFile } from "./bundle-path.ts";
import { delegationPolicyAt, internalToolsAt, toolDelegationPolicyAt, warnWithoutPolicy } from "./delegation.ts";
import { descriptionAt, idAt, listAt, mappingAt, namesAt, numberAt, tagsAt } from "./fields.ts";
import { memoryAt } from "./memory.ts";
import { BUILTIN_PACKAGES, OWN_PACKAGE, readRef, resolveLocal } from "./object-ref.ts";
import { readPrompt, warnWithoutPrompt } from "./prompt.ts";
import { checkAt, given, type Mapping, type ResourceReading, shown } from "./resource-reading.ts";
import { type Resource, readSpec } from "./resource-spec.ts";
import { STEPS_MAX } from "./swarm-resource.ts";
import { resolveTool, type ToolTargets } from "./tool-refs.ts";

export interface AgentResource extends Resource {
  readonly description: string;
  readonly model: string;
  readonly params: JsonObject | null;
  readonly system_prompt: string;
  /** Tool names. */
  readonly tools: readonly string[];
  readonly required_tools: readonly string[];
  readonly extensions: readonly ExtensionUse[];
  readonly worker_target: string;
  readonly tags: readonly string[];
  readonly allowed_internal_tools: readonly string[];
  readonly must_end_with: readonly string[];
  readonly delegation_policy: DelegationPolicy | null;
  /** Undefined: the Swarm decides. */
  readonly tool_delegation_policy: ToolDelegationPolicy | undefined;
  /** Null: the Swarm decides. */
  readonly max_steps: number | null;
  /** Undefined: MEMORY_DEFAULT. */
  readonly memory: MemoryPolicy | undefined;
  /** How the calls of one message are made. */
  readonly tool_calls: ToolCallsMode;
}

export const TOOL_CALLS_MODES = ["parallel", "sequential"] as const;
export type ToolCallsMode = (typeof TOOL_CALLS_MODES)[number];

/** An extension as an agent lists it. */
interface ExtensionUse {
  readonly name: string;
  /** Given for one that comes with the product. */
  readonly package?: typeof OWN_PACKAGE;
  /** Laid over the configuration of the Extension, field by field. */
  readonly config?: JsonObject;
}

export interface AgentTargets extends ToolTargets {
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
  "memory",
  "toolCalls",
]);
const EXTENSION_USE_KEYS: ReadonlySet<string> = new Set(["ref", "config"]);
const MODEL_CONFIG_KEYS: ReadonlySet<string> = new Set(["modelRef", "params"]);
const POLICY_KEYS = { policy: "delegationPolicy", tags: "targetTags", profiles: "targetProfiles" };
const TOKENS_MAX = 100_000_000;

export async function readAgent(
  reading: ResourceReading,
  resource: Resource,
  targets: AgentTargets,
): Promise<AgentResource | null> {
  const spec = readSpec(reading, SPEC_KEYS);
  if (spec === undefined) return null;
  const { model, params } = readModelConfig(reading, spec, targets);
  const tools = readTools(reading, spec, "tools", targets);
  const extensions = await readExtensions(reading, spec, targets);
  const allowed_internal_tools = internalToolsAt(reading, spec, "allowedInternalTools");
  const must_end_with = namesAt(reading, spec, "mustEndWith") ?? [];
  const delegation_policy = delegationPolicyAt(reading, spec, POLICY_KEYS);
  const callable = new Set([...tools, ...allowed_internal_tools]);
  // An extension may bring tools of its own, and of tools with mistakes the names are not known: neither is a mistake here.
  const areToolsKnown =
    extensions.length === 0 && !targets.unread.some(({ kind }) => kind === "Tool") && reading.mistakes.length === 0;
  const required_tools = readRequired(reading, spec, targets, areToolsKnown ? callable : null);
  if (areToolsKnown && reading.mistakes.length === 0) {
    checkCallable(reading, required_tools, callable, "/spec/requiredTools"); // A2
    checkCallable(reading, must_end_with, callable, "/spec/mustEndWith");
  }
  warnWithoutPolicy(reading, allowed_internal_tools, delegation_policy, "/spec/allowedInternalTools");
  const system_prompt = await readPrompt(reading, spec, targets.readFile);
  // An extension may bring one, and a script reads none.
  if (extensions.length === 0 && !targets.scriptedModels.has(model)) warnWithoutPrompt(reading, spec);
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
    memory: memoryAt(reading, spec),
    tool_calls: toolCallsAt(reading, spec),
  };
}

function readModelConfig(
  reading: ResourceReading,
  spec: Mapping,
  targets: AgentTargets,
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
  const model = ref === undefined ? undefined : resolveLocal(reading, ref, targets);
  return { model: model ?? "", params: params?.value ?? null };
}

function readTools(reading: ResourceReading, spec: Mapping, key: string, targets: AgentTargets): readonly string[] {
  const names = (listAt(reading, spec, key) ?? []).flatMap((value, index) =>
    toolsOf(reading, value, `/spec/${key}/${index}`, targets),
  );
  return [...new Set(names)];
}

function toolsOf(
  reading: ResourceReading,
  value: JsonValue,
  pointer: string,
  targets: AgentTargets,
): readonly string[] {
  const ref = readRef(reading, value, pointer, "Tool");
  return ref === undefined ? [] : resolveTool(reading, ref, targets);
}

function toolCallsAt(reading: ResourceReading, spec: Mapping): ToolCallsMode {
  const value = given(spec.value, "toolCalls");
  const mode = TOOL_CALLS_MODES.find((each) => each === value);
  if (value !== undefined && mode === undefined) {
    reading.misfit("/spec/toolCalls", `toolCalls must be ${TOOL_CALLS_MODES.join(" or ")}, found ${shown(value)}`);
  }
  return mode ?? "parallel";
}

/** A3. `callable` is null where not all of it is known. */
function readRequired(
  reading: ResourceReading,
  spec: Mapping,
  targets: AgentTargets,
  callable: ReadonlySet<string> | null,
): readonly string[] {
  const names = (listAt(reading, spec, "requiredTools") ?? []).flatMap((value, index) => {
    const pointer = `/spec/requiredTools/${index}`;
    if (typeof value !== "string" || value === "" || value.includes("/")) {
      return toolsOf(reading, value, pointer, targets);
    }
    const named = [...(callable ?? [])].filter((tool) => tool === value || tool.split("__")[0] === value);
    if (named.length > 0) return named;
    if (callable === null) return [value];
    const message = `${shown(value)} is no tool of this agent; it has ${[...callable].join(", ") || "none"}`;
    reading.mistake("E_CONFIG_REF_NOT_FOUND", pointer, message);
    return [];
  });
  return [...new Set(names)];
}

async function readExtensions(
  reading: ResourceReading,
  spec: Mapping,
  targets: AgentTargets,
): Promise<readonly ExtensionUse[]> {
  const listed = listAt(reading, spec, "extensions") ?? [];
  if (listed.length === 0) return [];
  const { builtinExtension } = await import("../extensions/builtin/index.ts");
  const uses = listed.flatMap((value, index): ExtensionUse[] => {
    const pointer = `/spec/extensions/${index}`;
    const ref = readRef(reading, value, pointer, "Extension", EXTENSION_USE_KEYS);
    const config = isJsonObject(value) && mappingAt(reading, { value, pointer }, "config")?.value;
    if (ref === undefined) return [];
    const given = config ? { config } : {};
    const builtin = builtinExtension(ref.name);
    if (ref.package !== undefined && BUILTIN_PACKAGES.has(ref.package) && builtin !== undefined) {
      checkAt(reading, config ? `${pointer}/config` : pointer, () => builtin.checkConfig(config || {}));
      return [{ name: ref.name, package: OWN_PACKAGE, ...given }];
    }
    const name = resolveLocal(reading, ref, targets, () =>
      builtin === undefined ? undefined : meantExtension(ref.name),
    );
    return name === undefined ? [] : [{ name, ...given }];
  });
  const names = uses.map(({ name }) => name);
  const at = names.findIndex((name, n) => names.indexOf(name) !== n);
  const first = names.indexOf(names[at] ?? "");
  if (at < 0 || isDeepStrictEqual(uses[at], uses[first]))
    return uses.filter((_, n) => names.indexOf(names[n] ?? "") === n);
  const message = `the extension ${names[at]} is listed already, at /spec/extensions/${first}; an agent has one of a name`;
  reading.mistake("E_CONFIG_DUPLICATE_NAME", `/spec/extensions/${at}`, message);
  return [];
}

/** How to write what was meant: the built-in ones are reached by their package only. */
function meantExtension(name: string): string {
  const reference = `{kind: Extension, name: ${name}, package: "@tessera/base"}`;
  return `there is no Extension ${shown(name)} in this bundle; the built-in one is ${reference}`;
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
