// References from one resource to another (docs/protocol/documents.md#goondan).
//
//   O1. `Kind/name`, `{kind, name, package?, apiVersion?}`, or either wrapped in `{ref: …}`. Nothing is guessed: a bare name
//       is a mistake that says how to write it.
//   O2. Selectors are refused and say so.
//   O3. A reference to a built-in names its package. The package of the bundle itself is the bundle.

import { isJsonObject, type JsonValue, nearName } from "@tessera/protocol";
import { API_VERSION, isApiVersion, type ResourceKind, type UnreadResource } from "@tessera/tool/resources";
import { given, type ResourceReading, shown } from "./resource-reading.ts";

/** The package of what comes with the product, as profiles name it. */
export const OWN_PACKAGE = "@tessera/base";
export const BUILTIN_PACKAGES: ReadonlySet<string> = new Set([OWN_PACKAGE, "@goondan/base"]);

export interface ObjectRef {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly package?: string;
  readonly pointer: string;
}

const REF_KEYS: ReadonlySet<string> = new Set(["kind", "name", "package", "apiVersion"]);
const WRAPPED_KEYS: ReadonlySet<string> = new Set(["ref"]);

/** `besides`: what may stand beside `ref`. The reference, or undefined when it is malformed or means another kind; what is wrong was reported. */
export function readRef(
  reading: ResourceReading,
  value: JsonValue,
  pointer: string,
  kind: ResourceKind,
  besides: ReadonlySet<string> = WRAPPED_KEYS,
): ObjectRef | undefined {
  const refuse = (why: string): undefined => {
    reading.mistake("E_CONFIG_INVALID_REF", pointer, why);
  };
  const form = `"${kind}/<name>" or {kind: ${kind}, name: <name>}`;
  if (typeof value === "string") {
    const [written = "", name = "", ...rest] = value.split("/");
    if (written === "" || name === "" || rest.length > 0) {
      return refuse(`a reference is written ${form}, found ${shown(value)}`); // O1
    }
    return ofKind(reading, { kind: written, name, pointer }, kind);
  }
  if (!isJsonObject(value)) return refuse(`a reference is written ${form}, found ${shown(value)}`);
  if (given(value, "selector") !== undefined || given(value, "matchLabels") !== undefined) {
    return refuse(`selectors are not supported; name the resource: ${form}`); // O2
  }
  const wrapped = given(value, "ref");
  if (wrapped !== undefined) {
    reading.refuseOthers({ value, pointer }, besides);
    if (isJsonObject(wrapped) && given(wrapped, "ref") !== undefined) return refuse("a ref stands inside a ref");
    return readRef(reading, wrapped, `${pointer}/ref`, kind);
  }
  const written = given(value, "kind");
  const name = given(value, "name");
  const pack = given(value, "package");
  const apiVersion = given(value, "apiVersion");
  if (typeof written !== "string" || typeof name !== "string" || name === "") {
    return refuse(`a reference is written ${form}, found ${shown(value)}`);
  }
  if (pack !== undefined && (typeof pack !== "string" || pack === "")) {
    return refuse(`package of a reference must be text, found ${shown(pack)}`);
  }
  if (apiVersion !== undefined && !isApiVersion(apiVersion)) {
    return refuse(`apiVersion of a reference must be ${API_VERSION}, found ${shown(apiVersion)}`);
  }
  reading.refuseOthers({ value, pointer }, REF_KEYS);
  return ofKind(reading, { kind: written, name, pointer, ...(pack === undefined ? {} : { package: pack }) }, kind);
}

function ofKind(
  reading: ResourceReading,
  ref: Omit<ObjectRef, "kind"> & { readonly kind: string },
  kind: ResourceKind,
): ObjectRef | undefined {
  if (ref.kind === kind) return { ...ref, kind };
  reading.mistake("E_CONFIG_INVALID_REF", ref.pointer, `a ${kind} is meant here, found ${shown(ref.kind)}`);
  return undefined;
}

/** What references may lead to, beside what a resource itself says. */
export interface RefTargets {
  /** Names by kind, resources that could not be read included: one mistake is not to cause another. */
  readonly names: ReadonlyMap<ResourceKind, ReadonlySet<string>>;
  readonly packageName: string | null;
  /** Resources that have mistakes of their own. */
  readonly unread: readonly UnreadResource[];
}

export function isUnread({ unread }: RefTargets, { kind, name }: Pick<ObjectRef, "kind" | "name">): boolean {
  return unread.some((each) => each.kind === kind && each.name === name);
}

/** The name of a resource of this bundle, or undefined when there is none (O3); `meant` may say what was meant instead. */
export function resolveLocal(
  reading: ResourceReading,
  ref: ObjectRef,
  targets: RefTargets,
  meant: () => string | undefined = () => undefined,
): string | undefined {
  if (!isLocal(reading, ref, targets)) return undefined;
  const names = targets.names.get(ref.kind) ?? new Set();
  if (names.has(ref.name)) return ref.name;
  if (isUnread(targets, ref)) return undefined; // its own mistake was reported
  reading.mistake("E_CONFIG_REF_NOT_FOUND", ref.pointer, meant() ?? notFound(ref, [...names], targets.unread));
  return undefined;
}

/** Whether the reference leads into this bundle. A package that nobody installed is reported. */
export function isLocal(reading: ResourceReading, ref: ObjectRef, { packageName }: RefTargets): boolean {
  if (ref.package === undefined || ref.package === packageName) return true;
  const known = [...BUILTIN_PACKAGES].join(" and ");
  const message = BUILTIN_PACKAGES.has(ref.package)
    ? `there is no built-in ${ref.kind} ${shown(ref.name)}`
    : `the package ${shown(ref.package)} is not installed; known are ${known}`;
  const code = BUILTIN_PACKAGES.has(ref.package) ? "E_CONFIG_REF_NOT_FOUND" : "E_CONFIG_PACKAGE_NOT_INSTALLED";
  reading.mistake(code, ref.pointer, message);
  return false;
}

const NAMES_SHOWN_MAX = 10;

export function notFound(
  { kind, name }: Pick<ObjectRef, "kind" | "name">,
  known: readonly string[],
  unread: readonly UnreadResource[],
): string {
  const says = `there is no ${kind} ${shown(name)}`;
  const broken = unread.filter((each) => each.kind === kind);
  const near = nearName(name, [...known, ...broken.map((each) => each.name)]);
  const place = near === undefined || known.includes(near) ? undefined : broken.find((each) => each.name === near);
  if (place !== undefined) {
    return `${says}; there is ${near}, which has a mistake in ${place.file}:${place.line}; did you mean ${near}?`;
  }
  if (near !== undefined) return `${says}; did you mean ${near}? ${thereAre(known)}`;
  if (broken.length === 0) return `${says}; ${thereAre(known)}`;
  const others = broken.map((each) => `${each.name} (${each.file}:${each.line})`).slice(0, NAMES_SHOWN_MAX);
  const also = `with mistakes of their own: ${others.join(", ")}`;
  return known.length === 0 ? `${says}; there are only some ${also}` : `${says}; ${thereAre(known)}, and ${also}`;
}

function thereAre(known: readonly string[]): string {
  const some = known.slice(0, NAMES_SHOWN_MAX).join(", ");
  const more = known.length > NAMES_SHOWN_MAX ? ` and ${known.length - NAMES_SHOWN_MAX} more` : "";
  return known.length === 0 ? "there is none at all" : `there are ${some}${more}`;
}
