// Models, agents and swarms written in code. The answer is the document that the same resource would be in YAML, so that
// both go one way from here (docs/design.md#yaml-and-code-are-equal).
//
//   F1. Refs are given as the object that was defined or by name; both become the same reference.
//   F2. Everything is plain JSON and frozen. What is wrong with the values is reported when the bundle is read, all at once;
//       only a value that cannot be a resource at all is refused here.
//   F3. A field that there is not is refused here, too: the document has other names than its author wrote.

import {
  BadRequest,
  type DelegatedOperation,
  gateJson,
  type JsonObject,
  type JsonValue,
  TesseraError,
  unknownField,
} from "@tessera/protocol";
import type { DefinedTool } from "@tessera/tool";
import { API_VERSION } from "@tessera/tool/resources";
import type { ToolCallsMode } from "./agent-resource.ts";

interface ResourceDocument<K extends string> {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: K;
  readonly metadata: { readonly name: string };
  readonly spec: JsonObject;
}
/** A model as `defineModel` makes it: the document that the same Model would be in YAML. */
export type DefinedModel = ResourceDocument<"Model">;
/** An agent as `defineAgent` makes it: the document that the same Agent would be in YAML. */
export type DefinedAgent = ResourceDocument<"Agent">;
/** A swarm as `defineSwarm` makes it: the document that the same Swarm would be in YAML. */
export type DefinedSwarm = ResourceDocument<"Swarm">;

/** What {@link defineModel} takes. */
export interface ModelDraft {
  /** How agents name it. */
  readonly name: string;
  /** openai, anthropic, google, scripted, or any name with the `endpoint` of an OpenAI-compatible server. */
  readonly provider: string;
  /** Needed by all providers but `scripted`. */
  readonly model?: string;
  /** Where its key is read: an environment variable, or a secret of a bundle. Never the key itself. */
  readonly apiKey?: SecretSource;
  /** The address of the provider's API; default: the provider's own. */
  readonly endpoint?: string;
  /** For the provider: temperature, headers; for `scripted` its rules. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** What the model can and cannot do, where it differs from what its provider's models usually can. */
  readonly capabilities?: Readonly<Record<string, boolean>>;
}

type SecretSource =
  | { readonly valueFrom: { readonly env: string } }
  | { readonly valueFrom: { readonly secretRef: { readonly ref: string; readonly key: string } } };

/** A name, or a name in a package: `{name: "bash", package: "@tessera/base"}`. */
type NamedRef = string | { readonly name: string; readonly package?: string };
type ToolRef = NamedRef | Pick<DefinedTool<never, never>, "definition">;

/** An extension with what this agent gives it, laid over the configuration of the Extension. */
interface ExtensionDraft {
  readonly name: string;
  readonly package?: string;
  readonly config?: Readonly<Record<string, unknown>>;
}

/** What {@link defineAgent} takes. */
export interface AgentDraft {
  /** How it is asked: `tessera.run({ agent })`. */
  readonly name: string;
  /** The model that it thinks with, as it was defined or by name. */
  readonly model: NamedRef | DefinedModel;
  /** For this agent's calls of the model: temperature, maxTokens. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** Its system prompt. */
  readonly system?: string;
  /** A file of the bundle, instead of `system`. */
  readonly systemRef?: string;
  /** What it may call: tools as they were defined, by name, or as references of packages. Nothing else. */
  readonly tools?: readonly ToolRef[];
  /** Names of tools that the agent has, or references. */
  readonly requiredTools?: readonly ToolRef[];
  /** Extensions around its turns, from the outermost to the innermost of equal priority. */
  readonly extensions?: readonly (NamedRef | ExtensionDraft)[];
  /** Tells other agents and people what it is for. */
  readonly description?: string;
  /** Which workers take its turns; default: every one. */
  readonly workerTarget?: string;
  /** Words that other agents may find it by. */
  readonly tags?: readonly string[];
  /** Tessera's own tools that it may call: `submit_result`, `delegate_async`, `fork_join` and others. */
  readonly allowedInternalTools?: readonly string[];
  /** Names of tools; an object stands for its name. */
  readonly mustEndWith?: readonly (string | Pick<DefinedTool<never, never>, "definition">)[];
  /** Whom it may ask with Tessera's own tools; absent fields do not limit. */
  readonly delegationPolicy?: {
    readonly targetTags?: readonly string[];
    readonly targetProfiles?: readonly (string | DefinedAgent)[] | null;
  };
  /** What the code of its tools may reach through ctx.runtime. */
  readonly toolDelegationPolicy?: ToolDelegationDraft;
  /** How often it may think in one turn; then the turn ends `partial`. */
  readonly maxSteps?: number;
  /** What an instance remembers of its earlier turns; `turns: 0` is nothing. */
  readonly memory?: { readonly turns?: number; readonly characters?: number };
  /** How the calls of one message are made: all at once (the default), or each when the one before has its result. */
  readonly toolCalls?: ToolCallsMode;
}

/** Absent fields do not limit. */
interface ToolDelegationDraft {
  readonly operations?: readonly DelegatedOperation[];
  readonly targetTags?: readonly string[];
  readonly targetProfiles?: readonly string[];
}

