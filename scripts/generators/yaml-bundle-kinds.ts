// The kinds of a bundle, except Tool (yaml-tool-kinds.ts), and what they have in common.

import { DELEGATED_OPERATIONS, INSTANCE_KEY_PATTERN, type JsonObject, STEPS_PER_TURN_MAX } from "@tessera/protocol";
import { RESERVED_TOOL_NAMES } from "@tessera/tool";
import { RESOURCE_KINDS } from "@tessera/tool/resources";
import { MEMORY_CHARACTERS_MAX, MEMORY_DEFAULT, MEMORY_TURNS_MAX } from "../../packages/agent/src/profile.ts";
import { TOOL_CALLS_MODES } from "../../packages/agent/src/resources/agent-resource.ts";
import { PROVIDERS, SCRIPTED } from "../../packages/agent/src/resources/model-resource.ts";
import { PROMPT_BYTES_MAX } from "../../packages/agent/src/resources/prompt.ts";
import { STEPS_MAX } from "../../packages/agent/src/resources/swarm-resource.ts";
import type { YamlSection } from "./yaml-mapping.ts";
import {
  ANYTHING,
  API_VERSION_TYPE,
  also,
  choice,
  definition,
  ID,
  listOf,
  MAPPING,
  mappingWith,
  NAME_SHOWN,
  pathTo,
  reference,
  references,
  TAGS,
  TEXT,
  TRUTH,
  text,
  unless,
  VARIABLE,
  wholeNumber,
  type YamlField,
} from "./yaml-types.ts";

const steps = wholeNumber(1, STEPS_MAX);

export const HEAD: YamlSection = {
  title: "Every resource",
  text: "A resource is one YAML document. Files with several documents separate them with `---`. The files of a bundle are `tessera.yaml` or `goondan.yaml`. A field that there is not is an error, with its place and the nearest name. `Connector` and `Connection` are recognised and reported as not supported.",
  mappings: [
    {
      at: "the document",
      keys: "resource-head.ts ROOT_KEYS",
      fields: [
        ["apiVersion", API_VERSION_TYPE, "required", "The version of this format; both mean the same."],
        ["kind", also(text("one of the kinds below"), { enum: [...RESOURCE_KINDS] }), "required", "What it is."],
        ["metadata", MAPPING, "required", "What it is called."],
        ["spec", MAPPING, "required, but for a Package", "What it does."],
      ],
    },
    {
      at: "metadata",
      keys: "resource-head.ts METADATA_KEYS",
      fields: [
        [
          "name",
          text(NAME_SHOWN, { minLength: 1 }),
          "required",
          "Unique among its kind. A Package is named as a registry names it: `@scope/name`.",
        ],
        ["labels", MAPPING, "", "For people and programs of your own; Tessera does not read it."],
        ["annotations", MAPPING, "", "The same."],
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
        ["kind", TEXT, "required", "The kind that is meant."],
        ["name", TEXT, "required", "Its name."],
        ["package", TEXT, "this bundle", "`@tessera/base` for what is built in."],
        ["apiVersion", API_VERSION_TYPE, "", "May be written, and means nothing more."],
      ],
    },
    {
      at: "a wrapped reference",
      keys: "object-ref.ts WRAPPED_KEYS",
      fields: [["ref", also(text("a reference"), {}), "required", "The reference itself."]],
    },
  ],
};

const SECRET_REF: readonly YamlField[] = [
  ["ref", text("Secret/name", { pattern: "^Secret/" }), "required", "Which secret, as `Secret/name`."],
  ["key", TEXT, "required", "Which value of it."],
];

export const SECRET: YamlSection = {
  title: "Secrets",
  text: "A secret is never written into a file: a value that is written out is refused. It is named by the environment variable that holds it.",
  mappings: [
    {
      at: "apiKey.valueFrom",
      fields: [
        ["env", VARIABLE, "", "The variable that holds the secret. Either this or `secretRef`."],
        [
          "secretRef",
          mappingWith("{ref: Secret/name, key}", SECRET_REF),
          "",
          "The variable `GOONDAN_SECRET_<NAME>_<KEY>`.",
        ],
      ],
    },
  ],
};

