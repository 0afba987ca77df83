// kind: Package (docs/protocol/documents.md#goondan). Nothing is installed from it; it names the bundle. Its `settings` are the
// runtime's to read, before the rest of the bundle is.

import { isJsonObject } from "@tessera/protocol";
import { blockAt, listAt, mappingAt, textAt } from "./fields.ts";
import { BUILTIN_PACKAGES } from "./object-ref.ts";
import { given, type ResourceReading, shown } from "./resource-reading.ts";
import { type Resource, readSpec } from "./resource-spec.ts";

export interface PackageResource extends Resource {
  readonly version: string | null;
  readonly description: string;
  readonly access: "public" | "restricted";
  readonly dependencies: readonly { readonly name: string; readonly version: string }[];
}

const SPEC_KEYS: ReadonlySet<string> = new Set([
  "version",
  "description",
  "access",
  "dependencies",
  "registry",
  "settings",
]);
const DEPENDENCY_KEYS: ReadonlySet<string> = new Set(["name", "version"]);
const REGISTRY_KEYS: ReadonlySet<string> = new Set(["url"]);
const DESCRIPTION_BYTES_MAX = 16 * 1024;

export function readPackage(reading: ResourceReading, resource: Resource): PackageResource {
  const spec = readSpec(reading, SPEC_KEYS, { required: false });
  if (spec === undefined) {
    return { ...resource, version: null, description: "", access: "public", dependencies: [] };
  }
  const access = given(spec.value, "access") ?? "public";
  if (access !== "public" && access !== "restricted") {
    reading.misfit("/spec/access", `access must be public or restricted, found ${shown(access)}`);
  }
  mappingAt(reading, spec, "settings");
  const registry = mappingAt(reading, spec, "registry");
  if (registry !== undefined) {
    reading.refuseOthers(registry, REGISTRY_KEYS);
    textAt(reading, registry, "url", { required: true });
  }
  return {
    ...resource,
    version: textAt(reading, spec, "version", { charsMax: 128 }) ?? null,
    description: blockAt(reading, spec, "description", DESCRIPTION_BYTES_MAX) ?? "",
    access: access === "restricted" ? access : "public",
    dependencies: (listAt(reading, spec, "dependencies") ?? []).flatMap((value, index) => {
      const pointer = `/spec/dependencies/${index}`;
      if (!isJsonObject(value)) {
        reading.misfit(pointer, `a dependency must be a mapping {name, version}, found ${shown(value)}`);
        return [];
      }
      const dependency = { value, pointer };
      reading.refuseOthers(dependency, DEPENDENCY_KEYS);
      const name = textAt(reading, dependency, "name", { required: true });
      const version = textAt(reading, dependency, "version", { required: true });
      if (name === undefined || version === undefined) return [];
      if (!BUILTIN_PACKAGES.has(name)) reading.warn(pointer, `the package ${shown(name)} is not installed`);
      return [{ name, version }];
    }),
  };
}
