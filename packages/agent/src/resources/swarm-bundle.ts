// A bundle to its swarms: models, agents, swarms and extensions, from YAML and from code, with every reference checked.
//
//   B1. Everything wrong in every file is reported at once, and nothing twice: a reference to a resource that is there but
//       has mistakes is no mistake.
//   B2. A name is unique among the resources of its kind, wherever they come from. The Package is one, and first in its file.
//   B3. A resource with a mistake is left out. The loader of the bundle refuses it as a whole when there is any mistake.
//   B4. Connector and Connection are known and not supported: a warning, and the rest loads
//       (docs/design.md#yaml-and-code-are-equal).

import { isJsonObject } from "@tessera/protocol";
import {
  type BundleFile,
  type BundleResource,
  type Mistake,
  mistakeOf,
  type ResourceKind,
  readToolBundle,
  type UnreadResource,
} from "@tessera/tool/resources";
import { type AgentResource, type AgentTargets, readAgent } from "./agent-resource.ts";
import type { ReadBundleFile } from "./bundle-path.ts";
import { type ConfigModule, readConfig } from "./config-resources.ts";
import { type ExtensionResource, readExtension } from "./extension-resource.ts";
import { type ModelResource, readModel, SCRIPTED } from "./model-resource.ts";
import { type PackageResource, readPackage } from "./package-resource.ts";
import { type BundleWarning, type ResourceReading, startReading, warningAt } from "./resource-reading.ts";
import { readSwarm, type SwarmResource } from "./swarm-resource.ts";
import { indexTools } from "./tool-refs.ts";
import type { IsEnvSet } from "./value-source.ts";

export interface SwarmBundle {
  readonly packageDoc: PackageResource | null;
  readonly models: readonly ModelResource[];
  readonly agents: readonly AgentResource[];
  readonly swarms: readonly SwarmResource[];
  readonly extensions: readonly ExtensionResource[];
  readonly mistakes: readonly Mistake[];
  readonly warnings: readonly BundleWarning[];
}

export interface SwarmBundleOptions {
  /** Tool names of the built-ins (`bash__exec`). */
  readonly builtins: readonly string[];
  /** Names of tools that the YAML does not spell out: of OpenAPI documents, and of `defineTool` in code. */
  readonly toolNames?: readonly string[];
  /** Resources that are there and could not be read (B1). */
  readonly unread?: readonly UnreadResource[];
  readonly config?: ConfigModule;
  /** For `systemRef`; absent: no file is found. */
  readonly readFile?: ReadBundleFile;
  /** Lets missing keys be reported when the bundle is read. */
  readonly isEnvSet?: IsEnvSet;
}

/** Reads the files of a bundle, its tools included. */
export async function readSwarmBundle(files: readonly BundleFile[], options: SwarmBundleOptions): Promise<SwarmBundle> {
  const { tools, apis, others, unread, ignored, mistakes } = readToolBundle(files);
  const read = await readSwarmResources(others, {
    ...options,
    toolNames: [
      ...tools.map(({ definition }) => definition.tool_name),
      ...apis.map(({ resource }) => resource),
      ...(options.toolNames ?? []),
    ],
    unread: [...unread, ...(options.unread ?? [])],
  });
  const passedOver = ignored.map((key) => warningAt(key, `${key.pointer} does nothing here`));
  return { ...read, mistakes: [...mistakes, ...read.mistakes], warnings: [...passedOver, ...read.warnings] };
}