export const PACKAGE: YamlSection = {
  title: "Package",
  kind: "Package",
  text: "Names the bundle. Nothing is installed from it.",
  mappings: [
    {
      at: "spec",
      keys: "package-resource.ts SPEC_KEYS",
      fields: [
        ["version", TEXT, "", "The version of the bundle."],
        ["description", TEXT, "", "What it is for."],
        ["access", choice(["public", "restricted"]), "public", "For registries; Tessera does not read it."],
        [
          "dependencies",
          listOf(MAPPING, "list of {name, version}"),
          "",
          "A package that is not built in is reported with a warning.",
        ],
        ["registry", MAPPING, "", "For registries; Tessera does not read it."],
        [
          "settings",
          MAPPING,
          "",
          "Settings of the process that runs the bundle: see [Configuration](configuration.md).",
        ],
      ],
    },
    {
      at: "spec.registry",
      keys: "package-resource.ts REGISTRY_KEYS",
      fields: [["url", TEXT, "required", "Where it is published."]],
    },
    {
      at: "spec.dependencies[]",
      keys: "package-resource.ts DEPENDENCY_KEYS",
      fields: [
        ["name", TEXT, "required", "The package."],
        ["version", TEXT, "required", "Its version."],
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

/** Besides what the table says. */
const MODEL_RULES: readonly JsonObject[] = [
  unless({ properties: { provider: { const: SCRIPTED } } }, { required: ["model"] }),
  unless({ properties: { provider: { enum: [...PROVIDERS] } } }, { required: ["endpoint"] }),
];

export const MODEL: YamlSection = {
  title: "Model",
  kind: "Model",
  text: "Who answers.",
  mappings: [
    {
      at: "spec",
      keys: "model-resource.ts SPEC_KEYS",
      rules: MODEL_RULES,
      fields: [
        [
          "provider",
          also(choice(PROVIDERS), { anyOf: [{ enum: [...PROVIDERS] }, { type: "string" }] }),
          "required",
          "Another name needs an `endpoint` that speaks as OpenAI does. `scripted` answers by the rules in `options.rules` and needs no key.",
        ],
        ["model", TEXT, "required, but for `scripted`", "The provider's name of the model."],
        ["apiKey", definition("a secret", "secret"), "", "See Secrets."],
        [
          "endpoint",
          text("http or https address", { pattern: "^[Hh][Tt][Tt][Pp][Ss]?:" }),
          "the provider's",
          "Without user and password.",
        ],
        ["options", MAPPING, "", "What the provider's client is given; for `scripted` the rules."],
        [
          "capabilities",
          also(text("mapping to true or false"), { type: "object", additionalProperties: TRUTH.schema }),
          "",
          "What the model can do, by name; for people.",
        ],
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

export const TOOL_POLICY_FIELDS: readonly YamlField[] = [
  [
    "operations",
    listOf(choice(DELEGATED_OPERATIONS), "list of `request`, `send`, `spawn`"),
    "all",
    "What of `ctx.runtime` may reach another agent.",
  ],
  ["targetTags", listOf(TEXT), "any", "The agent must have one of these."],
  ["targetProfiles", listOf(TEXT), "any", "The agent must be one of these; an empty list lets none pass."],
];

export const MEMORY_FIELDS: readonly YamlField[] = [
  [
    "turns",
    wholeNumber(0, MEMORY_TURNS_MAX),
    String(MEMORY_DEFAULT.turns),
    "At most so many of the newest turns; 0: nothing is remembered.",
  ],
  [
    "characters",
    wholeNumber(1, MEMORY_CHARACTERS_MAX),
    String(MEMORY_DEFAULT.characters),
    "At most so many characters, of whole turns; a turn that alone is longer is cut between its steps.",
  ],
];

export const AGENT: YamlSection = {
  title: "Agent",
  kind: "Agent",
  text: "A model with instructions and tools. It may call what it names and nothing else.",
  mappings: [
    {
      at: "spec",
      keys: "agent-resource.ts SPEC_KEYS",
      fields: [
        ["modelConfig", MAPPING, "required", "Which model, and with what."],
        ["prompt", MAPPING, "", "The instructions."],
        ["tools", references("Tool"), "none", "What it may call."],
        [
          "requiredTools",
          listOf(
            definition("names of its tools, or references to Tools", "requiredTool"),
            "list of names of its tools, or of references to Tools",
          ),
          "none",
          "The turn does not end before one of them has succeeded.",
        ],
        [
          "extensions",
          listOf(definition("references to Extensions", "extensionUse"), "list of references to Extensions"),
          "none",
          "Modules that take part in its turns, in order. Beside `ref` stands `config`, which is laid over the configuration of the Extension, field by field. The built-in ones name their package.",
        ],
        ["description", TEXT, "", "What it is good for; other agents see it."],
        ["workerTarget", ID, "worker_generic", "Which workers take its turns."],
        ["tags", TAGS, "none", "By what delegation policies choose it."],
        [
          "allowedInternalTools",
          listOf(choice(RESERVED_TOOL_NAMES), `list of ${RESERVED_TOOL_NAMES.map((name) => `\`${name}\``).join(", ")}`),
          "none",
          "Tessera's own tools that it may call.",
        ],
        ["mustEndWith", listOf(TEXT, "list of tool names"), "none", "The turn ends only with a call of one of these."],
        ["delegationPolicy", MAPPING, "no agent", "Whom it may give work to."],
        [
          "toolDelegationPolicy",
          MAPPING,
          "the Swarm's, else none",
          "What the code of its tools may reach through `ctx.runtime`.",
        ],
        ["maxSteps", steps, "that of the Swarm", "How many steps a turn may take."],
        ["memory", MAPPING, "see below", "What an instance remembers of its earlier turns."],
        [
          "toolCalls",
          choice(TOOL_CALLS_MODES),
          "parallel",
          "Whether the calls of one message run at once, or each when the one before has its result.",
        ],
      ],
    },
    {
      at: "spec.modelConfig",
      keys: "agent-resource.ts MODEL_CONFIG_KEYS",
      fields: [
        ["modelRef", reference("Model"), "required", "Who answers."],
        [
          "params",
          MAPPING,
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
        ["ref", reference("Extension"), "required", "Which one; `config` has to stand beside `ref`, not in it."],
        ["config", MAPPING, "", "What this agent gives it."],
      ],
    },
    {
      at: "spec.prompt",
      keys: "prompt.ts PROMPT_KEYS",
      fields: [
        [
          "system",
          text(`text of at most ${PROMPT_BYTES_MAX} bytes`, { maxLength: PROMPT_BYTES_MAX }),
          "",
          "The instructions. Either this or `systemRef`.",
        ],
        ["systemRef", pathTo("a file"), "", "The file that holds them."],
      ],
    },
    {
      at: "spec.toolDelegationPolicy",
      keys: "delegation.ts TOOL_POLICY_KEYS",
      fields: TOOL_POLICY_FIELDS,
    },
    {
      at: "spec.delegationPolicy",
      keys: "agent-resource.ts POLICY_KEYS",
      fields: [
        ["targetTags", listOf(TEXT), "any", "The agent must have one of these."],
        ["targetProfiles", listOf(TEXT), "any", "The agent must be one of these; an empty list lets none pass."],
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
  kind: "Swarm",
  text: "Which agents know one another, who speaks first, and how far a turn may go.",
  mappings: [
    {
      at: "spec",
      keys: "swarm-resource.ts SPEC_KEYS",
      fields: [
        ["entryAgent", reference("Agent"), "required", "Who gets the input; one of `agents`."],
        [
          "agents",
          listOf(reference("Agent"), "list of references to Agents", { minItems: 1 }),
          "required",
          "At least one.",
        ],
        [
          "instanceKey",
          text("1 to 128 letters, digits and `_ : . @ -`", { pattern: INSTANCE_KEY_PATTERN.source }),
          "",
          "Which instance of the entry agent, where a request names none.",
        ],
        ["policy", MAPPING, "", "Limits."],
        [
          "toolDelegationPolicy",
          mappingWith("mapping", TOOL_POLICY_FIELDS),
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
        ["lifecycle", MAPPING, "", "Read and kept; instances are not removed by it."],
        ["shutdown", MAPPING, "", "Read and kept."],
      ],
    },
    {
      at: "spec.policy.lifecycle",
      keys: "swarm-resource.ts LIFECYCLE_KEYS",
      fields: [
        ["ttlSeconds", wholeNumber(0), "", "How long an instance may be idle."],
        ["gcGraceSeconds", wholeNumber(0), "", "How long it is kept after that."],
      ],
    },
    {
      at: "spec.policy.shutdown",
      keys: "swarm-resource.ts SHUTDOWN_KEYS",
      fields: [["gracePeriodSeconds", wholeNumber(0), "300", "How long a stop may take."]],
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
  kind: "Extension",
  text: 'A module that takes part in the steps of the agents that name it; [the guide](../guides/agents-and-swarms.md#extensions) has the module of this example. The built-in ones (`context-message`, `inter-agent-response-format`, `logging`, `message-compaction`, `message-window`, `required-tools-guard`, `tool-search`) are not in the bundle; an agent lists them as `{ kind: Extension, name: message-window, package: "@tessera/base" }`.',
  mappings: [
    {
      at: "spec",
      keys: "extension-resource.ts SPEC_KEYS",
      fields: [
        ["entry", pathTo("a module"), "required", "The module."],
        ["config", ANYTHING, "", "What it is given."],
        [
          "onError",
          choice(["fail", "skip"]),
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
