// kind: Extension (docs/protocol/documents.md#goondan): a module of the bundle and what it is given.

import type { JsonValue } from "@tessera/protocol";
import { isPathInside } from "@tessera/tool/resources";
import type { OnError } from "../extensions/api.ts";
import { textAt } from "./fields.ts";
import { given, type Mapping, type ResourceReading, shown } from "./resource-reading.ts";
import { type Resource, readSpec } from "./resource-spec.ts";

export interface ExtensionResource extends Resource {
  /** A path from the root of the bundle, as written. */
  readonly entry: string;
  readonly config: JsonValue;
  /** What a failure of it means; undefined: what each of its layers says. */
  readonly onError: OnError | undefined;
}

const SPEC_KEYS: ReadonlySet<string> = new Set(["entry", "config", "onError"]);

export function readExtension(reading: ResourceReading, resource: Resource): ExtensionResource {
  const spec = readSpec(reading, SPEC_KEYS);
  if (spec === undefined) return { ...resource, entry: "", config: null, onError: undefined };
  const entry = textAt(reading, spec, "entry", { required: true }) ?? "";
  if (entry !== "" && !isPathInside(entry)) {
    const message = `entry must be a relative path of a module inside the bundle, found ${shown(entry)}`;
    reading.misfit("/spec/entry", message);
  }
  return { ...resource, entry, config: given(spec.value, "config") ?? null, onError: readOnError(reading, spec) };
}

function readOnError(reading: ResourceReading, { value }: Mapping): OnError | undefined {
  const onError = given(value, "onError");
  if (onError === undefined || onError === "fail" || onError === "skip") return onError;
  reading.misfit("/spec/onError", `onError must be fail or skip, found ${shown(onError)}`);
  return undefined;
}