/** What {@link defineSwarm} takes. */
export interface SwarmDraft {
  /** How it is called. */
  readonly name: string;
  /** The agent that gets a task for which none is named. */
  readonly entryAgent: NamedRef | DefinedAgent;
  /** The agents that belong to it. */
  readonly agents: readonly (NamedRef | DefinedAgent)[];
  /** The instance that its agents have where a task names none. */
  readonly instanceKey?: string;
  /** For its agents that have none of their own. */
  readonly toolDelegationPolicy?: ToolDelegationDraft;
  /** Limits for its agents' turns and for what becomes of instances. */
  readonly policy?: {
    readonly maxStepsPerTurn?: number;
    readonly lifecycle?: { readonly ttlSeconds?: number; readonly gcGraceSeconds?: number };
    readonly shutdown?: { readonly gracePeriodSeconds?: number };
  };
}

/** A model for agents, in code. */
export function defineModel(draft: ModelDraft): DefinedModel {
  refuseOthers("Model", draft, MODEL_FIELDS);
  const { name, ...spec } = draft;
  return documentOf("Model", name, spec);
}

/** An agent in code: a model, a prompt, and what it may call. */
export function defineAgent(draft: AgentDraft): DefinedAgent {
  refuseOthers("Agent", draft, AGENT_FIELDS);
  const { name, model, params, system, systemRef, tools, requiredTools, extensions, mustEndWith, ...rest } = draft;
  const { delegationPolicy, ...plain } = rest;
  return documentOf("Agent", name, {
    ...plain,
    modelConfig: { modelRef: refOf("Model", model), params },
    prompt: system === undefined && systemRef === undefined ? undefined : { system, systemRef },
    tools: tools?.map((tool) => refOf("Tool", tool)),
    requiredTools: requiredTools?.map((tool) => (typeof tool === "string" ? tool : refOf("Tool", tool))),
    extensions: extensions?.map((extension) => {
      const { config, ...ref } =
        typeof extension === "string" ? { name: extension, config: undefined } : { config: undefined, ...extension };
      return { ref: refOf("Extension", ref), config };
    }),
    mustEndWith: mustEndWith?.map(nameOf),
    delegationPolicy: delegationPolicy && {
      ...delegationPolicy,
      targetProfiles: delegationPolicy.targetProfiles?.map(nameOf),
    },
  });
}

/** A swarm in code: agents that know one another, and the one that gets a task first. */
export function defineSwarm(draft: SwarmDraft): DefinedSwarm {
  refuseOthers("Swarm", draft, SWARM_FIELDS);
  const { name, entryAgent, agents, ...rest } = draft;
  return documentOf("Swarm", name, {
    ...rest,
    entryAgent: refOf("Agent", entryAgent),
    agents: agents.map((agent) => refOf("Agent", agent)),
  });
}

const MODEL_FIELDS: Readonly<Record<keyof ModelDraft, true>> = {
  name: true,
  provider: true,
  model: true,
  apiKey: true,
  endpoint: true,
  options: true,
  capabilities: true,
};
const AGENT_FIELDS: Readonly<Record<keyof AgentDraft, true>> = {
  name: true,
  model: true,
  params: true,
  system: true,
  systemRef: true,
  tools: true,
  requiredTools: true,
  extensions: true,
  description: true,
  workerTarget: true,
  tags: true,
  allowedInternalTools: true,
  mustEndWith: true,
  delegationPolicy: true,
  toolDelegationPolicy: true,
  maxSteps: true,
  memory: true,
  toolCalls: true,
};
const SWARM_FIELDS: Readonly<Record<keyof SwarmDraft, true>> = {
  name: true,
  entryAgent: true,
  agents: true,
  instanceKey: true,
  policy: true,
  toolDelegationPolicy: true,
};

/** F3 */
function refuseOthers(kind: string, draft: object, fields: Readonly<Record<string, true>>): void {
  const other = Object.keys(draft).find((key) => !Object.hasOwn(fields, key));
  if (other === undefined) return;
  const { name } = draft as { readonly name?: unknown };
  const who = typeof name === "string" ? `${kind}/${name}` : kind;
  throw new BadRequest(`${who}: ${unknownField(other, Object.keys(fields))}`, {
    code: "schema_invalid",
    details: { field: other },
  });
}

/** F1. What is neither a name nor a defined object stays as it is, for the reader to refuse. */
function refOf(kind: string, ref: unknown): unknown {
  const name = nameOf(ref);
  if (typeof name !== "string") return ref;
  const pack = typeof ref === "object" && ref !== null ? (ref as { package?: unknown }).package : undefined;
  return { kind, name, package: pack };
}

function nameOf(ref: unknown): unknown {
  if (typeof ref !== "object" || ref === null) return ref;
  const { definition, metadata, name } = ref as Record<string, Record<string, unknown> | undefined>;
  return definition?.tool_name ?? metadata?.name ?? name ?? ref;
}

function documentOf<K extends string>(kind: K, name: unknown, spec: object): ResourceDocument<K> {
  if (typeof name !== "string") throw new BadRequest(`a ${kind} needs a name`, { code: "invalid_name" });
  try {
    const plain = gateJson({ metadata: { name }, spec: withoutUndefined(spec) });
    return deepFreeze({ apiVersion: API_VERSION, kind, ...(plain as object) }) as ResourceDocument<K>; // F2
  } catch (cause) {
    if (!TesseraError.is(cause)) throw cause;
    const message = `${kind}/${name} must be plain JSON: ${cause.message}`;
    throw new BadRequest(message, { code: cause.code, cause, details: cause.details });
  }
}

/** An optional field that is undefined is absent, at any depth. Cycles and strange objects are the gate's to refuse. */
function withoutUndefined(value: unknown, depth = 0): unknown {
  if (depth > DEPTH_MAX || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutUndefined(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const kept = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutUndefined(item, depth + 1)]));
}

const DEPTH_MAX = 64;

function deepFreeze(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value) as JsonValue[]) deepFreeze(member);
  return Object.freeze(value);
}
