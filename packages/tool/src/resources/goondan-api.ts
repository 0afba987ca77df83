// A Tool resource that brings no code but the description of an HTTP API: `spec.openapi` names an OpenAPI document, and
// each operation of it becomes a tool.
//
//   A1. The shape is checked here, every mistake with its place. The document is another file of the bundle: the loader of
//       the bundle reads it, and finds what is wrong in it.
//   A2. A field of `spec` that is for code (`errorMessageLimit`, `envs`) does nothing for a document, so it is refused.
//   A3. An upload is one file and brings no document with it, so it cannot have one.

import { isJsonObject, type JsonObject, type JsonValue, type ToolPlacement } from "@tessera/protocol";
import { checkEnvName } from "../catalog/index.ts";
import { type DocumentReading, given, mappingAt, segment } from "./document-reading.ts";
import { isPathInside } from "./entry-path.ts";
import { shown } from "./place.ts";
import { checkPlacement, checkTimeouts } from "./tool-options.ts";

/** By id (or tag, or `GET /path`), by tag, or by method and path. */
export type ApiOperationChoice = string | { readonly tag: string } | { readonly method: string; readonly path: string };

/** Where the tools of a document can run: they have no code that could be loaded. */
export type ApiPlacement = Exclude<ToolPlacement, "inline" | "isolated">;

export interface ApiDraft {
  readonly resource: string;
  readonly target: string;
  readonly placement: ApiPlacement;
  /** A path from the root of the bundle, as written. */
  readonly document: string;
  /** The only hosts that its tools may reach. */
  readonly hosts: readonly string[];
  /** Absent: every operation of the document. */
  readonly operations?: readonly ApiOperationChoice[];
  /** Security scheme, or name of a header → environment variable. */
  readonly auth: Readonly<Record<string, string>>;
  readonly baseUrl?: string;
  readonly timeoutMs?: number;
  readonly queueTimeoutMs?: number;
  readonly pointer: string;
}

/** Methods that an operation may have. */
export const API_METHODS = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "POST", "PATCH"] as const;
export type ApiMethod = (typeof API_METHODS)[number];

const POINTER = "/spec/openapi";
const LIST_MAX = 500;
const CHARS_MAX = 1_000;
const SPEC_KEYS = new Set(["openapi", "placement", "target", "timeoutMs", "queueTimeoutMs", "entry", "exports"]);
const KEYS: ReadonlySet<string> = new Set(["document", "hosts", "operations", "auth", "baseUrl"]);
/** The characters of a header's name; those of a scheme's are among them. */
const AUTH_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;

const HOST = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?$/i;

/** A host in the form that URL.host has: a name in small letters, with a port where it is not 443; null for anything else. */
export function apiHostOf(text: unknown): string | null {
  return typeof text === "string" && HOST.test(text) ? text.toLowerCase().replace(/:443$/, "") : null;
}

