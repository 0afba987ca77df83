// Whom a profile's agents may give work to (reference §8.3).
//
//   D1. No policy, or one that cannot be read, denies: a right is given, never assumed.
//   D2. Names and tags are compared exactly, case included.

import { isJsonObject } from "@tessera/protocol";

export interface DelegationPolicy {
  readonly target_tags: readonly string[];
  /** Null: any profile; an empty list: none. */
  readonly target_profiles: readonly string[] | null;
}

export interface PolicyTarget {
  readonly name: string;
  readonly tags: readonly string[];
}

/** The `delegation_policy` of a profile document; null denies everything (D1). */
export function readDelegationPolicy(document: unknown): DelegationPolicy | null {
  if (!isJsonObject(document)) return null;
  const { target_tags = [], target_profiles = null } = document;
  if (!isStringList(target_tags)) return null;
  if (target_profiles !== null && !isStringList(target_profiles)) return null;
  return { target_tags, target_profiles };
}

export function isDelegationAllowed(policy: DelegationPolicy | null, target: PolicyTarget): boolean {
  if (policy === null) return false; // D1
  const { target_profiles, target_tags } = policy;
  if (target_profiles !== null && !target_profiles.includes(target.name)) return false; // D2
  return target_tags.length === 0 || target_tags.some((tag) => target.tags.includes(tag));
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
