// Whom a profile's agents may give work to (docs/protocol/internal-tools.md#delegation-policy), and whom a tool's code may reach
// through ctx.runtime (decision 36).
//
//   D1. No policy of an agent, or one that cannot be read, denies: a right is given, never assumed.
//   D2. Names and tags are compared exactly, case included.
//   D3. For a tool's code every policy that is given has to allow: its tool's, its agent's, its executor key's. Code from
//       outside needs at least one that is given; code of the bundle may do without.

import { isJsonObject, type JsonObject } from "./json/json-value.ts";

export type DelegationPolicy = {
  readonly target_tags: readonly string[];
  /** Null: any profile; an empty list: none. */
  readonly target_profiles: readonly string[] | null;
};

/** What of ctx.runtime reaches another agent. */
export const DELEGATED_OPERATIONS = ["request", "send", "spawn"] as const;
export type DelegatedOperation = (typeof DELEGATED_OPERATIONS)[number];

export type ToolDelegationPolicy = DelegationPolicy & {
  /** Null: all of them; an empty list: none. */
  readonly operations: readonly DelegatedOperation[] | null;
};

export interface PolicyTarget {
  readonly name: string;
  readonly tags: readonly string[];
}

const KEYS: readonly string[] = ["operations", "target_tags", "target_profiles"];
const NAMES_MAX = 64;
const NAME_CHARS_MAX = 128;
const DENIES_ALL: ToolDelegationPolicy = { operations: [], target_tags: [], target_profiles: [] };

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

/** What is wrong with a policy for a tool's code, in words; null: nothing. */
export function toolDelegationMistake(document: unknown): string | null {
  if (!isJsonObject(document)) return `must be a mapping of ${KEYS.join(", ")}`;
  const unknown = Object.keys(document).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) return `has no field ${JSON.stringify(unknown)}; it has ${KEYS.join(", ")}`;
  const { operations = null, target_tags = [], target_profiles = null } = document as JsonObject;
  const isKnown = (name: string) => DELEGATED_OPERATIONS.some((known) => known === name);
  if (operations !== null && !(isStringList(operations) && operations.every(isKnown))) {
    return `operations must be a list of ${DELEGATED_OPERATIONS.join(", ")}`;
  }
  if (!isNames(target_tags)) return `target_tags must be a list of at most ${NAMES_MAX} tags`;
  if (target_profiles !== null && !isNames(target_profiles)) {
    return `target_profiles must be a list of at most ${NAMES_MAX} names of agents`;
  }
  return null;
}

/** A stored policy; null where none is given. One that cannot be read denies everything (D1). */
export function readToolDelegationPolicy(document: unknown): ToolDelegationPolicy | null {
  if (document === undefined || document === null) return null;
  if (toolDelegationMistake(document) !== null) return DENIES_ALL;
  const { operations = null, target_tags = [], target_profiles = null } = document as Partial<ToolDelegationPolicy>;
  return { operations, target_tags, target_profiles };
}

export interface ToolDelegation {
  /** Those that are given. */
  readonly policies: readonly ToolDelegationPolicy[];
  /** Whether the code comes from outside: from who holds an executor key. */
  readonly isForeign: boolean;
}

/** D3. Without a target: whether the operation may reach any agent at all. */
export function isToolDelegationAllowed(
  { policies, isForeign }: ToolDelegation,
  operation: DelegatedOperation | null,
  target?: PolicyTarget,
): boolean {
  if (isForeign && policies.length === 0) return false;
  return policies.every(
    (policy) =>
      (operation === null || policy.operations === null || policy.operations.includes(operation)) &&
      (target === undefined || isDelegationAllowed(policy, target)),
  );
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isNames(value: unknown): boolean {
  return (
    isStringList(value) &&
    value.length <= NAMES_MAX &&
    value.every((name) => name !== "" && name.length <= NAME_CHARS_MAX && !/\p{Cc}/u.test(name))
  );
}
