// A profile: everything that makes an agent, as data. It is stored as a `sys.profile` card in a box of its own, so that a
// turn keeps the profile it began with, whatever is deployed meanwhile (docs/design.md#promises).
//
//   P1. One shape for a Goondan Agent (with its Model and Swarm) and a CommonGround profile.
//   P2. No secret is in it: a key is named by its environment variable and read when the model is called.

import type { DelegationPolicy, JsonObject, JsonValue, ToolDelegationPolicy } from "@tessera/protocol";

/** `value`, or where to find it. The second form is the only one for secrets. */
export type ValueSource = { readonly value: string } | { readonly valueFrom: { readonly env: string } };

export interface ModelSpec {
  /** openai, anthropic, google, openai-compatible or scripted. */
  readonly provider: string;
  readonly model: string;
  readonly apiKey?: ValueSource;
  /** The base URL of an OpenAI-compatible server, or another place for a provider. */
  readonly endpoint?: string;
  /** Of the provider; for `scripted` its rules. */
  readonly options?: JsonObject;
  /** temperature, maxTokens, topP, … */
  readonly params?: JsonObject;
}

export interface SwarmMembership {
  readonly name: string;
  readonly entry_agent: string;
  /** Names of all agents of the swarm, the entry included. */
  readonly agents: readonly string[];
}

/** What an instance remembers of its earlier turns, in a request to its model. */
export interface MemoryPolicy {
  /** 0: nothing. */
  readonly turns: number;
  readonly characters: number;
}

/** `content.data` of a `sys.profile` card. */
export interface AgentProfile {
  readonly schema_version: 1;
  readonly name: string;
  readonly description: string;
  readonly worker_target: string;
  readonly tags: readonly string[];
  readonly model: ModelSpec;
  /** May hold {downstream_profiles_desc}, {downstream_roster}, {downstream_desc}, {display_name}; others stay as written. */
  readonly system_prompt: string;
  /** Tool names (`resource__export`, or a resource for all its exports). Null: every tool of the project; []: none. */
  readonly allowed_tools: readonly string[] | null;
  /** Of delegate_async, launch_principal, ask_expert, fork_join, provision_agent, submit_result. */
  readonly allowed_internal_tools: readonly string[];
  /** The turn may end only after one of these was called; empty: text ends it. */
  readonly must_end_with: readonly string[];
  /** At least one of these must have succeeded before the turn may end; empty: no such rule. */
  readonly required_tools: readonly string[];
  readonly delegation_policy: DelegationPolicy | null;
  /** What the code of its tools may reach through ctx.runtime; absent: no limit of the agent's. */
  readonly tool_delegation_policy?: ToolDelegationPolicy;
  readonly max_steps: number;
  /** Absent: MEMORY_DEFAULT. */
  readonly memory?: MemoryPolicy;
  /** `sequential`: a call of a message starts when the one before it has its result. Absent: all at once. */
  readonly tool_calls?: "sequential";
  /** Without `on_error` each layer's own counts, and one that cannot be registered ends the turn. */
  readonly extensions: readonly {
    readonly name: string;
    /** Of one that comes with the product; absent: it is the bundle's. */
    readonly package?: "@tessera/base";
    readonly config: JsonValue;
    readonly on_error?: "fail" | "skip";
  }[];
  readonly swarm: SwarmMembership | null;
}

/** About 50,000 tokens: a long conversation, and room beside it in every current model. */
export const MEMORY_DEFAULT: MemoryPolicy = { turns: 40, characters: 200_000 };
/** The store finds no more turns than this (l0.first_remembered). */
export const MEMORY_TURNS_MAX = 200;
export const MEMORY_CHARACTERS_MAX = 4_000_000;

export const WORKER_TARGET_DEFAULT = "worker_generic";
/** Of agents without a model: their turns are one call each, of a program or of a user interface. */
export const TOOL_CALLER_TARGET = "tool_caller";
export const UI_WORKER_TARGET = "ui_worker";
