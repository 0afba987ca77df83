// The Goondan form of a tool: a `kind: Tool` resource whose exports each become a definition
// (docs/protocol/documents.md#goondan).
//
//   G1. `resource__export` is the name, `<target>.<export>` the subject; the target is the resource unless it names one.
//   G2. What stands at the export wins over `spec`, field by field; `args` and `envs` count as one field each.
//   G3. The code lives in `spec.entry`, inside the bundle. Where the code is not hosted here no entry is needed.
//   G4. With `spec.openapi` in place of both, the resource is an API and its tools come from a document (goondan-api.ts).

import {
  AFTER_EXECUTION_DEFAULT,
  isJsonObject,
  isToken,
  type JsonObject,
  type JsonValue,
  TOOL_EFFECTS,
  type ToolPlacement,
  targetSubjectFor,
} from "@tessera/protocol";
import { ERROR_MESSAGE_LIMIT_MAX } from "../policy.ts";
import { readDescription } from "./description.ts";
import { type DocumentReading, given, mappingAt } from "./document-reading.ts";
import { isPathInside } from "./entry-path.ts";
import { type ApiDraft, readGoondanApi } from "./goondan-api.ts";
import { shown } from "./place.ts";
import { readResourceHead, refuseOtherHeads } from "./resource-head.ts";
import {
  checkArguments,
  checkToolName,
  readAfterExecution,
  readParameters,
  type ToolDocumentOptions,
  type ToolDraft,
} from "./tool-draft.ts";
import {
  checkChoice,
  checkNumber,
  checkPlacement,
  checkTimeouts,
  readDelegation,
  readOptions,
  readRetry,
  refuseMisspelt,
} from "./tool-options.ts";

const EXPORTS_MAX = 100;

const SPEC_KEYS = new Set(["entry", "errorMessageLimit", "exports", "placement", "target", "options", "args", "envs"]);
const EXPORT_KEYS: ReadonlySet<string> = new Set([
  "name",
  "description",
  "parameters",
  "effect",
  "retry",
  "timeoutMs",
  "queueTimeoutMs",
  "afterExecution",
  "delegationPolicy",
  "reconcile",
  "args",
  "envs",
  "options",
]);

/** What all exports of a resource share. */
interface Resource {
  readonly name: string;
  readonly target: string;
  readonly entry: string | undefined;
  readonly placement: ToolPlacement;
  readonly spec: JsonObject;
  readonly specOptions: JsonObject;
}

export interface GoondanTool {
  readonly drafts: readonly ToolDraft[];
  readonly api: ApiDraft | null;
}

const NOTHING: GoondanTool = { drafts: [], api: null };

export function readGoondanTool(reading: DocumentReading, options: ToolDocumentOptions): GoondanTool {
  const head = readResourceHead(reading);
  if (head !== null && head.kind !== "Tool") {
    reading.mistake("schema_invalid", "/kind", `kind must be Tool here, found ${shown(head.kind)}`);
    return NOTHING;
  }
  refuseOtherHeads(reading);
  const spec = mappingAt(reading, reading.root, "spec", "");
  if (spec === undefined) {
    if (given(reading.root, "spec") === undefined) reading.mistake("schema_invalid", "/spec", "spec is missing");
    return NOTHING;
  }
  // Without a usable name the exports are still read, for what else is wrong with them.
  const name = head?.name ?? "unnamed";
  if (given(spec, "openapi") !== undefined) {
    const target = readTarget(reading, spec, name);
    return { drafts: [], api: readGoondanApi(reading, spec, { name, target }, options.envAllowList) }; // G4
  }
  const resource = readResource(reading, spec, name);
  const exports = readExports(reading, spec);
  return { drafts: exports.map(([item, pointer]) => readExport(reading, resource, item, pointer, options)), api: null };
}

function readResource(reading: DocumentReading, spec: JsonObject, name: string): Resource {
  reading.refuseOthers(spec, "/spec", SPEC_KEYS);
  checkNumber(reading, spec, "errorMessageLimit", "/spec", { min: 1, max: ERROR_MESSAGE_LIMIT_MAX, whole: true });
  const specOptions = readOwnOptions(reading, spec, "/spec");
  const entry = readEntry(reading, spec);
  return {
    name,
    target: readTarget(reading, spec, name),
    entry,
    spec,
    specOptions,
    ...readPlacement(reading, spec, entry),
  };
}

function readOwnOptions(reading: DocumentReading, parent: JsonObject, pointer: string): JsonObject {
  const options = mappingAt(reading, parent, "options", pointer) ?? {};
  refuseMisspelt(reading, options, `${pointer}/options`);
  return readOptions(reading, options, `${pointer}/options`);
}

function readTarget(reading: DocumentReading, spec: JsonObject, name: string): string {
  const target = given(spec, "target");
  if (target === undefined || isToken(target)) return target ?? name;
  const message = `target must be letters, digits, _ and -, found ${shown(target)}`;
  reading.mistake("invalid_target_subject", "/spec/target", message);
  return name;
}

function readEntry(reading: DocumentReading, spec: JsonObject): string | undefined {
  const entry = given(spec, "entry");
  if (entry === undefined) return undefined;
  if (typeof entry !== "string" || !isPathInside(entry)) {
    const message = `entry must be a relative path of a module inside the bundle, found ${shown(entry)}`;
    reading.mistake("schema_invalid", "/spec/entry", message);
    return undefined;
  }
  if (reading.source === "upload") reading.ignore("/spec/entry"); // the code is not uploaded with it
  return entry;
}

