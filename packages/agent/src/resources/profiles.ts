// The agents of a bundle as profiles (P1 of profile.ts): each with its Model, its extensions and its place in a Swarm.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  STEPS_PER_TURN_MAX,
  type ToolDelegationPolicy,
} from "@tessera/protocol";
import { errorOfMistakes } from "@tessera/tool/resources";
import type { AgentProfile, ModelSpec, SwarmMembership } from "../profile.ts";
import type { AgentResource } from "./agent-resource.ts";
import type { ExtensionResource } from "./extension-resource.ts";
import type { SwarmBundle } from "./swarm-bundle.ts";
import type { SwarmResource } from "./swarm-resource.ts";

export interface ProfileOptions {
  /** Which Swarm counts for an agent that is in several; by default the first that has it. */
  readonly swarm?: string;
}

/** Throws the mistakes of a bundle that has any: half a swarm is none. */
export function profilesOf(bundle: SwarmBundle, options: ProfileOptions = {}): readonly AgentProfile[] {
  const [first, ...rest] = bundle.mistakes;
  if (first !== undefined) throw errorOfMistakes([first, ...rest]);
  const swarms = bundle.swarms.toSorted((a, b) => Number(b.name === options.swarm) - Number(a.name === options.swarm));
  const models = new Map(bundle.models.map((model) => [model.name, model.spec]));
  const extensions = new Map(bundle.extensions.map((extension) => [extension.name, extension]));
  return bundle.agents.map((agent) => {
    const swarm = swarms.find(({ agents }) => agents.includes(agent.name)) ?? null;
    return profileOf(agent, models.get(agent.model) as ModelSpec, extensions, swarm);
  });
}

function profileOf(
  agent: AgentResource,
  model: ModelSpec,
  extensions: ReadonlyMap<string, ExtensionResource>,
  swarm: SwarmResource | null,
): AgentProfile {
  return {
    schema_version: 1,
    name: agent.name,
    description: agent.description,
    worker_target: agent.worker_target,
    tags: agent.tags,
    model: agent.params === null ? model : { ...model, params: agent.params },
    system_prompt: agent.system_prompt,
    allowed_tools: agent.tools,
    allowed_internal_tools: agent.allowed_internal_tools,
    must_end_with: agent.must_end_with,
    required_tools: agent.required_tools,
    delegation_policy: agent.delegation_policy,
    ...givenPolicy(agent.tool_delegation_policy ?? swarm?.tool_delegation_policy),
    max_steps: agent.max_steps ?? swarm?.policy.max_steps_per_turn ?? STEPS_PER_TURN_MAX,
    memory: agent.memory,
    ...(agent.tool_calls === "sequential" ? { tool_calls: agent.tool_calls } : {}),
    extensions: agent.extensions.map((use) => {
      const { config = null, onError } = use.package === undefined ? (extensions.get(use.name) ?? {}) : {};
      const own = use.package === undefined ? {} : { package: use.package };
      return { name: use.name, ...own, config: merged(config, use.config), ...(onError && { on_error: onError }) };
    }),
    swarm: swarm === null ? null : membershipOf(swarm),
  };
}

/** What an agent gives an extension is laid over what the Extension has. */
function merged(config: JsonValue, given: JsonObject | undefined): JsonValue {
  if (given === undefined) return config;
  return isJsonObject(config) ? { ...config, ...given } : given;
}

function givenPolicy(tool_delegation_policy: ToolDelegationPolicy | undefined) {
  return tool_delegation_policy === undefined ? {} : { tool_delegation_policy };
}

function membershipOf({ name, entry_agent, agents }: SwarmResource): SwarmMembership {
  return { name, entry_agent, agents };
}
