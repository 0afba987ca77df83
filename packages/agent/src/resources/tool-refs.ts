// References to tools: a Tool resource stands for all its exports, a full tool name for that one.
//
//   T1. The built-ins are reached by their package only. A project has one tool of a name: where the bundle has a tool that is
//       named like a built-in, the name is the bundle's, and a reference to the built-in is a mistake.
//   T2. A Tool that is there and has mistakes of its own resolves to nothing: its mistakes were reported.
//   T3. A resource whose exports are not known yet (an OpenAPI document) stands for itself.

import { nearName } from "@tessera/protocol";
import { BUILTIN_PACKAGES, isLocal, isUnread, notFound, type ObjectRef, type RefTargets } from "./object-ref.ts";
import { type ResourceReading, shown } from "./resource-reading.ts";

export interface ToolTargets extends RefTargets {
  /** Tool names by resource. */
  readonly ownTools: ToolIndex;
  readonly builtinTools: ToolIndex;
}

/** Tools of Goondan's package for services that somebody has an account with, and for its own process model. */
const NOT_BUILT_IN: ReadonlySet<string> = new Set(["telegram", "slack", "self-restart"]);

export type ToolIndex = ReadonlyMap<string, readonly string[]>;

/** `weather__forecast` belongs to `weather`; a name without `__` is a resource of its own, or one with unknown exports (T3). */
export function indexTools(names: Iterable<string>): ToolIndex {
  const index = new Map<string, string[]>();
  for (const name of new Set(names)) {
    const [resource = name] = name.split("__");
    const known = index.get(resource);
    if (known === undefined) index.set(resource, [name]);
    else known.push(name);
  }
  // Once the exports are known the resource needs not stand for itself.
  for (const [resource, tools] of index) {
    if (tools.length > 1)
      index.set(
        resource,
        tools.filter((name) => name !== resource),
      );
  }
  return index;
}

/** Names of tools; empty when there are none, which was reported. */
export function resolveTool(reading: ResourceReading, ref: ObjectRef, targets: ToolTargets): readonly string[] {
  const isBuiltin = ref.package !== undefined && BUILTIN_PACKAGES.has(ref.package); // T1
  if (!isBuiltin && !isLocal(reading, ref, targets)) return [];
  const index = isBuiltin ? targets.builtinTools : targets.ownTools;
  const found = find(index, ref.name);
  const taken = isBuiltin ? found?.find((name) => find(targets.ownTools, name) !== undefined) : undefined;
  if (taken !== undefined) {
    const message = `the built-in ${taken} cannot be offered beside the bundle's own tool of this name; rename that one, or refer to Tool/${taken}`;
    reading.mistake("E_CONFIG_DUPLICATE_NAME", ref.pointer, message); // T1
    return [];
  }
  if (found !== undefined) return found;
  if (!isBuiltin && isUnread(targets, { kind: "Tool", name: resourceOf(ref.name) })) return []; // T2
  const exports = index.get(resourceOf(ref.name));
  if (exports?.some((name) => name.includes("__")) === true) {
    const message = `the Tool ${resourceOf(ref.name)} has no export ${shown(ref.name)}; ${thoseOf(ref.name, exports)}`;
    reading.mistake("E_CONFIG_REF_NOT_FOUND", ref.pointer, message);
    return [];
  }
  const isMeant = !isBuiltin && find(targets.builtinTools, ref.name) !== undefined;
  const message = isMeant
    ? `there is no Tool ${shown(ref.name)} in this bundle; the built-in one is ` +
      `{kind: Tool, name: ${ref.name}, package: "@tessera/base"}`
    : isBuiltin && NOT_BUILT_IN.has(resourceOf(ref.name))
      ? `${resourceOf(ref.name)} of @goondan/base is not built in; put its module into the bundle as a Tool and refer to Tool/${ref.name}`
      : notFound(ref, [...index.keys()], isBuiltin ? [] : targets.unread);
  reading.mistake("E_CONFIG_REF_NOT_FOUND", ref.pointer, message);
  return [];
}

function thoseOf(name: string, exports: readonly string[]): string {
  const near = nearName(name, exports);
  return near === undefined ? `it has ${exports.join(", ")}` : `did you mean ${near}?`;
}

function find(index: ToolIndex, name: string): readonly string[] | undefined {
  const tools = index.get(resourceOf(name));
  if (!name.includes("__")) return tools;
  return tools?.includes(name) ? [name] : undefined;
}

function resourceOf(name: string): string {
  return name.split("__")[0] ?? name;
}