function readPlacement(
  reading: DocumentReading,
  spec: JsonObject,
  entry: string | undefined,
): { readonly placement: ToolPlacement } {
  const asked = checkPlacement(reading, spec, "/spec") ?? (given(spec, "options") as JsonObject | undefined)?.placement;
  if (asked === undefined)
    return { placement: reading.source === "bundle" && entry !== undefined ? "isolated" : "service" };
  const placement = asked as ToolPlacement;
  const isHosted = placement === "inline" || placement === "isolated";
  if (isHosted && reading.source === "bundle" && given(spec, "entry") === undefined) {
    reading.mistake("schema_invalid", "/spec/entry", `entry is missing; placement ${placement} runs its code here`); // G3
  }
  return { placement };
}

/** The exports that are mappings, with their pointers. */
function readExports(reading: DocumentReading, spec: JsonObject): readonly (readonly [JsonObject, string])[] {
  const exports = given(spec, "exports");
  if (!Array.isArray(exports) || exports.length === 0 || exports.length > EXPORTS_MAX) {
    const found = Array.isArray(exports) ? `${exports.length} of them` : shown(exports);
    reading.mistake("schema_invalid", "/spec/exports", `exports must be a list of 1 to ${EXPORTS_MAX}, found ${found}`);
    return [];
  }
  const names = new Set<JsonValue>();
  return exports.flatMap((item, index) => {
    const pointer = `/spec/exports/${index}`;
    if (!isJsonObject(item)) {
      reading.mistake("schema_invalid", pointer, `an export must be a mapping with a name, found ${shown(item)}`);
      return [];
    }
    const name = given(item, "name");
    if (typeof name === "string" && names.has(name)) {
      reading.mistake("schema_invalid", `${pointer}/name`, `the export ${shown(name)} appears twice`);
    }
    if (name !== undefined) names.add(name);
    return [[item, pointer]] as const;
  });
}

function readExport(
  reading: DocumentReading,
  resource: Resource,
  item: JsonObject,
  pointer: string,
  options: ToolDocumentOptions,
): ToolDraft {
  reading.refuseOthers(item, pointer, EXPORT_KEYS);
  const name = readExportName(reading, item, resource, pointer);
  checkChoice(reading, item, "effect", pointer, TOOL_EFFECTS);
  checkTimeouts(reading, item, pointer);
  const merged = mergeOptions(reading, resource, item, pointer);
  checkQueueTime(reading, merged);
  const definition = {
    tool_name: `${resource.name}__${name}`,
    description: readDescription(reading, item, pointer),
    parameters: readParameters(reading, item, pointer, `${resource.name}__${name}`),
    target_subject: targetSubjectFor(resource.target, name), // G1
    after_execution: readAfterExecution(reading, item, "afterExecution", pointer) ?? AFTER_EXECUTION_DEFAULT,
    options: merged.options,
  };
  checkArguments(reading, definition, options, (at) => originOf(at, pointer, merged.places));
  const { entry } = resource;
  return { definition, export_name: name, pointer, entry };
}

/** What runs in the worker waits for no executor, so its author would rely on nothing. */
function checkQueueTime(reading: DocumentReading, { options, places }: MergedOptions): void {
  const place = places.get("queueTimeoutMs");
  if (place === undefined || (options.placement !== "inline" && options.placement !== "isolated")) return;
  const message = `queueTimeoutMs bounds waiting for an executor, for the placements service and edge; this one is ${options.placement}`;
  reading.mistake("schema_invalid", place, message, "key");
}

function readExportName(reading: DocumentReading, item: JsonObject, resource: Resource, pointer: string): string {
  const name = given(item, "name");
  if (!isToken(name) || name.includes("__")) {
    const message = `an export's name must be letters, digits, _ and - without __, found ${shown(name)}`;
    reading.mistake("invalid_name", `${pointer}/name`, message);
    return "unnamed";
  }
  checkToolName(reading, `${resource.name}__${name}`, `${pointer}/name`);
  return name;
}

interface MergedOptions {
  readonly options: JsonObject;
  /** Where each of the options was written. */
  readonly places: ReadonlyMap<string, string>;
}

/** G2. */
function mergeOptions(reading: DocumentReading, resource: Resource, item: JsonObject, pointer: string): MergedOptions {
  const own = readOwnOptions(reading, item, pointer);
  const retry = readRetry(reading, given(item, "retry"), `${pointer}/retry`);
  const options: JsonObject = {};
  const places = new Map<string, string>();
  const take = (from: JsonObject, keys: readonly string[], at: string): void => {
    for (const key of keys) {
      const value = given(from, key);
      if (value === undefined) continue;
      options[key] = value;
      places.set(key, `${at}/${key}`);
    }
  };
  take(resource.specOptions, Object.keys(resource.specOptions), "/spec/options");
  take(resource.spec, ["args", "envs", "errorMessageLimit"], "/spec");
  take(own, Object.keys(own), `${pointer}/options`);
  // One module serves all exports, so they run in one place.
  if (given(own, "placement") !== undefined) reading.ignore(`${pointer}/options/placement`);
  take({ placement: resource.placement }, ["placement"], "/spec");
  take(item, ["effect", "timeoutMs", "queueTimeoutMs", "reconcile", "args", "envs"], pointer);
  if (retry !== undefined) take({ retry }, ["retry"], pointer);
  const policy = readDelegation(reading, given(item, "delegationPolicy"), `${pointer}/delegationPolicy`);
  if (policy !== undefined) take({ delegation_policy: policy }, ["delegation_policy"], pointer);
  return { options, places };
}

/** `/options/args/fixed/x` of the definition → where its author wrote it. */
function originOf(at: string, pointer: string, places: ReadonlyMap<string, string>): string {
  const [, field = "", key = "", ...rest] = at.split("/");
  if (field !== "options") return pointer + at;
  const place = places.get(key);
  return place === undefined ? pointer : [place, ...rest].join("/");
}
