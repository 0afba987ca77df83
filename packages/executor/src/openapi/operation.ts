// One operation of an HTTP API as a definition carries it: `options.openapi` in its general form. It says where every
// argument goes, so that the definition alone can be run.
//
//   P1. Read anew and completely at every run: the definition was stored, and may have been written
//       manually. What is not understood is refused, not skipped.
//   P2. Server, hosts and credentials stand here and nowhere else; no argument reaches them.
//   P3. A credential is named by its environment variable and goes into a header. Queries and cookies are refused: URLs
//       are logged by everyone on the way, and a cookie is a user's session.

import { BadRequest, isJsonObject, type JsonObject } from "@tessera/protocol";
import { API_METHODS, type ApiMethod, apiHostOf } from "@tessera/tool/resources";
import { encodePathText, readBaseUrl } from "./request-url.ts";
import { headersSetting, objectSetting, textListSetting, textSetting, variableSetting, wrong } from "./settings.ts";

const QUERY_STYLES = ["form", "spaceDelimited", "pipeDelimited", "deepObject"] as const;
type Style = "simple" | (typeof QUERY_STYLES)[number];
const SLOTS_MAX = 128;
/** Headers that the executor or the definition fills; `checkRequestHeaders` refuses those of the connection. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "authorization",
  "content-type",
  "cookie",
  "idempotency-key",
  "proxy-authorization",
  "traceparent",
  "tracestate",
]);

export interface ArgumentSlot {
  /** The argument of the tool. */
  readonly arg: string;
  /** Its name on the wire. */
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly style: Style;
  readonly explode: boolean;
  readonly required: boolean;
  /** The value is sent as JSON text. */
  readonly json: boolean;
}

export interface Credential {
  readonly header: string;
  readonly env: string;
  /** Before the value, such as `Bearer `. */
  readonly prefix: string;
  /** The variable holds `user:password`, which is sent in base64. */
  readonly base64: boolean;
}

export interface ApiOperation {
  readonly server: URL;
  /** `host` or `host:port`; the server's is among them. */
  readonly hosts: readonly string[];
  readonly method: ApiMethod;
  readonly path: string;
  readonly slots: readonly ArgumentSlot[];
  readonly body: { readonly arg: string; readonly required: boolean; readonly content_type: string } | null;
  readonly credentials: readonly Credential[];
  readonly headers: Readonly<Record<string, string>>;
  /** Send `idempotency-key` with everything but reads. */
  readonly idempotencyKey: boolean;
  /** `session_id` is an alias to be scoped; false where the API itself hands out such ids. */
  readonly scopesSession: boolean;
  readonly errorKey: string | null;
  readonly timeout_s: unknown;
}

export function readOperation(value: unknown): ApiOperation {
  const given = objectSetting(value, "openapi");
  const server = readBaseUrl(given.server, "openapi.server");
  const hosts = readHosts(given.hosts);
  if (!hosts.includes(server.host)) throw wrong("openapi.server", "on a host of openapi.hosts");
  const method = textSetting(given.method, "openapi.method")?.toUpperCase() as ApiMethod;
  if (!API_METHODS.includes(method)) throw wrong("openapi.method", API_METHODS.join(", "));
  const slots = listOf(given.parameters, "openapi.parameters").map(readSlot);
  const credentials = listOf(given.auth, "openapi.auth").map(readCredential);
  const isTaken = (slot: ArgumentSlot) => credentials.some(({ header }) => header === slot.name.toLowerCase());
  if (slots.some((slot) => slot.in === "header" && isTaken(slot))) {
    throw wrong("openapi.parameters", "without the headers of openapi.auth"); // P2
  }
  return {
    server,
    hosts,
    method,
    path: readPath(given.path, slots),
    slots,
    body: readBodySlot(given.body, method),
    credentials,
    headers: headersSetting(given.headers, "openapi.headers"),
    idempotencyKey: given.idempotency_key !== false,
    scopesSession: given.scope_session !== false,
    errorKey: given.error_key === null ? null : (textSetting(given.error_key, "openapi.error_key") ?? "error"),
    timeout_s: given.timeout_s,
  };
}