/** The API of a resource whose `spec` has `openapi`; null when it cannot be used. Mistakes are in `reading`. */
export function readGoondanApi(
  reading: DocumentReading,
  spec: JsonObject,
  owner: { readonly name: string; readonly target: string },
  envAllowList: readonly string[] | undefined,
): ApiDraft | null {
  if (reading.source === "upload") {
    const message = "openapi names a document, which is not part of an upload; put the resource into a bundle";
    reading.mistake("schema_invalid", POINTER, message, "key"); // A3
    return null;
  }
  reading.refuseOthers(spec, "/spec", SPEC_KEYS);
  for (const key of ["entry", "exports"]) {
    if (given(spec, key) === undefined) continue;
    reading.mistake(
      "schema_invalid",
      `/spec/${key}`,
      `${key} cannot stand beside openapi, whose document has the tools`,
    );
  }
  const placement = readApiPlacement(reading, spec);
  checkTimeouts(reading, spec, "/spec");
  const api = mappingAt(reading, spec, "openapi", "/spec");
  if (api === undefined) return null;
  reading.refuseOthers(api, POINTER, KEYS);
  const document = readDocumentPath(reading, api);
  const hosts = readHosts(reading, api);
  const operations = readOperations(reading, api);
  const auth = readAuth(reading, api, envAllowList);
  const baseUrl = readBaseUrl(reading, api, hosts);
  if (document === undefined) return null;
  return {
    resource: owner.name,
    target: owner.target,
    placement,
    document,
    hosts,
    auth,
    ...(operations === undefined ? {} : { operations }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...numberOf(spec, "timeoutMs"),
    ...numberOf(spec, "queueTimeoutMs"),
    pointer: `${POINTER}/document`,
  };
}

function readApiPlacement(reading: DocumentReading, spec: JsonObject): ApiPlacement {
  const placement = checkPlacement(reading, spec, "/spec") ?? "service";
  if (placement === "service" || placement === "edge") return placement;
  const message = `placement ${placement} is for code, and a document has none; use service or edge`;
  reading.mistake("schema_invalid", "/spec/placement", message);
  return "service";
}

/** A time that was checked; of every tool of the document. */
function numberOf(spec: JsonObject, key: "timeoutMs" | "queueTimeoutMs") {
  const value = given(spec, key);
  return typeof value === "number" ? { [key]: value } : {};
}

function readDocumentPath(reading: DocumentReading, api: JsonObject): string | undefined {
  const path = given(api, "document");
  if (typeof path === "string" && isPathInside(path)) return path;
  const message = `document must be a relative path of a YAML or JSON file inside the bundle, found ${shown(path)}`;
  reading.mistake("schema_invalid", `${POINTER}/document`, message);
  return undefined;
}

function readHosts(reading: DocumentReading, api: JsonObject): string[] {
  return (listAt(reading, api, "hosts", "host names", true) ?? []).flatMap((host, index) => {
    const known = apiHostOf(host);
    if (known !== null) return [known];
    const message = `a host must be a name without scheme and path, found ${shown(host)}`;
    reading.mistake("schema_invalid", `${POINTER}/hosts/${index}`, message);
    return [];
  });
}

function readOperations(reading: DocumentReading, api: JsonObject): ApiOperationChoice[] | undefined {
  return listAt(reading, api, "operations", "operations", false)?.flatMap((item, index) => {
    const choice = operationChoice(item);
    if (choice !== null) return [choice];
    const message = `an operation must be its id, {tag}, or {method, path}, found ${shown(item)}`;
    reading.mistake("schema_invalid", `${POINTER}/operations/${index}`, message);
    return [];
  });
}

function operationChoice(item: JsonValue): ApiOperationChoice | null {
  if (isText(item)) return item;
  if (!isJsonObject(item)) return null;
  const keys = Object.keys(item).sort().join(" ");
  const { tag, method, path } = item;
  if (keys === "tag" && isText(tag)) return { tag };
  const isPlace = keys === "method path" && isText(method) && isMethod(method.toUpperCase());
  return isPlace && isText(path) && path.startsWith("/") ? { method: method.toUpperCase(), path } : null;
}

function readAuth(
  reading: DocumentReading,
  api: JsonObject,
  envAllowList: readonly string[] | undefined,
): Record<string, string> {
  const auth: Record<string, string> = {};
  for (const [name, variable] of Object.entries(mappingAt(reading, api, "auth", POINTER) ?? {})) {
    const pointer = `${POINTER}/auth/${segment(name)}`;
    if (!AUTH_NAME.test(name)) {
      const message = `auth must name security schemes or headers, found ${shown(name)}`;
      reading.mistake("schema_invalid", pointer, message, "key");
      continue;
    }
    reading.check(
      () => checkEnvName(variable, pointer, envAllowList),
      (at) => at,
    );
    if (typeof variable === "string") auth[name] = variable;
  }
  return auth;
}

function readBaseUrl(reading: DocumentReading, api: JsonObject, hosts: readonly string[]): string | undefined {
  const text = given(api, "baseUrl");
  if (text === undefined) return undefined;
  const pointer = `${POINTER}/baseUrl`;
  const url = isText(text) && URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && url.username + url.password + url.search + url.hash === "";
  if (url === null || !isPlain || url.protocol !== "https:") {
    const message = `baseUrl must be an https URL without credentials, query and fragment, found ${shown(text)}`;
    reading.mistake("schema_invalid", pointer, message);
    return undefined;
  }
  // Without any usable host that is the mistake to correct first.
  if (hosts.length > 0 && !hosts.includes(url.host)) {
    reading.mistake("schema_invalid", pointer, `baseUrl is on ${shown(url.host)}, which is not among the hosts`);
  }
  return url.href;
}

function listAt(
  reading: DocumentReading,
  api: JsonObject,
  key: string,
  what: string,
  isRequired: boolean,
): readonly JsonValue[] | undefined {
  const list = given(api, key);
  if (list === undefined && !isRequired) return undefined;
  if (Array.isArray(list) && list.length > 0 && list.length <= LIST_MAX) return list;
  const found = Array.isArray(list) ? `${list.length} of them` : shown(list);
  reading.mistake(
    "schema_invalid",
    `${POINTER}/${key}`,
    `${key} must be a list of 1 to ${LIST_MAX} ${what}, found ${found}`,
  );
  return undefined;
}

function isMethod(text: string): boolean {
  return API_METHODS.some((method) => method === text);
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "" && value.length <= CHARS_MAX;
}
