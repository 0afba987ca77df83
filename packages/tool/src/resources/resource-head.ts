// The head of a resource: apiVersion, kind and name, the same for every kind (docs/protocol/documents.md#goondan).

import { isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import { type DocumentReading, given, mappingAt } from "./document-reading.ts";
import { shown } from "./place.ts";

export const API_VERSION = "tessera/v1";
/** The same format by either name: bundles that were written for Goondan are read as they are. */
export const API_VERSIONS: readonly string[] = [API_VERSION, "goondan.ai/v1"];

export const RESOURCE_KINDS = [
  "Package",
  "Model",
  "Agent",
  "Swarm",
  "Tool",
  "Extension",
  "Connector",
  "Connection",
] as const;
export type ResourceKind = (typeof RESOURCE_KINDS)[number];

export interface ResourceHead {
  readonly kind: ResourceKind;
  readonly name: string;
}

/** The fields around `spec`. */
export const ROOT_KEYS: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "spec"]);
export const METADATA_KEYS: ReadonlySet<string> = new Set(["name", "labels", "annotations"]);

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

export function isApiVersion(value: unknown): boolean {
  return API_VERSIONS.some((known) => known === value);
}

/** Whether a document says of itself that it is a resource; what says neither is YAML of another kind. */
export function isResource(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && (Object.hasOwn(value, "apiVersion") || Object.hasOwn(value, "kind"));
}

/** Kind and name, or null when they are not usable. Mistakes are in `reading`. */
export function readResourceHead(reading: DocumentReading): ResourceHead | null {
  const apiVersion = given(reading.root, "apiVersion");
  if (!isApiVersion(apiVersion)) {
    const message = `apiVersion must be ${API_VERSION}, found ${shown(apiVersion)}`;
    reading.mistake("E_CONFIG_UNSUPPORTED_API_VERSION", "/apiVersion", message);
  }
  const written = given(reading.root, "kind");
  const kind = RESOURCE_KINDS.find((known) => known === written);
  if (kind === undefined) {
    const message = `kind must be one of ${RESOURCE_KINDS.join(", ")}, found ${shown(written)}`;
    reading.mistake("E_CONFIG_UNKNOWN_KIND", "/kind", message);
  }
  const name = readName(reading, kind);
  return kind === undefined || name === null ? null : { kind, name };
}

export function refuseOtherHeads(reading: DocumentReading): void {
  reading.refuseOthers(reading.root, "", ROOT_KEYS);
  const metadata = given(reading.root, "metadata");
  if (isJsonObject(metadata)) reading.refuseOthers(metadata, "/metadata", METADATA_KEYS);
}

function readName(reading: DocumentReading, kind: ResourceKind | undefined): string | null {
  const metadata = mappingAt(reading, reading.root, "metadata", "");
  if (metadata === undefined && given(reading.root, "metadata") !== undefined) return null; // said already
  const name = given(metadata ?? {}, "name");
  // A package is named as its registry names it, with a scope and a slash.
  const isName = typeof name === "string" && (kind === "Package" ? name !== "" : NAME.test(name));
  if (isName) return name;
  const rule = "lower-case letters, digits and -, starting with a letter, at most 63";
  reading.mistake("invalid_name", "/metadata/name", `metadata.name must be ${rule}, found ${shown(name)}`);
  return null;
}
