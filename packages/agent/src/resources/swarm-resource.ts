// kind: Swarm (docs/protocol/documents.md#goondan): which agents know one another, who speaks first, and how far a turn may go.

import { isInstanceKey, STEPS_PER_TURN_MAX, type ToolDelegationPolicy } from "@tessera/protocol";
import { toolDelegationPolicyAt } from "./delegation.ts";
import { listAt, mappingAt, numberAt } from "./fields.ts";
import { type RefTargets, readRef, resolveLocal } from "./object-ref.ts";
import { given, type Mapping, type ResourceReading, shown } from "./resource-reading.ts";
import { type Resource, readSpec } from "./resource-spec.ts";

export interface SwarmResource extends Resource {
  readonly entry_agent: string;
  readonly agents: readonly string[];
  readonly instance_key: string | null;
  readonly policy: SwarmPolicy;
  /** Of its agents that have none of their own. */
  readonly tool_delegation_policy: ToolDelegationPolicy | undefined;
}

export interface SwarmPolicy {
  readonly max_steps_per_turn: number;
  readonly ttl_seconds: number | null;
  readonly gc_grace_seconds: number | null;
  readonly shutdown_grace_seconds: number;
}

/** More steps than any turn needs, and few enough that a model that never stops ends the same day. */
export const STEPS_MAX = 1_000;
const SECONDS_MAX = 366 * 24 * 3_600;
const SHUTDOWN_GRACE_SECONDS = 300;
const SPEC_KEYS = new Set(["entryAgent", "agents", "instanceKey", "policy", "toolDelegationPolicy"]);
const POLICY_KEYS: ReadonlySet<string> = new Set(["maxStepsPerTurn", "lifecycle", "shutdown"]);
const LIFECYCLE_KEYS: ReadonlySet<string> = new Set(["ttlSeconds", "gcGraceSeconds"]);
const SHUTDOWN_KEYS: ReadonlySet<string> = new Set(["gracePeriodSeconds"]);

export function readSwarm(reading: ResourceReading, resource: Resource, targets: RefTargets): SwarmResource {
  const spec = readSpec(reading, SPEC_KEYS);
  if (spec === undefined) {
    const nothing = { entry_agent: "", agents: [], instance_key: null, tool_delegation_policy: undefined };
    return { ...resource, ...nothing, policy: policyOf(reading, undefined) };
  }
  const agents = readAgents(reading, spec, targets);
  return {
    ...resource,
    entry_agent: readEntry(reading, spec, agents, targets),
    agents,
    instance_key: readInstanceKey(reading, spec),
    policy: policyOf(reading, mappingAt(reading, spec, "policy")),
    tool_delegation_policy: toolDelegationPolicyAt(reading, spec),
  };
}

function readAgents(reading: ResourceReading, spec: Mapping, targets: RefTargets): readonly string[] {
  const list = listAt(reading, spec, "agents");
  if (list === undefined || list.length === 0) {
    const isAbsent = given(spec.value, "agents") === undefined || list !== undefined;
    if (isAbsent) reading.misfit("/spec/agents", "agents must be a list of at least one reference to an Agent");
    return [];
  }
  const names = new Set<string>();
  for (const [index, value] of list.entries()) {
    const ref = readRef(reading, value, `/spec/agents/${index}`, "Agent");
    const name = ref === undefined ? undefined : resolveLocal(reading, ref, targets);
    if (name === undefined || ref === undefined) continue;
    if (names.has(name)) reading.misfit(ref.pointer, `the agent ${shown(name)} appears twice`);
    names.add(name);
  }
  return [...names];
}

function readEntry(reading: ResourceReading, spec: Mapping, agents: readonly string[], targets: RefTargets): string {
  const value = given(spec.value, "entryAgent");
  if (value === undefined) {
    reading.misfit("/spec/entryAgent", "entryAgent is missing");
    return "";
  }
  const ref = readRef(reading, value, "/spec/entryAgent", "Agent");
  const name = ref === undefined ? undefined : resolveLocal(reading, ref, targets);
  if (name === undefined || ref === undefined) return "";
  if (agents.length > 0 && !agents.includes(name)) {
    reading.misfit(ref.pointer, `entryAgent ${shown(name)} must be one of agents: ${agents.join(", ")}`);
  }
  return name;
}

function readInstanceKey(reading: ResourceReading, spec: Mapping): string | null {
  const value = given(spec.value, "instanceKey");
  if (value === undefined) return null;
  if (isInstanceKey(value)) return value;
  const rule = "1 to 128 letters, digits and _ : . @ -";
  reading.misfit("/spec/instanceKey", `instanceKey must be ${rule}, found ${shown(value)}`);
  return null;
}

function policyOf(reading: ResourceReading, policy: Mapping | undefined): SwarmPolicy {
  const seconds = { min: 0, max: SECONDS_MAX };
  if (policy !== undefined) reading.refuseOthers(policy, POLICY_KEYS);
  const lifecycle = policy === undefined ? undefined : mappingAt(reading, policy, "lifecycle");
  const shutdown = policy === undefined ? undefined : mappingAt(reading, policy, "shutdown");
  if (lifecycle !== undefined) reading.refuseOthers(lifecycle, LIFECYCLE_KEYS);
  if (shutdown !== undefined) reading.refuseOthers(shutdown, SHUTDOWN_KEYS);
  const number = (mapping: Mapping | undefined, key: string, rule: { min: number; max: number }) =>
    mapping === undefined ? undefined : numberAt(reading, mapping, key, rule);
  return {
    max_steps_per_turn: number(policy, "maxStepsPerTurn", { min: 1, max: STEPS_MAX }) ?? STEPS_PER_TURN_MAX,
    ttl_seconds: number(lifecycle, "ttlSeconds", seconds) ?? null,
    gc_grace_seconds: number(lifecycle, "gcGraceSeconds", seconds) ?? null,
    shutdown_grace_seconds: number(shutdown, "gracePeriodSeconds", seconds) ?? SHUTDOWN_GRACE_SECONDS,
  };
}
