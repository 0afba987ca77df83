// The resources of a `tessera.config.ts`: `models`, `agents` and `swarms` of its default export, each made by its `define`
// function, as documents beside those of the YAML files. `tools` are the executor's to load; here only their names count.

import { isJsonObject, type JsonValue, unknownField } from "@tessera/protocol";
import { type BundleResource, isApiVersion, type Mistake, mistakeOf } from "@tessera/tool/resources";

/** The module as it was imported, and its file's name. */
export interface ConfigModule {
  readonly file: string;
  readonly exports: unknown;
}

export interface ConfigResources {
  readonly resources: readonly BundleResource[];
  readonly toolNames: readonly string[];
}

const START = { line: 1, column: 1 };
const NAME = /^[a-z][a-z0-9-]{0,62}$/;
const LISTS = [
  ["models", "Model"],
  ["agents", "Agent"],
  ["swarms", "Swarm"],
] as const;
/** `tools` are the executor's and `settings` the runtime's to read. */
const FIELDS: readonly string[] = [...LISTS.map(([key]) => key), "tools", "settings"];

export function readConfig({ file, exports }: ConfigModule, mistakes: Mistake[]): ConfigResources {
  const config = configOf(exports);
  if (config === null) {
    mistakes.push(
      mistakeOf("E_CONFIG_SCHEMA_INVALID", { file, ...START }, "there is no default export that is an object"),
    );
    return { resources: [], toolNames: [] };
  }
  for (const key of Object.keys(config)) {
    if (FIELDS.includes(key)) continue;
    const at = { file, pointer: `/${key}`, ...START };
    mistakes.push(mistakeOf("E_CONFIG_SCHEMA_INVALID", at, `the default export: ${unknownField(key, FIELDS)}`));
  }
  const resources = LISTS.flatMap(([key, kind]) =>
    listOf(config, key, file, mistakes).flatMap((value, index): BundleResource[] => {
      const refusal = refusalOf(value, kind);
      if (refusal === null) return [resourceOf(value as JsonValue, kind, file)];
      mistakes.push(
        mistakeOf(refusal.code, { file, pointer: `/${key}/${index}`, ...START }, `${key}[${index}] ${refusal.why}`),
      );
      return [];
    }),
  );
  const { tools } = config;
  const toolNames = (Array.isArray(tools) ? tools : []).flatMap((tool: unknown) => {
    const definition = isJsonObject(tool) ? tool.definition : undefined;
    return isJsonObject(definition) && typeof definition.tool_name === "string" ? [definition.tool_name] : [];
  });
  return { resources, toolNames };
}

/** ESM's default export, or what CommonJS exports. */
function configOf(exports: unknown): Readonly<Record<string, unknown>> | null {
  if (!isJsonObject(exports)) return null;
  const { default: exported, "module.exports": commonJs } = exports as Record<string, unknown>;
  const config = exported ?? commonJs;
  return isJsonObject(config) ? config : null;
}

function listOf(
  config: Readonly<Record<string, unknown>>,
  key: string,
  file: string,
  mistakes: Mistake[],
): readonly unknown[] {
  const list = config[key];
  if (list === undefined) return [];
  if (Array.isArray(list)) return list;
  mistakes.push(mistakeOf("E_CONFIG_SCHEMA_INVALID", { file, pointer: `/${key}`, ...START }, `${key} must be a list`));
  return [];
}

function refusalOf(
  value: unknown,
  kind: BundleResource["kind"],
): { readonly code: "E_CONFIG_SCHEMA_INVALID" | "E_CONFIG_INVALID_NAME"; readonly why: string } | null {
  const isDefined =
    isJsonObject(value) && isApiVersion(value.apiVersion) && value.kind === kind && isJsonObject(value.metadata);
  if (!isDefined) return { code: "E_CONFIG_SCHEMA_INVALID", why: `was not made by define${kind}` };
  const { name } = value.metadata as { readonly name?: unknown };
  if (typeof name === "string" && NAME.test(name)) return null;
  const rule = "lower-case letters, digits and -, starting with a letter, at most 63";
  return { code: "E_CONFIG_INVALID_NAME", why: `must have a name of ${rule}` };
}

function resourceOf(value: JsonValue, kind: BundleResource["kind"], file: string): BundleResource {
  const { name } = (value as { metadata: { name: string } }).metadata;
  return { kind, name, file, ...START, document: { file, index: 0, value, locate: () => START } };
}
