// The kinds of a bundle, except Tool (yaml-tool-kinds.ts), and what they have in common.

import { STEPS_PER_TURN_MAX } from "@tessera/protocol";
import { RESERVED_TOOL_NAMES } from "@tessera/tool";
import { API_VERSIONS } from "@tessera/tool/resources";
import { MEMORY_CHARACTERS_MAX, MEMORY_DEFAULT, MEMORY_TURNS_MAX } from "../../packages/agent/src/profile.ts";
import { TOOL_CALLS_MODES } from "../../packages/agent/src/resources/agent-resource.ts";
import { PROVIDERS } from "../../packages/agent/src/resources/model-resource.ts";
import { PROMPT_BYTES_MAX } from "../../packages/agent/src/resources/prompt.ts";
import { STEPS_MAX } from "../../packages/agent/src/resources/swarm-resource.ts";
import type { YamlMapping, YamlSection } from "./yaml-mapping.ts";

const versions = API_VERSIONS.map((version) => `\`${version}\``).join(" or ");
const steps = `whole number, 1 to ${STEPS_MAX}`;

export const HEAD: YamlSection = {
  title: "Every resource",
  text: "A resource is one YAML document. Files with several documents separate them with `---`. The files of a bundle are `tessera.yaml` or `goondan.yaml`. A field that there is not is an error, with its place and the nearest name. `Connector` and `Connection` are recognised and reported as not supported.",
  mappings: [
    {
      at: "the document",
      keys: "resource-head.ts ROOT_KEYS",
      fields: [
        ["apiVersion", versions, "required", "The version of this format; both mean the same."],
        ["kind", "one of the kinds below", "required", "What it is."],
        ["metadata", "mapping", "required", "What it is called."],
        ["spec", "mapping", "required", "What it does; a Package may leave it out."],
      ],
    },
    {
      at: "metadata",
      keys: "resource-head.ts METADATA_KEYS",
      fields: [
        [
          "name",
          "lower-case letters, digits and `-`, starting with a letter, at most 63",
          "required",
          "Unique among its kind. A Package is named as a registry names it: `@scope/name`.",
        ],
        ["labels", "mapping", "", "For people and programs of your own; Tessera does not read it."],
        ["annotations", "mapping", "", "The same."],
      ],
    },
  ],
};

export const REFERENCE: YamlSection = {
  title: "References",
  text: "A reference is written `Kind/name` or as a mapping, either of them also inside `{ref: …}`. A reference to a Tool means all of its exports, or one: `Tool/weather__forecast`. Built-in tools are in the package `@tessera/base`, also called `@goondan/base`.",
  mappings: [
    {
      at: "a reference",
      keys: "object-ref.ts REF_KEYS",
      fields: [
        ["kind", "text", "required", "The kind that is meant."],
        ["name", "text", "required", "Its name."],
        ["package", "text", "this bundle", "`@tessera/base` for what is built in."],
        ["apiVersion", versions, "", "May be written, and means nothing more."],
      ],
    },
    {
      at: "a wrapped reference",
      keys: "object-ref.ts WRAPPED_KEYS",
      fields: [["ref", "a reference", "required", "The reference itself."]],
    },
  ],
};

export const SECRET: YamlSection = {
  title: "Secrets",
  text: "A secret is never written into a file: a value that is written out is refused. It is named by the environment variable that holds it.",
  mappings: [
    {
      at: "apiKey.valueFrom",
      fields: [
        ["env", "name of a variable", "", "The variable that holds the secret. Either this or `secretRef`."],
        ["secretRef", "{ref: Secret/name, key}", "", "The variable `GOONDAN_SECRET_<NAME>_<KEY>`."],
      ],
    },
  ],
};

export const PACKAGE: YamlSection = {
  title: "Package",
  text: "Names the bundle. Nothing is installed from it.",
  mappings: [
    {
      at: "spec",
      keys: "package-resource.ts SPEC_KEYS",
      fields: [
        ["version", "text", "", "The version of the bundle."],
        ["description", "text", "", "What it is for."],
        ["access", "`public` or `restricted`", "public", "For registries; Tessera does not read it."],
        ["dependencies", "list of {name, version}", "", "A package that is not built in is reported with a warning."],
        ["registry", "mapping", "", "For registries; Tessera does not read it."],
        [
          "settings",
          "mapping",
          "",
          "Settings of the process that runs the bundle: see [Configuration](configuration.md).",
        ],
      ],
    },
    {
      at: "spec.registry",
      keys: "package-resource.ts REGISTRY_KEYS",
      fields: [["url", "text", "required", "Where it is published."]],
    },
    {
      at: "spec.dependencies[]",
      keys: "package-resource.ts DEPENDENCY_KEYS",
      fields: [
        ["name", "text", "required", "The package."],
        ["version", "text", "required", "Its version."],
      ],
    },
  ],
  example: `apiVersion: tessera/v1
kind: Package
metadata: { name: "@example/travel" }
spec:
  version: 1.0.0
  description: Helps people pack.
`,
};