/** Reads the resources that are no tools; `toolNames` names all tools there are. */
export async function readSwarmResources(
  yaml: readonly BundleResource[],
  options: SwarmBundleOptions,
): Promise<SwarmBundle> {
  const mistakes: Mistake[] = [];
  const warnings: BundleWarning[] = [];
  const config = options.config === undefined ? null : readConfig(options.config, mistakes);
  const resources = withoutRepeated([...yaml, ...(config?.resources ?? [])], mistakes);
  const packages = resources.filter(({ kind }) => kind === "Package");
  const targets: AgentTargets = {
    names: namesByKind(resources),
    packageName: packages[0]?.name ?? null,
    ownTools: indexTools([...(options.toolNames ?? []), ...(config?.toolNames ?? [])]),
    builtinTools: indexTools(options.builtins),
    unread: options.unread ?? [],
    readFile: options.readFile ?? (async () => null),
    scriptedModels: new Set(resources.filter(isScripted).map(({ name }) => name)),
  };

  const found = new Map<ResourceKind, object[]>();
  for (const resource of resources) {
    const reading = startReading(resource.document, {
      source: "bundle",
      ...(yaml.includes(resource) ? {} : { subject: `${resource.kind}/${resource.name}` }),
    });
    if (resource.kind === "Package") checkPackagePlace(reading, resource, packages);
    const read = await readResource(reading, resource, targets, options);
    mistakes.push(...reading.mistakes);
    warnings.push(...reading.warnings);
    if (read === null || reading.mistakes.length > 0) continue; // B3
    found.set(resource.kind, [...(found.get(resource.kind) ?? []), read]);
  }
  const all = <T extends object>(kind: ResourceKind): readonly T[] => (found.get(kind) ?? []) as T[];
  return {
    packageDoc: all<PackageResource>("Package")[0] ?? null,
    models: all("Model"),
    agents: all("Agent"),
    swarms: all("Swarm"),
    extensions: all("Extension"),
    mistakes,
    warnings,
  };
}

async function readResource(
  reading: ResourceReading,
  { kind, name, file, line, column }: BundleResource,
  targets: AgentTargets,
  { isEnvSet }: SwarmBundleOptions,
): Promise<object | null> {
  const head = { name, file, line, column };
  switch (kind) {
    case "Package":
      return readPackage(reading, head);
    case "Model":
      return readModel(reading, head, isEnvSet);
    case "Agent":
      return await readAgent(reading, head, targets);
    case "Swarm":
      return readSwarm(reading, head, targets);
    case "Extension":
      return readExtension(reading, head);
    case "Connector":
    case "Connection":
      reading.warn("", `${kind}/${name} is not supported and does nothing; the rest of the bundle loads`); // B4
      return null;
  }
}

function isScripted({ kind, document: { value } }: BundleResource): boolean {
  const spec = kind === "Model" && isJsonObject(value) ? value.spec : undefined;
  return isJsonObject(spec) && spec.provider === SCRIPTED;
}

/** B2. The first of a name stands. */
function withoutRepeated(resources: readonly BundleResource[], mistakes: Mistake[]): readonly BundleResource[] {
  const first = new Map<string, BundleResource>();
  for (const resource of resources) {
    const key = `${resource.kind}/${resource.name}`;
    const known = first.get(key);
    if (known === undefined) {
      first.set(key, resource);
      continue;
    }
    const at = { file: resource.file, pointer: "/metadata/name", ...resource.document.locate("/metadata/name") };
    const message = `${key} is already defined in ${known.file}:${known.line}:${known.column}; rename one`;
    mistakes.push(mistakeOf("E_CONFIG_DUPLICATE_NAME", at, message));
  }
  return [...first.values()];
}

function namesByKind(resources: readonly BundleResource[]): ReadonlyMap<ResourceKind, ReadonlySet<string>> {
  const names = new Map<ResourceKind, Set<string>>();
  for (const { kind, name } of resources) {
    const known = names.get(kind);
    if (known === undefined) names.set(kind, new Set([name]));
    else known.add(name);
  }
  return names;
}

function checkPackagePlace(
  reading: ResourceReading,
  resource: BundleResource,
  packages: readonly BundleResource[],
): void {
  const [first] = packages;
  if (first !== undefined && first !== resource) {
    const message = `a bundle has one Package; the other is in ${first.file}:${first.line}:${first.column}`;
    reading.mistake("E_CONFIG_PACKAGE_DOC_DUPLICATED", "/kind", message);
  } else if (resource.document.index > 0) {
    reading.mistake("E_CONFIG_PACKAGE_DOC_POSITION", "/kind", "the Package must be the first document of its file");
  }
}
