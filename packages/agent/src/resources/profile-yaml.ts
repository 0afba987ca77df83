// A CommonGround profile: one flat YAML mapping (docs/protocol/documents.md#commonground) → the same AgentProfile that an Agent
// resource becomes.
//
//   Y1. Unknown keys are tolerated and listed.
//   Y2. `allowed_tools` that is absent means none; `null` means every tool of the project, as upstream stores it.

import { isToolName, type JsonObject, STEPS_PER_TURN_MAX } from "@tessera/protocol";
import { errorOfMistakes, readYaml, type YamlDocument } from "@tessera/tool/resources";
import type { AgentProfile } from "../profile.ts";
import { delegationPolicyAt, internalToolsAt } from "./delegation.ts";
import { blockAt, descriptionAt, idAt, namesAt, numberAt, tagsAt, textAt } from "./fields.ts";
import { readLlmConfig, type UploadLimits } from "./llm-config.ts";
import { memoryAt } from "./memory.ts";
import { PROMPT_BYTES_MAX } from "./prompt.ts";
import {
  type BundleWarning,
  given,
  type Mapping,
  type ResourceReading,
  shown,
  startReading,
} from "./resource-reading.ts";
import { STEPS_MAX } from "./swarm-resource.ts";

export interface ProfileUploadOptions extends UploadLimits {
  /** The upload's name, for messages. */
  readonly file?: string | undefined;
}

export interface ProfileUpload {
  readonly profile: AgentProfile;
  /** Pointers of keys that were not used. */
  readonly ignored: readonly string[];
  readonly warnings: readonly BundleWarning[];
}

const FILE_DEFAULT = "upload.yaml";
const NAME_CHARS_MAX = 128;
const POLICY_KEYS = { policy: "delegation_policy", tags: "target_tags", profiles: "target_profiles" };
const KNOWN_KEYS: ReadonlySet<string> = new Set([
  "name",
  "worker_target",
  "tags",
  "description",
  "system_prompt_template",
  "system_prompt",
  "delegation_policy",
  "allowed_tools",
  "allowed_internal_tools",
  "must_end_with",
  "llm_config",
  "max_steps",
  "memory",
]);

/** Reads an upload, or throws the TesseraError of its first mistake with all of them in `details.mistakes`. */
export function readProfileYaml(bytes: Uint8Array | string, options: ProfileUploadOptions = {}): ProfileUpload {
  const { file = FILE_DEFAULT } = options;
  const [document] = readYaml(bytes, { kind: "upload", file }) as readonly [YamlDocument];
  const reading = startReading(document, { source: "upload" });
  const root: Mapping = { value: reading.root, pointer: "" };
  reading.passOverOthers(root, KNOWN_KEYS); // Y1
  const memory = memoryAt(reading, root);
  const profile: AgentProfile = {
    schema_version: 1,
    name: textAt(reading, root, "name", { required: true, charsMax: NAME_CHARS_MAX }) ?? "",
    description: descriptionAt(reading, root),
    worker_target: idAt(reading, root, "worker_target", { required: true }) ?? "",
    tags: tagsAt(reading, root, "tags"),
    model: readLlmConfig(reading, root, options),
    system_prompt: readPrompt(reading, root),
    allowed_tools: readAllowedTools(reading, root),
    allowed_internal_tools: internalToolsAt(reading, root, "allowed_internal_tools"),
    must_end_with: toolNamesAt(reading, root, "must_end_with") ?? [],
    required_tools: [],
    delegation_policy: delegationPolicyAt(reading, root, POLICY_KEYS),
    max_steps: numberAt(reading, root, "max_steps", { min: 1, max: STEPS_MAX }) ?? STEPS_PER_TURN_MAX,
    memory,
    extensions: [],
    swarm: null,
  };
  const [first, ...rest] = reading.mistakes;
  if (first !== undefined) throw errorOfMistakes([first, ...rest]);
  return { profile, ignored: reading.ignored, warnings: reading.warnings };
}

function readPrompt(reading: ResourceReading, root: Mapping): string {
  const template = blockAt(reading, root, "system_prompt_template", PROMPT_BYTES_MAX);
  const prompt = blockAt(reading, root, "system_prompt", PROMPT_BYTES_MAX);
  if (template !== undefined && prompt !== undefined && template !== prompt) {
    reading.warn("/system_prompt", "system_prompt_template is given, so system_prompt does nothing");
  }
  return template ?? prompt ?? "";
}

/** Y2. */
function readAllowedTools(reading: ResourceReading, root: Mapping): readonly string[] | null {
  if (isNull(root.value, "allowed_tools")) return null;
  return toolNamesAt(reading, root, "allowed_tools") ?? [];
}

function isNull(value: JsonObject, key: string): boolean {
  return Object.hasOwn(value, key) && value[key] === null;
}

function toolNamesAt(reading: ResourceReading, root: Mapping, key: string): readonly string[] | undefined {
  const names = namesAt(reading, root, key);
  for (const name of names ?? []) {
    if (isToolName(name)) continue;
    const index = (given(root.value, key) as unknown[]).indexOf(name);
    reading.misfit(`/${key}/${index}`, `${shown(name)} is not the name of a tool`);
  }
  return names;
}
