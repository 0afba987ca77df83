// What every kind of resource has around its spec.

import { METADATA_KEYS, type Place, ROOT_KEYS } from "@tessera/tool/resources";
import { mappingAt } from "./fields.ts";
import { given, type Mapping, type ResourceReading } from "./resource-reading.ts";

/** A resource and where it stands. */
export interface Resource extends Place {
  readonly name: string;
  readonly file: string;
}

const EMPTY: Mapping = { value: {}, pointer: "/spec" };

/** The spec. One that is missing was reported and reads as empty, where a kind needs one. */
export function readSpec(
  reading: ResourceReading,
  known: ReadonlySet<string>,
  { required = true }: { readonly required?: boolean } = {},
): Mapping | undefined {
  const root: Mapping = { value: reading.root, pointer: "" };
  reading.refuseOthers(root, ROOT_KEYS);
  const metadata = mappingAt(reading, root, "metadata");
  if (metadata !== undefined) {
    reading.refuseOthers(metadata, METADATA_KEYS);
    for (const key of ["labels", "annotations"]) mappingAt(reading, metadata, key);
  }
  const spec = mappingAt(reading, root, "spec");
  if (spec === undefined) {
    if (given(reading.root, "spec") !== undefined) return undefined; // said already
    if (required) reading.misfit("/spec", "spec is missing");
    return required ? undefined : EMPTY;
  }
  reading.refuseOthers(spec, known);
  return spec;
}