/** Hosts in the form that URL.host has. */
export function readHosts(value: unknown): string[] {
  const hosts = (textListSetting(value, "hosts") ?? []).map(apiHostOf);
  const usable = hosts.filter((host) => host !== null);
  if (usable.length === 0 || usable.length < hosts.length) {
    throw wrong("hosts", "a list of one or more host names, each without scheme and path");
  }
  return usable;
}

/** The placeholders of a path template, in order. */
function placeholdersOf(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? "");
}

/** Every placeholder has its slot, and every path slot its placeholder. */
function readPath(value: unknown, slots: readonly ArgumentSlot[]): string {
  const path = textSetting(value, "openapi.path");
  if (path === undefined || !path.startsWith("/")) throw wrong("openapi.path", "a path that starts with /");
  const wanted = placeholdersOf(path).sort();
  const known = slots.filter((slot) => slot.in === "path").map((slot) => slot.name);
  if (wanted.join("\n") !== known.sort().join("\n") || /[{}]/.test(path.replace(/\{[^{}]*\}/g, ""))) {
    throw wrong("openapi.path", "a template whose placeholders are exactly the path parameters");
  }
  encodePathText(path);
  return path;
}

function readSlot(value: unknown, index: number): ArgumentSlot {
  const field = `openapi.parameters[${index}]`;
  const given = objectSetting(value, field);
  const name = textSetting(given.name, `${field}.name`);
  const arg = textSetting(given.arg, `${field}.arg`) ?? name;
  if (name === undefined || arg === undefined) throw wrong(field, "named");
  const place = given.in;
  if (place === "cookie") throw new BadRequest(`${field} is a cookie; cookies are not sent`, { details: { field } }); // P3
  if (place !== "path" && place !== "query" && place !== "header") throw wrong(`${field}.in`, "path, query or header");
  if (place === "header" && RESERVED_HEADERS.has(name.toLowerCase())) {
    throw wrong(`${field}.name`, "a header that arguments may fill"); // P2
  }
  const style = (textSetting(given.style, `${field}.style`) ?? (place === "query" ? "form" : "simple")) as Style;
  const styles: readonly string[] = place === "query" ? QUERY_STYLES : ["simple"];
  if (!styles.includes(style)) throw wrong(`${field}.style`, styles.join(", "));
  const explode = typeof given.explode === "boolean" ? given.explode : style === "form" || style === "deepObject";
  const required = place === "path" || given.required === true;
  return { arg, name, in: place, style, explode, required, json: given.json === true };
}

function readBodySlot(value: unknown, method: ApiMethod): ApiOperation["body"] {
  if (value === undefined || value === null) return null;
  const given = objectSetting(value, "openapi.body");
  const arg = textSetting(given.arg, "openapi.body.arg");
  if (arg === undefined) throw wrong("openapi.body.arg", "the name of an argument");
  if (method === "GET" || method === "HEAD") throw wrong("openapi.body", `absent: ${method} has none`);
  const content_type = textSetting(given.content_type, "openapi.body.content_type") ?? "application/json";
  if (!isJsonType(content_type)) throw wrong("openapi.body.content_type", "a JSON type");
  return { arg, required: given.required === true, content_type };
}

export function isJsonType(mediaType: string): boolean {
  return /^application\/(?:[\w.+-]+\+)?json$/i.test(mediaType.split(";", 1)[0]?.trim() ?? "");
}

function readCredential(value: unknown, index: number): Credential {
  const field = `openapi.auth[${index}]`;
  const given: JsonObject = objectSetting(value, field);
  const header = textSetting(given.header, `${field}.header`)?.toLowerCase();
  const env = variableSetting(given.env, `${field}.env`);
  if (header === undefined || env === undefined) throw wrong(field, "a header and the name of its variable");
  if (isCookieLike(header)) throw wrong(`${field}.header`, "another header than a cookie's"); // P3
  return { header, env, prefix: textSetting(given.prefix, `${field}.prefix`) ?? "", base64: given.base64 === true };
}

/** `cookie`, `set-cookie`, and `x-set-cookie`, which readers of pages pass on to the page. */
export function isCookieLike(header: string): boolean {
  return header.toLowerCase().includes("cookie");
}

function listOf(value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > SLOTS_MAX || !value.every(isJsonObject)) {
    throw wrong(field, `a list of at most ${SLOTS_MAX} objects`);
  }
  return value;
}
