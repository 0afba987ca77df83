// What an agent may ask of Tessera itself: the internal tools it is offered, and whom it may give work to.

import {
  DELEGATED_OPERATIONS,
  type DelegationPolicy,
  readToolDelegationPolicy,
  type ToolDelegationPolicy,
} from "@tessera/protocol";
import { RESERVED_TOOL_NAMES } from "@tessera/tool";
import { mappingAt, namesAt } from "./fields.ts";
import type { Mapping, ResourceReading } from "./resource-reading.ts";
import { shown } from "./resource-reading.ts";

const INTERNAL_TOOLS: readonly string[] = RESERVED_TOOL_NAMES;
/** They reach another agent, so without a policy they are always denied. */
const NEED_POLICY: ReadonlySet<string> = new Set(["delegate_async", "launch_principal", "ask_expert", "fork_join"]);

export function internalToolsAt(reading: ResourceReading, mapping: Mapping, key: string): readonly string[] {
  const names = namesAt(reading, mapping, key) ?? [];
  const unknown = names.find((name) => !INTERNAL_TOOLS.includes(name));
  if (unknown === undefined) return names;
  const message = `${key} holds ${shown(unknown)}; known are ${INTERNAL_TOOLS.join(", ")}`;
  reading.misfit(`${mapping.pointer}/${key}`, message);
  return [];
}

export interface PolicyKeys {
  readonly policy: string;
  readonly tags: string;
  readonly profiles: string;
}

/** An absent list of profiles lets every profile pass; an empty one lets none. */
export function delegationPolicyAt(
  reading: ResourceReading,
  mapping: Mapping,
  keys: PolicyKeys,
): DelegationPolicy | null {
  const policy = mappingAt(reading, mapping, keys.policy);
  if (policy === undefined) return null;
  reading.refuseOthers(policy, new Set([keys.tags, keys.profiles]));
  return {
    target_tags: namesAt(reading, policy, keys.tags) ?? [],
    target_profiles: namesAt(reading, policy, keys.profiles) ?? null,
  };
}

const TOOL_POLICY = "toolDelegationPolicy";
const TOOL_POLICY_KEYS: ReadonlySet<string> = new Set(["operations", "targetTags", "targetProfiles"]);

/** What the code of tools may reach (decision 36). A key that is not known is a mistake: it may be a limit with a typo. */
export function toolDelegationPolicyAt(reading: ResourceReading, mapping: Mapping): ToolDelegationPolicy | undefined {
  const policy = mappingAt(reading, mapping, TOOL_POLICY);
  if (policy === undefined) return undefined;
  for (const key of Object.keys(policy.value)) {
    if (TOOL_POLICY_KEYS.has(key)) continue;
    reading.misfit(`${policy.pointer}/${key}`, `${TOOL_POLICY} has no field ${shown(key)}`);
  }
  const operations = namesAt(reading, policy, "operations");
  const wrong = operations?.find((name) => !DELEGATED_OPERATIONS.some((known) => known === name));
  if (wrong !== undefined) {
    const message = `operations holds ${shown(wrong)}; known are ${DELEGATED_OPERATIONS.join(", ")}`;
    reading.misfit(`${policy.pointer}/operations`, message);
  }
  const document = {
    operations: operations ?? null,
    target_tags: namesAt(reading, policy, "targetTags") ?? [],
    target_profiles: namesAt(reading, policy, "targetProfiles") ?? null,
  };
  return readToolDelegationPolicy(document) ?? undefined;
}

export function warnWithoutPolicy(
  reading: ResourceReading,
  internal: readonly string[],
  policy: DelegationPolicy | null,
  pointer: string,
): void {
  const tool = internal.find((name) => NEED_POLICY.has(name));
  if (tool !== undefined && policy === null) {
    reading.warn(pointer, `${tool} is allowed, but without a delegation policy every target is denied`);
  }
}
