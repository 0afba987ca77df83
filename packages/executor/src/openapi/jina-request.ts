// The request of a Jina tool: `options.jina`, with the older `options.openapi` behind it.
//
//   J1. Two hosts and no other: search speaks to s.jina.ai, the reader to r.jina.ai, over https on the usual port. The
//       list is here and no setting extends it. A redirect may stay on its host; to the other one it is refused too.
//   J2. What is sent: the query or the target, and of the other arguments those that `parameters.properties` (or
//       `jina.defaults`) declares AND that are provider arguments. Provider arguments are `jina.forward` where it is given,
//       else every declared one that is not under `options.args.fixed`. So the `project_id` and `session_id` that a
//       definition fills in for its own purposes stay here until it says otherwise.
//   J3. The key comes from an environment variable and goes into the `authorization` header, nowhere else. Without it the
//       request is anonymous, with a warning.

import { BadRequest, isJsonObject, type JsonObject, type JsonValue, PolicyDenied } from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import { withoutTrailing } from "../net/without-trailing.ts";
import { type DefinitionCall, scopeSession, splitArguments } from "./arguments.ts";
import type { OutgoingRequest } from "./exchange.ts";
import type { Credential } from "./operation.ts";
import { assembleUrl, encodePathText, encodePathValue, percentEncode, readBaseUrl } from "./request-url.ts";
import {
  headersSetting,
  objectSetting,
  textListSetting,
  textSetting,
  timeoutSetting,
  variableSetting,
  wrong,
} from "./settings.ts";

type JinaMode = "search" | "reader";

const HOSTS: Readonly<Record<JinaMode, string>> = { search: "s.jina.ai", reader: "r.jina.ai" };
const MODES: Readonly<Record<string, JinaMode>> = {
  search: "search",
  reader: "reader",
  read: "reader",
  crawl: "reader",
};
const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH"]);
const SEARCH_PATH = "/search";
const READER_TEMPLATE = "/{url}";
const KEY_VARIABLE = "JINA_API_KEY";
/** J3. */
export const JINA_CREDENTIAL: Credential = {
  header: "authorization",
  env: KEY_VARIABLE,
  prefix: "Bearer ",
  base64: false,
};
const ACCEPT = "text/plain";

/** The arguments that have a place of their own; the first one given counts. */
const SUBJECT_ARGUMENTS: Readonly<Record<JinaMode, readonly [string, string]>> = {
  search: ["q", "query"],
  reader: ["url", "target_url"],
};

/** `options.openapi` of before the Jina namespace; the general form has a `server`. */
export function isJinaDefinition(definition: ToolDefinition): boolean {
  const { jina, openapi } = definition.options;
  return isJsonObject(jina) || (isJsonObject(openapi) && openapi.server === undefined);
}

export function jinaRequest(options: DefinitionCall): OutgoingRequest {
  const { definition, invocation, input } = options;
  const { jina, legacy } = settingsOf(definition);
  const mode = modeOf(jina, legacy);
  const base = baseOf(mode, jina, legacy);
  const method = methodOf(jina, legacy);

  const { sendable, secrets } = splitArguments(input, options.variables);
  const args: JsonObject = Object.assign(Object.create(null), objectSetting(jina.defaults, "jina.defaults"), sendable);
  const subject = subjectOf(mode, args);
  const rest = scopeSession(providerArguments(definition, jina, args, mode), invocation); // J2

  const sent: JsonObject = mode === "search" ? Object.assign(Object.create(null), { q: subject }, rest) : rest;
  const path = mode === "search" ? searchPath(jina, legacy) : readerPath(jina, subject);
  const url = assembleUrl(base, path, method === "GET" ? queryPairs(sent) : []);
  const hasBody = method !== "GET" && Object.keys(sent).length > 0;
  const headers: Record<string, string> = {
    accept: textSetting(jina.accept, "jina.accept") ?? ACCEPT,
    ...headersSetting(legacy.headers, "openapi.headers"),
    ...headersSetting(jina.headers, "jina.headers"),
    ...(hasBody ? { "content-type": "application/json" } : {}),
  };
  const credential = jinaCredential(jina, legacy);
  const readKey = (to: URL, as: string) =>
    options.credential.read(credential, { url: to, method: as, headers, hasBody: hasBody && as === method });
  const key = readKey(url, method) ?? null;
  if (key === null) {
    options.onWarning(
      `${options.definition.tool_name} calls Jina without a key: the variable ${credential.env} is not set`,
    );
  }
  return {
    url,
    method,
    headers: { ...headers, ...(key === null ? {} : { authorization: `Bearer ${key}` }) }, // J3
    body: hasBody ? JSON.stringify(sent) : undefined,
    timeoutMs: timeoutSetting(
      jina.timeout_s,
      jina.timeout,
      legacy.timeout_s,
      legacy.timeout,
      definition.options.timeout_s,
      definition.options.timeout,
      definition.options.timeout_seconds,
      (definition.options.timeoutMs ?? 0) / 1_000,
    ),
    allow(to, as) {
      requireHost(to, mode);
      if (key !== null) readKey(to, as);
    },
    secrets: key === null ? secrets : [...secrets, key],
    errorKey: "error",
  };
}

/** What a call of the definition asks for: key, host, method and path, in which `{+url}` stands for the target. */
export function jinaOperation(definition: ToolDefinition): {
  readonly credential: Credential;
  readonly host: string;
  readonly method: string;
  readonly path: string;
} {
  const { jina, legacy } = settingsOf(definition);
  const mode = modeOf(jina, legacy);
  const path = mode === "search" ? searchPath(jina, legacy) : readerParts(jina).map(encodePathText).join("{+url}");
  return {
    credential: jinaCredential(jina, legacy),
    host: baseOf(mode, jina, legacy).host,
    method: methodOf(jina, legacy),
    path: withoutTrailing(baseOf(mode, jina, legacy).pathname, "/") + (path.startsWith("/") ? path : `/${path}`),
  };
}

