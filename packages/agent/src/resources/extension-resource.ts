// kind: Extension (reference §12): a module of the bundle and what it is given.

import type { JsonValue } from "@tessera/protocol";
import { isPathInside } from "./bundle-path.ts";
import { textAt } from "./fields.ts";
import { given, type ResourceReading, shown } from "./resource-reading.ts";
import { type Resource, readSpec } from "./resource-spec.ts";

export interface ExtensionResource extends Resource {
  /** A path from the root of the bundle, as written. */
  readonly entry: string;
  readonly config: JsonValue;
}

const SPEC_KEYS: ReadonlySet<string> = new Set(["entry", "config"]);

export function readExtension(reading: ResourceReading, resource: Resource): ExtensionResource {
  const spec = readSpec(reading, SPEC_KEYS);
  if (spec === undefined) return { ...resource, entry: "", config: null };
  const entry = textAt(reading, spec, "entry", { required: true }) ?? "";
  if (entry !== "" && !isPathInside(entry)) {
    const message = `entry must be a relative path of a module inside the bundle, found ${shown(entry)}`;
    reading.misfit("/spec/entry", message);
  }
  return { ...resource, entry, config: given(spec.value, "config") ?? null };
}
