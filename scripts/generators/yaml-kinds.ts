// All that may stand in a YAML file. yaml-reference.test.ts holds the fields equal to the keys that the readers know, and reads
// every example with those readers.

import { STEPS_PER_TURN_MAX } from "@tessera/protocol";
import { PROMPT_BYTES_MAX } from "../../packages/agent/src/resources/prompt.ts";
import { STEPS_MAX } from "../../packages/agent/src/resources/swarm-resource.ts";
import {
  AGENT,
  EXTENSION,
  HEAD,
  MEMORY_FIELDS,
  MODEL,
  PACKAGE,
  REFERENCE,
  SECRET,
  SWARM,
} from "./yaml-bundle-kinds.ts";
import type { YamlSection } from "./yaml-mapping.ts";
import { API_TOOL, TOOL, UPLOADED_TOOL } from "./yaml-tool-kinds.ts";
import { anotherWord, ID, listOf, MAPPING, TAGS, TEXT, text, wholeNumber } from "./yaml-types.ts";

const steps = wholeNumber(1, STEPS_MAX);

const UPLOADED_PROFILE: YamlSection = {
  title: "CommonGround profile",
  text: "An upload to `POST /projects/{project}/profiles`: the profile of an agent as one flat mapping.",
  mappings: [
    {
      at: "the document",
      keys: "profile-yaml.ts KNOWN_KEYS",
      fields: [
        ["name", text("text of at most 128 characters"), "required", "What it is called in the project."],
        ["worker_target", ID, "required", "Which workers take its turns."],
        ["tags", TAGS, "none", "By what delegation policies choose it."],
        ["description", TEXT, "", "What it is good for."],
        ["system_prompt_template", text(`text of at most ${PROMPT_BYTES_MAX} bytes`), "", "The instructions."],
        ["system_prompt", TEXT, "", "The same, where `system_prompt_template` is absent."],
        ["delegation_policy", MAPPING, "no agent", "Whom it may give work to."],
        [
          "allowed_tools",
          text("list of tool names, or null"),
          "none",
          "What it may call; `null` means every tool of the project.",
        ],
        ["allowed_internal_tools", listOf(TEXT, "list of names"), "none", "Tessera's own tools that it may call."],
        [
          "must_end_with",
          listOf(TEXT, "list of tool names"),
          "none",
          "The turn ends only with a call of one of these.",
        ],
        ["llm_config", MAPPING, "", "Which model, and with what."],
        ["max_steps", steps, String(STEPS_PER_TURN_MAX), "How many steps a turn may take."],
        ["memory", MAPPING, "see below", "What an instance remembers of its earlier turns."],
      ],
    },
    { at: "memory", fields: MEMORY_FIELDS },
    {
      at: "delegation_policy",
      keys: "profile-yaml.ts POLICY_KEYS",
      fields: [
        ["target_tags", listOf(TEXT), "any", "The agent must have one of these."],
        ["target_profiles", listOf(TEXT), "any", "The agent must be one of these; an empty list lets none pass."],
      ],
    },
    {
      at: "llm_config",
      keys: "llm-config.ts SPEC_KEYS",
      fields: [
        ["provider", TEXT, "by the model's name", "As of a Model."],
        ["model", TEXT, "gpt-3.5-turbo", "Also with a prefix: `anthropic/claude-…`."],
        ["endpoint", text("address"), "the provider's", "Only where the operator allows it."],
        ["api_base", anotherWord(TEXT), "", "Another word for `endpoint`."],
        ["base_url", anotherWord(TEXT), "", "Another word for `endpoint`."],
        ["apiKey", text("a secret"), "", "Only variables that the operator allows."],
        [
          "options",
          MAPPING,
          "",
          "As of a Model. Every other key is a parameter of each request: `temperature`, `max_tokens`.",
        ],
      ],
    },
  ],
  example: `name: reviewer
worker_target: worker_generic
tags: [review]
system_prompt_template: You review what you are given.
allowed_tools: [words__count]
allowed_internal_tools: [submit_result]
llm_config: { model: anthropic/claude-sonnet-4-5, temperature: 0 }
`,
};

export const YAML_SECTIONS: readonly YamlSection[] = [
  ...[HEAD, REFERENCE, SECRET],
  ...[PACKAGE, MODEL, AGENT, SWARM, TOOL, API_TOOL, EXTENSION],
  ...[UPLOADED_TOOL, UPLOADED_PROFILE],
];