/** J3. */
function jinaCredential(jina: JsonObject, legacy: JsonObject): Credential {
  return { ...JINA_CREDENTIAL, env: keyVariable(jina, legacy) };
}

function methodOf(jina: JsonObject, legacy: JsonObject): string {
  const method = (
    textSetting(jina.method, "jina.method") ??
    textSetting(legacy.method, "openapi.method") ??
    "GET"
  ).toUpperCase();
  if (!METHODS.has(method)) throw wrong("method", [...METHODS].join(", "));
  return method;
}

function settingsOf(definition: ToolDefinition): { readonly jina: JsonObject; readonly legacy: JsonObject } {
  const given = objectSetting(definition.options.openapi, "options.openapi");
  return {
    jina: objectSetting(definition.options.jina, "options.jina"),
    legacy: given.server === undefined ? given : {},
  };
}

function modeOf(jina: JsonObject, legacy: JsonObject): JinaMode {
  const named = textSetting(jina.mode, "jina.mode")?.trim().toLowerCase();
  if (named !== undefined) {
    const mode = Object.hasOwn(MODES, named) ? MODES[named] : undefined;
    if (mode === undefined) throw wrong("jina.mode", "search or reader");
    return mode;
  }
  const address = textSetting(jina.base_url, "jina.base_url") ?? textSetting(legacy.base_url, "openapi.base_url");
  if (address !== undefined) {
    const { hostname } = readBaseUrl(address, "base_url");
    if (hostname === HOSTS.search) return "search";
    if (hostname === HOSTS.reader) return "reader";
    throw wrong("base_url", `https://${HOSTS.search} or https://${HOSTS.reader}`);
  }
  if (legacy.path === SEARCH_PATH) return "search";
  throw new BadRequest("the definition says neither by jina.mode nor by its base_url whether it searches or reads");
}

function baseOf(mode: JinaMode, jina: JsonObject, legacy: JsonObject): URL {
  const address = textSetting(jina.base_url, "jina.base_url") ?? textSetting(legacy.base_url, "openapi.base_url");
  const base = readBaseUrl(address ?? `https://${HOSTS[mode]}`, "base_url");
  if (base.host !== HOSTS[mode]) throw wrong("base_url", `https://${HOSTS[mode]} for ${mode}`); // J1
  return base;
}

/** Asked for every hop. `host` holds a port that is not https' own. */
function requireHost(url: URL, mode: JinaMode): void {
  const isAllowed = url.protocol === "https:" && url.host === HOSTS[mode] && url.username === "" && url.password === "";
  if (isAllowed) return;
  throw new PolicyDenied(`the ${mode} may reach https://${HOSTS[mode]} and nothing else`, {
    code: "url_not_allowed",
    details: { host: url.host.slice(0, 255) },
  });
}

function subjectOf(mode: JinaMode, args: JsonObject): string {
  const names = SUBJECT_ARGUMENTS[mode];
  const value = names.map((name) => args[name]).find((item) => typeof item === "string" && item.trim() !== "");
  if (typeof value !== "string") throw new BadRequest(`the argument ${names.join(" or ")} is required`);
  return value;
}

/** J2. */
function providerArguments(definition: ToolDefinition, jina: JsonObject, args: JsonObject, mode: JinaMode): JsonObject {
  const properties = definition.parameters.properties;
  const declared = new Set([
    ...Object.keys(isJsonObject(properties) ? properties : {}),
    ...Object.keys(objectSetting(jina.defaults, "jina.defaults")),
  ]);
  const fixed = definition.options.args?.fixed ?? {};
  const listed =
    textListSetting(jina.forward, "jina.forward") ?? [...declared].filter((name) => !Object.hasOwn(fixed, name));
  const sent: JsonObject = Object.create(null);
  for (const name of listed) {
    if (!declared.has(name) || SUBJECT_ARGUMENTS[mode].includes(name)) continue;
    const value = args[name];
    if (value !== undefined && value !== null) sent[name] = value;
  }
  return sent;
}

function searchPath(jina: JsonObject, legacy: JsonObject): string {
  return encodePathText(textSetting(jina.path, "jina.path") ?? textSetting(legacy.path, "openapi.path") ?? SEARCH_PATH);
}

function readerPath(jina: JsonObject, target: string): string {
  return readerParts(jina).map(encodePathText).join(targetSegment(target));
}

/** The fixed text before and after the target. */
function readerParts(jina: JsonObject): readonly string[] {
  const template = textSetting(jina.endpoint_template, "jina.endpoint_template") ?? READER_TEMPLATE;
  const parts = template.split("{url}");
  if (parts.length !== 2 || /[{}]/.test(parts.join(""))) {
    throw wrong("jina.endpoint_template", "a path that holds {url} once and no other placeholder");
  }
  return parts;
}

/** A target is a URL, so its slashes are encoded, not refused; as a segment it must still not be a dot. */
function targetSegment(target: string): string {
  return /[/?#]/.test(target) ? percentEncode(target) : encodePathValue("url", target);
}

function queryPairs(args: JsonObject): string[] {
  return Object.entries(args).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((item) => `${percentEncode(name)}=${percentEncode(queryText(item))}`),
  );
}

function queryText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function keyVariable(jina: JsonObject, legacy: JsonObject): string {
  return (
    variableSetting(jina.auth_env, "jina.auth_env") ??
    variableSetting(objectSetting(legacy.auth, "openapi.auth").env, "openapi.auth.env") ??
    KEY_VARIABLE
  );
}