export const MODEL: YamlSection = {
  title: "Model",
  text: "Who answers.",
  mappings: [
    {
      at: "spec",
      keys: "model-resource.ts SPEC_KEYS",
      fields: [
        [
          "provider",
          PROVIDERS.map((name) => `\`${name}\``).join(", "),
          "required",
          "Another name needs an `endpoint` that speaks as OpenAI does. `scripted` answers by the rules in `options.rules` and needs no key.",
        ],
        ["model", "text", "required", "The provider's name of the model; a scripted one needs none."],
        ["apiKey", "a secret", "", "See Secrets."],
        ["endpoint", "http or https address", "the provider's", "Without user and password."],
        ["options", "mapping", "", "What the provider's client is given; for `scripted` the rules."],
        ["capabilities", "mapping to true or false", "", "What the model can do, by name; for people."],
      ],
    },
  ],
  example: `apiVersion: tessera/v1
kind: Model
metadata: { name: clever }
spec:
  provider: anthropic
  model: claude-sonnet-4-5
  apiKey: { valueFrom: { env: ANTHROPIC_API_KEY } }
`,
};

export const MEMORY_FIELDS: YamlMapping["fields"] = [
  [
    "turns",
    `whole number, 0 to ${MEMORY_TURNS_MAX}`,
    String(MEMORY_DEFAULT.turns),
    "At most so many of the newest turns; 0: nothing is remembered.",
  ],
  [
    "characters",
    `whole number, 1 to ${MEMORY_CHARACTERS_MAX}`,
    String(MEMORY_DEFAULT.characters),
    "At most so many characters, of whole turns; a turn that alone is longer is cut between its steps.",
  ],
];

export const AGENT: YamlSection = {
  title: "Agent",
  text: "A model with instructions and tools. It may call what it names and nothing else.",
  mappings: [
    {
      at: "spec",
      keys: "agent-resource.ts SPEC_KEYS",
      fields: [
        ["modelConfig", "mapping", "required", "Which model, and with what."],
        ["prompt", "mapping", "", "The instructions."],
        ["tools", "list of references to Tools", "none", "What it may call."],
        [
          "requiredTools",
          "list of names of its tools, or of references to Tools",
          "none",
          "The turn does not end before one of them has succeeded.",
        ],
        [
          "extensions",
          "list of references to Extensions",
          "none",
          "Modules that take part in its turns, in order. Beside `ref` stands `config`, which is laid over the configuration of the Extension, field by field. The built-in ones name their package.",
        ],
        ["description", "text", "", "What it is good for; other agents see it."],
        ["workerTarget", "id", "worker_generic", "Which workers take its turns."],
        ["tags", "list of text, or text with commas", "none", "By what delegation policies choose it."],
        [
          "allowedInternalTools",
          RESERVED_TOOL_NAMES.map((name) => `\`${name}\``).join(", "),
          "none",
          "Tessera's own tools that it may call.",
        ],
        ["mustEndWith", "list of tool names", "none", "The turn ends only with a call of one of these."],
        ["delegationPolicy", "mapping", "nobody", "Whom it may give work to."],
        [
          "toolDelegationPolicy",
          "mapping",
          "the Swarm's, else none",
          "What the code of its tools may reach through `ctx.runtime`.",
        ],
        ["maxSteps", steps, "that of the Swarm", "How many steps a turn may take."],
        ["memory", "mapping", "see below", "What an instance remembers of its earlier turns."],
        [
          "toolCalls",
          TOOL_CALLS_MODES.join(", "),
          "parallel",
          "Whether the calls of one message run at once, or each when the one before has its result.",
        ],
      ],
    },
    {
      at: "spec.modelConfig",
      keys: "agent-resource.ts MODEL_CONFIG_KEYS",
      fields: [
        ["modelRef", "reference to a Model", "required", "Who answers."],
        [
          "params",
          "mapping",
          "",
          "Of each request: `temperature`, `maxTokens`, `topP`, and what else the provider knows.",
        ],
      ],
    },
    { at: "spec.memory", keys: "memory.ts MEMORY_KEYS", fields: MEMORY_FIELDS },
    {
      at: "spec.extensions[]",
      keys: "agent-resource.ts EXTENSION_USE_KEYS",
      fields: [
        ["ref", "reference to an Extension", "required", "Which one; `config` has to stand beside `ref`, not in it."],
        ["config", "mapping", "", "What this agent gives it."],
      ],
    },
    {
      at: "spec.prompt",
      keys: "prompt.ts PROMPT_KEYS",
      fields: [
        ["system", `text of at most ${PROMPT_BYTES_MAX} bytes`, "", "The instructions. Either this or `systemRef`."],
        ["systemRef", "path of a file in the bundle", "", "The file that holds them."],
      ],
    },
    {
      at: "spec.toolDelegationPolicy",
      keys: "delegation.ts TOOL_POLICY_KEYS",
      fields: [
        ["operations", "list of `request`, `send`, `spawn`", "all", "What of `ctx.runtime` may reach another agent."],
        ["targetTags", "list of text", "any", "The agent must have one of these."],
        ["targetProfiles", "list of text", "any", "The agent must be one of these; an empty list lets none pass."],
      ],
    },
    {
      at: "spec.delegationPolicy",
      keys: "agent-resource.ts POLICY_KEYS",
      fields: [
        ["targetTags", "list of text", "any", "The agent must have one of these."],
        ["targetProfiles", "list of text", "any", "The agent must be one of these; an empty list lets none pass."],
      ],
    },
  ],
  example: `apiVersion: tessera/v1
kind: Agent
metadata: { name: guide }
spec:
  modelConfig:
    modelRef: Model/clever
    params: { temperature: 0.2, maxTokens: 2000 }
  prompt: { system: You help people pack. }
  tools:
    - { ref: Tool/weather }
    - { kind: Tool, name: bash, package: "@tessera/base" }
  allowedInternalTools: [submit_result]
  mustEndWith: [submit_result]
  maxSteps: 20
  memory: { turns: 20 }
`,
};

export const SWARM: YamlSection = {
  title: "Swarm",
  text: "Which agents know one another, who speaks first, and how far a turn may go.",
  mappings: [
    {
      at: "spec",
      keys: "swarm-resource.ts SPEC_KEYS",
      fields: [
        ["entryAgent", "reference to an Agent", "required", "Who gets the input; one of `agents`."],
        ["agents", "list of references to Agents", "required", "At least one."],
        [
          "instanceKey",
          "1 to 128 letters, digits and `_ : . @ -`",
          "",
          "Which instance of the entry agent, where a request names none.",
        ],
        ["policy", "mapping", "", "Limits."],
        [
          "toolDelegationPolicy",
          "mapping",
          "none",
          "The same as of an Agent, for its agents that have none of their own.",
        ],
      ],
    },
    {
      at: "spec.policy",
      keys: "swarm-resource.ts POLICY_KEYS",
      fields: [
        [
          "maxStepsPerTurn",
          steps,
          String(STEPS_PER_TURN_MAX),
          "How many steps a turn may take, where the Agent does not say.",
        ],
        ["lifecycle", "mapping", "", "Read and kept; instances are not removed by it."],
        ["shutdown", "mapping", "", "Read and kept."],
      ],
    },
    {
      at: "spec.policy.lifecycle",
      keys: "swarm-resource.ts LIFECYCLE_KEYS",
      fields: [
        ["ttlSeconds", "whole number", "", "How long an instance may be idle."],
        ["gcGraceSeconds", "whole number", "", "How long it is kept after that."],
      ],
    },
    {
      at: "spec.policy.shutdown",
      keys: "swarm-resource.ts SHUTDOWN_KEYS",
      fields: [["gracePeriodSeconds", "whole number", "300", "How long a stop may take."]],
    },
  ],
  example: `apiVersion: tessera/v1
kind: Swarm
metadata: { name: travel }
spec:
  entryAgent: Agent/guide
  agents: [{ ref: Agent/guide }]
  policy: { maxStepsPerTurn: 24 }
`,
};

export const EXTENSION: YamlSection = {
  title: "Extension",
  text: 'A module that takes part in the steps of the agents that name it; [the guide](../guides/agents-and-swarms.md#extensions) has the module of this example. The built-in ones (`context-message`, `inter-agent-response-format`, `logging`, `message-compaction`, `message-window`, `required-tools-guard`, `tool-search`) are not in the bundle; an agent lists them as `{ kind: Extension, name: message-window, package: "@tessera/base" }`.',
  mappings: [
    {
      at: "spec",
      keys: "extension-resource.ts SPEC_KEYS",
      fields: [
        ["entry", "path of a module in the bundle", "required", "The module."],
        ["config", "any value", "", "What it is given."],
        [
          "onError",
          "`fail` or `skip`",
          "each layer's own, else `fail`",
          "`fail`: what it wraps does not run when it throws, hangs, answers wrongly or cannot be loaded. `skip`: it is left out; for extensions that only observe.",
        ],
      ],
    },
  ],
  example: `apiVersion: tessera/v1
kind: Extension
metadata: { name: guard }
spec:
  entry: ./guard.ts
`,
};
